// What every kernel of the CPU backend offers: its work in independent pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "plan/any_config.hpp"

namespace cornerturn::plan {
struct Row;
}

namespace cornerturn::cpu {

/// A kernel as the engine calls it. Configurations are those of the kernel's own family; the
/// destination and the source of `buffers` are the first elements (offsets already added).
struct Kernel {
  /// How many pieces the work has. Any two may run at once: they write different bytes.
  std::int64_t (*pieces)(const plan::AnyConfig& config, const Problem& normal);

  /// Does pieces [first, last).
  void (*run)(const plan::AnyConfig& config, const Problem& normal, const Buffers& buffers,
              std::int64_t first, std::int64_t last);

  /// Does all of it in the place of the functions above, which are null then: for work of which
  /// some parts have to wait for others. Null: there are pieces.
  void (*run_whole)(const plan::AnyConfig& config, int threads, const Buffers& buffers) = nullptr;

  /// The configuration for this destination, which is asked for once, before any byte is written;
  /// null: it is the planned one.
  plan::AnyConfig (*config_for)(const plan::AnyConfig& config, const Problem& normal,
                                const Buffers& buffers) = nullptr;

  /// Whether run() stops at the last piece by itself. Where counting them is a good part of a small
  /// problem's time, one thread then does all without.
  bool stops_at_last = false;
};

/// The kernel of a family of plan/cpu/families.hpp: NAME_kernel, which src/cpu/NAME.cpp defines.
const Kernel& kernel_of(const plan::Row& family);

/// What Kernel::pieces and Kernel::run are for one type of configurations.
template <class Config>
using PiecesOf = std::int64_t (*)(const Config& config, const Problem& normal);
template <class Config>
using RunOf = void (*)(const Config& config, const Problem& normal, const Buffers& buffers,
                       std::int64_t first, std::int64_t last);

/// A kernel made of two functions that take their family's own configurations:
///
///   extern const Kernel fold_kernel = kernel_in_pieces<plan::FoldConfig, pieces, run>;
template <class Config, PiecesOf<Config> pieces, RunOf<Config> run>
inline constexpr Kernel kernel_in_pieces{
    [](const plan::AnyConfig& config, const Problem& normal) {
      return pieces(config.as<Config>(), normal);
    },
    [](const plan::AnyConfig& config, const Problem& normal, const Buffers& buffers,
       std::int64_t first,
       std::int64_t last) { run(config.as<Config>(), normal, buffers, first, last); }};

/// The place in a list of what mode, shape or axis number `i` has.
inline std::size_t slot(int i) {
  return static_cast<std::size_t>(i);
}

inline std::byte* dst_of(const Buffers& buffers) {
  return static_cast<std::byte*>(buffers.dst);
}
inline const std::byte* src_of(const Buffers& buffers) {
  return static_cast<const std::byte*>(buffers.src);
}

}  // namespace cornerturn::cpu
