// Routes on which pieces cross by the copy engine, with stages of the CPU or the GPU beside it.
#pragma once

#include <cstdint>
#include <memory>

#include "plan/link/family.hpp"

namespace cornerturn::plan::link {

/// How pieces cross.
struct Wire {
  enum class Order : std::uint8_t {
    as_it_lies,  ///< the host's own memory is the wire: there is no stage of the CPU
    of_host,     ///< packed by the CPU, modes in the order that they have in host memory
    of_gpu,      ///< packed by the CPU, modes in the order that they have on the GPU
  };
  Order order = Order::as_it_lies;
  bool converted = false;  ///< elements cross as those of the destination
  std::int64_t most = 0;   ///< bytes of a piece
};

/// Null: there is no such route.
std::shared_ptr<const Route> route_by(const Question& question, const Wire& wire);

/// Null, or the rule that a problem breaks whose pieces have stages.
const char* why_no_pieces(const Problem& normal, const LinkInfo& link);

/// Sizes of pieces worth considering, in bytes.
inline constexpr std::int64_t piece_sizes[] = {256 << 10, 1 << 20, 4 << 20, 8 << 20, 16 << 20};
/// No piece is larger: the pinned memory of the library holds three of them.
inline constexpr std::int64_t largest_piece = 20 << 20;

}  // namespace cornerturn::plan::link
