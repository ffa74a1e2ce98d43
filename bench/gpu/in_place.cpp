// Measures permutations within an array on the GPU that is here beside a plain copy of the same
// bytes, in one run.
//
//   usage: bench_in_place [--filter TEXT] [--parts] [--json FILE]
//
// --parts also measures each part of a plan that consists of several, one of each kind.
//
// Every case is verified once, element by element. Times are medians; each round runs the case, the
// driver's copy and a kernel's copy, one after the other. A copy reads and writes as many bytes as
// the array has.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "core/in_place.hpp"
#include "cuda/backend.hpp"
#include "cuda/engine.hpp"
#include "gpu/accelerator.hpp"
#include "harness/machine.hpp"
#include "harness/statistics.hpp"
#include "plan/gpu/parts.hpp"
#include "plan/planner.hpp"
#include "workshop/cuda/strided_check.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr int in_place_rounds = 15;

struct InPlaceCase {
  std::string group;
  int element;
  Extents shape;
  std::vector<int> axes;

  std::string name() const { return fmt::format("{} of {} B", fmt::join(shape, " x "), element); }
};

std::vector<InPlaceCase> in_place_cases() {
  std::vector<InPlaceCase> cases;
  const auto matrix = [&](const char* group, int element, std::int64_t rows, std::int64_t columns) {
    cases.push_back({group, element, {rows, columns}, {1, 0}});
  };
  for (const int element : {1, 2, 4, 8, 16}) {
    const std::int64_t side = element == 1 ? 32768 : element <= 4 ? 16384 : 8192;
    matrix("square", element, side, side);
    matrix("square", element, side - 1, side - 1);
    cases.push_back({"batched square", element, {64, side / 8, side / 8}, {0, 2, 1}});
    matrix("4:1", element, 2 * side, side / 2);
    matrix("odd", element, side - 1, side + 1);
    matrix("primes", element, 8191, 8209);
    cases.push_back({"batch in shared memory", element, {1 << 16, 64, 32}, {0, 2, 1}});
  }
  for (const int members : {2, 3, 5, 8, 16, 64}) {
    matrix("structures", 4, 10'000'000, members);
    matrix("planes", 4, members, 10'000'000);
  }
  matrix("structures", 1, 100'000'000, 3);
  cases.push_back({"images", 1, {64, 1024, 1024, 3}, {0, 3, 1, 2}});
  cases.push_back({"images", 2, {64, 512, 512, 64}, {0, 3, 1, 2}});
  return cases;
}

struct InPlaceTimes {
  double own;
  double copy;  ///< the faster of two
};

// The medians of all works.
InPlaceTimes timed(Accelerator& gpu, const plan::Plan& plan, const Buffers& buffers,
                   std::int64_t bytes) {
  const std::vector<Work> works = {
      [&] { cuda::execute(plan, buffers, static_cast<cuda::Stream>(gpu.stream())); },
      [&] { gpu.copy_by_driver(gpu.dst(), gpu.src(), bytes); },
      [&] { gpu.copy_by_kernel(gpu.dst(), gpu.src(), bytes); }};
  gpu.time(works);
  std::vector<std::vector<double>> all(works.size());
  for (int round = 0; round < in_place_rounds; ++round) {
    const std::vector<double> seconds = gpu.time(works);
    for (std::size_t i = 0; i < seconds.size(); ++i) all[i].push_back(seconds[i]);
  }
  return {median(all[0]), std::min(median(all[1]), median(all[2]))};
}

std::string difference(Accelerator& gpu, const Problem& problem, const plan::Plan& plan,
                       const Buffers& buffers, int element) {
  const auto stream = static_cast<cuda::Stream>(gpu.stream());
  gpu.fill(gpu.src(), problem.bytes(), element);
  cuda::execute(plan, buffers, stream);
  Problem as_move = problem;
  as_move.in_place = false;
  return cuda::StridedCheck(as_move).difference(gpu.src(), problem.bytes(), stream);
}

// The parts of a plan, each kind with its number and the seconds of its first one.
ordered_json parts_of(Accelerator& gpu, const plan::Plan& plan, const Buffers& buffers) {
  struct Kind {
    const plan::Plan* plan;
    Buffers buffers;
    int count;
  };
  std::vector<Kind> kinds;
  plan::gpu::for_each_part(plan, buffers, [&](const plan::Plan& part, const Buffers& its) {
    for (Kind& kind : kinds) {
      if (kind.plan == &part) {
        ++kind.count;
        return;
      }
    }
    kinds.push_back({&part, its, 1});
  });
  ordered_json all = ordered_json::array();
  for (const Kind& kind : kinds) {
    const std::vector<Work> work = {
        [&] { cuda::execute(*kind.plan, kind.buffers, static_cast<cuda::Stream>(gpu.stream())); }};
    std::vector<double> seconds;
    seconds.reserve(in_place_rounds);
    for (int round = 0; round < in_place_rounds; ++round) seconds.push_back(gpu.time(work)[0]);
    std::cout << fmt::format("    {:4} x {:9.1f} us  {}\n", kind.count, 1e6 * median(seconds),
                             plan::to_string(*kind.plan));
    all.push_back({{"plan", plan::to_string(*kind.plan)},
                   {"count", kind.count},
                   {"seconds", median(seconds)}});
  }
  return all;
}

ordered_json measured(Accelerator& gpu, const plan::Machine& machine, const InPlaceCase& c,
                      bool parts) {
  const View described(nullptr, ElementType::bytes(c.element), c.shape);
  const Problem problem = in_place::problem_in_place(described, c.axes).problem;
  const plan::Plan plan = plan::make_plan(problem, machine);
  const std::int64_t bytes = problem.bytes();
  gpu.reserve(bytes, std::max(bytes, plan.workspace()));
  Buffers buffers{gpu.src(), gpu.src()};
  buffers.workspace = gpu.dst();
  const std::string wrong = difference(gpu, problem, plan, buffers, c.element);
  const InPlaceTimes times = timed(gpu, plan, buffers, bytes);
  const double share = times.copy / times.own;
  std::cout << fmt::format("{:22} {:34} {:6.1f} % of a copy  {}{}\n", c.group, c.name(),
                           100 * share, plan::to_string(plan),
                           wrong.empty() ? "" : "  WRONG: " + wrong)
            << std::flush;
  ordered_json result = {{"suite", "inplace"},      {"case", c.name()},
                         {"class", c.group},        {"element_bytes", c.element},
                         {"shape", c.shape},        {"axes", c.axes},
                         {"kernel", plan.kernel()}, {"plan", plan::to_string(plan)},
                         {"bytes", bytes},          {"workspace", plan.workspace()},
                         {"seconds", times.own},    {"copy_seconds", times.copy},
                         {"share_of_copy", share},  {"difference", wrong}};
  if (parts) result["parts"] = parts_of(gpu, plan, buffers);
  return result;
}

int run_in_place(const std::string& filter, bool parts, const std::string& json) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  const plan::Machine& machine = cuda::machine_of(cuda::current_device());
  ordered_json report = {{"kind", "cornerturn-in-place"}, {"schema", 1}};
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  report["cases"] = ordered_json::array();
  bool good = true;
  for (const InPlaceCase& c : in_place_cases()) {
    if ((c.group + " " + c.name()).find(filter) == std::string::npos) continue;
    report["cases"].push_back(measured(*gpu, machine, c, parts));
    good = good && report["cases"].back()["difference"] == "";
  }
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures permutations in place on the GPU that is here");
  std::string filter;
  std::string json;
  app.add_option("--filter", filter, "Only cases whose class and name contain this");
  bool parts = false;
  app.add_flag("--parts", parts, "Also measure each part of a plan that consists of several");
  app.add_option("--json", json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run_in_place(filter, parts, json);
  } catch (const std::exception& error) {
    std::cerr << "bench_in_place: " << error.what() << "\n";
    return 2;
  }
}
