// The plans of every case of the public suites, for processors that are described, not there: a
// change of policy shows as a change of tests/plan/golden/*.txt. To write the files anew:
//   CORNERTURN_UPDATE_GOLDEN=1 test_plan --gtest_filter='*GoldenPlans*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/validate.hpp"
#include "harness/case.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {
namespace {

struct Machine {
  std::string name;
  CpuInfo cpu;
};

void PrintTo(const Machine& machine, std::ostream* out) {
  *out << machine.name;
}

const Machine machines[] = {
    {"laptop_avx2", {"laptop", "AVX2", 8, 64, 48 << 10, 512 << 10, 16 << 20}},
    {"server_avx512", {"server", "AVX3_DL", 32, 64, 32 << 10, 1 << 20, 32 << 20}},
};

Problem problem_of(const bench::Case& c) {
  const auto in_bytes = [&](Extents strides) {
    for (std::int64_t& stride : strides) stride *= c.element_bytes;
    return strides;
  };
  const ElementType type = ElementType::bytes(c.element_bytes);
  return make_problem(ConstView(nullptr, type, c.shape, in_bytes(c.src_strides)),
                      View(nullptr, type, c.shape, in_bytes(c.dst_strides)));
}

std::vector<std::string> plans_for(const CpuInfo& cpu) {
  std::vector<std::string> lines;
  for (const bench::EmbeddedSuite& embedded : bench::embedded_suites()) {
    const bench::Suite suite =
        bench::parse_suite(std::string(embedded.text), std::string(embedded.name));
    for (const bench::Case& c : suite.cases) {
      const Plan plan = make_plan(problem_of(c), cpu, {cpu.cores, ""});
      lines.push_back(fmt::format("{}: {}: {}; {} thread{}", to_string(c), plan.kernel(),
                                  describe(plan.chosen, plan.normal), plan.threads,
                                  plan.threads == 1 ? "" : "s"));
    }
  }
  return lines;
}

// Shapes with the order of the result's axes, and types from and to.
std::vector<std::string> conversions_for(const CpuInfo& cpu) {
  struct Order {
    Extents shape;
    std::vector<int> axes;
  };
  const Order orders[] = {{{4096, 4096}, {1, 0}},
                          {{1000, 777}, {1, 0}},
                          {{8, 512, 16, 64}, {0, 2, 1, 3}},
                          {{8, 224, 224, 3}, {0, 3, 1, 2}},
                          {{64, 3, 5, 7}, {3, 2, 1, 0}},
                          {{2048, 2048}, {0, 1}},
                          {{30, 20}, {1, 0}}};
  const std::pair<Kind, Kind> types[] = {{Kind::f32, Kind::f16},
                                         {Kind::bf16, Kind::f32},
                                         {Kind::f32, Kind::i8},
                                         {Kind::f64, Kind::c128}};
  std::vector<std::string> lines;
  for (const Order& order : orders) {
    for (const auto& [from, to] : types) {
      for (const double beta : {0.0, 1.0}) {
        const ConstView src =
            ConstView(nullptr, ElementType(from), order.shape).permuted(order.axes);
        Epilogue epilogue;
        epilogue.beta = beta;
        const Problem problem =
            make_problem(src, View(nullptr, ElementType(to), src.shape), epilogue);
        const Plan plan = make_plan(problem, cpu, {cpu.cores, ""});
        lines.push_back(fmt::format("{}: {}: {}; {} thread{}", to_string(problem), plan.kernel(),
                                    describe(plan.chosen, plan.normal), plan.threads,
                                    plan.threads == 1 ? "" : "s"));
      }
    }
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class GoldenPlans : public testing::TestWithParam<Machine> {};

void compare(const std::string& name, const std::vector<std::string>& plans) {
  const std::string path = fmt::format("{}/tests/plan/golden/{}.txt", CORNERTURN_SOURCE_DIR, name);
  if (std::getenv("CORNERTURN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : plans) file << line << '\n';
    ASSERT_TRUE(file.flush()) << path;
    return;
  }
  const std::vector<std::string> expected = lines_of(path);
  ASSERT_EQ(plans.size(), expected.size()) << path << ": one line for each case of the suites";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i], expected[i]) << path << ":" << i + 1;
  }
}

TEST_P(GoldenPlans, AreTheExpectedOnes) {
  compare(GetParam().name, plans_for(GetParam().cpu));
}

TEST_P(GoldenPlans, OfConversions) {
  compare("convert_" + GetParam().name, conversions_for(GetParam().cpu));
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenPlans, testing::ValuesIn(machines),
                         [](const auto& machine) { return machine.param.name; });

}  // namespace
}  // namespace cornerturn::plan
