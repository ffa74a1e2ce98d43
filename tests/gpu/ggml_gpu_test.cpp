// Tensors of ggml on a GPU.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "on_gpu.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::OwnStream;
using namespace test::on_gpu;

// Tensors of ggml: (64, 5, 7, 2), the source with dimensions 1 and 2 swapped in memory, rows of the
// destination with gaps. On the GPU as in host memory, the gaps as well.
TEST(GgmlOnGpu, CopiesAsInHostMemory) {
  const auto tensor = [](GgmlType type, std::int64_t row, std::int64_t pitch, bool swapped) {
    const auto element = static_cast<std::size_t>(type == GgmlType::q8_0 ? 34 : row / 64);
    const auto step = static_cast<std::size_t>(pitch);
    return GgmlTensor{type,
                      {64, 5, 7, 2},
                      {element, swapped ? 7 * step : step, swapped ? step : 5 * step, 35 * step},
                      nullptr};
  };
  const auto row_of = [](GgmlType type) -> std::int64_t {
    return type == GgmlType::q8_0 ? 68 : type == GgmlType::f32 || type == GgmlType::i32 ? 256 : 128;
  };
  const GgmlType types[] = {GgmlType::f32, GgmlType::f16, GgmlType::bf16, GgmlType::i32,
                            GgmlType::q8_0};
  const GgmlTensor numbers = tensor(GgmlType::f32, 256, 256, false);
  std::vector<float> values(64 * 5 * 7 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 2003) * 0.37F - 370;
  }
  const OwnStream stream;
  Options options;
  options.stream = stream;
  for (const GgmlType from : types) {
    const std::int64_t row = row_of(from);
    GgmlTensor src = tensor(from, row, row, true);
    Bytes source(static_cast<std::size_t>(70 * row));
    GgmlTensor start = numbers;
    start.data = values.data();
    src.data = source.data();
    ggml_cpy(src, start);
    const OnGpu source_there(source);
    for (const GgmlType to : types) {
      const std::int64_t pitch = to == GgmlType::q8_0 ? 102 : row_of(to) + 64;
      GgmlTensor dst = tensor(to, row_of(to), pitch, false);
      Bytes expected(static_cast<std::size_t>(70 * pitch), 0xa5);
      const OnGpu result = poisoned(70 * pitch);
      src.data = source.data();
      dst.data = expected.data();
      ggml_cpy(dst, src);
      src.data = source_there.data();
      dst.data = result.data();
      ggml_cpy(dst, src, options);
      check(cudaStreamSynchronize(stream), "ggml_cpy");
      EXPECT_TRUE(result.contents() == expected)
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

}  // namespace
}  // namespace cornerturn
