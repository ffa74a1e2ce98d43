#include "shards/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/refusal.hpp"

namespace cornerturn::shards {
namespace {

using test::refusal;

Redistribution transposition(std::int64_t n, std::int64_t devices, std::vector<int> perm = {1, 0}) {
  const auto rows = [&](std::string_view name) { return placed({n, n}, {devices}, {{0}}, name); };
  return Redistribution(rows("src"), rows("dst"), std::move(perm), 4);
}

const Route& route(const ShardPlan& plan, std::string_view name) {
  for (const Route& one : plan.routes) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no such route");
}

TEST(ShardPlan, CountsBytesAndRuns) {
  const ShardPlan plan = make_plan(transposition(1024, 4), {});
  ASSERT_EQ(plan.devices.size(), 4U);
  for (const Traffic& device : plan.devices) {
    EXPECT_EQ(device.kept, 256 * 256 * 4);
    EXPECT_EQ(device.sent, 3 * device.kept);
    EXPECT_EQ(device.received, 3 * device.kept);
  }
  EXPECT_EQ(plan.messages.size(), 12U);
  EXPECT_EQ(plan.runs.source, 256 * 4);
  EXPECT_EQ(plan.runs.destination, 256 * 4);
  EXPECT_EQ(plan.runs.both, 4);
  EXPECT_TRUE(plan.routes.empty());  // no host, no times
}

TEST(ShardPlan, RowsToColumnsKeepRuns) {
  const Redistribution what(placed({1024, 1024}, {4}, {{0}}, "src"),
                            placed({1024, 1024}, {4}, {{1}}, "dst"), {0, 1}, 4);
  const ShardPlan plan = make_plan(what, {});
  EXPECT_EQ(plan.runs.source, 1024);
  EXPECT_EQ(plan.runs.destination, 256 * 1024);
  EXPECT_EQ(plan.runs.both, 1024);
}

// What was measured on four H200 is what the description of their host predicts.
TEST(ShardPlan, PredictsWhatWasMeasured) {
  const ShardPlan plan = make_plan(transposition(32768, 4), host_named("4xh200", "on"));
  EXPECT_NEAR(plan.bound_seconds, 2.10e-3, 0.02e-3);
  EXPECT_NEAR(route(plan, "one pass").seconds, 2.37e-3, 0.03e-3);
  EXPECT_EQ(plan.routes.front().name, "one pass");
  EXPECT_FALSE(route(plan, "copy engines").why_not.empty());
  // Three passes of a prototype, which packed the device's own part as well: 4.31 ms.
  EXPECT_GT(route(plan, "packed").seconds, 3.0e-3);
  EXPECT_LT(route(plan, "packed").seconds, 4.31e-3);
}

TEST(ShardPlan, CopyEnginesTakeLongRuns) {
  const Redistribution what(placed({64, 1 << 20}, {8}, {{0}}, "src"),
                            placed({64, 1 << 20}, {8}, {{1}}, "dst"), {0, 1}, 4);
  const ShardPlan plan = make_plan(what, host_named("8xh200", "on"));
  EXPECT_EQ(plan.routes.front().name, "copy engines");
}

TEST(ShardPlan, ShortRunsAtTheDestinationCostMore) {
  const auto plan = [](std::int64_t block) {
    const Redistribution what(placed({1 << 13, 1 << 13}, {4}, {{1, block, 0}}, "src"),
                              placed({1 << 13, 1 << 13}, {4}, {{0}}, "dst"), {0, 1}, 1);
    return make_plan(what, host_named("4xh200", "on"));
  };
  EXPECT_EQ(plan(16).runs.destination, 16);
  EXPECT_EQ(plan(128).runs.destination, 128);
  EXPECT_GT(route(plan(16), "one pass").seconds, 5 * route(plan(128), "one pass").seconds);
}

TEST(ShardPlan, NothingMovesBetweenEqualLayouts) {
  const ShardPlan plan = make_plan(transposition(64, 4, {0, 1}), host_named("4xh200", "on"));
  EXPECT_FALSE(plan.anything_moves());
  EXPECT_NE(to_string(plan, true).find("0 messages"), std::string::npos);
}

TEST(ShardPlan, TextsSayTheSame) {
  const ShardPlan plan = make_plan(transposition(1024, 8), host_named("8xh200", "on"));
  const std::string text = to_string(plan, true);
  EXPECT_NE(text.find("S0: (128,1024) on every device"), std::string::npos) << text;
  EXPECT_NE(text.find("56 messages; a device sends 458.8 kB"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_EQ(json["messages"].size(), 56U);
  EXPECT_EQ(json["traffic"][3]["sent"], 7 * 128 * 128 * 4);
  EXPECT_EQ(json["routes"][0]["name"], plan.routes[0].name);
  EXPECT_DOUBLE_EQ(json["bound_seconds"], plan.bound_seconds);
}

TEST(Hosts, BadOnesAreRefused) {
  const auto named = [](const std::string& name) {
    return refusal([&] { host_named(name, "--on"); });
  };
  EXPECT_EQ(named("h200"), "--on = 'h200' is no number of GPUs of a host, as 8xh200");
  EXPECT_EQ(named("0xh200"), "--on = '0xh200' is no number of GPUs of a host, as 8xh200");
  EXPECT_EQ(named("8xb200"),
            "--on = '8xb200' is no described host: use one of <n>xh200, or <n>xFILE.json");
  EXPECT_EQ(named("16xh200"), "--on = '16xh200' asks for 16 GPUs, but HGX H200 has 8");
  EXPECT_EQ(refusal([] { make_plan(transposition(64, 4), host_named("8xh200", "on")); }),
            "the mesh has 4 devices, but 8 GPUs of HGX H200 are there");
}

TEST(Hosts, BadFilesAreRefused) {
  auto json = nlohmann::json::parse(embedded_hosts().front().text);
  EXPECT_EQ(parse_host(json.dump(), "h.json").devices, 8);
  const auto with = [&](const char* field, const nlohmann::json& value) {
    auto changed = json;
    changed[field] = value;
    return refusal([&] { parse_host(changed.dump(), "h.json"); });
  };
  EXPECT_EQ(with("gpu", "h999").substr(0, 40), "host file 'h.json': gpu = 'h999' is no d");
  EXPECT_EQ(with("devices", 0),
            "host file 'h.json': devices = 0 must be a whole number from 1 to 1048576");
  EXPECT_EQ(with("store_bandwidth", "fast"),
            "host file 'h.json': store_bandwidth = \"fast\" must be a number from 1e+06 to 1e+15");
  EXPECT_NE(with("speed", 1).find("has the field 'speed'"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::shards
