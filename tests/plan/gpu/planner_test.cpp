#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/in_place.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/families.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/parts.hpp"
#include "plan/planner.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan::gpu {
namespace {

TEST(GpuPlanner, ProblemsWithoutElementsAreGathers) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(2);
  problem.modes = {{500, 2, 0}, {0, 1000, 1000}, {3, 1, 1}};
  const Plan plan = make_plan(problem, device_named("h200"));
  EXPECT_EQ(plan.kernel(), "gather");
  EXPECT_EQ(plan.candidates.size(), 1U);
  EXPECT_NE(explain(plan).find("there is nothing to move"), std::string::npos);
}

TEST(GpuPlanner, PlansPrintThemselvesOnEveryDescribedDevice) {
  test::RandomProblems random(41);
  for (int i = 0; i < test::draws(200); ++i) {
    const Problem problem = random.next();
    for (const DeviceInfo& device : known_devices()) {
      const Plan plan = make_plan(problem, device, {1, "", {true, 4, 16}});
      EXPECT_NE(to_string(plan).find(device.name), std::string::npos);
      EXPECT_NE(explain(plan).find(why(plan)), std::string::npos);
      EXPECT_NE(to_json(plan).find(plan.kernel()), std::string::npos);
      EXPECT_LE(plan.ready.launch.block.count(), 1024U);
      EXPECT_LE(plan.ready.launch.dynamic_shared, static_cast<unsigned>(device.shared_per_block));
      EXPECT_GE(plan.predicted_seconds(), device.launch_seconds);
    }
  }
}

TEST(GpuPlanner, QuickPlansChooseTheSameAndFindTheOthersWhenAsked) {
  for (const std::int64_t bytes : {std::int64_t{10} << 10, std::int64_t{1} << 30}) {
    test::RandomProblems random(43, {.max_bytes = bytes});
    for (int i = 0; i < test::draws(300); ++i) {
      const Problem problem = random.next();
      for (const DeviceInfo& device : known_devices()) {
        const Request request{1, "", {true, std::int64_t{1} << random.uniform(0, 4), 16}};
        const Plan whole = make_plan(problem, device, request);
        const Plan quick = make_quick_plan(problem, device, request);
        EXPECT_EQ(quick.chosen, whole.chosen);
        EXPECT_EQ(candidates_of(quick), whole.candidates);
        EXPECT_EQ(explain(quick), explain(whole));
        EXPECT_EQ(to_json(quick), to_json(whole));
      }
    }
  }
}

// Marks the costs of a family as assumed while it lives.
class AssumedCosts {
 public:
  explicit AssumedCosts(const Row& row)
      : row_(const_cast<Row&>(row)) {  // NOLINT: the registry is no constant
    row_.assumed = true;
  }
  AssumedCosts(const AssumedCosts&) = delete;
  AssumedCosts& operator=(const AssumedCosts&) = delete;
  ~AssumedCosts() { row_.assumed = false; }

 private:
  Row& row_;
};

TEST(GpuPlanner, AnAssumedCandidateIsChosenOnlyWhereThereIsNoOther) {
  test::RandomProblems random(59, {.max_bytes = std::int64_t{1} << 30});
  int changed = 0, only = 0;
  for (int i = 0; i < 100; ++i) {
    const Problem problem = random.next();
    const Plan before = make_plan(problem, device_named("h200"));
    const AssumedCosts assumed(*before.chosen.row);
    const Plan plan = make_plan(problem, device_named("h200"));
    EXPECT_EQ(make_quick_plan(problem, device_named("h200")).chosen, plan.chosen);
    EXPECT_EQ(plan.candidates.size(), before.candidates.size());
    const bool has_others = std::any_of(before.candidates.begin(), before.candidates.end(),
                                        [](const Candidate& c) { return !c.row->assumed; });
    EXPECT_EQ(plan.chosen.row->assumed, !has_others) << to_string(plan);
    EXPECT_TRUE(std::is_sorted(plan.candidates.begin(), plan.candidates.end(), comes_before));
    changed += has_others ? 1 : 0;
    only += has_others ? 0 : 1;
  }
  EXPECT_GT(changed, 50);
  EXPECT_GT(only, 0);
}

// A least demand is never priced higher than what it stands for: that of a box, and that of them
// all.
TEST(GpuPlanner, NoBoxOfPackTakesLessThanItsLeastDemand) {
  double closest = 0, closest_of_all = 0;
  int boxes = 0;
  for (const std::int64_t bytes : {std::int64_t{10} << 10, std::int64_t{1} << 30}) {
    test::RandomProblems random(47, {.max_bytes = bytes});
    // Memory hides most of what threads do: of one that takes no time it hides nothing.
    std::vector<DeviceInfo> devices(known_devices().begin(), known_devices().end());
    devices.push_back(device_named("h200"));
    devices.back().copy_bandwidth *= 1000;
    for (int i = 0; i < test::draws(200); ++i) {
      const Problem problem = random.next();
      for (const DeviceInfo& device : devices) {
        const Plan plan = make_plan(problem, device);
        const Model model{device, standard_costs().shared, least_traffic(plan.normal)};
        pack::Boxes common(plan.normal);
        const auto least_seconds = [&](const auto& of) {
          return roofline(pack::Family::least_demand(of, plan.normal, model, {}, common), model)
              .seconds;
        };
        const double of_all = least_seconds(plan.alignment);
        for (const Candidate& candidate : plan.candidates) {
          if (candidate.row->name != pack::Family::name) continue;
          const double least = least_seconds(candidate.config.as<PackConfig>());
          EXPECT_LE(least, candidate.seconds()) << to_string(plan);
          EXPECT_LE(of_all, candidate.seconds()) << to_string(plan);
          closest = std::max(closest, least / candidate.seconds());
          closest_of_all = std::max(closest_of_all, of_all / candidate.seconds());
          ++boxes;
        }
      }
    }
  }
  EXPECT_GT(boxes, test::draws(1000));
  EXPECT_GT(closest, 0.99);
  EXPECT_GT(closest_of_all, 0.95);
}

// A problem of values that change, with the modes of one that moves elements.
Problem converted(Problem problem, Kind from, Kind to) {
  const std::int64_t size = problem.src_type.size();
  problem.src_type = ElementType(from);
  problem.dst_type = ElementType(to);
  for (Mode& mode : problem.modes) {
    mode.src_stride = mode.src_stride / size * problem.src_type.size();
    mode.dst_stride = mode.dst_stride / size * problem.dst_type.size();
  }
  problem.src_offset = problem.dst_offset = 0;
  return problem;
}

TEST(GpuPlanner, QuickPlansOfConversionsChooseTheSame) {
  const DeviceInfo device = device_named("h200");
  test::RandomProblems random(61, {.max_bytes = std::int64_t{1} << 28});
  int boxes = 0;
  for (int i = 0; i < test::draws(150); ++i) {
    const Problem moved = random.next();
    for (const auto& [from, to] : {std::pair{Kind::f32, Kind::bf16}, {Kind::f16, Kind::f32}}) {
      const Problem problem = converted(moved, from, to);
      const Plan plan = make_plan(problem, device);
      EXPECT_EQ(make_quick_plan(problem, device).chosen, plan.chosen) << to_string(plan.normal);
      const Model model{device, standard_costs().shared, least_traffic(plan.normal)};
      pack::Boxes common(plan.normal);
      for (const Candidate& candidate : plan.candidates) {
        if (candidate.row->name != pack::Family::name) continue;
        const auto& config = candidate.config.as<PackConfig>();
        const Demand least = pack::Family::least_demand(config, plan.normal, model, {}, common);
        EXPECT_LE(roofline(least, model).seconds, candidate.seconds()) << to_string(plan);
        ++boxes;
      }
    }
  }
  EXPECT_GT(boxes, test::draws(100));
}

// A driver may tell neither bandwidth nor clock, and no file describe the GPU.
TEST(GpuPlanner, QuickPlansAreMadeWhereNoTimeCanBeExpected) {
  DeviceInfo unknown = device_named("h200");
  unknown.name = "unknown";
  unknown.copy_bandwidth = 0;
  unknown.clock_hz = 0;
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(4);
  problem.modes = {{64, 4, 256}, {64, 256, 4}};
  EXPECT_EQ(make_quick_plan(problem, unknown).chosen, make_plan(problem, unknown).chosen);
}

// Parts of a permutation in place share its workspace.
TEST(GpuPlanner, PassesStayWithinTheUsualWorkspace) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{30000, 7000},
                                      {10007, 10009},
                                      {5, 10'000'019},
                                      {65537, 65539},
                                      {3, 33'333'333},
                                      {20000, 30000}}) {
    for (const int element : {1, 4, 16}) {
      Problem problem;
      problem.src_type = problem.dst_type = ElementType::bytes(element);
      problem.in_place = true;
      problem.modes = {{columns, element, rows * element}, {rows, columns * element, element}};
      const Plan plan = make_plan(problem, device_named("h200"), {1, "passes"});
      EXPECT_LE(plan.workspace(), in_place::usual_workspace(problem.bytes()))
          << rows << " x " << columns << " of " << element;
    }
  }
}

// 48 rows, all of them the same column of a matrix.
TEST(GpuPlanner, RepeatedSourcesAreMovedOnce) {
  const auto column = [](std::int64_t elements, std::int64_t step, const std::string& kernel = {}) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(1);
    problem.modes = {{48, 0, elements}, {elements, step, 1}};
    return make_plan(problem, device_named("h200"), {1, kernel});
  };
  const Plan plan = column(1'681'360, 48, "repeat");
  EXPECT_EQ(plan.kernel(), "repeat");
  const std::vector<Part>& parts = plan.chosen.row->parts(plan.chosen.config)->list;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].plan->normal.elements(), 1'681'360);
  EXPECT_EQ(parts[0].src, (PartPlace{Memory::source, 0}));
  EXPECT_EQ(parts[1].plan->normal.bytes(), 47 * std::int64_t{1'681'360});
  EXPECT_EQ(parts[1].src, (PartPlace{Memory::array, 0}));
  EXPECT_EQ(parts[1].dst, (PartPlace{Memory::array, 1'681'360}));
  EXPECT_EQ(plan.workspace(), 0);
  EXPECT_NE(explain(plan).find("once        gather, 1 B at a time"), std::string::npos)
      << explain(plan);
  EXPECT_NE(to_json(plan).find("\"launch\": null"), std::string::npos) << "its parts have launches";
  EXPECT_NE(column(1'681'360, 1).kernel(), "repeat") << "one row after the other";
  EXPECT_NE(column(16'000, 48).kernel(), "repeat") << "a copy takes no longer than a launch";
}

// Elements of 8 bytes each: no kernel has a sector for more than one element.
TEST(GpuPlanner, RepeatedElementsAreLoadedOnce) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(8);
  problem.modes = {{16, 0, 8 * 1'681'360}, {1'681'360, 64, 8}};
  const Plan plan = make_plan(problem, device_named("h200"));
  EXPECT_EQ(describe(plan.chosen, plan.normal),
            "8 B at a time in destination order, loaded once, stored several times");
  EXPECT_EQ(plan.ready.launch.grid.x, 6568U) << "256 elements a block";
}

// Between two times that a kernel needs the source, the L2 has lost what it has read of it.
TEST(GpuPlanner, LargeSourcesAreReadAgainUnlessTheyAreLoadedOnce) {
  const auto transposed = [](std::int64_t times, std::int64_t rows) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(4);
    problem.modes = {{times, 0, 4 * 112 * rows}, {112, 4, 4 * rows}, {rows, 4 * 112, 4}};
    return problem;
  };
  const auto seconds = [](const Problem& problem, const std::string& kernel) {
    return make_plan(problem, device_named("h200"), {1, kernel}).predicted_seconds();
  };
  const Plan plan = make_plan(transposed(13, 614'400), device_named("h200"));
  ASSERT_EQ(plan.kernel(), "repeat");
  const std::vector<Part>& parts = plan.chosen.row->parts(plan.chosen.config)->list;
  EXPECT_EQ(parts[1].plan->kernel(), "gather");
  EXPECT_NE(describe(parts[1].plan->chosen, parts[1].plan->normal).find("loaded once"),
            std::string::npos);
  // As many elements of a source that the L2 holds take less time.
  EXPECT_GT(seconds(transposed(13, 614'400), "tile"),
            1.5 * seconds(transposed(13 * 16, 614'400 / 16), "tile"));
}

TEST(GpuPlanner, PartsArePlannedWithTheCostsOfTheirMachine) {
  Costs costs = standard_costs();
  for (const Costs::Named& one : costs.named()) {
    if (one.name == "gather.axis") one.cost->value *= 1000;
  }
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  problem.modes = {{48, 0, 1'681'360}, {1'681'360, 48, 1}};
  const auto first = [&](const Costs& with) {
    const Plan plan = make_plan(problem, Machine(device_named("h200"), with), {1, "repeat"});
    return plan.chosen.row->parts(plan.chosen.config)->list.front().plan->predicted_seconds();
  };
  EXPECT_GT(first(costs), 2 * first(standard_costs()));
}

TEST(GpuPlanner, SkewTakesLargeMatricesWhoseRowsBeginBetweenSectors) {
  const auto offers_skew = [](int size, std::int64_t rows, std::int64_t cols) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(size);
    problem.modes = {{cols, size, rows * size}, {rows, cols * size, size}};
    const Plan plan = make_plan(problem, device_named("h200"), {1, ""});
    return std::any_of(plan.candidates.begin(), plan.candidates.end(),
                       [](const Candidate& candidate) { return candidate.row->name == "skew"; });
  };
  EXPECT_TRUE(offers_skew(1, 4208, 32768));
  EXPECT_TRUE(offers_skew(2, 4104, 16384));
  EXPECT_FALSE(offers_skew(1, 4224, 32768)) << "rows begin with sectors";
  EXPECT_FALSE(offers_skew(4, 4100, 8192)) << "tiles of larger elements are faster";
  EXPECT_FALSE(offers_skew(1, 4208, 4096)) << "small";
}

// Each element of the source has a sector for itself, which every kernel reads as a whole.
TEST(GpuPlanner, ElementsFarApartDoNotMakeBoxesExpensive) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  problem.modes = {{1489, 7552, 37760}, {5, 11244928, 7552}, {128, 59, 59}, {59, 0, 1}};
  const Plan plan = make_plan(problem, device_named("h200"), {1, ""});
  const auto least = [&](std::string_view kernel) {
    double seconds = 1;
    for (const Candidate& candidate : plan.candidates) {
      if (candidate.row->name == kernel) seconds = std::min(seconds, candidate.seconds());
    }
    return seconds;
  };
  EXPECT_LT(least("pack"), least("gather"));  // 36 and 92 us, as measured
}

TEST(GpuPlanner, LargeArraysHaveBoxesWithRunsThatAreLongerOnOneSide) {
  // Those whose runs are longer in the source, in the destination.
  const auto count = [](std::int64_t rows) {
    std::pair<int, int> found;
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(4);
    problem.modes = {{4099, 4, 4 * rows}, {rows, 4 * 4099, 4}};
    const Plan plan = make_plan(problem, device_named("h200"), {1, "pack", {true, 1, 1}});
    for (const Candidate& candidate : plan.candidates) {
      const auto& config = candidate.config.as<PackConfig>();
      if (config.dst_shift == 0) continue;
      ++(config.dst_shift < 0 ? found.first : found.second);
      EXPECT_GE(pack::Boxes(plan.normal).of(config).bytes, 16 << 10);
    }
    return found;
  };
  const auto large = count(4100);  // 67 MB
  EXPECT_GT(large.first, 0);
  EXPECT_GT(large.second, 0);
  EXPECT_EQ(count(515), std::pair(0, 0));  // 8 MB
}

// Runs of whole sectors would make boxes of 112 KB here, runs of whole vectors some of 66 KB; of
// `gapped`, whose boxes have gaps between pieces of 6 bytes, shared memory of 63 KB.
TEST(GpuPlanner, BoxesEndAnywhereWhereWholeVectorsDoNotFit) {
  Problem large, small, gapped;
  large.modes = {{26, 1, 21'216'000},   {10, 33, 2'121'600}, {6, 140'250, 353'600},
                 {23, 841'500, 11'050}, {25, 5610, 442},     {26, 19'354'500, 17},
                 {17, 330, 1}};
  small.modes = {{37, 1, 9072}, {27, 37, 336}, {6, 7992, 56}, {7, 47'952, 8}, {8, 999, 1}};
  gapped.modes = {
      {127, 9, 457'380}, {6, 1, 76'230}, {3, 804'672, 25'410}, {704, 1143, 33}, {33, 2'414'016, 1}};
  for (const std::int64_t alignment : {1, 16}) {
    for (const Problem& problem : {large, small, gapped}) {
      const Plan plan =
          make_plan(problem, device_named("h200"), {1, "pack", {true, alignment, alignment}});
      const bool fits = std::any_of(
          plan.candidates.begin(), plan.candidates.end(), [&](const Candidate& candidate) {
            const Box box = pack::Boxes(plan.normal).of(candidate.config.as<PackConfig>());
            return box.src.places >= 64 && box.dst.run >= 64 && box.bytes <= 60 << 10;
          });
      EXPECT_TRUE(fits) << to_string(problem) << ", aligned to " << alignment;
    }
  }
}

// As measured: around it, where runs are short and elements small.
TEST(GpuPlanner, LoadsOfPackGoThroughTheL1WhereThatIsWorthIt) {
  // Whether those of boxes with such runs of the source do, for each form.
  const auto through_l1 = [](int size, std::int64_t rows, std::int64_t pad) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(size);
    const std::int64_t cols = 4096;
    problem.modes = {{cols, size, rows * size + pad}, {rows, cols * size + pad, size}};
    const Plan plan = make_plan(problem, device_named("h200"), {1, "pack", {true, 16, 16}});
    std::vector<std::pair<int, bool>> found;
    for (const Candidate& candidate : plan.candidates) {
      const auto config = candidate.config.as<PackConfig>();
      const std::string text = describe(candidate, plan.normal);
      found.emplace_back(std::stoi(text.substr(text.find("runs of ") + 8)),
                         pack::Family::prepare(config, plan.normal).args.through_l1);
    }
    return found;
  };
  for (const auto& [run, through] : through_l1(4, 4096, 4)) EXPECT_TRUE(through) << run;
  for (const auto& [run, through] : through_l1(4, 4096, 0)) EXPECT_TRUE(through) << run;
  int longest = 0;
  for (const auto& [run, through] : through_l1(1, 48, 0)) {
    EXPECT_FALSE(through) << run;
    longest = std::max(longest, run);
  }
  EXPECT_GE(longest, 256);
  for (const int size : {1, 2}) {
    int around = 0, through = 0;
    for (const std::int64_t rows : {41, 4096}) {
      for (const auto& [run, is_through] : through_l1(size, rows, size)) {
        EXPECT_EQ(is_through, run >= 256 / size) << size << " B, runs of " << run;
        ++(is_through ? through : around);
      }
    }
    EXPECT_GT(around, 0);
    EXPECT_GT(through, 0);
  }
}

// A weight matrix with a scale for each row.
TEST(GpuPlanner, ScalesGoThroughTheFastKernels) {
  Problem problem;
  problem.src_type = ElementType(Kind::f32);
  problem.dst_type = ElementType(Kind::i8);
  problem.scale = {true, 0, 1, 0};
  const auto kernel = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    problem.modes = {{rows, columns * 4, transposed ? 1 : columns},
                     {columns, 4, transposed ? rows : 1}};
    return std::string(make_plan(problem, device_named("h200")).kernel());
  };
  EXPECT_EQ(kernel(4096, 4096, true), "tile");
  EXPECT_EQ(kernel(4096, 4096, false), "rows");
  EXPECT_EQ(kernel(4095, 4095, true), "gather");
  problem.values.rounding = Rounding::stochastic;
  EXPECT_EQ(kernel(4096, 4096, true), "gather");
}

}  // namespace
}  // namespace cornerturn::plan::gpu
