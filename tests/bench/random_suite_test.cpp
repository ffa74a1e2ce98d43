// Problems drawn at random: they are what their spec says, and the library solves them.
#include "harness/random_suite.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cornerturn/cornerturn.hpp"
#include "harness/buffer.hpp"
#include "harness/pattern.hpp"

namespace cornerturn::bench {
namespace {

RandomSpec small_spec(std::int64_t count, std::uint64_t seed) {
  RandomSpec spec;
  spec.count = count;
  spec.seed = seed;
  spec.min_bytes = 4 << 10;
  spec.max_bytes = 128 << 10;
  return spec;
}

std::string reason_of(const std::string& name) {
  try {
    load_suite(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(RandomSuite, TheSameNameDrawsTheSameCases) {
  const Suite suite = random_suite(small_spec(50, 7));
  EXPECT_EQ(suite.cases, load_suite(name_of(small_spec(50, 7))).cases);
  EXPECT_NE(suite.cases[0].shape, random_suite(small_spec(50, 8)).cases[0].shape);
  // A longer suite begins with the same problems.
  const Suite longer = random_suite(small_spec(60, 7));
  for (std::size_t i = 0; i < suite.cases.size(); ++i) {
    EXPECT_EQ(suite.cases[i].shape, longer.cases[i].shape);
    EXPECT_EQ(suite.cases[i].src_strides, longer.cases[i].src_strides);
  }
}

TEST(RandomSuite, CasesAreWithinTheirBoundsAndOfManyKinds) {
  const RandomSpec spec = small_spec(600, 3);
  std::set<std::string> groups;
  std::set<std::size_t> ranks;
  bool flipped = false, broadcast = false, padded = false;
  for (const Case& c : random_suite(spec).cases) {
    EXPECT_GE(c.payload_bytes(), spec.min_bytes / 2) << json_of(c);
    EXPECT_LE(c.payload_bytes(), spec.max_bytes) << json_of(c);
    EXPECT_LE(c.dst_span_bytes(), 3 * c.payload_bytes()) << json_of(c);
    groups.insert(c.group);
    ranks.insert(c.shape.size());
    for (const std::int64_t stride : c.src_strides) {
      flipped = flipped || stride < 0;
      broadcast = broadcast || stride == 0;
    }
    padded = padded || c.dst_span_bytes() > c.payload_bytes() + 40 * c.element_bytes;
  }
  EXPECT_TRUE(flipped && broadcast && padded);
  EXPECT_GE(ranks.size(), 9U);
  for (const char* group : {"matrix-aligned", "matrix-odd", "rank3-aligned", "rank3-odd", "rows",
                            "short-rows", "tiny-modes"}) {
    EXPECT_TRUE(groups.contains(group)) << group;
  }
}

TEST(RandomSuite, FieldsLieBetweenStructuresAndArrays) {
  RandomSpec spec = small_spec(300, 5);
  spec.drawn = Drawn::fields;
  EXPECT_EQ(random_suite(spec).cases, load_suite(name_of(spec)).cases);
  std::map<std::string, int> groups;
  for (const Case& c : random_suite(spec).cases) {
    EXPECT_GE(c.payload_bytes(), spec.min_bytes / 2) << json_of(c);
    const std::int64_t larger = std::max(c.src_span_bytes(), c.dst_span_bytes());
    EXPECT_LE(larger, std::max(4 * spec.max_bytes, 512 * spec.min_bytes)) << json_of(c);
    const std::size_t last = c.shape.size() - 1;
    const bool are_packed = c.group.find("packed") != std::string::npos;
    const bool leave = c.group.rfind("fields-to", 0) == 0;
    const Extents& structures = leave ? c.src_strides : c.dst_strides;
    const Extents& others = leave ? c.dst_strides : c.src_strides;
    // The structures have more than these fields, which lie next to each other.
    const std::int64_t fields = are_packed ? c.shape[last] : c.shape[0];
    const std::int64_t structure = structures[are_packed ? last - 1 : last];
    EXPECT_EQ(structures[are_packed ? last : 0], 1) << json_of(c);
    EXPECT_EQ(others[last], 1) << json_of(c);
    EXPECT_LT(fields, structure) << json_of(c);
    EXPECT_LE(fields, 16) << json_of(c);
    EXPECT_LE(structure * c.element_bytes, 512 + 16 * c.element_bytes) << json_of(c);
    ++groups[c.group];
  }
  EXPECT_EQ(groups.size(), 4U);
  for (const auto& [group, count] : groups) EXPECT_GT(count, 5) << group;
}

TEST(RandomSuite, WhatItPrintsCanBePastedIntoASuite) {
  for (const Case& c : random_suite(small_spec(20, 11)).cases) {
    const std::string text = R"({"suite": ")" + c.suite + R"(", "cases": [)" + json_of(c) + "]}";
    EXPECT_EQ(parse_suite(text, "pasted.json").cases.at(0), c);
  }
}

TEST(RandomSuite, ABadNameIsRefused) {
  EXPECT_NE(reason_of("random:5").find("the form is random:COUNT:SEED:SIZES:MIN:MAX"),
            std::string::npos);
  EXPECT_NE(reason_of("random:0:1::4096:8192").find("COUNT = '0' has to be a number from 1"),
            std::string::npos);
  EXPECT_NE(reason_of("random:5:1:4-x:4096:8192").find("SIZES = 'x'"), std::string::npos);
  EXPECT_NE(reason_of("random:5:1::8192:4096").find("MAX = '4096'"), std::string::npos);
}

void expect_solved(const RandomSpec& spec) {
  for (const Case& c : random_suite(spec).cases) {
    Buffer src, dst;
    const std::int64_t dst_bytes = (c.dst_span_bytes() + 63) / 64 * 64;
    src.reserve(c.src_span_bytes());
    dst.reserve(dst_bytes);
    fill_pattern(src.data(), c.src_span_bytes(), c.element_bytes);
    fill_poison(dst.data(), dst_bytes);
    const auto in_bytes = [&](Extents strides) {
      for (std::int64_t& stride : strides) stride *= c.element_bytes;
      return strides;
    };
    const ElementType type = ElementType::bytes(c.element_bytes);
    copy(View(dst.data() + c.dst_offset * c.element_bytes, type, c.shape, in_bytes(c.dst_strides)),
         ConstView(src.data() + c.src_offset * c.element_bytes, type, c.shape,
                   in_bytes(c.src_strides)));
    EXPECT_EQ(check_elements(c, dst.data()), "") << json_of(c);
    EXPECT_EQ(check_gaps(c, dst.data(), dst_bytes), "") << json_of(c);
  }
}

TEST(RandomSuite, TheLibrarySolvesThem) {
  expect_solved(small_spec(400, 2027));
}

TEST(RandomSuite, TheLibrarySolvesFields) {
  RandomSpec spec = small_spec(200, 2028);
  spec.drawn = Drawn::fields;
  expect_solved(spec);
}

}  // namespace
}  // namespace cornerturn::bench
