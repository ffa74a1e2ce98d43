// The kernels that offer themselves for every case of the public suites, for a processor that is
// described, not there, and their configurations: a change of policy shows as a change of
// tests/plan/golden/*.txt. To write the files anew:
//   CORNERTURN_UPDATE_GOLDEN=1 test_plan --gtest_filter='*GoldenPlans*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/validate.hpp"
#include "harness/case.hpp"
#include "plan/golden.hpp"
#include "plan/planner.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan {
namespace {

struct DescribedCpu {
  std::string name;
  CpuInfo cpu;
};

void PrintTo(const DescribedCpu& machine, std::ostream* out) {
  *out << machine.name;
}

const DescribedCpu machines[] = {
    {"laptop_avx2", {"laptop", "AVX2", 8, 64, 48 << 10, 512 << 10, 16 << 20}},
    {"server_avx512", {"server", "AVX3_DL", 32, 64, 32 << 10, 1 << 20, 32 << 20}},
};

Problem problem_of(const bench::Case& c) {
  const auto in_bytes = [&](Extents strides) {
    for (std::int64_t& stride : strides) stride *= c.element_bytes;
    return strides;
  };
  const ElementType type = ElementType::bytes(c.element_bytes);
  return make_problem(View(nullptr, type, c.shape, in_bytes(c.dst_strides)),
                      ConstView(nullptr, type, c.shape, in_bytes(c.src_strides)));
}

std::vector<std::string> plans_for(const CpuInfo& cpu) {
  std::vector<std::string> lines;
  for (const bench::EmbeddedSuite& embedded : bench::embedded_suites()) {
    const bench::Suite suite =
        bench::parse_suite(std::string(embedded.text), std::string(embedded.name));
    for (const bench::Case& c : suite.cases) {
      const Plan plan = make_plan(problem_of(c), cpu, {cpu.cores, ""});
      lines.push_back(fmt::format("{}: {}", to_string(c), test::kernels_of(plan)));
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
            make_problem(View(nullptr, ElementType(to), src.shape), src, epilogue);
        const Plan plan = make_plan(problem, cpu, {cpu.cores, ""});
        lines.push_back(fmt::format("{}: {}", to_string(problem), test::kernels_of(plan)));
      }
    }
  }
  return lines;
}

// Matrices and stacks of them, plain and with the last two axes exchanged, quantised and back.
std::vector<std::string> operations_for(const CpuInfo& cpu) {
  std::vector<std::string> lines;
  const auto add = [&](const Problem& problem) {
    const Plan plan = make_plan(problem, cpu, {cpu.cores, ""});
    lines.push_back(fmt::format("{}: {}", to_string(problem), test::kernels_of(plan)));
  };
  const auto packed = [](const Extents& shape, std::int64_t element) {
    return View(nullptr, ElementType::bytes(static_cast<int>(element)), shape).strides;
  };
  for (const Extents& shape : {Extents{4096, 4096}, Extents{3, 1000, 777}, Extents{20, 40}}) {
    const auto axis = static_cast<int>(shape.size()) - 1;
    Extents counted = shape, whole = shape;
    counted.back() = (shape.back() + 31) / 32;
    whole.back() = counted.back() * 32;
    for (const Kind kind : {Kind::f32, Kind::bf16}) {
      const ElementType type(kind);
      Extents transposed_shape = shape;
      std::swap(transposed_shape[shape.size() - 1], transposed_shape[shape.size() - 2]);
      Extents transposed = packed(transposed_shape, type.size());
      std::swap(transposed[shape.size() - 1], transposed[shape.size() - 2]);
      for (const Extents& strides : {packed(shape, type.size()), transposed}) {
        for (const bool back : {false, true}) {
          add(block_problem(type, shape, strides, {{}, back, {axis, packed(counted, 34), {}}, {}}));
          add(block_problem(type, shape, strides,
                            {{BlockFormat::mxfp8_e4m3, BlockScale::floor},
                             back,
                             {axis, packed(whole, 1), packed(counted, 1)},
                             {}}));
        }
        add(reduce_problem(type, shape, strides));
      }
      if (shape.size() != 2) continue;
      const std::int64_t rows = (shape[0] + 31) / 32;
      add(block_problem(type, shape, packed(shape, type.size()),
                        {{BlockFormat::mxfp8_e5m2, BlockScale::ceil},
                         false,
                         {axis, packed(whole, 1), packed(counted, 1)},
                         BlockLayout{0, {1, rows * 32}, {1, rows}}}));
    }
  }
  return lines;
}

// All configurations of random problems, in alphabetical order: whatever they are thought to cost.
std::vector<std::string> configurations_for(const CpuInfo& cpu) {
  test::RandomProblems random(31, {6, 4 << 20, true});
  std::vector<std::string> lines;
  for (int i = 0; i < 80; ++i) {
    const Problem problem = random.next();
    const Plan plan = make_plan(problem, cpu, {1, ""});
    test::append_configurations(problem, plan, lines);
  }
  return lines;
}

class GoldenPlans : public testing::TestWithParam<DescribedCpu> {};

TEST_P(GoldenPlans, AreTheExpectedOnes) {
  test::compare_with_golden(GetParam().name, plans_for(GetParam().cpu));
}

TEST_P(GoldenPlans, OfConversions) {
  test::compare_with_golden("convert_" + GetParam().name, conversions_for(GetParam().cpu));
}

TEST_P(GoldenPlans, OfOperations) {
  test::compare_with_golden("operations_" + GetParam().name, operations_for(GetParam().cpu));
}

TEST_P(GoldenPlans, OfferTheExpectedConfigurations) {
  test::compare_with_golden("configurations_" + GetParam().name,
                            configurations_for(GetParam().cpu));
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenPlans, testing::ValuesIn(machines),
                         [](const auto& machine) { return machine.param.name; });

}  // namespace
}  // namespace cornerturn::plan
