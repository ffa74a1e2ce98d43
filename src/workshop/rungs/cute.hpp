// The rungs in CuTe's words, by name, in the order of the climb. They are CUDA alone and no
// emulator runs them: their kernels are src/workshop/cuda/cute/, their accesses are worked out in
// workshop/analyse/cute_legs.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cornerturn::ladder {

struct CuteInfo {
  const char* name;
  const char* shows;  ///< one line
  bool transposes;    ///< or it copies
  int tile_rows;      ///< of the source
  int tile_cols;
  int threads;
  int shared_bytes;  ///< of a block's tiles
};

inline constexpr std::array cute_infos = {
    CuteInfo{"cute_copy", "tiled copy, 16-byte accesses through registers: the ceiling", false, 1,
             4096, 256, 0},
    CuteInfo{"cute_tma_copy", "the same copy by TMA load and store, no register in between", false,
             32, 128, 32, 16384},
    CuteInfo{"cute_naive", "rows read, written to a column-major view; tiles of 64 x 64", true, 64,
             64, 256, 0},
    CuteInfo{"cute_naive_wide", "the same with tiles of 32 x 1024", true, 32, 1024, 256, 0},
    CuteInfo{"cute_smem", "a 32 x 32 tile by cp.async; two views of one buffer", true, 32, 32, 256,
             4096},
    CuteInfo{"cute_smem_pad", "rows 33 apart; the column view has strides (1,33)", true, 32, 32,
             256, 4224},
    CuteInfo{"cute_smem_swizzle", "Swizzle<5,0,5> on 32 x 32: a column is all banks", true, 32, 32,
             256, 4096},
    CuteInfo{"cute_smem_swizzle_2way", "Swizzle<5,0,5> on 64 x 64: two rows share a bank", true, 64,
             64, 256, 16384},
    CuteInfo{"cute_smem_swizzle_64", "Swizzle<5,0,6> on 64 x 64: a column is all banks", true, 64,
             64, 256, 16384},
    CuteInfo{"cute_tma_store", "16-byte loads, transposed on the way into the tile, TMA store",
             true, 32, 64, 256, 8192},
    CuteInfo{"cute_tma", "TMA load and store, transposed element by element: 4 wavefronts", true,
             64, 64, 256, 32768},
    CuteInfo{"cute_tma_diagonal", "TMA load and store, transposed along diagonals of 4 x 4 blocks",
             true, 64, 64, 256, 32768},
};

constexpr const CuteInfo* find_cute(std::string_view name) {
  for (const CuteInfo& info : cute_infos) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

/// Null where the rung can run; otherwise the rule that this case breaks.
constexpr const char* cute_why_not(const CuteInfo& rung, std::int64_t rows, std::int64_t cols,
                                   int element_bytes) {
  constexpr std::int64_t most = 0x7fffffff - 4096;
  const std::string_view name = rung.name;
  if (element_bytes != 4) return "CuTe's rungs are compiled for elements of 4 bytes";
  if (rows > most || cols > most) return "CuTe's rungs count rows and columns with 31 bits";
  const bool loads = name.starts_with("cute_tma") && name != "cute_tma_store";
  const bool stores = name.starts_with("cute_tma");
  if (loads && cols % 4 != 0) {
    return "TMA loads need rows of a multiple of 16 bytes: cols a multiple of 4";
  }
  if (stores && (rung.transposes ? rows : cols) % 4 != 0) {
    return "TMA stores need rows of a multiple of 16 bytes: rows a multiple of 4";
  }
  return nullptr;
}

}  // namespace cornerturn::ladder
