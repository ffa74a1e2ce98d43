#include "plan/cpu/cpu_files.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cornerturn/error.hpp"
#include "plan/cpu/costs.hpp"

namespace cornerturn::plan {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_cpu_file(text, "x.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

CpuInfo processor(const char* model, const char* isa, int family = 0) {
  CpuInfo info;
  info.model = model;
  info.isa = isa;
  info.family = family;
  return info;
}

TEST(CpuFiles, OfTheTreeAreAsTheFitWritesThem) {
  ASSERT_FALSE(embedded_cpus().empty());
  for (const EmbeddedCpu& cpu : embedded_cpus()) {
    EXPECT_EQ(to_json(parse_cpu_file(cpu.text, cpu.name)), cpu.text) << cpu.name;
  }
}

TEST(CpuFiles, EveryCostHasOneName) {
  CpuCosts costs;
  std::set<const Cost*> places;
  std::set<std::string> names;
  for (const auto& [name, cost] : costs.named()) {
    places.insert(cost);
    names.insert(name);
    EXPECT_TRUE(name.ends_with("." + std::string(cost->name))) << name;
    EXPECT_GT(cost->value, 0) << name;
    EXPECT_FALSE(cost->meaning.empty()) << name;
  }
  EXPECT_EQ(names.size(), places.size());
  EXPECT_EQ(places.size() * sizeof(Cost), sizeof(CpuCosts));
}

TEST(CpuFiles, AProcessorIsKnownByItsNameAndItsVectors) {
  CpuFile cpu;
  cpu.models = {"Epyc 9", "EPYC 9"};
  cpu.isa = "AVX3";
  EXPECT_TRUE(cpu.describes(processor("AMD EPYC 9654", "AVX3_DL")));
  EXPECT_TRUE(cpu.describes(processor("AMD EPYC 9654", "AVX3_DL", 25)));
  EXPECT_FALSE(cpu.describes(processor("AMD EPYC 9654", "AVX2")));
  EXPECT_FALSE(cpu.describes(processor("AMD EPYC 7763", "AVX3_DL")));
  cpu.family = 26;
  EXPECT_TRUE(cpu.describes(processor("AMD EPYC 9654", "AVX3_DL", 26)));
  EXPECT_FALSE(cpu.describes(processor("AMD EPYC 9654", "AVX3_DL", 25)));
  EXPECT_FALSE(cpu.describes(processor("AMD EPYC 9654", "AVX3_DL")));
  EXPECT_EQ(costs_of(processor("a processor that nobody has described", "AVX2")),
            standard_cpu_costs());
  // The file that is for a family comes before those that are for any.
  EXPECT_EQ(costs_of(processor("AMD EPYC", "AVX3_ZEN4", 26)), cpu_file_named("amd-zen5").costs);
  EXPECT_EQ(costs_of(processor("AMD EPYC", "AVX3_ZEN4", 25)), cpu_file_named("amd-zen4").costs);
}

TEST(CpuFiles, CostsThatAreLeftOutAreTheDefaults) {
  const CpuFile cpu = parse_cpu_file(
      R"({"name": "a", "models": ["b"], "isa": "AVX2", "costs": {"tile.piece_ns": 7}})", "x.json");
  CpuCosts expected;
  expected.of<tile::Costs>().piece_ns.value = 7;
  EXPECT_EQ(*cpu.costs, expected);
}

TEST(CpuFiles, ProcessorsAreEqualWhenTheirCostsAre) {
  CpuCosts costs;
  CpuInfo a, b;
  b.costs = std::make_shared<const CpuCosts>(costs);
  EXPECT_EQ(a, b);
  costs.of<tile::Costs>().piece_ns.value += 1;
  b.costs = std::make_shared<const CpuCosts>(costs);
  EXPECT_FALSE(a == b);
  b.costs = a.costs;
  b.caches_taken = true;
  EXPECT_FALSE(a == b);
}

TEST(CpuFiles, WhatIsWrongIsNamed) {
  const std::string head = R"({"name": "a", "models": ["b"], "isa": "AVX2", )";
  EXPECT_EQ(refusal("{"), "CPU file 'x.json' is no JSON: byte 2 breaks its syntax");
  EXPECT_EQ(refusal("[]"), "CPU file 'x.json' holds no JSON object");
  EXPECT_EQ(refusal(R"({"name": "a"})"), "CPU file 'x.json' has no field 'isa'");
  EXPECT_EQ(refusal(R"({"name": 1})"), "CPU file 'x.json': name = 1 must be a text");
  EXPECT_EQ(refusal(R"({"name": "a", "isa": "b", "models": []})"),
            "CPU file 'x.json': models = [] must be a list of texts, of one at least");
  EXPECT_EQ(refusal(head + R"("family": "26", "costs": {}})"),
            "CPU file 'x.json': family = \"26\" must be a whole number, 1 to 1000");
  EXPECT_EQ(refusal(head + R"("costs": 1})"), "CPU file 'x.json': costs = 1 must be an object");
  EXPECT_EQ(refusal(head + R"("costs": {"tile.x": 1}})"),
            "CPU file 'x.json' has the cost 'tile.x', which no kernel has");
  EXPECT_EQ(refusal(head + R"("costs": {"tile.piece_ns": 0}})"),
            "CPU file 'x.json': tile.piece_ns = 0 must be a number above 0, up to 1e9");
  EXPECT_EQ(refusal(head + R"("cores": 4, "costs": {}})"),
            "CPU file 'x.json' has the field 'cores', which is none of name, models, family, isa, "
            "note, costs");
}

TEST(CpuFiles, AreFoundByNameOrPath) {
  const auto message_of = [](const std::string& name) -> std::string {
    try {
      cpu_file_named(name, "--cpu");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(cpu_file_named("amd-zen4").isa, "AVX3");
  EXPECT_NE(message_of("z80").find("--cpu = 'z80' is no described CPU: use one of "),
            std::string::npos);
  EXPECT_EQ(message_of("/no/such/file.json"),
            "--cpu = '/no/such/file.json' cannot be opened: No such file or directory");
}

TEST(DescribedCpu, HasTheCostsOfItsFileAndWhatDiffers) {
  const CpuInfo here = processor("AMD EPYC 9654", "AVX3_DL", 25);
  const std::vector<std::string> targets{"AVX3_DL", "AVX3", "AVX2"};
  const CpuInfo cpu =
      described_cpu(here, "amd-epyc-avx2,cores=64,l1=16K,l2=1M,l3=33554432", targets, "x");
  EXPECT_EQ(cpu.model, "AMD EPYC with AVX2");
  EXPECT_EQ(cpu.isa, "AVX2");
  EXPECT_EQ(cpu.costs, cpu_file_named("amd-epyc-avx2").costs);
  EXPECT_EQ(cpu.cores, 64);
  EXPECT_EQ(cpu.l1_bytes, 16 << 10);
  EXPECT_EQ(cpu.l2_bytes, 1 << 20);
  EXPECT_EQ(cpu.l3_bytes, 32 << 20);
  EXPECT_EQ(described_cpu(here, "amd-zen5", targets, "x").isa, "AVX3_DL");
  EXPECT_EQ(described_cpu(here, "amd-zen5", {"SSE4"}, "x").isa, here.isa) << "none runs here";
  EXPECT_EQ(described_cpu(here, "here", targets, "x"), here);
  EXPECT_EQ(described_cpu(here, "here,cores=2", targets, "x").cores, 2);
}

TEST(DescribedCpu, WhatIsWrongIsNamed) {
  const auto message_of = [](std::string_view description) -> std::string {
    try {
      described_cpu({}, description, {}, "CORNERTURN_CPU");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(message_of("z80").starts_with("CORNERTURN_CPU = 'z80' is no described CPU"));
  EXPECT_TRUE(message_of("").starts_with("CORNERTURN_CPU = '' is no described CPU"));
  for (const std::string wrong : {"", "l4=1M", "l2", "l2=", "l2=M", "l2=-1", "l2=0", "l2=1G",
                                  "l2=1MM", "cores=1K", "cores=0", "cores=99999", "l3=1048577M"}) {
    EXPECT_EQ(message_of("here," + wrong),
              "CORNERTURN_CPU: '" + wrong +
                  "' is none of cores=NUMBER, l1=BYTES, l2=BYTES, l3=BYTES, "
                  "where BYTES may end in K or M");
  }
  EXPECT_EQ(
      message_of("here,l1=1M,l2=1K"),
      "CORNERTURN_CPU = 'here,l1=1M,l2=1K' has caches of 1048576, 1024 and 33554432 bytes: each "
      "is at least as large as the one before");
}

}  // namespace
}  // namespace cornerturn::plan
