// Quantisation blocks made and read by planned kernels, against one block after the other: random
// layouts, boxes of every shape, filled ends, several threads, every vector target.
#include <gtest/gtest.h>

#include <array>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/targets.hpp"
#include "plan/cpu/block_boxes.hpp"
#include "plan/cpu/blocks.hpp"
#include "plan/planner.hpp"
#include "support/any_blocks.hpp"
#include "support/guarded_buffer.hpp"
#include "support/without_caches.hpp"

namespace cornerturn::test {
namespace {

#if defined(CORNERTURN_TSAN) || defined(CORNERTURN_ASAN)
constexpr int random_cases = 600;
#else
constexpr int random_cases = 4'000;
#endif

// The memory of a side between guard pages.
class Guarded {
 public:
  std::byte* place(const Side& side, GuardedBuffer::Touching touching) {
    at_ = buffer_.place(side.bytes.size(), touching);
    if (!side.bytes.empty()) std::memcpy(at_, side.bytes.data(), side.bytes.size());
    return at_ + side.first;
  }
  bool holds(const Side& side) const {
    return side.bytes.empty() || std::memcmp(at_, side.bytes.data(), side.bytes.size()) == 0;
  }

 private:
  GuardedBuffer buffer_{8 << 20};
  std::byte* at_ = nullptr;
};

class Blocks32 : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }

  static BlockLayout layout_of(const AnyBlocksCase& c) {
    return {c.axis, c.values.strides, c.q8() ? Extents{} : c.scales.strides};
  }

  // Every other one for a processor without caches.
  plan::Plan plan_for(const AnyBlocksCase& c, const Blocks& blocks) {
    static const plan::CpuInfo no_caches = without_caches();
    const Problem problem = block_problem(c.type, c.shape, c.plain.strides, blocks);
    const int threads = 1 + runs_ % 3;
    plan::Plan plan =
        make_plan(problem, ++runs_ % 2 == 0 ? no_caches : cpu::cpu_info(), {threads, ""});
    plan.threads = threads;  // small cases too
    return plan;
  }

  GuardedBuffer::Touching touching() const {
    return runs_ % 4 < 2 ? GuardedBuffer::Touching::front : GuardedBuffer::Touching::back;
  }

  // The blocks of `c`, and of `second`, which has the same plain values, where there is one. Bytes
  // between those of the blocks must stay.
  void quantise(const AnyBlocksCase& c, const AnyBlocksCase* second) {
    Blocks blocks{c.rule, false, layout_of(c), {}};
    if (second != nullptr) blocks.second = layout_of(*second);
    const plan::Plan plan = plan_for(c, blocks);
    Buffers buffers;
    buffers.src = plain_.place(c.plain, touching());
    buffers.dst = values_.place(c.values, touching());
    buffers.blocks.scales = scales_.place(c.scales, touching());
    if (second != nullptr) {
      buffers.blocks.second = second_values_.place(second->values, touching());
      buffers.blocks.second_scales = second_scales_.place(second->scales, touching());
    }
    cpu::execute(plan, buffers);
    AnyBlocksCase expected = c;
    quantise_obviously(expected);
    ASSERT_TRUE(values_.holds(expected.values)) << c.text() << "\n" << to_string(plan);
    ASSERT_TRUE(scales_.holds(expected.scales)) << c.text() << "\n" << to_string(plan);
    if (second == nullptr) return;
    expected = *second;
    quantise_obviously(expected);
    ASSERT_TRUE(second_values_.holds(expected.values)) << c.text() << "\n" << to_string(plan);
    ASSERT_TRUE(second_scales_.holds(expected.scales)) << c.text() << "\n" << to_string(plan);
  }

  void dequantise(AnyBlocksCase c) {
    quantise_obviously(c);
    for (std::byte& byte : c.plain.bytes) byte = std::byte{0x5a};
    const plan::Plan plan = plan_for(c, {c.rule, true, layout_of(c), {}});
    Buffers buffers;
    buffers.dst = plain_.place(c.plain, touching());
    buffers.src = values_.place(c.values, touching());
    buffers.blocks.scales = scales_.place(c.scales, touching());
    cpu::execute(plan, buffers);
    dequantise_obviously(c);
    ASSERT_TRUE(plain_.holds(c.plain)) << c.text() << "\n" << to_string(plan);
  }

 private:
  int runs_ = 0;
  Guarded plain_, values_, scales_, second_values_, second_scales_;
};

INSTANTIATE_TEST_SUITE_P(Targets, Blocks32, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST_P(Blocks32, RandomArraysThereAndBack) {
  RandomBlocks random(static_cast<unsigned>(std::hash<std::string>()(GetParam())));
  const auto targets = static_cast<int>(cpu::targets().size());
  for (int i = 0; i < random_cases / targets; ++i) {
    const AnyBlocksCase c = random.next();
    ASSERT_NO_FATAL_FAILURE(quantise(c, nullptr)) << "case " << i;
    ASSERT_NO_FATAL_FAILURE(dequantise(c)) << "case " << i;
  }
}

constexpr Kind plain_kinds[] = {Kind::f32, Kind::bf16, Kind::f64, Kind::i8};
constexpr BlockFormat formats[] = {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3,
                                   BlockFormat::mxfp8_e5m2};

// Arrays of several boxes that end within a box along each mode that boxes cut.
TEST_P(Blocks32, BoxesOfEveryShape) {
  struct Large {
    Extents shape;
    int axis;
  };
  const Large arrays[] = {{{150, 1100}, 1},  {{1100, 150}, 0},     {{1055, 140}, 0},
                          {{70'001}, 0},     {{7, 9, 600, 5}, 2},  {{3, 530, 200}, 1},
                          {{40, 33, 70}, 0}, {{2, 130, 3, 530}, 3}};
  RandomBlocks random(static_cast<unsigned>(std::hash<std::string>()(GetParam())) + 1);
  int most_shapes = 0;
  for (int i = 0; i < 36; ++i) {
    const Large& large = arrays[i % 8];
    AnyBlocksCase c;
    c.type = ElementType(plain_kinds[i % 4]);
    c.shape = large.shape;
    c.axis = large.axis;
    c.rule = {formats[i % 3], i % 2 == 0 ? BlockScale::floor : BlockScale::ceil};
    random.lay_out(c);
    ASSERT_NO_FATAL_FAILURE(quantise(c, nullptr)) << "case " << i;
    ASSERT_NO_FATAL_FAILURE(dequantise(c)) << "case " << i;
    const plan::Plan plan = plan_for(c, {c.rule, false, layout_of(c), {}});
    const auto& config = plan.chosen.config.as<plan::BlocksConfig>();
    most_shapes = std::max(most_shapes, static_cast<int>(config.boxes->plain.of_shape.size()));
  }
  EXPECT_GE(most_shapes, 4);
}

// A matrix quantised along both of its modes from one read.
TEST_P(Blocks32, TwoResultsOfOneRead) {
  const Extents shapes[] = {{32, 64}, {33, 70}, {1, 1}, {128, 128}, {300, 200}, {130, 515}};
  RandomBlocks random(static_cast<unsigned>(std::hash<std::string>()(GetParam())) + 2);
  for (int i = 0; i < 36; ++i) {
    AnyBlocksCase c;
    c.type = ElementType(plain_kinds[i % 4]);
    c.shape = shapes[i % 6];
    c.axis = i / 6 % 2;
    c.rule = {formats[i % 3], BlockScale::floor};
    AnyBlocksCase other = c;
    other.axis = 1 - c.axis;
    random.lay_out(c);
    random.lay_out(other);
    other.plain = c.plain;
    ASSERT_NO_FATAL_FAILURE(quantise(c, &other)) << "case " << i;
  }
}

TEST_P(Blocks32, AnArrayWithoutValuesIsLeftAlone) {
  const Problem problem =
      block_problem(ElementType(Kind::f32), {0, 64}, {256, 4}, {{}, false, {1, {68, 34}, {}}, {}});
  std::array<std::byte, 34> blocks{};
  const float value = 1;
  cpu::execute(make_plan(problem, cpu::cpu_info(), {1, ""}), Buffers{blocks.data(), &value});
  EXPECT_EQ(blocks, (std::array<std::byte, 34>{}));
}

}  // namespace
}  // namespace cornerturn::test
