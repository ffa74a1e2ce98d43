// The kernel that quantises matrices to blocks of 32, in the emulator.
#include <algorithm>
#include <cstring>

#include "plan/gpu/quantise.hpp"
#include "simt/emulator.hpp"
#include "support.hpp"
#include "support/blocks.hpp"

namespace cornerturn::simt {
namespace {

using kernels::BlockFormat;

struct Aligned {
  explicit Aligned(std::size_t bytes) : size(bytes), storage(bytes + 512, std::byte{0xa5}) {
    at = storage.data() + (256 - reinterpret_cast<std::uintptr_t>(storage.data()) % 256);
  }
  std::size_t size;
  std::vector<std::byte> storage;
  std::byte* at;
};

void check(Kind kind, BlockFormat format, std::int64_t rows, std::int64_t cols, bool along_rows,
           bool along_cols, values::MxScale rule = values::MxScale::floor) {
  const std::int64_t size = ElementType(kind).size();
  const std::int64_t pitch = (cols + 16) * size;
  Aligned src(static_cast<std::size_t>(rows * pitch));
  const std::vector<std::byte> elements = test::values_for_blocks(kind, rows * (cols + 16));
  std::memcpy(src.at, elements.data(), elements.size());
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return test::value_at(kind, src.at + r * pitch + c * size);
  };
  const test::QuantisedLines of_rows = test::quantised_lines(format, rule, rows, cols, at);
  const test::QuantisedLines of_cols = test::quantised_lines(
      format, rule, cols, rows, [&](std::int64_t c, std::int64_t r) { return at(r, c); });
  Aligned row_values(of_rows.values.size()), row_scales(of_rows.scales.size());
  Aligned col_values(of_cols.values.size()), col_scales(of_cols.scales.size());

  kernels::QuantiseArgs args;
  args.src = src.at;
  args.pitch = pitch;
  args.rows = static_cast<std::uint32_t>(rows);
  args.cols = static_cast<std::uint32_t>(cols);
  args.kind = kind;
  args.format = format;
  args.rule = rule;
  Emulator emulator;
  emulator.input("src", src.at, src.size);
  if (along_rows) {
    args.along_rows = {row_values.at, row_scales.at};
    emulator.output("row values", row_values.at, row_values.size);
    if (row_scales.size > 0) emulator.output("row scales", row_scales.at, row_scales.size);
  }
  if (along_cols) {
    args.along_cols = {col_values.at, col_scales.at};
    emulator.output("column values", col_values.at, col_values.size);
    if (col_scales.size > 0) emulator.output("column scales", col_scales.at, col_scales.size);
  }
  const Launch launch = plan::gpu::prepare_quantise(args);
  kernels::dispatch(args, [&]<class Kernel>() {
    emulator.launch("quantise", Mode::recording, launch,
                    [&](auto& ctx) { Kernel::run(ctx, args); });
  });
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + " of " +
               ElementType(kind).name() + ", format " + std::to_string(static_cast<int>(format)));
  for (const Finding& finding : emulator.findings()) ADD_FAILURE() << finding.message();
  const auto same = [](const char* what, const std::vector<std::byte>& expected,
                       const Aligned& got) {
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.at).first;
    EXPECT_TRUE(wrong == expected.end()) << what << " differ first at " << wrong - expected.begin();
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

TEST(Quantise, BothWays) {
  for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
    for (const BlockFormat format : {BlockFormat::mx_e4m3, BlockFormat::mx_e5m2}) {
      for (const auto& [rows, cols] : {std::pair{128, 128}, {32, 32}, {160, 288}, {288, 96}}) {
        check(kind, format, rows, cols, true, true);
        check(kind, format, rows, cols, true, false, values::MxScale::ceil);
        check(kind, format, rows, cols, false, true);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Quantise, Q8) {
  for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
    for (const auto& [rows, cols] : {std::pair{256, 64}, {32, 32}, {288, 96}, {96, 352}}) {
      check(kind, BlockFormat::q8_0, rows, cols, true, false);
      check(kind, BlockFormat::q8_0, rows, cols, false, true);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cornerturn::simt
