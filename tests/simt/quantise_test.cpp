// The kernel that quantises matrices to blocks of 32, in the emulator.
#include <algorithm>
#include <cstring>

#include "run_blocks.hpp"
#include "support/blocks.hpp"

namespace cornerturn::simt {
namespace {

using plan::Plan;

void check(Kind kind, BlockFormat format, std::int64_t rows, std::int64_t cols, bool along_rows,
           bool along_cols, values::BlockScale rule = values::BlockScale::floor) {
  const std::int64_t size = ElementType(kind).size();
  const std::int64_t pitch = (cols + 16) * size;
  const Memory src(test::values_for_blocks(kind, rows * (cols + 16)));
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return test::value_at(kind, src.at + r * pitch + c * size);
  };
  const test::QuantisedLines of_rows = test::quantised_lines(format, rule, rows, cols, at);
  const test::QuantisedLines of_cols = test::quantised_lines(
      format, rule, cols, rows, [&](std::int64_t c, std::int64_t r) { return at(r, c); });
  const auto poisoned = [](std::size_t bytes) {
    return Memory(std::vector<std::byte>(bytes, std::byte{0xa5}));
  };
  const Memory row_values = poisoned(of_rows.values.size());
  const Memory row_scales = poisoned(of_rows.scales.size());
  const Memory col_values = poisoned(of_cols.values.size());
  const Memory col_scales = poisoned(of_cols.scales.size());

  Buffers buffers{row_values.at, src.at, {}, {row_scales.at}};
  if (!along_rows) buffers = {col_values.at, src.at, {}, {col_scales.at}};
  if (along_rows && along_cols) {
    buffers.blocks.second = col_values.at;
    buffers.blocks.second_scales = col_scales.at;
  }
  const Plan plan = plan_for(
      test::matrix_problem(kind, {format, rule}, rows, cols, pitch, along_rows, along_cols),
      buffers, "quantise");
  EXPECT_EQ(plan.kernel(), "quantise");
  Emulator emulator;
  emulator.input("src", src.at, src.size);
  const auto output = [&](const char* name, const Memory& memory) {
    if (memory.size > 0) emulator.output(name, memory.at, memory.size);
  };
  if (along_rows) {
    output("row values", row_values);
    output("row scales", row_scales);
  }
  if (along_cols) {
    output("column values", col_values);
    output("column scales", col_scales);
  }
  execute(emulator, plan, buffers, Mode::recording);
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + " of " +
               ElementType(kind).name() + ", format " + std::to_string(static_cast<int>(format)));
  expect_clean(emulator);
  const auto same = [](const char* what, const std::vector<std::byte>& expected,
                       const Memory& got) {
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
    for (const BlockFormat format : {BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2}) {
      for (const auto& [rows, cols] : {std::pair{128, 128}, {32, 32}, {160, 288}, {288, 96}}) {
        check(kind, format, rows, cols, true, true);
        check(kind, format, rows, cols, true, false, values::BlockScale::ceil);
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
