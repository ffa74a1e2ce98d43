// The kernel that makes blocks of 32 of any array, and arrays of blocks, in the emulator; and which
// of the kernels takes what.
#include <cstring>

#include "run_blocks.hpp"
#include "support/any_blocks.hpp"
#include "support/stacks_of_blocks.hpp"

namespace cornerturn::simt {
namespace {

using plan::gpu::BlocksWork;

TEST(Blocks, AnyLayout) {
  test::RandomBlocks random(1);
  int general = 0;
  for (int i = 0; i < 120; ++i) {
    test::AnyBlocksCase c = random.next();
    SCOPED_TRACE(std::to_string(i) + ": " + c.text());
    Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
    test::quantise_obviously(c);
    const PlainArray array = c.array(plain.at);
    const BlockArrays blocks = c.blocks(values.at, scales.at);
    const std::vector<BlocksWork> works = plan::gpu::quantise_works(array, blocks, nullptr, c.rule);
    ASSERT_EQ(works.size(), 1U);
    general += works[0].kernel() == std::string_view("blocks") ? 1 : 0;
    run(works[0], {&plain}, {&values, &scales});
    ASSERT_EQ(values.bytes(), c.values.bytes);
    ASSERT_EQ(scales.bytes(), c.scales.bytes);

    std::fill(c.plain.bytes.begin(), c.plain.bytes.end(), std::byte{0x5a});
    Memory back(c.plain.bytes);
    test::dequantise_obviously(c);
    run(plan::gpu::dequantise_work(c.array(back.at), blocks, c.rule.format), {&values, &scales},
        {&back});
    ASSERT_EQ(back.bytes(), c.plain.bytes);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(general, 80);
}

TEST(Blocks, OddStacks) {
  test::for_odd_stacks_of_lines([](const test::StackOfLines& stack) {
    if (testing::Test::HasFailure()) return;
    test::AnyBlocksCase c = test::stack_of_lines(stack);
    SCOPED_TRACE(c.text());
    Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
    const BlocksWork back = plan::gpu::dequantise_work(
        c.array(plain.at), c.blocks(values.at, scales.at), c.rule.format);
    EXPECT_STREQ(back.kernel(), "blocks");
    run(back, {&values, &scales}, {&plain});
    test::dequantise_obviously(c);
    ASSERT_TRUE(plain.bytes() == c.plain.bytes);

    for (test::Side* side : {&c.values, &c.scales}) {
      std::fill(side->bytes.begin(), side->bytes.end(), std::byte{0xa5});
    }
    Memory to_values(c.values.bytes), to_scales(c.scales.bytes);
    const std::vector<BlocksWork> works = plan::gpu::quantise_works(
        c.array(plain.at), c.blocks(to_values.at, to_scales.at), nullptr, c.rule);
    ASSERT_EQ(works.size(), 1U);
    EXPECT_STREQ(works[0].kernel(), "blocks");
    run(works[0], {&plain}, {&to_values, &to_scales});
    test::quantise_obviously(c);
    ASSERT_TRUE(to_values.bytes() == c.values.bytes);
    ASSERT_TRUE(to_scales.bytes() == c.scales.bytes);
  });
}

TEST(Blocks, HalvesGoAwayFromZero) {
  test::AnyBlocksCase c = test::halves();
  Memory plain(c.plain.bytes), values(c.values.bytes);
  const std::vector<BlocksWork> works =
      plan::gpu::quantise_works(c.array(plain.at), c.blocks(values.at, nullptr), nullptr, c.rule);
  ASSERT_EQ(works.size(), 1U);
  run(works[0], {&plain}, {&values});
  test::quantise_obviously(c);
  EXPECT_TRUE(values.bytes() == c.values.bytes);
}

// A packed array and its packed blocks, both in the order of `shape`, permuted.
struct Packed {
  Packed(Kind kind, const Extents& stored, const std::vector<int>& order, bool q8) {
    c.type = ElementType(kind);
    c.rule.format = q8 ? values::BlockFormat::q8_0 : values::BlockFormat::mx_e4m3;
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

TEST(Blocks, MatricesHaveAKernelOfTheirOwn) {
  const struct {
    Extents stored;
    std::vector<int> order;
    const char* kernel;
  } cases[] = {
      {{64, 96}, {0, 1}, "quantise"},
      {{64, 96}, {1, 0}, "quantise"},
      {{3, 64, 96}, {0, 2, 1}, "quantise"},
      {{3, 32, 64}, {0, 1, 2}, "quantise"},
      {{64, 4, 32}, {1, 2, 0}, "quantise"},
      {{32, 64, 32}, {2, 0, 1}, "blocks"},
      {{33, 64}, {0, 1}, "blocks"},
      {{2, 32, 2, 32}, {0, 2, 3, 1}, "quantise"},
      {{2, 2, 32, 3, 32}, {1, 3, 4, 0, 2}, "blocks"},
  };
  for (const auto& one : cases) {
    for (const bool q8 : {false, true}) {
      for (const Kind kind : {Kind::f32, Kind::bf16}) {
        Packed made(kind, one.stored, one.order, q8);
        test::AnyBlocksCase& c = made.c;
        SCOPED_TRACE(c.text());
        Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
        const std::vector<BlocksWork> works = plan::gpu::quantise_works(
            c.array(plain.at), c.blocks(values.at, scales.at), nullptr, c.rule);
        ASSERT_EQ(works.size(), 1U);
        EXPECT_STREQ(works[0].kernel(), one.kernel);
        test::quantise_obviously(c);
        run(works[0], {&plain}, {&values, &scales});
        EXPECT_EQ(values.bytes(), c.values.bytes);
        EXPECT_EQ(scales.bytes(), c.scales.bytes);
      }
    }
  }
}

TEST(Blocks, BothWaysFromOneReading) {
  for (const bool turned_source : {false, true}) {
    for (const std::int64_t cols : {96, 80}) {
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
      const BlockArrays turned = across.c.blocks(turned_values.at, turned_scales.at);
      const std::vector<BlocksWork> works = plan::gpu::quantise_works(
          along.c.array(plain.at), along.c.blocks(values.at, scales.at), &turned, along.c.rule);
      EXPECT_EQ(works.size(), cols == 96 ? 1U : 2U);
      for (const BlocksWork& work : works) {
        run(work, {&plain}, {&values, &scales, &turned_values, &turned_scales});
      }
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
