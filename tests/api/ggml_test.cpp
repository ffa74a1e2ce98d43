// ggml's copy operator, linked as a backend would link it, against element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/ggml_reference.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

using ggml_reference::bytes_of;
using ggml_reference::count;
using ggml_reference::place;
using ggml_reference::reference;
using ggml_reference::store;
using Bytes = std::vector<std::uint8_t>;

// The longest even start of a sequence of pairs of places.
std::size_t even_start(const std::vector<std::pair<std::int64_t, std::int64_t>>& at) {
  std::size_t n = std::min<std::size_t>(at.size(), 2);
  while (n < at.size() && at[n].first - at[n - 1].first == at[1].first - at[0].first &&
         at[n].second - at[n - 1].second == at[1].second - at[0].second) {
    ++n;
  }
  return n;
}

// Is there one problem that makes these pairs? Each of its modes is an even run of what remains.
// Values of a block lie evenly, too.
bool is_one_problem(const GgmlTensor& dst, const GgmlTensor& src) {
  const bool blocks = (dst.type == GgmlType::q8_0) != (src.type == GgmlType::q8_0);
  const auto at = [&](const GgmlTensor& t, std::int64_t i) {
    return t.type == GgmlType::q8_0 && blocks ? 64 * place(t, i) + i % 32 : place(t, i);
  };
  const bool whole = dst.type == GgmlType::q8_0 && !blocks;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t i = 0; i < count(src); i += whole ? 32 : 1) {
    pairs.emplace_back(at(src, i), at(dst, i));
  }
  bool first = true;
  while (pairs.size() > 1) {
    const std::size_t run = even_start(pairs);
    if (pairs.size() % run != 0 || (first && blocks && run != 32)) return false;
    first = false;
    std::vector<std::pair<std::int64_t, std::int64_t>> rest;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [s, d] = pairs[i];
      const auto& start = pairs[i - i % run];
      if (s - start.first != pairs[i % run].first - pairs[0].first ||
          d - start.second != pairs[i % run].second - pairs[0].second) {
        return false;
      }
      if (i % run == 0) rest.push_back(start);
    }
    pairs = std::move(rest);
  }
  return true;
}

// Tensors as ggml makes them: packed, permuted, views with gaps.
class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : random_(seed) {}

  std::int64_t upto(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random_);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  // `values` elements in up to four dimensions, of which the first is a multiple of `unit`.
  GgmlTensor shaped(GgmlType type, std::int64_t values, std::int64_t unit) {
    GgmlTensor t{type, {unit, 1, 1, 1}, {}, nullptr};
    std::int64_t rest = values / unit;
    for (std::int64_t factor = 2; rest > 1; ++factor) {
      for (; rest % factor == 0; rest /= factor) t.ne[upto(4) - 1] *= factor;
    }
    return t;
  }

  // Strides in the order of the dimensions, or in any; rows may have gaps. Returns the bytes.
  std::size_t lay_out(GgmlTensor& t, double permuted, double gaps) {
    const bool blocks = t.type == GgmlType::q8_0;
    const auto size = static_cast<std::size_t>(bytes_of(t.type));
    std::size_t order[4] = {0, 1, 2, 3};
    // Dimension 0 of a tensor in blocks stays where it is.
    if (chance(permuted)) std::shuffle(order + (blocks ? 1 : 0), order + 4, random_);
    std::size_t stride = size, bytes = size;
    for (const std::size_t d : order) {
      const auto extent = static_cast<std::size_t>(t.ne[d]) / (blocks && d == 0 ? 32 : 1);
      t.nb[d] = stride;
      bytes = stride * extent;
      stride = bytes + (chance(gaps) ? static_cast<std::size_t>(upto(3)) * size : 0);
    }
    return bytes;
  }

  // Finite values that every type can hold in its way.
  Bytes fill(GgmlType type, std::size_t bytes) {
    Bytes data(bytes + 8);
    const auto size = static_cast<std::size_t>(bytes_of(type));
    for (std::size_t at = 0; at + size <= bytes; at += size) {
      const double some = std::ldexp(std::normal_distribution<double>()(random_),
                                     static_cast<int>(upto(chance(0.1) ? 40 : 12)) - 6);
      if (type == GgmlType::q8_0) {
        for (std::size_t j = 2; j < size; ++j) data[at + j] = static_cast<std::uint8_t>(random_());
        store(GgmlType::f16, &data[at], std::fmod(some, 100));
      } else {
        const double finite = type == GgmlType::f16 ? std::fmod(some, 60000) : some;
        store(type, &data[at], chance(0.1) ? std::ldexp(some, -140) : finite);
      }
    }
    return data;
  }

 private:
  std::mt19937_64 random_;
};

constexpr GgmlType types[] = {GgmlType::f32, GgmlType::f16, GgmlType::bf16,
                              GgmlType::i8,  GgmlType::i16, GgmlType::i32,
                              GgmlType::i64, GgmlType::f64, GgmlType::q8_0};

std::string text(const GgmlTensor& t) {
  std::string result = "type " + std::to_string(static_cast<int>(t.type)) + ":";
  for (int d = 0; d < 4; ++d) {
    result += " " + std::to_string(t.ne[d]) + "/" + std::to_string(t.nb[d]);
  }
  return result;
}

// Copies, or refuses where no single problem does it. Says whether it copied.
bool check(RandomTensors& random, GgmlTensor dst, GgmlTensor src, double permuted, double gaps) {
  const std::size_t src_bytes = random.lay_out(src, permuted, gaps);
  const std::size_t dst_bytes = random.lay_out(dst, permuted / 2, gaps);
  SCOPED_TRACE(text(dst) + " <- " + text(src));
  Bytes from = random.fill(src.type, src_bytes);
  Bytes got(dst_bytes + 8, 0xAA), expected = got;
  src.data = from.data();
  dst.data = expected.data();
  const bool possible = is_one_problem(dst, src);
  if (possible) reference(dst, src);
  dst.data = got.data();
  EXPECT_EQ(ggml_can_cpy(dst, src), possible);
  try {
    ggml_cpy(dst, src);
    EXPECT_TRUE(possible);
  } catch (const Error& error) {
    EXPECT_FALSE(possible) << error.what();
    EXPECT_EQ(error.status(), Status::unsupported);
  }
  EXPECT_TRUE(got == expected);  // gaps as well
  return possible;
}

std::int64_t unit_of(GgmlType a, GgmlType b) {
  return a == GgmlType::q8_0 || b == GgmlType::q8_0 ? 32 : 1;
}

TEST(Ggml, AllPairsOfTypesAnyStrides) {
  RandomTensors random(1);
  for (const GgmlType to : types) {
    for (const GgmlType from : types) {
      for (int round = 0; round < 12; ++round) {
        const std::int64_t unit = unit_of(to, from);
        GgmlTensor src = random.shaped(from, unit * random.upto(800 / unit), unit);
        GgmlTensor dst = src;
        dst.type = to;
        EXPECT_TRUE(check(random, dst, src, 0.6, 0.4));  // of one shape: always one problem
      }
    }
  }
}

TEST(Ggml, ShapesThatDiffer) {
  RandomTensors random(2);
  int copied = 0, refused = 0;
  for (int round = 0; round < 2500; ++round) {
    const GgmlType to = types[random.upto(9) - 1], from = types[random.upto(9) - 1];
    const std::int64_t unit = unit_of(to, from);
    const std::int64_t sizes[] = {24, 36, 60, 64, 144, 210, 360};
    const std::int64_t values = unit * (random.chance(0.9) ? sizes[random.upto(7) - 1] : 1);
    // A source of plain values need not hold whole blocks in a row.
    const bool any_rows = from != GgmlType::q8_0 && random.chance(0.5);
    const GgmlTensor src = random.shaped(from, values, any_rows ? 1 : unit);
    const GgmlTensor dst = random.shaped(to, values, to == GgmlType::q8_0 ? 32 : 1);
    ++(check(random, dst, src, 0.3, 0.2) ? copied : refused);
  }
  EXPECT_GT(copied, 800);
  EXPECT_GT(refused, 200);
}

TEST(Ggml, APackedSideTakesAnyShape) {
  RandomTensors random(3);
  for (int round = 0; round < 400; ++round) {
    const std::int64_t values = 32 * random.upto(30);
    const GgmlTensor src = random.shaped(types[random.upto(8) - 1], values, 1);
    const GgmlTensor dst = random.shaped(types[random.upto(8) - 1], values, 1);
    EXPECT_TRUE(check(random, dst, src, 0, 0));
  }
}

GgmlTensor tensor(GgmlType type, std::initializer_list<std::int64_t> ne,
                  std::initializer_list<std::size_t> nb, void* data = nullptr) {
  GgmlTensor t{type, {}, {}, data};
  std::copy(ne.begin(), ne.end(), t.ne);
  std::copy(nb.begin(), nb.end(), t.nb);
  return t;
}

// nb00 > nb02: dimensions 1 and 2 are the columns of one matrix.
TEST(Ggml, PermutedTensorsFuseIntoAMatrix) {
  const auto src = tensor(GgmlType::f16, {600, 40, 50, 1}, {4000, 2, 80, 2400000});
  const auto dst = tensor(GgmlType::f16, {600, 40, 50, 1}, {2, 1200, 48000, 2400000});
  const GgmlCopy call = ggml_views(dst, src);
  EXPECT_EQ(call.dst.shape, (Extents{2000, 600}));
  EXPECT_EQ(call.src.strides, (Extents{2, 4000}));
  const ElementType f16(Kind::f16);
  const ConstView matrix(nullptr, f16, {600, 2000});
  EXPECT_EQ(ggml_plan(dst, src),
            make_plan(View(nullptr, f16, {2000, 600}), matrix.permuted({1, 0})));
  EXPECT_EQ(ggml_plan(dst, src).kernel(), "tile");
}

TEST(Ggml, PlansRunOften) {
  const std::vector<float> in = {0, 1, 2, 3, 4, 5};
  std::vector<float> out(6);
  const auto src = tensor(GgmlType::f32, {2, 3, 1, 1}, {12, 4, 24, 24});
  const auto dst = tensor(GgmlType::f32, {2, 3, 1, 1}, {4, 8, 24, 24});
  execute(ggml_plan(dst, src), out.data(), in.data());
  EXPECT_EQ(out, (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Ggml, TakesTheMembersOfATensor) {
  struct {
    unsigned type = 26;
    std::int64_t ne[4] = {3, 1, 1, 1};
    std::size_t nb[4] = {4, 12, 12, 12};
    void* data = nullptr;
    char name[8] = "any";
  } other;
  const GgmlTensor t = GgmlTensor::of(other);
  EXPECT_EQ(t.type, GgmlType::i32);
  EXPECT_EQ(t.ne[0], 3);
  EXPECT_EQ(t.nb[1], 12U);
}

std::string refusal(const GgmlTensor& dst, const GgmlTensor& src) {
  try {
    ggml_cpy(dst, src);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class GgmlRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    src = tensor(GgmlType::f32, {64, 4, 2, 1}, {4, 256, 1024, 2048}, in.data());
    dst = tensor(GgmlType::f16, {64, 4, 2, 1}, {2, 128, 512, 1024}, out.data());
  }
  void TearDown() override { EXPECT_EQ(out, std::vector<double>(512, 7)); }

  std::vector<double> in = std::vector<double>(512, 1), out = std::vector<double>(512, 7);
  GgmlTensor src, dst;
};

TEST_F(GgmlRefusals, Types) {
  src.type = static_cast<GgmlType>(99);
  EXPECT_EQ(
      refusal(dst, src).find("src.type = 99 is unknown: use one of 0 (f32), 1 (f16), 2 (q4_0)"),
      0U);
  src.type = static_cast<GgmlType>(4);  // was q4_2
  EXPECT_EQ(refusal(dst, src).find("src.type = 4 is unknown"), 0U);
  src = tensor(static_cast<GgmlType>(10), {256, 2, 1, 1}, {84, 84, 168, 168}, in.data());
  dst = tensor(GgmlType::f16, {256, 2, 1, 1}, {2, 512, 1024, 1024}, out.data());
  EXPECT_EQ(refusal(dst, src),
            "dst.type = 1 (f16) with src.type = 10 (q2_K): q2_K is copied to its own type only");
  src = tensor(GgmlType::q8_0, {64, 4, 2, 1}, {34, 68, 272, 544}, in.data());
  dst = tensor(GgmlType::q4_0, {64, 4, 2, 1}, {18, 36, 144, 288}, out.data());
  EXPECT_EQ(refusal(dst, src),
            "dst.type = 2 (q4_0) with src.type = 8 (q8_0): blocks are made of plain values, not of "
            "other blocks");
}

TEST_F(GgmlRefusals, Extents) {
  src.ne[1] = 0;
  EXPECT_EQ(refusal(dst, src), "src.ne[1] = 0 is less than 1");
  src.ne[1] = -4;
  EXPECT_EQ(refusal(dst, src), "src.ne[1] = -4 is less than 1");
  src.ne[1] = 5;
  EXPECT_EQ(refusal(dst, src),
            "dst.ne = (64, 4, 2, 1) has 512 elements, src.ne = (64, 5, 2, 1) has 640: they must be "
            "as many");
  src.ne[1] = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal(dst, src),
            "the number of elements of src.ne = (64, 9223372036854775807, 2, 1) does not fit in 64 "
            "bits");
}

TEST_F(GgmlRefusals, Strides) {
  dst.nb[1] = 129;
  EXPECT_EQ(refusal(dst, src), "dst.nb[1] = 129 is no multiple of the 2 bytes of f16");
  dst.nb[1] = 0;
  EXPECT_EQ(refusal(dst, src),
            "dst.nb[1] = 0 with dst.ne[1] = 4 would write elements more than once");
  dst.nb[1] = 64;  // rows overlap
  EXPECT_NE(refusal(dst, src).find("two elements must not share a byte"), std::string::npos);
  dst.nb[1] = std::numeric_limits<std::size_t>::max() - 1;
  EXPECT_EQ(refusal(dst, src),
            "the last offset of dst.ne = (64, 4, 2, 1) with dst.nb = (2, 18446744073709551614, "
            "512, 1024) does not fit in 64 bits");
  dst.nb[1] = std::size_t{1} << 62;
  EXPECT_NE(refusal(dst, src).find("does not fit in 64 bits"), std::string::npos);
  dst.nb[1] = 128;
  dst.nb[3] = 77;  // of an extent of 1: not used
  src.nb[3] = std::numeric_limits<std::size_t>::max();
  EXPECT_TRUE(ggml_can_cpy(dst, src));
}

TEST_F(GgmlRefusals, Data) {
  dst.data = nullptr;
  EXPECT_EQ(refusal(dst, src), "dst.data = null, but the tensor has elements");
  dst.data = out.data();
  src.data = nullptr;
  EXPECT_EQ(refusal(dst, src), "src.data = null, but the tensor has elements");
  src.data = reinterpret_cast<std::byte*>(in.data()) + 2;
  EXPECT_NE(refusal(dst, src).find(" is no multiple of 4, the alignment of f32"),
            std::string::npos);
  src.data = out.data() + 10;
  EXPECT_NE(refusal(dst, src).find("overlaps"), std::string::npos);
}

TEST_F(GgmlRefusals, Blocks) {
  const GgmlTensor blocks = tensor(GgmlType::q8_0, {64, 4, 2, 1}, {34, 68, 272, 544}, out.data());
  EXPECT_TRUE(ggml_can_cpy(blocks, src));
  dst = blocks;
  dst.ne[0] = 48;
  EXPECT_EQ(refusal(dst, src), "dst.ne[0] = 48 is no multiple of the 32 values in a block of q8_0");
  dst = blocks;
  std::swap(dst.nb[0], dst.nb[1]);
  EXPECT_EQ(refusal(dst, src),
            "dst.nb[0] = 68 is not the 34 bytes of a block of q8_0: blocks lie along dimension 0, "
            "one after the other");
  dst = blocks;
  dst.nb[1] = 70;
  EXPECT_EQ(refusal(dst, src), "dst.nb[1] = 70 is no multiple of the 34 bytes of q8_0");
  dst = blocks;
  dst.data = reinterpret_cast<std::byte*>(out.data()) + 1;
  EXPECT_NE(refusal(dst, src).find(" is no multiple of 2, the alignment of q8_0"),
            std::string::npos);
  // Rows of 16 with gaps: a block would lie in two of them.
  src = tensor(GgmlType::f32, {16, 32, 1, 1}, {4, 72, 2304, 2304}, in.data());
  EXPECT_EQ(refusal(blocks, src),
            "src.ne = (16, 32, 1, 1) with src.nb = (4, 72, 2304, 2304): its first 16 elements lie "
            "evenly, which is no multiple of the 32 values in a block of dst.type = 8 (q8_0)");
  EXPECT_THROW(ggml_plan(blocks, src), Error);
}

TEST_F(GgmlRefusals, ShapesOfNoSingleProblem) {
  src = tensor(GgmlType::f32, {6, 4, 1, 1}, {4, 28, 112, 112}, in.data());
  dst = tensor(GgmlType::f32, {4, 6, 1, 1}, {4, 20, 120, 120}, out.data());
  EXPECT_EQ(refusal(dst, src),
            "dst.ne = (4, 6, 1, 1) with dst.nb = (4, 20, 120, 120) and src.ne = (6, 4, 1, 1) with "
            "src.nb = (4, 28, 112, 112): the steps of src change after 6 elements, those of dst "
            "after 4, and neither is a multiple of the other: no single copy does that; make one "
            "of the two contiguous");
}

TEST(GgmlC, CopiesAndSaysWhatIsWrong) {
  const float in[6] = {0, 1, 2, 3, 4, 5};
  std::int32_t out[6] = {};
  const int64_t ne[4] = {2, 3, 1, 1};
  const std::size_t columns[4] = {12, 4, 24, 24}, packed[4] = {4, 8, 24, 24};
  ASSERT_EQ(ct_ggml_cpy(out, 26, ne, packed, in, 0, ne, columns, nullptr), CT_OK)
      << ct_last_error();
  EXPECT_EQ(std::vector<int>(out, out + 6), (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ct_ggml_can_cpy(26, ne, packed, 0, ne, columns), CT_OK);
  EXPECT_EQ(ct_ggml_can_cpy(26, ne, packed, 12, ne, columns), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(),
               "src.ne[0] = 2 is no multiple of the 256 values in a block of q4_K");
  EXPECT_EQ(ct_ggml_cpy(out, 26, nullptr, packed, in, 0, ne, columns, nullptr),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "dst_ne = NULL, but it is needed");
  EXPECT_EQ(ct_ggml_cpy(out, 26, ne, packed, nullptr, 0, ne, columns, nullptr),
            CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "src.data = null, but the tensor has elements");
}

}  // namespace
}  // namespace cornerturn
