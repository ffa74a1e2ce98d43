#include "core/validate.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

// Views are values, and what may be written can be read.
static_assert(std::is_copy_constructible_v<View> && std::is_copy_assignable_v<View>);
static_assert(std::is_copy_constructible_v<ConstView> && std::is_copy_assignable_v<ConstView>);
static_assert(std::is_convertible_v<View, ConstView> && !std::is_convertible_v<ConstView, View>);

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
const ElementType f32(Kind::f32);

struct Refused {
  Status status;
  std::string message;
};

template <class Call>
Refused refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.status(), error.what()};
  }
  return {Status::ok, ""};
}

Refused make(Extents src_shape, Extents src_strides, Extents dst_shape, Extents dst_strides) {
  return refused([&] {
    make_problem(View(nullptr, f32, dst_shape, dst_strides),
                 ConstView(nullptr, f32, src_shape, src_strides));
  });
}

TEST(Validate, NamesTheArgumentItsValueAndTheRule) {
  EXPECT_EQ(make({2, 3}, {12, 4}, {2}, {4}).message,
            "dst has rank 1, src has rank 2: they must be equal");
  EXPECT_EQ(make({2, 3}, {12, 4}, {2, 4}, {16, 4}).message,
            "dst.shape[1] = 4 differs from src.shape[1] = 3");
  EXPECT_EQ(make({2, -3}, {12, 4}, {2, -3}, {12, 4}).message, "src.shape[1] = -3 is negative");
  EXPECT_EQ(make({2, 3}, {4}, {2, 3}, {12, 4}).message,
            "src.strides has 1 entries, src.shape has 2");
  EXPECT_EQ(make({5}, {4}, {5}, {0}).message,
            "dst.strides[0] = 0 with extent 5 would write elements more than once");
  EXPECT_EQ(make({5}, {4}, {5}, {3}).status, Status::invalid_argument);
  EXPECT_EQ(make(Extents(65, 1), Extents(65, 4), Extents(65, 1), Extents(65, 4)).message,
            "src.shape has 65 extents, at most 64 are supported");
}

TEST(Validate, SizesAndOffsetsFitIn64Bits) {
  const Refused wider = refused([] {
    const std::int64_t many = std::int64_t{1} << 58;
    make_problem(View(nullptr, ElementType(Kind::f64), {many}),
                 ConstView(nullptr, ElementType(Kind::u8), {many}));
  });
  EXPECT_NE(wider.message.find("with elements of 8 bytes"), std::string::npos) << wider.message;
  EXPECT_EQ(make({huge, 4}, {4, 4}, {huge, 4}, {16, 4}).status, Status::overflow);
  EXPECT_EQ(make({4}, {huge / 2}, {4}, {4}).status, Status::overflow);
  EXPECT_EQ(make({4}, {4}, {4}, {-(huge / 2)}).status, Status::overflow);
  EXPECT_EQ(make({2}, {huge - 3}, {2}, {4}).status, Status::overflow);
  constexpr std::int64_t most = std::int64_t{1} << 60;  // bytes that an array reaches over
  EXPECT_EQ(make({2}, {most - 4}, {2}, {4}).status, Status::ok);
  EXPECT_EQ(make({2}, {most - 3}, {2}, {4}).message,
            "what src reaches over (shape and strides) is larger than 2^60 bytes");
  EXPECT_EQ(make({2}, {4}, {2}, {4 - most}).status, Status::ok);
  EXPECT_EQ(make({2}, {4}, {2}, {3 - most}).status, Status::overflow);
  EXPECT_EQ(make({2, 2}, {most / 2, -most / 2}, {2, 2}, {8, 4}).status, Status::overflow);
  EXPECT_EQ(make({most / 2}, {0}, {most / 2}, {4}).message,
            "the size of shape (576460752303423488) with elements of 4 bytes is larger than 2^60 "
            "bytes");
  EXPECT_EQ(make({huge, 0}, {huge, huge}, {huge, 0}, {huge, huge}).status, Status::ok);
  EXPECT_EQ(refused([] { packed_strides({huge, 2, 2}, 4); }).status, Status::overflow);
  EXPECT_EQ(refused([] { packed_strides({1 << 20, 1 << 20}, 4); }).status, Status::ok);
}

TEST(Validate, TypesThatCannotBeConverted) {
  const auto types = [](ElementType src, ElementType dst, const Epilogue& epilogue = {}) {
    return refused(
        [&] { make_problem(View(nullptr, dst, {2}), ConstView(nullptr, src, {2}), epilogue); });
  };
  EXPECT_EQ(types(f32, ElementType(Kind::f16)).status, Status::ok);
  EXPECT_EQ(types(f32, ElementType::bytes(4)).status, Status::ok);
  EXPECT_EQ(types(f32, ElementType::bytes(8)).status, Status::unsupported);
  EXPECT_EQ(types(ElementType(Kind::c64), f32).message,
            "dst.type = f32 with src.type = c64: a complex value would lose its imaginary part; "
            "supported are all pairs of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, "
            "f32, f64, f8_e4m3 and f8_e5m2, and any of these or c64 or c128 to c64 and c128");
  EXPECT_EQ(types(f32, ElementType(Kind::c128)).status, Status::ok);
  Epilogue doubled;
  doubled.alpha = 2;
  EXPECT_EQ(types(ElementType::bytes(4), ElementType::bytes(4), doubled).message.substr(0, 96),
            "dst.type = b4 with src.type = b4: plain bytes have no values that could be converted "
            "or changed;");
}

TEST(Validate, VectorsBelongToAnAxis) {
  const float value = 1;
  const auto epilogue = [&](int scale_mode, int bias_mode) {
    Epilogue result;
    result.scale_mode = scale_mode;
    result.bias = &value;
    result.bias_mode = bias_mode;
    return refused([&] {
      make_problem(View(nullptr, f32, {2, 3}), ConstView(nullptr, f32, {2, 3}), result);
    });
  };
  EXPECT_EQ(epilogue(1, -1).status, Status::ok);
  EXPECT_EQ(epilogue(2, -1).message,
            "epilogue.scale_mode = 2 is out of range for rank 2: 0 to 1, or -1 for one value");
  EXPECT_EQ(epilogue(0, -2).message,
            "epilogue.bias_mode = -2 is out of range for rank 2: 0 to 1, or -1 for one value");
  Epilogue scaled;
  scaled.scale = &value;
  scaled.scale_mode = 1;
  const Problem problem =
      make_problem(View(nullptr, f32, {2, 3}), ConstView(nullptr, f32, {2, 3}), scaled);
  EXPECT_EQ(problem.scale.mode, 1);
  EXPECT_FALSE(problem.bias.present);
}

TEST(Validate, WhatChangesNothingIsNotKept) {
  const auto problem = [](const Epilogue& epilogue, Kind src = Kind::f32) {
    const ElementType type(src);
    return make_problem(View(nullptr, type, {2}), ConstView(nullptr, type, {2}), epilogue);
  };
  Epilogue idle;
  idle.overflow = Overflow::saturate;
  idle.rounding = Rounding::stochastic;
  idle.seed = 7;
  idle.conjugate = true;
  EXPECT_FALSE(problem(idle).converts());
  EXPECT_EQ(problem(idle), problem({}));
  EXPECT_TRUE(problem(idle, Kind::c64).converts());
}

TEST(Validate, DestinationElementsMustNotShareBytes) {
  const auto status = [](Extents shape, Extents strides) {
    Extents src_strides(shape.size(), 0);
    return make(shape, src_strides, shape, strides).status;
  };
  EXPECT_EQ(status({3, 4}, {16, 4}), Status::ok);
  EXPECT_EQ(status({3, 4}, {12, 4}), Status::invalid_argument);  // rows overlap by an element
  EXPECT_EQ(status({3, 4}, {-16, 4}), Status::ok);
  EXPECT_EQ(status({2, 2}, {12, 8}), Status::ok);  // 0, 8, 12, 20: interleaved, but apart
  EXPECT_EQ(status({2, 3}, {8, 4}), Status::invalid_argument);  // 8 twice
  EXPECT_EQ(status({3, 2, 2}, {40, 12, 8}), Status::ok);
  EXPECT_EQ(status({2, 2}, {10, 8}), Status::invalid_argument);  // 8..11 and 10..13
  EXPECT_EQ(status({1, 5}, {0, 4}), Status::ok);  // an extent of 1 has no second element
}

TEST(Validate, VectorsLieBesideTheDestination) {
  Problem problem;
  problem.src_type = problem.dst_type = f32;
  problem.modes.push_back({3, 4, 4});
  problem.scale = {true, 0, -1, 2};  // the values 2, 1 and 0
  float memory[9] = {};
  const auto message = [&](const float* scale) {
    return refused([&] { check_vectors(problem, memory + 3, {scale, nullptr}); }).message;
  };
  EXPECT_EQ(message(memory), "");
  EXPECT_EQ(message(memory + 6), "");
  for (const int at : {1, 3, 5}) {
    EXPECT_NE(message(memory + at).find("epilogue.scale = "), std::string::npos) << at;
    EXPECT_NE(message(memory + at).find("overlaps dst"), std::string::npos) << at;
  }
  EXPECT_EQ(message(nullptr), "epilogue.scale = null, but the problem was made with one");
  problem.modes[0].extent = 1;
  EXPECT_NE(message(memory + 1).find("overlaps dst"), std::string::npos);
  problem.modes[0].extent = 0;
  EXPECT_EQ(message(memory + 1), "");
  problem.modes[0].extent = 3;
  problem.bias = {true, -1, 0, 1};  // one value for all
  const auto bias = [&](const float* at) {
    return refused([&] { check_vectors(problem, memory + 3, {memory, at}); }).message;
  };
  EXPECT_EQ(bias(memory + 1), "");
  EXPECT_NE(bias(memory + 4).find("epilogue.bias"), std::string::npos);
  EXPECT_EQ(bias(memory + 5), "");
}

TEST(Validate, OverlapsAreToldFromWhatCannotBeProved) {
  const Refused overlap = make({2, 3}, {0, 0}, {2, 3}, {8, 4});
  EXPECT_NE(overlap.message.find("overlap with shape (2,3)"), std::string::npos) << overlap.message;
  // Powers that nothing nests: each offset is a sum of some of them in very many ways, nearly.
  Extents shape, strides;
  for (int i = 0; i < 24; ++i) {
    shape.push_back(2);
    strides.push_back((std::int64_t{1} << 40) + (std::int64_t{4} << i));
  }
  const Refused entangled = make(shape, Extents(24, 0), shape, strides);
  EXPECT_NE(entangled.message.find("too entangled"), std::string::npos) << entangled.message;
}

TEST(Validate, OverlapSearchAgreesWithBruteForce) {
  std::uint32_t state = 12345;
  const auto next = [&state](std::uint32_t bound) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::int64_t>((state >> 8) % bound);
  };
  int overlapping = 0;
  for (int round = 0; round < 3000; ++round) {
    const Extents shape = {1 + next(4), 1 + next(4), 1 + next(4)};
    const Extents strides = {next(60) - 30, next(40) - 20, next(20) - 10};
    std::vector<int> touched(1000, 0);
    bool twice = false;
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        for (std::int64_t k = 0; k < shape[2]; ++k) {
          for (int b = 0; b < 4; ++b) {
            int& count = touched[static_cast<std::size_t>(500 + i * strides[0] + j * strides[1] +
                                                          k * strides[2] + b)];
            twice = twice || ++count > 1;
          }
        }
      }
    }
    overlapping += twice;
    EXPECT_EQ(make(shape, {0, 0, 0}, shape, strides).status,
              twice ? Status::invalid_argument : Status::ok)
        << shape[0] << "," << shape[1] << "," << shape[2] << " : " << strides[0] << ","
        << strides[1] << "," << strides[2];
  }
  EXPECT_GT(overlapping, 300);
  EXPECT_LT(overlapping, 2900);
}

TEST(Validate, SourceAndDestinationMustBeApart) {
  float data[64] = {};
  const ConstView src = view(static_cast<const float*>(data), {4, 4});
  EXPECT_EQ(refused([&] { copy(view(data + 16, {4, 4}), src); }).status, Status::ok);
  EXPECT_EQ(refused([&] { copy(view(data + 15, {4, 4}), src); }).status, Status::invalid_argument);
  EXPECT_EQ(refused([&] {
              copy(view(data, {4, 4}), src.permuted({1, 0}));
            }).status,
            Status::invalid_argument);
  EXPECT_NE(refused([&] {
              copy(view(data, {4, 4}), src);
            }).message.find("overlaps src"),
            std::string::npos);
}

TEST(Validate, PointersAreNeededUnlessThereIsNothingToMove) {
  float data[4] = {};
  float* none = nullptr;
  EXPECT_EQ(refused([&] {
              copy(view(none, {2, 2}), view(data, {2, 2}));
            }).message,
            "dst = null, but the problem has elements to write");
  EXPECT_EQ(refused([&] {
              copy(view(data, {2, 2}), view(none, {2, 2}));
            }).message,
            "src = null, but the problem has elements to read");
  EXPECT_EQ(refused([&] { copy(view(none, {2, 0}), view(none, {2, 0})); }).status, Status::ok);
}

TEST(Validate, Permutations) {
  const auto permute_error = [](std::vector<int> perm) {
    return refused([&] { permuted({2, 3, 4}, perm); }).message;
  };
  EXPECT_EQ(permute_error({0, 1}), "perm = (0,1) has 2 entries, the array has rank 3");
  EXPECT_EQ(permute_error({0, 1, 3}), "perm[2] = 3 is out of range for rank 3");
  EXPECT_EQ(permute_error({0, -1, 2}), "perm[1] = -1 is out of range for rank 3");
  EXPECT_EQ(permute_error({2, 0, 2}), "perm[2] = 2 repeats perm[0]: each axis is named once");
  EXPECT_EQ(permuted({2, 3, 4}, std::vector<int>{2, 0, 1}), (Extents{4, 2, 3}));
}

}  // namespace
}  // namespace cornerturn
