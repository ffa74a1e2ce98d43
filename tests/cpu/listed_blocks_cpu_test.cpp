// Blocks of what a list of indices names: the same bytes as from a copy of it, in every format,
// along every axis; and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/block_format.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn::test::listed_blocks {

using Bytes = std::vector<std::byte>;

constexpr const char* formats[] = {"q8_0", "mxfp8_e4m3", "mxfp8_32x32", "mxfp4",         "nvfp4",
                                   "q4_1", "fp8_1x128",  "fp8_128x128", "fp8_e5m2_1x128"};

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::int64_t product(const Extents& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t blocks_in(std::int64_t extent, int of_block) {
  return (extent + of_block - 1) / of_block;
}

// An array with its memory, filled with one byte.
struct Array {
  Bytes bytes;
  View view;

  Array(ElementType type, const Extents& shape)
      : bytes(static_cast<std::size_t>(product(shape) * type.size()), std::byte{0x55}),
        view(bytes.data(), type, shape) {}
  ConstView read() const { return view; }
};

// What blocks of a format along an axis are stored in.
struct Stored {
  Array values;
  Array scales;
  bool has_scales;

  Stored(BlockFormat format, Extents shape, int axis)
      : Stored(row_of(format), counted(row_of(format), shape, axis), axis) {}

  const View* codes() const { return has_scales ? &scales.view : nullptr; }
  friend bool operator==(const Stored& a, const Stored& b) {
    return a.values.bytes == b.values.bytes && a.scales.bytes == b.scales.bytes;
  }

 private:
  static std::size_t across(const Extents& shape, int axis) {
    const std::size_t last = shape.size() - 1;
    return static_cast<std::size_t>(axis) == last ? last - 1 : last;
  }
  static Extents counted(const BlockRow& row, Extents shape, int axis) {
    auto& along = shape[static_cast<std::size_t>(axis)];
    along = blocks_in(along, row.along);
    if (row.across > 1) {
      auto& lines = shape[across(shape, axis)];
      lines = blocks_in(lines, row.across);
    }
    return shape;
  }
  static Extents units(const BlockRow& row, Extents shape, int axis) {
    shape[static_cast<std::size_t>(axis)] *= row.along / row.values_per_unit();
    if (row.across > 1) shape[across(shape, axis)] *= row.across;
    return shape;
  }
  static ElementType type_of(const BlockRow& row) {
    switch (row.element) {
      case BlockElement::packed:
        return ElementType::bytes(row.unit_bytes());
      case BlockElement::e5m2:
        return ElementType(Kind::f8_e5m2);
      case BlockElement::e4m3:
        return ElementType(Kind::f8_e4m3);
      case BlockElement::e2m1:
        break;
    }
    return ElementType(Kind::u8);
  }
  Stored(const BlockRow& row, const Extents& blocks, int axis)
      : values(type_of(row), units(row, blocks, axis)),
        scales(ElementType(row.scale == ScaleType::f32 ? Kind::f32 : Kind::u8), blocks),
        has_scales(row.has_scales()) {}
};

// An array of plain values, and a list of entries along one of its axes.
class Case {
 public:
  explicit Case(unsigned seed) : random_(seed) {
    const int rank = 2 + pick(2);
    for (int i = 0; i < rank; ++i) pool_shape_.push_back(1 + pick(i == 0 ? 200 : 90));
    list_axis_ = pick(rank);
    axis_ = pick(rank);
    type_ = ElementType(seed % 2 == 0 ? Kind::f32 : Kind::bf16);
    const std::int64_t count = pool_shape_[static_cast<std::size_t>(list_axis_)];
    shape_ = pool_shape_;
    shape_[static_cast<std::size_t>(list_axis_)] = pick(static_cast<int>(count) + 70);
  }

  int pick(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  std::vector<std::int32_t> indices(bool once) {
    const auto count = static_cast<int>(pool_shape_[static_cast<std::size_t>(list_axis_)]);
    const auto entries = static_cast<std::size_t>(shape_[static_cast<std::size_t>(list_axis_)]);
    std::vector<std::int32_t> all(static_cast<std::size_t>(count) + entries, -1);
    if (once) {
      for (int k = 0; k < count; ++k) all[static_cast<std::size_t>(k)] = k;
      std::shuffle(all.begin(), all.end(), random_);
    } else {
      for (auto& index : all) index = pick(count + 1) - 1;
    }
    all.resize(entries);
    return all;
  }
  Array pool(const Extents& shape) {
    Array array(type_, shape);
    for (std::size_t i = 0; i < array.bytes.size(); i += static_cast<std::size_t>(type_.size())) {
      const float value = static_cast<float>(pick(2001) - 1000) / 64;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      if (type_.size() == 2) bits >>= 16;
      std::memcpy(&array.bytes[i], &bits, static_cast<std::size_t>(type_.size()));
    }
    return array;
  }

  std::mt19937 random_;
  Extents pool_shape_;
  Extents shape_;
  int list_axis_ = 0;
  int axis_ = 0;
  ElementType type_{Kind::f32};
};

class ListedBlocks : public testing::TestWithParam<const char*> {};

TEST_P(ListedBlocks, AreThoseOfACopy) {
  const BlockFormat format = block_format(GetParam());
  BlockOptions options;
  options.pad = true;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Case c(seed);
    const Array pool = c.pool(c.pool_shape_);
    const auto indices = c.indices(false);
    const auto entries = static_cast<std::int64_t>(indices.size());
    options.threads = 1 + static_cast<int>(seed % 2);
    if (row_of(format).has_scales() && seed % 5 == 0) {
      options.rounding = Rounding::stochastic;
      options.seed = seed;
    } else {
      options.rounding = Rounding::nearest_even;
    }
    Array copied(c.type_, c.shape_);
    const auto listed = indexed(pool.read(), c.list_axis_, indices.data(), entries);
    copy(copied.view, listed);
    Stored expected(format, c.shape_, c.axis_);
    quantise(format, expected.values.view, expected.codes(), copied.read(), c.axis_, options);
    Stored found(format, c.shape_, c.axis_);
    quantise_listed(format, found.values.view, found.codes(), listed, c.axis_, options);
    EXPECT_TRUE(found == expected) << "seed " << seed;
    if (!found.has_scales || c.shape_.size() != 2) continue;
    const Extents turned = {c.shape_[1], c.shape_[0]};
    Stored rows(format, c.shape_, 1), columns(format, turned, 1);
    quantise_both(format, rows.values.view, rows.scales.view, columns.values.view,
                  columns.scales.view, copied.read(), options);
    Stored found_rows(format, c.shape_, 1), found_columns(format, turned, 1);
    quantise_both_listed(format, found_rows.values.view, found_rows.scales.view,
                         found_columns.values.view, found_columns.scales.view, listed, options);
    EXPECT_TRUE(found_rows == rows && found_columns == columns) << "both, seed " << seed;
  }
}

TEST_P(ListedBlocks, ComeBackToTheirEntries) {
  const BlockFormat format = block_format(GetParam());
  BlockOptions options;
  options.pad = true;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Case c(seed);
    const Array values = c.pool(c.shape_);
    const auto indices = c.indices(true);
    Stored blocks(format, c.shape_, c.axis_);
    quantise(format, blocks.values.view, blocks.codes(), values.read(), c.axis_, options);
    const ConstView scales = blocks.scales.read();
    const ConstView* codes = blocks.has_scales ? &scales : nullptr;
    Array plain(c.type_, c.shape_);
    dequantise(format, plain.view, blocks.values.read(), codes, c.axis_, options);
    Array expected(c.type_, c.pool_shape_), found(c.type_, c.pool_shape_);
    const auto entries = static_cast<std::int64_t>(indices.size());
    copy(indexed(expected.view, c.list_axis_, indices.data(), entries), plain.read());
    dequantise_listed(format, indexed(found.view, c.list_axis_, indices.data(), entries),
                      blocks.values.read(), codes, c.axis_, options);
    EXPECT_EQ(found.bytes, expected.bytes) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ListedBlocks, testing::ValuesIn(formats),
                         [](const auto& format) { return std::string(format.param); });

// Rows of 128 values.
class ListedBlocksRefused : public testing::Test {
 protected:
  ConstListedView source(std::vector<std::int64_t> indices) {
    table_ = std::move(indices);
    return indexed(pool.read(), 0, table_.data(), static_cast<std::int64_t>(table_.size()));
  }
  std::string of(const ConstListedView& src, const BlockOptions& options = {}) {
    return refusal(
        [&] { quantise_listed(format, rows.values.view, rows.codes(), src, 1, options); });
  }

  const BlockFormat format = BlockFormat::fp8_1x128;
  const ElementType f32{Kind::f32};
  Array pool{f32, {6, 128}};
  Stored rows{format, {3, 128}, 1};
  std::vector<std::int64_t> table_;
};

TEST_F(ListedBlocksRefused, WhatIsWrongIsNamedAndNothingIsWritten) {
  const Stored untouched = rows;
  EXPECT_EQ(of(source({0, 6, 1})),
            "src.list: index 1 is 6, but it has to be less than 6, and -1 at least");
  EXPECT_EQ(of(source({0, 1, -2})),
            "src.list: index 2 is -2, but it has to be less than 6, and -1 at least");
  ConstListedView src = source({0, 1, 2});
  src.list.places = Places::pointers;
  EXPECT_EQ(of(src), "src.list.places = pointers: of blocks a list has indices");
  src = source({0, 1, 2});
  src.list.missing = Missing::left;
  EXPECT_EQ(of(src), "src.list.missing = left: blocks are made of zeros there");
  src = source({0, 1, 2});
  src.list.axis = 2;
  EXPECT_EQ(of(src), "src.list.axis = 2 is out of range for rank 2");
  src.list.axis = 0;
  src.list.table = nullptr;
  EXPECT_EQ(of(src), "src.list.table.data = null");
  BlockOptions described;
  described.device = "h200";
  const Plan on_gpu =
      plan_quantise_listed(format, rows.values.view, rows.codes(), source({0, 1, 2}), 1, described);
  EXPECT_NE(on_gpu.to_string().find("NVIDIA H200"), std::string::npos) << on_gpu.to_string();
  EXPECT_TRUE(rows == untouched);
  // Blocks may lie in the array, but in none of what an index may name.
  pool.view.data = rows.values.bytes.data();
  EXPECT_EQ(of(source({0, 1, 2})), "values overlaps src in memory");
}

TEST_F(ListedBlocksRefused, PlacesThatWouldBeWrittenTwice) {
  const ConstView scales = rows.scales.read();
  const std::int32_t twice[] = {4, 0, 4};
  const Array untouched = pool;
  EXPECT_EQ(refusal([&] {
              dequantise_listed(format, indexed(pool.view, 0, twice, 3), rows.values.read(),
                                &scales, 1);
            }),
            "dst.list: entries 0 and 2 are equal: a place is written once at most");
  EXPECT_EQ(pool.bytes, untouched.bytes);
}

TEST_F(ListedBlocksRefused, ThePlanSaysThatThereIsAList) {
  const Plan plan =
      plan_quantise_listed(format, rows.values.view, rows.codes(), source({0, -1, 2}), 1);
  EXPECT_EQ(plan.kernel(), "blocks");
  EXPECT_NE(plan.explain().find("listed (3):i64*512->+128"), std::string::npos) << plan.explain();
}

}  // namespace cornerturn::test::listed_blocks
