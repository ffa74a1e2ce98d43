// Suites: what is read, and what is refused with which words.
#include "harness/case.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cornerturn/error.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::json;

json good_case() {
  return {{"name", "turn"},  {"element_bytes", {2, 4}}, {"class", {"a", "b"}},
          {"shape", {3, 5}}, {"src_strides", {1, 3}},   {"dst_strides", {5, 1}},
          {"src_offset", 0}, {"dst_offset", 0}};
}

json suite_of(const json& c) {
  return {{"suite", "own"}, {"cases", json::array({c})}};
}

std::string refusal(const json& suite) {
  try {
    parse_suite(suite.dump(), "own.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    return error.what();
  }
  return "accepted";
}

std::string refusal_with(const char* key, const json& value) {
  json c = good_case();
  c[key] = value;
  return refusal(suite_of(c));
}

TEST(Suite, HasOneCaseForEachElementSize) {
  const Suite suite = parse_suite(suite_of(good_case()).dump(), "own.json");
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_EQ(suite.cases[0].element_bytes, 2);
  EXPECT_EQ(suite.cases[0].group, "a");
  EXPECT_EQ(suite.cases[1].element_bytes, 4);
  EXPECT_EQ(suite.cases[1].group, "b");
  EXPECT_EQ(suite.cases[1].payload_bytes(), 60);
  EXPECT_EQ(suite.cases[1].src_span_bytes(), 60);
  EXPECT_EQ(to_string(suite.cases[1]), "own/turn 4 B");
}

TEST(Suite, SpansFollowStridesAndOffsets) {
  json c = good_case();
  c["src_strides"] = {10, -1};
  c["src_offset"] = 4;
  c["dst_strides"] = {7, 1};
  c["dst_offset"] = 2;
  const Suite suite = parse_suite(suite_of(c).dump(), "own.json");
  EXPECT_EQ(suite.cases[0].src_span_bytes(), 2 * (4 + 20 + 1));
  EXPECT_EQ(suite.cases[0].dst_span_bytes(), 2 * (2 + 14 + 4 + 1));
}

TEST(Suite, ErrorsNameTheFieldItsValueAndTheRule) {
  EXPECT_EQ(refusal(suite_of(good_case())), "accepted");
  EXPECT_EQ(refusal_with("shape", {3, 0}),
            "own.json: case \"turn\": shape = [3,0] has an extent below 1");
  EXPECT_EQ(refusal_with("shape", {3, 5, 7}),
            "own.json: case \"turn\": src_strides = [1,3] must have 3 items, as shape");
  EXPECT_EQ(refusal_with("shape", "3x5"),
            "own.json: case \"turn\": shape = \"3x5\" must be a list of integers");
  EXPECT_EQ(refusal_with("shape", {3, 2.5}),
            "own.json: case \"turn\": shape = 2.5 must be an integer");
  EXPECT_EQ(refusal_with("src_strides", {-1, 3}),
            "own.json: case \"turn\": src_strides = [-1,3] reaches 2 elements before the buffer");
  EXPECT_EQ(refusal_with("dst_strides", {5, 0}),
            "own.json: case \"turn\": dst_strides = [5,0] writes an element more than once");
  EXPECT_EQ(refusal_with("element_bytes", {2, 512}),
            "own.json: case \"turn\": element_bytes = [2,512] must be from 1 to 256");
  EXPECT_EQ(refusal_with("class", {"a"}),
            "own.json: case \"turn\": class = [\"a\"] must have 2 items, as element_bytes");
  EXPECT_EQ(refusal_with("name", ""), "own.json: cases[0]: name = \"\" must be a non-empty string");
}

TEST(Suite, SizesThatDoNotFitAreRefused) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(
      refusal_with("shape", {big, big}),
      "own.json: case \"turn\": shape = [1099511627776,1099511627776] has more than 2^63 elements");
  EXPECT_EQ(
      refusal_with("src_strides", {INT64_MAX, 3}),
      "own.json: case \"turn\": src_strides = [9223372036854775807,3] reaches beyond 64 bits");
  EXPECT_EQ(refusal_with("src_offset", UINT64_MAX),
            "own.json: case \"turn\": src_offset = 18446744073709551615 does not fit in 64 bits");
}

TEST(Suite, MissingPartsAreNamed) {
  json c = good_case();
  c.erase("dst_strides");
  EXPECT_EQ(refusal(suite_of(c)), "own.json: case \"turn\" has no \"dst_strides\"");
  EXPECT_EQ(refusal({{"suite", "own"}}), "own.json has no \"cases\"");
  EXPECT_EQ(refusal({{"suite", "own"}, {"cases", json::array()}}),
            "own.json: cases = [] must be a non-empty list");
  EXPECT_EQ(refusal({{"suite", "own"}, {"cases", {good_case(), good_case()}}}),
            "own.json: cases[1]: name = \"turn\" appears twice");
  EXPECT_EQ(refusal(json::array()), "own.json is not an object");
  EXPECT_THROW(parse_suite("{", "own.json"), Error);
}

TEST(Suite, UnknownNamesListTheKnownOnes) {
  try {
    load_suite("no-such-suite");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-suite is neither a readable file nor one of"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("everyday"), std::string::npos);
  }
}

TEST(Suite, EveryEmbeddedSuiteIsValid) {
  std::set<std::string> names;
  for (const EmbeddedSuite& embedded : embedded_suites()) {
    const Suite suite = load_suite(std::string(embedded.name));
    EXPECT_EQ(suite.name, embedded.name);
    EXPECT_FALSE(suite.cases.empty());
    names.insert(suite.name);
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"awkward", "cccl", "everyday", "small", "ttc57", "views"}));
}

TEST(CaseFilter, EachConditionNarrows) {
  const Case c = parse_suite(suite_of(good_case()).dump(), "own.json").cases[1];
  const auto accepts = [&](auto narrow) {
    CaseFilter filter;
    narrow(filter);
    return filter.accepts(c);
  };
  EXPECT_TRUE(accepts([](CaseFilter&) {}));
  EXPECT_TRUE(accepts([](CaseFilter& f) { f.element_bytes = {1, 4}; }));
  EXPECT_FALSE(accepts([](CaseFilter& f) { f.element_bytes = {1, 2}; }));
  EXPECT_TRUE(accepts([](CaseFilter& f) { f.name_globs = {"x*", "t?rn"}; }));
  EXPECT_FALSE(accepts([](CaseFilter& f) { f.name_globs = {"tur"}; }));
  EXPECT_TRUE(accepts([](CaseFilter& f) { f.groups = {"b"}; }));
  EXPECT_FALSE(accepts([](CaseFilter& f) { f.groups = {"a"}; }));
  EXPECT_TRUE(accepts([](CaseFilter& f) { f.max_payload_bytes = 60; }));
  EXPECT_FALSE(accepts([](CaseFilter& f) { f.max_payload_bytes = 59; }));
}

}  // namespace
}  // namespace cornerturn::bench
