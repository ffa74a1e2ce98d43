// Every format of the table whose scales lie in an array of their own, there and back by planned
// kernels, against plain loops: random layouts, orders of scales, filled ends, several threads.
#include <gtest/gtest.h>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "plan/planner.hpp"
#include "support/format_blocks.hpp"

namespace cornerturn::test {
namespace {

#if defined(CORNERTURN_TSAN) || defined(CORNERTURN_ASAN)
constexpr int format_cases = 12;
#else
constexpr int format_cases = 60;
#endif

class BlockFormats : public testing::TestWithParam<BlockRow> {
 protected:
  static plan::Plan plan_for(const FormatCase& c, const Blocks& blocks, int threads) {
    const Problem problem = block_problem(c.type, c.shape, c.plain.strides, blocks);
    plan::Plan plan = make_plan(problem, cpu::cpu_info(), {threads, ""});
    plan.threads = threads;  // small cases too
    return plan;
  }
};

std::vector<BlockRow> rows_with_scales() {
  std::vector<BlockRow> rows;
  for (const BlockRow& row : block_rows) {
    if (row.has_scales()) rows.push_back(row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(All, BlockFormats, testing::ValuesIn(rows_with_scales()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(BlockFormats, RandomArraysThereAndBack) {
  RandomFormats random(static_cast<unsigned>(GetParam().format) + 77);
  const int cases = GetParam().across > 32 ? format_cases / 6 : format_cases;
  for (int i = 0; i < cases; ++i) {
    FormatCase c = random.next(GetParam().format);
    FormatCase made = c;
    const plan::Plan plan = plan_for(c, {c.rule, false, c.whole_layout(), {}}, 1 + i % 3);
    Buffers buffers;
    buffers.src = c.plain.bytes.data() + c.plain.first;
    buffers.dst = made.values.bytes.data() + made.values.first;
    buffers.blocks.scales = made.scales.bytes.data() + made.scales.first;
    buffers.blocks.tensor_scale = c.tensor_scale;
    cpu::execute(plan, buffers);
    quantise_obviously(c);
    ASSERT_EQ(made.scales.bytes, c.scales.bytes) << i << ": " << c.text();
    ASSERT_EQ(made.values.bytes, c.values.bytes) << i << ": " << c.text();

    for (std::byte& byte : c.plain.bytes) byte = std::byte{0x5a};
    made.plain.bytes = c.plain.bytes;
    const plan::Plan back = plan_for(c, {c.rule, true, c.whole_layout(), {}}, 1 + i % 3);
    buffers.src = c.values.bytes.data() + c.values.first;
    buffers.dst = made.plain.bytes.data() + made.plain.first;
    buffers.blocks.scales = c.scales.bytes.data() + c.scales.first;
    cpu::execute(back, buffers);
    dequantise_obviously(c);
    ASSERT_EQ(made.plain.bytes, c.plain.bytes) << i << ": " << c.text();
  }
}

TEST_P(BlockFormats, TwoResultsOfOneRead) {
  RandomFormats random(static_cast<unsigned>(GetParam().format) + 78);
  for (int i = 0; i < 12; ++i) {
    FormatCase c = random.next(GetParam().format);
    if (c.shape.size() != 2) continue;
    c.layout.axis = i % 2;
    if (c.layout.across >= 0) c.layout.across = 1 - c.layout.axis;
    random.lay_out_blocks(c);
    FormatCase other = c;
    other.layout.axis = 1 - c.layout.axis;
    if (other.layout.across >= 0) other.layout.across = 1 - other.layout.axis;
    random.lay_out_blocks(other);
    FormatCase made = c, made_other = other;
    const plan::Plan plan =
        plan_for(c, {c.rule, false, c.whole_layout(), other.whole_layout()}, 1 + i % 3);
    Buffers buffers;
    buffers.src = c.plain.bytes.data() + c.plain.first;
    buffers.dst = made.values.bytes.data() + made.values.first;
    buffers.blocks = {made.scales.bytes.data() + made.scales.first,
                      made_other.values.bytes.data() + made_other.values.first,
                      made_other.scales.bytes.data() + made_other.scales.first, c.tensor_scale};
    cpu::execute(plan, buffers);
    quantise_obviously(c);
    quantise_obviously(other);
    ASSERT_EQ(made.scales.bytes, c.scales.bytes) << i << ": " << c.text();
    ASSERT_EQ(made.values.bytes, c.values.bytes) << i << ": " << c.text();
    ASSERT_EQ(made_other.scales.bytes, other.scales.bytes) << i << ": " << other.text();
    ASSERT_EQ(made_other.values.bytes, other.values.bytes) << i << ": " << other.text();
  }
}

// A value becomes one of its two neighbours, the nearer one more often; seeds differ.
TEST_P(BlockFormats, StochasticRoundingIsRightOnAverage) {
  const BlockRow& row = GetParam();
  const std::int64_t side = 128;
  std::vector<float> x(static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 16 == 0 ? 4.0F : 1.1F;
  const Blocks blocks{
      {row.format, row.standard_rule(), Rounding::stochastic, 5},
      false,
      {1, {side / row.values_per_unit(), 1}, {row.scale_bytes() * side, row.scale_bytes()}, -1},
      {}};
  Blocks how = blocks;
  if (row.across > 1) how.first.across = 0;
  Blocks back = how;
  back.back = true;
  back.rule = {row.format, row.standard_rule()};
  std::vector<std::byte> values(x.size()), scales(x.size() * 4);
  std::vector<float> again(x.size());
  Problem problem = block_problem(ElementType(Kind::f32), {side, side}, {side * 4, 4}, how);
  Buffers buffers{values.data(), x.data()};
  buffers.blocks.scales = scales.data();
  buffers.blocks.tensor_scale = 448.0F * 6 / 4;
  cpu::execute(make_plan(problem, cpu::cpu_info(), {2, ""}), buffers);
  problem = block_problem(ElementType(Kind::f32), {side, side}, {side * 4, 4}, back);
  buffers.dst = again.data();
  buffers.src = values.data();
  cpu::execute(make_plan(problem, cpu::cpu_info(), {2, ""}), buffers);
  double sum = 0;
  int least = 0, most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 16 == 0) continue;
    sum += static_cast<double>(again[i]);
    (again[i] < 1.1F ? least : most) += 1;
  }
  EXPECT_NEAR(sum / (least + most), 1.1, 0.01);
  EXPECT_GT(least, 100);
  EXPECT_GT(most, 100);
}

}  // namespace
}  // namespace cornerturn::test
