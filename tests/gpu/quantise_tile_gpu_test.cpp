// The kernel that quantises matrices in tiles of 128 x 128 on the GPU that is here: every format,
// layout and direction, all bytes compared, those around the results with them.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>

#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "plan/planner.hpp"
#include "support/tiles_of_blocks.hpp"

namespace cornerturn {
namespace {

cuda::DeviceBuffer on_gpu(const std::vector<std::byte>& bytes) {
  cuda::DeviceBuffer buffer(static_cast<std::int64_t>(bytes.size()));
  cuda::check(cudaMemcpy(buffer.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
              "cudaMemcpy");
  return buffer;
}

void check_tiles(const test::TileCase& c) {
  SCOPED_TRACE(c.text());
  const test::QuantisedTiles tiles(c);
  const cuda::DeviceBuffer src = on_gpu(tiles.plain);
  std::vector<cuda::DeviceBuffer> results;
  for (const auto& bytes : tiles.before()) results.push_back(on_gpu(bytes));
  Buffers buffers =
      tiles.buffers(src.get(), [&](int i) { return results[static_cast<std::size_t>(i)].get(); });
  const auto* const table = static_cast<const std::byte*>(tiles.table());
  const cuda::DeviceBuffer entries = on_gpu({table, table + tiles.table_bytes()});
  if (c.listed < 2) buffers.lists.src = entries.get();
  const plan::Plan plan =
      make_plan(tiles.problem, cuda::machine_of(cuda::current_device()), {1, "quantise", {true}});
  cuda::execute(plan, buffers, nullptr);
  cuda::check(cudaDeviceSynchronize(), "quantise");
  const auto after = tiles.after();
  constexpr const char* names[] = {"row values", "row scales", "column values", "column scales"};
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<std::byte> got(after[i].size());
    cuda::check(cudaMemcpy(got.data(), results[i].get(), got.size(), cudaMemcpyDeviceToHost),
                "cudaMemcpy");
    const auto wrong = std::mismatch(after[i].begin(), after[i].end(), got.begin()).first;
    EXPECT_TRUE(wrong == after[i].end())
        << names[i] << " differ first at " << wrong - after[i].begin();
  }
}

void check_random_tiles(unsigned seed, int count, std::int64_t most) {
  std::mt19937 random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    check_tiles(test::random_tile_case(random, most));
  }
}

TEST(QuantiseTilesOnGpu, AnyLayout) {
  check_random_tiles(5, 400, 700);
}

TEST(QuantiseChecked, Tiles) {
  check_random_tiles(6, 40, 300);
}

}  // namespace
}  // namespace cornerturn
