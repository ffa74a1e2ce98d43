// The kernel of cute_smem_swizzle with tiles that the solver printed, on the host: pasted.inc has
// them as functions. Prints how many matrices were compared, and what differs.
#include <cstdio>
#include <vector>

#include "workshop/cuda/cute/launch.cuh"

#include "workshop/cuda/cute/staged.cuh"

namespace cornerturn::with_cute {

#include "pasted.inc"

// The rung of a tile: the source's view is the tile, the destination's the same turned.
template <class Tile>
struct Pasted {
  using Block = decltype(shape(Tile{}));
  using Threads = Rows8x32;
  using SourceView = Tile;
  using Transposed = decltype(make_layout(reverse(Block{}), make_stride(size<1>(Block{}), _1{})));
  using DestinationView = decltype(composition(SourceView{}, Transposed{}));
};

// What the solver prints for the rungs' own tiles is what they have: to run them is to run it.
static_assert(std::is_same_v<decltype(scalar_32()), SmemSwizzle32::SourceView>);
static_assert(std::is_same_v<decltype(scalar_64()), SmemSwizzle64::SourceView>);
static_assert(
    std::is_same_v<Pasted<decltype(scalar_64())>::DestinationView, SmemSwizzle64::DestinationView>);

int compared = 0;
int different = 0;

template <class Tile>
void check(const char* name, const Tile&) {
  for (const auto& [rows, cols] : {std::pair{64, 64}, {65, 63}, {1, 1}, {100, 36}, {12, 200}}) {
    const auto count = static_cast<std::size_t>(rows * cols);
    std::vector<Element> src(count);
    std::vector<Element> dst(count, 0xdeadbeef);
    for (std::size_t i = 0; i < count; ++i) src[i] = static_cast<Element>(i * 2654435761U + 1);
    run_staged<Pasted<Tile>>({src.data(), dst.data(), rows, cols});
    ++compared;
    bool equal = true;
    for (int row = 0; row < rows; ++row) {
      for (int col = 0; col < cols; ++col) {
        equal = equal && dst[static_cast<std::size_t>(col * rows + row)] ==
                             src[static_cast<std::size_t>(row * cols + col)];
      }
    }
    if (equal) continue;
    ++different;
    std::printf("%s differs at %d x %d\n", name, rows, cols);
  }
}

}  // namespace cornerturn::with_cute

int main() {
  using namespace cornerturn::with_cute;
  check("scalar_32", scalar_32());
  check("scalar_64", scalar_64());
  check("vectors_64", vectors_64());
  check("padded_64", padded_64());
  std::printf("%d compared, %d different\n", compared, different);
  return different == 0 ? 0 : 1;
}
