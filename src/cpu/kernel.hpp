// What every kernel of the CPU backend offers: its work in independent pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/buffers.hpp"
#include "plan/cpu/families.hpp"

namespace cornerturn::cpu {

// Each family of plan/cpu/families.hpp overloads these two for its own configuration:
//
//   std::int64_t pieces(const XConfig& config, const Problem& normal);
//     How many pieces the work has. Any two may run at once: they write different bytes.
//
//   void run(const XConfig& config, const Problem& normal, const Buffers& buffers,
//            std::int64_t first, std::int64_t last);
//     Does pieces [first, last). The destination and the source of `buffers` are the first elements
//     (offsets already added).
//
// and, where counting them is a good part of a small problem's time:
//
//   void run_all(const XConfig& config, const Problem& normal, const Buffers& buffers);
//     Does all pieces.
//
// or, where parts of the work have to wait for others:
//
//   void run_whole(const XConfig& config, int threads, const Buffers& buffers);
//     Does all of it.

// and, where stores may be tried on some pieces and pieces are not alike:
//
//   std::int64_t piece_bytes(const XConfig& config, const Problem& normal, std::int64_t piece);
//     So many bytes it moves.

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

std::int64_t pieces(const plan::CopyConfig& config, const Problem& normal);
void run(const plan::CopyConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::RowsConfig& config, const Problem& normal);
std::int64_t piece_bytes(const plan::RowsConfig& config, const Problem& normal, std::int64_t piece);
void run(const plan::RowsConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::UnitsConfig& config, const Problem& normal);
void run(const plan::UnitsConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);
void run_all(const plan::UnitsConfig& config, const Problem& normal, const Buffers& buffers);

std::int64_t pieces(const plan::TileConfig& config, const Problem& normal);
void run(const plan::TileConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);
void run_all(const plan::TileConfig& config, const Problem& normal, const Buffers& buffers);

std::int64_t pieces(const plan::PackLinesConfig& config, const Problem& normal);
void run(const plan::PackLinesConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::PackConfig& config, const Problem& normal);
void run(const plan::PackConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::BoxesConfig& config, const Problem& normal);
void run(const plan::BoxesConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::ShuffleConfig& config, const Problem& normal);
void run(const plan::ShuffleConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::StridedConfig& config, const Problem& normal);
void run(const plan::StridedConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::ConvertConfig& config, const Problem& normal);
void run(const plan::ConvertConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::GatherConfig& config, const Problem& normal);
void run(const plan::GatherConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::BlocksConfig& config, const Problem& normal);
void run(const plan::BlocksConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

/// The destination is one std::uint64_t. Each piece raises it to the largest magnitude that it
/// finds (values/magnitude.hpp): these pieces write the same bytes, atomically.
std::int64_t pieces(const plan::AmaxConfig& config, const Problem& normal);
void run(const plan::AmaxConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

/// The array is the destination of `buffers`.
std::int64_t pieces(const plan::SwapConfig& config, const Problem& normal);
void run(const plan::SwapConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last);

/// Passes follow one another, so this family takes its threads itself.
void run_whole(const plan::PassesConfig& config, int threads, const Buffers& buffers);

}  // namespace cornerturn::cpu
