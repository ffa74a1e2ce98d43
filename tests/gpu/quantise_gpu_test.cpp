// Blocks of 32 values on the GPU that is here: the kernels for matrices, and the public functions
// with arrays of any layout.
// `--gtest_filter=*QuantiseChecked*` is the list for compute-sanitizer.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "cornerturn/cornerturn.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/engine.hpp"
#include "plan/planner.hpp"
#include "support/any_blocks.hpp"
#include "support/blocks.hpp"
#include "support/stacks_of_blocks.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using plan::Plan;

Plan plan_for(const Problem& problem, const std::string& kernel, std::int64_t src_alignment = 16) {
  return make_plan(problem, cuda::machine_of(cuda::current_device()),
                   {1, kernel, {true, src_alignment}});
}

void check_matrix(Kind kind, BlockFormat format, std::int64_t rows, std::int64_t cols,
                  bool along_rows, bool along_cols,
                  values::BlockScale rule = values::BlockScale::floor) {
  const std::int64_t size = ElementType(kind).size();
  const std::int64_t pitch = (cols + 16) * size;
  const std::vector<std::byte> elements = test::values_for_blocks(kind, rows * (cols + 16));
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return test::value_at(kind, elements.data() + r * pitch + c * size);
  };
  const test::QuantisedLines of_rows = test::quantised_lines(format, rule, rows, cols, at);
  const test::QuantisedLines of_cols = test::quantised_lines(
      format, rule, cols, rows, [&](std::int64_t c, std::int64_t r) { return at(r, c); });
  const DeviceBuffer src(static_cast<std::int64_t>(elements.size()));
  check(cudaMemcpy(src.get(), elements.data(), elements.size(), cudaMemcpyHostToDevice),
        "cudaMemcpy");
  const auto poisoned = [](const std::vector<std::byte>& like) {
    DeviceBuffer buffer(std::max<std::int64_t>(1, static_cast<std::int64_t>(like.size())));
    std::vector<std::byte> poison = like;
    for (std::byte& byte : poison) byte = ~byte;
    check(cudaMemcpy(buffer.get(), poison.data(), poison.size(), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    return buffer;
  };
  const DeviceBuffer row_values = poisoned(of_rows.values), row_scales = poisoned(of_rows.scales);
  const DeviceBuffer col_values = poisoned(of_cols.values), col_scales = poisoned(of_cols.scales);
  const Problem problem =
      test::matrix_problem(kind, {format, rule}, rows, cols, pitch, along_rows, along_cols);
  Buffers buffers{row_values.get(), src.get(), {}, {row_scales.get()}};
  if (!along_rows) buffers = {col_values.get(), src.get(), {}, {col_scales.get()}};
  if (along_rows && along_cols) {
    buffers.blocks.second = col_values.get();
    buffers.blocks.second_scales = col_scales.get();
  }
  const Plan plan = plan_for(problem, "quantise");
  cuda::execute(plan, buffers, nullptr);
  check(cudaDeviceSynchronize(), "quantise");
  const auto same = [&](const char* what, const std::vector<std::byte>& expected,
                        const DeviceBuffer& gpu) {
    std::vector<std::byte> got(expected.size());
    check(cudaMemcpy(got.data(), gpu.get(), got.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    EXPECT_TRUE(wrong == expected.end())
        << what << " of " << rows << " x " << cols << " " << ElementType(kind).name() << ", format "
        << static_cast<int>(format) << ", differ first at " << wrong - expected.begin();
  };
  if (along_rows) {
    same("row values", of_rows.values, row_values);
    same("row scales", of_rows.scales, row_scales);
  }
  if (along_cols) {
    same("column values", of_cols.values, col_values);
    same("column scales", of_cols.scales, col_scales);
  }
}

void check_all(std::int64_t rows, std::int64_t cols) {
  for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
    for (const BlockFormat format : {BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2}) {
      check_matrix(kind, format, rows, cols, true, true);
      check_matrix(kind, format, rows, cols, true, false, values::BlockScale::ceil);
      check_matrix(kind, format, rows, cols, false, true);
    }
    check_matrix(kind, BlockFormat::q8_0, rows, cols, true, false);
    check_matrix(kind, BlockFormat::q8_0, rows, cols, false, true);
  }
}

TEST(QuantiseOnGpu, Matrices) {
  for (const auto& [rows, cols] : {std::pair{128, 128}, {32, 32}, {1184, 736}, {96, 2048}}) {
    check_all(rows, cols);
  }
}

TEST(QuantiseChecked, Matrices) {
  check_all(160, 288);
}

// On the GPU, with bytes around the elements that have to stay.
struct OnGpu {
  explicit OnGpu(const test::Side& side)
      : bytes(side.bytes.size()), buffer(static_cast<std::int64_t>(bytes) + 16) {
    check(cudaMemcpy(buffer.get(), side.bytes.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<std::byte> get() const {
    std::vector<std::byte> out(bytes);
    check(cudaMemcpy(out.data(), buffer.get(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return out;
  }
  std::size_t bytes;
  DeviceBuffer buffer;
};

// With bytes that have to stay before and after the matrices, too.
void check_dequantised(test::AnyBlocksCase c) {
  SCOPED_TRACE(c.text());
  constexpr std::size_t guard = 512;
  c.plain.first += guard;
  c.plain.bytes.insert(c.plain.bytes.begin(), guard, std::byte{0x5a});
  c.plain.bytes.insert(c.plain.bytes.end(), guard, std::byte{0x5a});
  const OnGpu plain(c.plain), values(c.values), scales(c.scales);
  const Buffers buffers =
      c.buffers(true, plain.buffer.get(), values.buffer.get(), scales.buffer.get());
  const Plan plan = plan_for(c.problem(true), "dequantise", std::gcd(c.values.first, 16));
  cuda::execute(plan, buffers, nullptr);
  check(cudaDeviceSynchronize(), "dequantise");
  test::dequantise_obviously(c);
  EXPECT_TRUE(plain.get() == c.plain.bytes);
}

TEST(QuantiseOnGpu, StacksBack) {
  test::for_stacks_of_lines([](const test::StackOfLines& stack) {
    if (!testing::Test::HasFailure()) check_dequantised(test::stack_of_lines(stack));
  });
}

TEST(QuantiseChecked, StacksBack) {
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3}) {
    for (const bool turned : {false, true}) {
      check_dequantised(test::stack_of_lines({Kind::bf16, format, turned, 2, 71, 333, 8, 8}));
    }
  }
}

// A line for each scale, and in it every code of eight bits.
TEST(QuantiseOnGpu, EveryCodeAndScaleBack) {
  for (const BlockFormat format :
       {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2}) {
    const bool q8 = format == BlockFormat::q8_0;
    for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
      for (const bool turned : {false, true}) {
        test::AnyBlocksCase c =
            test::stack_of_lines({kind, format, turned, 1, q8 ? 65536 : 256, 256, 0, 0});
        std::byte* to = c.values.bytes.data();
        for (std::int64_t line = 0; line < c.shape[1]; ++line) {
          for (int code = 0; code < 256; ++code) {
            if (q8 && code % 32 == 0) {
              *to++ = static_cast<std::byte>(line);
              *to++ = static_cast<std::byte>(line >> 8);
            }
            *to++ = static_cast<std::byte>(code);
          }
        }
        for (std::size_t i = 0; i < c.scales.bytes.size(); ++i) {
          c.scales.bytes[i] = static_cast<std::byte>(i / 8);
        }
        check_dequantised(std::move(c));
      }
    }
  }
}

// Quantises what the array holds, and takes the blocks apart again.
void check_layout(test::AnyBlocksCase& c) {
  SCOPED_TRACE(c.text());
  const OnGpu plain(c.plain), values(c.values), scales(c.scales);
  test::quantise_obviously(c);
  Extents counted = c.shape, whole = c.shape;
  std::int64_t& blocks = counted[static_cast<std::size_t>(c.axis)];
  blocks = (blocks + 31) / 32;
  whole[static_cast<std::size_t>(c.axis)] = 32 * blocks;
  BlockOptions options;
  options.pad = true;
  options.scale = c.rule.scale == values::BlockScale::ceil ? BlockScale::ceil : BlockScale::floor;
  const ElementType element = c.q8() ? ElementType::bytes(q8_0_bytes)
                              : c.rule.format == BlockFormat::mxfp8_e4m3
                                  ? ElementType(Kind::f8_e4m3)
                                  : ElementType(Kind::f8_e5m2);
  const View to(values.buffer.get() + c.values.first, element, c.q8() ? counted : whole,
                c.values.strides);
  const View codes(scales.buffer.get() + c.scales.first, ElementType(Kind::u8),
                   c.q8() ? Extents{0} : counted, c.q8() ? Extents{1} : c.scales.strides);
  const View array(plain.buffer.get() + c.plain.first, c.type, c.shape, c.plain.strides);
  if (c.q8()) {
    quantise_q8_0(to, array, c.axis, options);
  } else {
    quantise_mxfp8(to, codes, array, c.axis, options);
  }
  check(cudaDeviceSynchronize(), "quantise");
  EXPECT_EQ(values.get(), c.values.bytes);
  EXPECT_EQ(scales.get(), c.scales.bytes);

  std::fill(c.plain.bytes.begin(), c.plain.bytes.end(), std::byte{0x5a});
  const OnGpu back(c.plain);
  test::dequantise_obviously(c);
  const View result(back.buffer.get() + c.plain.first, c.type, c.shape, c.plain.strides);
  if (c.q8()) {
    dequantise_q8_0(result, to, c.axis);
  } else {
    dequantise_mxfp8(result, to, codes, c.axis);
  }
  check(cudaDeviceSynchronize(), "dequantise");
  EXPECT_EQ(back.get(), c.plain.bytes);
}

void check_layouts(unsigned seed, int count) {
  test::RandomBlocks random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    test::AnyBlocksCase c = random.next();
    check_layout(c);
  }
}

TEST(QuantiseOnGpu, OddStacks) {
  test::for_odd_stacks_of_lines([](const test::StackOfLines& stack) {
    if (testing::Test::HasFailure()) return;
    test::AnyBlocksCase c = test::stack_of_lines(stack);
    test::dequantise_obviously(c);
    for (test::Side* side : {&c.values, &c.scales}) {
      std::fill(side->bytes.begin(), side->bytes.end(), std::byte{0xa5});
    }
    check_layout(c);
  });
}

TEST(QuantiseOnGpu, HalvesGoAwayFromZero) {
  test::AnyBlocksCase c = test::halves();
  check_layout(c);
}

TEST(QuantiseOnGpu, AnyLayout) {
  check_layouts(11, 1000);
}

TEST(QuantiseChecked, AnyLayout) {
  check_layouts(12, 60);
}

TEST(QuantiseOnGpu, BadArguments) {
  const DeviceBuffer gpu(1 << 16);
  std::vector<std::byte> host(1 << 16);
  const View blocks(gpu.get(), ElementType::bytes(q8_0_bytes), {4, 2});
  const auto message = [&](const ConstView& src) -> std::string {
    try {
      quantise_q8_0(blocks, src, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string mixed = message(ConstView(host.data(), ElementType(Kind::f32), {4, 64}));
  EXPECT_NE(mixed.find("is host memory"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("src"), std::string::npos) << mixed;
  const std::string odd =
      message(ConstView(gpu.get() + (1 << 15) + 2, ElementType(Kind::f32), {4, 64}));
  EXPECT_NE(odd.find("multiples of 4"), std::string::npos) << odd;
}

}  // namespace
}  // namespace cornerturn
