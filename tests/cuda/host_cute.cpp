// Runs every kernel of src/workshop/cuda/cute on the host, with the launch and the copy engine of
// tests/cuda/host in front of the project's own, and compares each element. Prints what differs.
#include <cstdio>
#include <vector>

#include "workshop/cuda/cute/launch.cuh"

#include "../../src/workshop/cuda/cute/cute_copy.cu"
#include "../../src/workshop/cuda/cute/cute_naive.cu"
#include "../../src/workshop/cuda/cute/cute_smem.cu"
#include "../../src/workshop/cuda/cute/cute_smem_pad.cu"
#include "../../src/workshop/cuda/cute/cute_smem_swizzle.cu"
#include "../../src/workshop/cuda/cute/cute_tma.cu"
#include "../../src/workshop/cuda/cute/cute_tma_copy.cu"
#include "../../src/workshop/cuda/cute/cute_tma_store.cu"
#include "workshop/rungs/cute.hpp"

namespace {

using namespace cornerturn;
using with_cute::Call;
using with_cute::Element;

using Run = cudaError_t (*)(const Call&);
constexpr Run runs[] = {with_cute::cute_copy,
                        with_cute::cute_tma_copy,
                        with_cute::cute_naive,
                        with_cute::cute_naive_wide,
                        with_cute::cute_smem,
                        with_cute::cute_smem_pad,
                        with_cute::cute_smem_swizzle,
                        with_cute::cute_smem_swizzle_2way,
                        with_cute::cute_smem_swizzle_64,
                        with_cute::cute_tma_store,
                        with_cute::cute_tma,
                        with_cute::cute_tma_diagonal};
static_assert(std::size(runs) == ladder::cute_infos.size());

int compared = 0;
int different = 0;

void check(const ladder::CuteInfo& rung, Run run, int rows, int cols) {
  constexpr Element poison = 0xdeadbeef;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  std::vector<Element> src(count + 4);
  std::vector<Element> dst(count + 8, poison);
  for (std::size_t i = 0; i < count; ++i) src[i] = static_cast<Element>(i * 2654435761U + 1);
  run({src.data(), dst.data() + 4, rows, cols});
  ++compared;
  bool equal = true;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const int to = rung.transposes ? col * rows + row : row * cols + col;
      equal = equal && dst[static_cast<std::size_t>(to + 4)] ==
                           src[static_cast<std::size_t>(row * cols + col)];
    }
  }
  for (std::size_t i = 0; i < 4; ++i)
    equal = equal && dst[i] == poison && dst[count + 4 + i] == poison;
  if (equal) return;
  ++different;
  std::printf("%s differs at %d x %d\n", rung.name, rows, cols);
}

}  // namespace

int main() {
  constexpr int shapes[][2] = {{0, 5},   {1, 1},    {1, 5000}, {5, 7},    {33, 65},   {64, 64},
                               {65, 63}, {128, 96}, {68, 132}, {100, 36}, {12, 2048}, {132, 37}};
  for (std::size_t i = 0; i < std::size(runs); ++i) {
    for (const auto& [rows, cols] : shapes) {
      const ladder::CuteInfo& rung = ladder::cute_infos[i];
      if (ladder::cute_why_not(rung, rows, cols, 4) == nullptr) check(rung, runs[i], rows, cols);
    }
  }
  std::printf("%d compared, %d different\n", compared, different);
  return different == 0 ? 0 : 1;
}
