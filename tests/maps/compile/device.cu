// Must compile: maps and swizzles in device code, proofs under nvcc.
#include "maps/proofs.hpp"

using namespace cornerturn;

using Tile = ChunkXor<64, 64, 4>;
using Swizzling = SwizzledRows<Swizzle<5, 0, 6>, 64, 64>;
using Columns = Swizzled<Swizzle<5, 0, 5>, column_major(32, 32)>;
static_assert(proven_conflict_free<float, Tile, Access::rows, 16>());
static_assert(proven_conflict_free<float, Tile, Access::columns, 16>());
static_assert(conflict_free<float, Swizzling, Access::columns>);
static_assert(conflict_free<float, Columns, Access::rows>);
static_assert(conflict_free<float, Padded<32, 32, 1>, Access::columns>);

__global__ void places(long long* out, Layout layout, AnySwizzle swizzle) {
  const int row = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(threadIdx.x);
  out[0] = Tile::at(row, column);
  out[1] = Swizzling::at(row, column);
  out[6] = Columns::at(row, column);
  out[2] = Rotated<32, 32>::at(row, column);
  out[3] = Padded<32, 32, 1>::at(row, column);
  out[4] = swizzle(layout(row, column)) + layout.cosize();
  out[5] = Swizzle<3, 2, -4>{}(column);
}
