// What every kernel of the CPU backend offers: its work in independent pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/config.hpp"

namespace cornerturn::cpu {

// Each family overloads these two for its own configuration:
//
//   std::int64_t pieces(const XConfig& config, const Problem& normal);
//     How many pieces the work has. Any two may run at once: they write different bytes.
//
//   void run(const XConfig& config, const Problem& normal, const std::byte* src, std::byte* dst,
//            std::int64_t first, std::int64_t last);
//     Does pieces [first, last). `src` and `dst` are the first elements (offsets already added).
//
// One that converts values offers, beside `run`, the same as `run_converting` with the scale and
// the bias of the problem before `first`.

std::int64_t pieces(const plan::CopyConfig& config, const Problem& normal);
void run(const plan::CopyConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::RowsConfig& config, const Problem& normal);
void run(const plan::RowsConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::PackLinesConfig& config, const Problem& normal);
void run(const plan::PackLinesConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::PackConfig& config, const Problem& normal);
void run(const plan::PackConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::StridedConfig& config, const Problem& normal);
void run(const plan::StridedConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::GatherConfig& config, const Problem& normal);
void run(const plan::GatherConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);
void run_converting(const plan::GatherConfig& config, const Problem& normal, const std::byte* src,
                    std::byte* dst, const Vectors& vectors, std::int64_t first, std::int64_t last);

/// Has no plain `run`: it takes no problem whose values stay what they are.
std::int64_t pieces(const plan::ConvertConfig& config, const Problem& normal);
void run_converting(const plan::ConvertConfig& config, const Problem& normal, const std::byte* src,
                    std::byte* dst, const Vectors& vectors, std::int64_t first, std::int64_t last);

std::int64_t pieces(const plan::TileConfig& config, const Problem& normal);
void run(const plan::TileConfig& config, const Problem& normal, const std::byte* src,
         std::byte* dst, std::int64_t first, std::int64_t last);
void run_converting(const plan::TileConfig& config, const Problem& normal, const std::byte* src,
                    std::byte* dst, const Vectors& vectors, std::int64_t first, std::int64_t last);

}  // namespace cornerturn::cpu
