// The kernel that quantises matrices in tiles of 128 x 128 on the GPU that is here: every format,
// layout and direction, all bytes compared, those around the results with them.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "cornerturn/cornerturn.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "plan/planner.hpp"
#include "support/dequantised_tiles.hpp"
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

void check_random_tiles_back(unsigned seed, int count, std::int64_t most) {
  std::mt19937 random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const test::DequantisedTiles tiles(test::random_dequantised_case(random, most), seed);
    SCOPED_TRACE(tiles.c.text());
    const cuda::DeviceBuffer plain = on_gpu(tiles.before), values = on_gpu(tiles.blocks.values),
                             scales = on_gpu(tiles.blocks.scales);
    const plan::Plan plan = make_plan(tiles.problem, cuda::machine_of(cuda::current_device()),
                                      {1, "dequantise", {true}});
    cuda::execute(plan, tiles.buffers(plain.get(), values.get(), scales.get()), nullptr);
    cuda::check(cudaDeviceSynchronize(), "dequantise");
    std::vector<std::byte> got(tiles.after.size());
    cuda::check(cudaMemcpy(got.data(), plain.get(), got.size(), cudaMemcpyDeviceToHost),
                "cudaMemcpy");
    const auto wrong = std::mismatch(got.begin(), got.end(), tiles.after.begin()).first;
    EXPECT_TRUE(wrong == got.end()) << "they differ first at " << wrong - got.begin();
  }
}

TEST(QuantiseTilesOnGpu, Back) {
  check_random_tiles_back(7, 400, 700);
}

TEST(QuantiseTilesOnGpu, AnyLayout) {
  check_random_tiles(5, 400, 700);
}

// Of the public functions: what a CPU makes, with the tensor's scale found on either.
TEST(QuantiseTilesOnGpu, Nvfp4AsOnACpu) {
  constexpr std::int64_t rows = 224, cols = 416;
  std::vector<std::byte> plain(2 * rows * cols);
  std::mt19937 random(8);
  for (std::size_t i = 0; i < plain.size(); i += 2) {
    const auto x = values::convert<values::BF16>(
        static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F, Overflow::standard);
    std::memcpy(plain.data() + i, &x, 2);
  }
  const auto made = [&](std::byte* src, const auto& memory) {
    const ConstView x(src, ElementType(Kind::bf16), {rows, cols});
    BlockOptions options;
    options.scale_order = ScaleOrder::tiles_128x4;
    options.tensor_scale = nvfp4_tensor_scale(x);
    std::byte* const at = memory(rows * cols + 2 * 4 * 7 * 512);
    const ElementType byte(Kind::u8);
    const View of_rows(at, byte, {rows, cols / 2}),
        of_cols(at + rows * cols / 2, byte, {cols, rows / 2});
    std::byte* const scales = at + rows * cols;
    const View row_scales(scales, byte, {2, 7, 512}),
        col_scales(scales + 14 * 512, byte, {4, 4, 512});
    quantise_both(BlockFormat::nvfp4, of_rows, row_scales, of_cols, col_scales, x, options);
    return options.tensor_scale;
  };
  std::vector<std::byte> expected, got;
  const float of_cpu = made(plain.data(), [&](std::int64_t bytes) {
    expected.assign(static_cast<std::size_t>(bytes), std::byte{0});
    return expected.data();
  });
  const cuda::DeviceBuffer src = on_gpu(plain);
  std::vector<cuda::DeviceBuffer> result;
  const float of_gpu = made(src.get(), [&](std::int64_t bytes) {
    result.push_back(on_gpu(std::vector<std::byte>(static_cast<std::size_t>(bytes))));
    return result[0].get();
  });
  cuda::check(cudaDeviceSynchronize(), "quantise");
  got.resize(expected.size());
  cuda::check(cudaMemcpy(got.data(), result[0].get(), got.size(), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  EXPECT_EQ(of_cpu, of_gpu);
  EXPECT_TRUE(got == expected);
}

TEST(QuantiseChecked, Tiles) {
  check_random_tiles(6, 40, 300);
  check_random_tiles_back(9, 40, 300);
}

}  // namespace
}  // namespace cornerturn
