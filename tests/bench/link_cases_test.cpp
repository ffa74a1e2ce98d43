// The cases across the link: each is there once, both ways mirror each other, buffers hold them.
#include "link/cases.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/link/cut.hpp"

namespace cornerturn::bench::link {
namespace {

using cornerturn::plan::link::Side;
using cornerturn::plan::link::Span;

// Where a side's bytes lie, from the start of its buffer on.
Span bytes_of(const LinkCase& c, Side side) {
  const Problem problem = c.problem();
  Span span = span_of(problem, side);
  span.first += side == Side::source ? problem.src_offset : problem.dst_offset;
  return span;
}

void expect_buffers_hold(const LinkCase& c) {
  const Span src = bytes_of(c, Side::source), dst = bytes_of(c, Side::destination);
  EXPECT_GE(src.first, 0) << to_string(c);
  EXPECT_EQ(src.first + src.bytes, c.src_span()) << to_string(c);
  EXPECT_GE(dst.first, 0) << to_string(c);
  EXPECT_EQ(dst.first + dst.bytes, c.dst_span()) << to_string(c);
}

TEST(LinkCases, EachIsThereOnceAndItsBuffersHoldIt) {
  std::set<std::string> names;
  for (const LinkCase& c : all_cases(true)) {
    EXPECT_TRUE(names.insert(to_string(c)).second) << to_string(c);
    expect_buffers_hold(c);
    EXPECT_EQ(c.layout.element_bytes, c.from.size()) << to_string(c);
    EXPECT_EQ(c.layout.shape.size(), c.layout.src_strides.size()) << to_string(c);
  }
  EXPECT_EQ(all_cases(true).size() - all_cases(false).size(), 4u);
}

TEST(LinkCases, TheWayOutIsTheMirrorImage) {
  std::map<std::string, LinkCase> into;
  int mirrored = 0;
  for (const LinkCase& c : all_cases(false)) {
    const std::string key = c.layout.suite + c.layout.name + name_of(c.memory);
    if (c.into_gpu) {
      into.emplace(key, c);
      continue;
    }
    const LinkCase& other = into.at(key);
    EXPECT_EQ(c.layout.src_strides, other.layout.dst_strides) << key;
    EXPECT_EQ(c.layout.dst_offset, other.layout.src_offset) << key;
    EXPECT_EQ(c.host_bytes(), other.host_bytes()) << key;
    EXPECT_EQ(c.host_span(), other.host_span()) << key;
    EXPECT_EQ(c.gpu_span(), other.gpu_span()) << key;
    ++mirrored;
  }
  EXPECT_GT(mirrored, 40);
}

TEST(LinkCases, RandomOnesGoBothWaysByTurns) {
  const std::vector<LinkCase> cases = random_cases(40, 3);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].into_gpu, i % 2 == 0);
    EXPECT_TRUE(cases[i].moves());
    EXPECT_LE(cases[i].host_bytes(), 64 << 20);
    expect_buffers_hold(cases[i]);
  }
}

TEST(LinkCases, TheListSaysWhatACaseIs) {
  const nlohmann::ordered_json json = to_json(all_cases(false)[1]);
  EXPECT_EQ(json["way"], "out");
  EXPECT_EQ(json["memory"], "pinned");
  EXPECT_EQ(json["from"], "f8_e4m3");
  EXPECT_EQ(json["shape"], (std::vector<int>{4, 16384, 5120}));
  EXPECT_EQ(json["dst_strides"], (std::vector<int>{83886080, 1, 16384}));
  EXPECT_EQ(json["bytes"], 335544320);
}

}  // namespace
}  // namespace cornerturn::bench::link
