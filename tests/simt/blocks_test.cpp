// The kernel that makes blocks of 32 of any array, and arrays of blocks, in the emulator; and which
// of the kernels takes what.
#include <cstring>
#include <string_view>

#include "cornerturn/error.hpp"
#include "run_blocks.hpp"
#include "support/any_blocks.hpp"
#include "support/stacks_of_blocks.hpp"

namespace cornerturn::simt {
namespace {

using plan::Plan;

// Makes the blocks of c.plain with the kernel that is chosen, whose name it returns, and with the
// one for any layout. They are in `c` then.
std::string check_quantised(test::AnyBlocksCase& c, const char* first = "") {
  const Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
  test::quantise_obviously(c);
  std::string chosen;
  for (const char* forced : {first, "blocks"}) {
    if (chosen == "blocks") break;
    const Memory to_values(values.bytes()), to_scales(scales.bytes());
    const Buffers buffers = c.buffers(false, plain.at, to_values.at, to_scales.at);
    const Plan plan = plan_for(c.problem(false), buffers, forced);
    if (chosen.empty()) chosen = plan.kernel();
    EXPECT_EQ(plan.ready.then, nullptr);
    run(plan, buffers, {&plain}, {&to_values, &to_scales});
    EXPECT_TRUE(to_values.bytes() == c.values.bytes);
    EXPECT_TRUE(to_scales.bytes() == c.scales.bytes);
  }
  return chosen;
}

// The way back.
std::string check_dequantised(test::AnyBlocksCase& c) {
  const Memory values(c.values.bytes), scales(c.scales.bytes);
  std::fill(c.plain.bytes.begin(), c.plain.bytes.end(), std::byte{0x5a});
  const Memory plain(c.plain.bytes);
  test::dequantise_obviously(c);
  std::string chosen;
  for (const char* forced : {"", "blocks"}) {
    if (chosen == "blocks") break;
    const Memory to_plain(plain.bytes());
    const Buffers buffers = c.buffers(true, to_plain.at, values.at, scales.at);
    const Plan plan = plan_for(c.problem(true), buffers, forced);
    if (chosen.empty()) chosen = plan.kernel();
    run(plan, buffers, {&values, &scales}, {&to_plain});
    EXPECT_TRUE(to_plain.bytes() == c.plain.bytes);
  }
  return chosen;
}

TEST(Blocks, AnyLayout) {
  test::RandomBlocks random(1);
  int general = 0;
  for (int i = 0; i < 120; ++i) {
    test::AnyBlocksCase c = random.next();
    SCOPED_TRACE(std::to_string(i) + ": " + c.text());
    general += check_quantised(c) == "blocks" ? 1 : 0;
    check_dequantised(c);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(general, 80);
}

TEST(Blocks, OddStacks) {
  test::for_odd_stacks_of_lines([](const test::StackOfLines& stack) {
    if (testing::Test::HasFailure()) return;
    test::AnyBlocksCase c = test::stack_of_lines(stack);
    SCOPED_TRACE(c.text());
    EXPECT_EQ(check_dequantised(c), "blocks");
    for (test::Side* side : {&c.values, &c.scales}) {
      std::fill(side->bytes.begin(), side->bytes.end(), std::byte{0xa5});
    }
    EXPECT_EQ(check_quantised(c), "blocks");
  });
}

TEST(Blocks, HalvesGoAwayFromZero) {
  test::AnyBlocksCase c = test::halves();
  check_quantised(c);
}

// A packed array and its packed blocks, both in the order of `shape`, permuted.
struct Packed {
  Packed(Kind kind, const Extents& stored, const std::vector<int>& order, bool q8) {
    c.type = ElementType(kind);
    c.rule.format = q8 ? values::BlockFormat::q8_0 : values::BlockFormat::mxfp8_e4m3;
    Extents strides(stored.size());
    std::int64_t stride = c.type.size();
    for (std::size_t i = stored.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= stored[i];
    }
    c.plain.bytes.resize(static_cast<std::size_t>(stride));
    for (const int i : order) {
      c.shape.push_back(stored[static_cast<std::size_t>(i)]);
      c.plain.strides.push_back(strides[static_cast<std::size_t>(i)]);
    }
    c.axis = static_cast<int>(order.size()) - 1;
    Extents counted = c.shape;
    counted.back() /= 32;
    c.values = packed(q8 ? counted : c.shape, q8 ? 34 : 1);
    if (!q8) c.scales = packed(counted, 1);
    const auto floats = static_cast<std::int64_t>(c.plain.bytes.size()) / c.type.size();
    for (std::int64_t i = 0; i < floats; ++i) {
      const auto x = static_cast<float>((i * 7919) % 1013 - 500) * 0.37F;
      values::with_kind(kind, [&]<class T>(values::Type<T>) {
        if constexpr (values::is_float<T>) {
          const T element = values::convert<T>(x, Overflow::standard);
          std::memcpy(c.plain.bytes.data() + i * c.type.size(), &element, sizeof element);
        }
      });
    }
  }
  static test::Side packed(const Extents& shape, std::int64_t size) {
    test::Side side;
    side.strides.resize(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
      side.strides[i] = size;
      size *= shape[i];
    }
    side.bytes.resize(static_cast<std::size_t>(size), std::byte{0xa5});
    return side;
  }
  test::AnyBlocksCase c;
};

TEST(Blocks, LaunchesHaveABlockForEveryTile) {
  const test::AnyBlocksCase c = test::stack_of_lines({.lines = 256, .length = 4096});
  const plan::Plan plan = plan_for(c.problem(false), {}, "blocks");
  const std::uint64_t blocks = 256 * 4096 / 32;  // each is a lane's
  EXPECT_EQ(plan.ready.launch.grid.count() * plan.ready.launch.block.count(), blocks);
}

TEST(Blocks, MatricesHaveAKernelOfTheirOwn) {
  const struct {
    Extents stored;
    std::vector<int> order;
    const char* kernel;
    const char* of_mx = nullptr;  // where it is another one
  } cases[] = {
      {{64, 96}, {0, 1}, "quantise"},
      {{64, 96}, {1, 0}, "quantise"},
      {{3, 64, 96}, {0, 2, 1}, "quantise"},
      {{3, 32, 64}, {0, 1, 2}, "quantise"},
      {{64, 4, 32}, {1, 2, 0}, "quantise"},
      {{32, 64, 32}, {2, 0, 1}, "blocks", "quantise"},
      {{33, 64}, {0, 1}, "blocks", "quantise"},
      {{2, 32, 2, 32}, {0, 2, 3, 1}, "quantise"},
      {{2, 2, 32, 3, 32}, {1, 3, 4, 0, 2}, "blocks"},
  };
  for (const auto& one : cases) {
    for (const bool q8 : {false, true}) {
      for (const Kind kind : {Kind::f32, Kind::bf16}) {
        Packed made(kind, one.stored, one.order, q8);
        test::AnyBlocksCase& c = made.c;
        SCOPED_TRACE(c.text());
        const char* const kernel = q8 || one.of_mx == nullptr ? one.kernel : one.of_mx;
        if (std::string_view(kernel) == "blocks") {
          EXPECT_THROW(plan_for(c.problem(false), {}, "quantise"), Error);
        }
        EXPECT_EQ(check_quantised(c, kernel), kernel);
      }
    }
  }
}

TEST(Blocks, BothWaysFromOneReading) {
  for (const bool turned_source : {false, true}) {
    for (const auto& [cols, forced] : {std::pair{96, ""}, {96, "blocks"}, {82, ""}}) {
      const Extents stored{64, cols};
      const std::vector<int> order =
          turned_source ? std::vector<int>{1, 0} : std::vector<int>{0, 1};
      Packed along(Kind::bf16, stored, order, false);
      Packed across = along;
      across.c.axis = 0;
      // Its blocks lie as those of the transpose.
      const Extents shape = across.c.shape;
      const auto whole = [](std::int64_t extent) { return (extent + 31) / 32 * 32; };
      const auto turn = [](test::Side side) {
        std::swap(side.strides[0], side.strides[1]);
        return side;
      };
      along.c.values = Packed::packed({shape[0], whole(shape[1])}, 1);
      along.c.scales = Packed::packed({shape[0], whole(shape[1]) / 32}, 1);
      across.c.values = turn(Packed::packed({shape[1], whole(shape[0])}, 1));
      across.c.scales = turn(Packed::packed({shape[1], whole(shape[0]) / 32}, 1));
      SCOPED_TRACE(along.c.text());
      Memory plain(along.c.plain.bytes);
      Memory values(along.c.values.bytes), scales(along.c.scales.bytes);
      Memory turned_values(across.c.values.bytes), turned_scales(across.c.scales.bytes);
      Problem problem = along.c.problem(false);
      Blocks both = *problem.blocks;
      both.second = across.c.problem(false).blocks->first;
      problem.blocks = std::make_shared<const Blocks>(both);
      const Buffers buffers{
          values.at, plain.at, {}, {scales.at, turned_values.at, turned_scales.at}};
      const Plan plan = plan_for(problem, buffers, forced);
      EXPECT_EQ(plan.kernel(), cols == 96 && *forced == 0 ? "quantise" : "blocks");
      EXPECT_EQ(plan.ready.then != nullptr, plan.kernel() == "blocks");
      run(plan, buffers, {&plain}, {&values, &scales, &turned_values, &turned_scales});
      test::quantise_obviously(along.c);
      test::quantise_obviously(across.c);
      EXPECT_EQ(values.bytes(), along.c.values.bytes);
      EXPECT_EQ(scales.bytes(), along.c.scales.bytes);
      EXPECT_EQ(turned_values.bytes(), across.c.values.bytes);
      EXPECT_EQ(turned_scales.bytes(), across.c.scales.bytes);
    }
  }
}

}  // namespace
}  // namespace cornerturn::simt
