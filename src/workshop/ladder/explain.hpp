// The ladder in words: what a rung does otherwise than another one, and how many of its threads an
// SM holds.
#pragma once

#include <array>
#include <string>

#include "workshop/ladder/emulate.hpp"

namespace cornerturn::ladder {

/// What one SM of a GPU offers to resident blocks.
struct Sm {
  const char* name = "";
  int threads = 0;
  int blocks = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t reserved_bytes = 0;  ///< of it, for each block
  int registers = 65536;
};

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
inline constexpr std::array<Sm, 2> sms = {{
    {"9.0", 2048, 32, 228 * 1024, 1024},
    {"8.9", 1536, 24, 100 * 1024, 1024},
}};

/// What fits an SM at once, and what bounds it. A quarter of an SM has a quarter of the registers,
/// and gives them to a warp in portions of 256.
struct Residency {
  int blocks = 0;
  int threads = 0;
  const char* bound = "";  ///< "threads", "blocks", "registers" or "shared memory"
};
/// `registers` of a thread; 0 where nobody counted them.
Residency residency(const Launch& launch, std::int64_t shared_bytes, int registers, const Sm& sm);
/// Of a rung, with the registers of its compiled code.
Residency residency(const Prediction& run, const Sm& sm);

/// What `now` does otherwise than `before`, for each 128 bytes of the matrix, in one line:
/// "stores 4 sectors instead of 16; but fills a tile in 1 wavefront and reads it in 32 wavefronts".
std::string difference(const Prediction& now, const Prediction& before);

/// The way of the first warp's first elements: (row, column) of the source, slots of the tile,
/// (row, column) of the destination.
///
///   lane             0       1
///   global load    0,0     0,1
///   shared store     0       1
std::string path_picture(const Emulation& run, const Rung& rung);

/// A tile, each element by its bank, up to where rows and columns repeat:
///
///   row\col   0   1   2
///       0     0   1   2
///       1     1   0   3
std::string bank_picture(const TileMap& tile);

}  // namespace cornerturn::ladder
