// Measures all candidates of random problems whose values become blocks of 32, come from such
// blocks, or are reduced to the largest magnitude, on the GPU that is here.
//
//   usage: bench_values --suite values:COUNT:SEED ... [--json FILE]
//
// planning_check reads the file, and fits the costs of those families to it. Times are medians,
// with cold caches; each round has a plain copy of half of the bytes that the case reads and
// writes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "cuda/backend.hpp"
#include "cuda/engine.hpp"
#include "gpu/accelerator.hpp"
#include "harness/machine.hpp"
#include "harness/statistics.hpp"
#include "plan/planner.hpp"
#include "planning/value_cases.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;
using plan::Plan;

constexpr int rounds = 11;

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

Buffers buffers_of(const ValueCase& c, const std::byte* src, std::byte* dst) {
  Buffers buffers{dst, src};
  if (c.problem.blocks == nullptr) return buffers;
  std::byte* const first = c.problem.blocks->back ? const_cast<std::byte*>(src) : dst;
  buffers.blocks = {first + c.scales_at, first + c.second_at, first + c.second_scales_at};
  return buffers;
}

// The medians of all candidates and, behind them, of the plain copy.
std::vector<double> medians(Accelerator& gpu, const ValueCase& c, const std::vector<Plan>& plans) {
  const std::int64_t half = (c.src_bytes + c.dst_bytes) / 2;
  const std::int64_t src_step = whole_pages(std::max(c.src_bytes, half));
  const std::int64_t dst_step = whole_pages(std::max(c.dst_bytes, half));
  const std::int64_t slots =
      std::clamp<std::int64_t>(8 * gpu.cache_bytes() / (src_step + dst_step) + 1, 2, 64);
  gpu.reserve(slots * src_step, slots * dst_step);
  gpu.fill(gpu.src(), slots * src_step, c.element_bytes);
  std::int64_t next = 0;
  const auto src = [&] { return gpu.src() + next % slots * src_step; };
  const auto dst = [&] { return gpu.dst() + next % slots * dst_step; };
  std::vector<Work> works;
  for (const Plan& plan : plans) {
    works.push_back([&] {
      cuda::execute(plan, buffers_of(c, src(), dst()), static_cast<cuda::Stream>(gpu.stream()));
      ++next;
    });
  }
  works.push_back([&] {
    gpu.copy_by_kernel(dst(), src(), half);
    ++next;
  });
  gpu.time(works);
  std::vector<std::vector<double>> all(works.size());
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> seconds = gpu.time(works);
    for (std::size_t i = 0; i < seconds.size(); ++i) all[i].push_back(seconds[i]);
  }
  std::vector<double> out;
  for (const std::vector<double>& one : all) out.push_back(median(one));
  return out;
}

ordered_json measured(Accelerator& gpu, const plan::Machine& machine, const std::string& suite,
                      const ValueCase& c) {
  Plan plan = plan::make_plan(c.problem, machine);
  std::vector<Plan> plans;
  for (const plan::Candidate& candidate : plan.candidates) {
    plans.push_back(plan);
    plans.back().choose(candidate, plan::Choice::forced);
  }
  const std::vector<double> seconds = medians(gpu, c, plans);
  ordered_json out = {{"suite", suite},
                      {"case", c.name},
                      {"class", c.group},
                      {"element_bytes", c.element_bytes},
                      {"text", c.text},
                      {"bytes_moved", c.src_bytes + c.dst_bytes},
                      {"copy_seconds", seconds.back()}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    out["candidates"].push_back({{"kernel", plans[i].kernel()},
                                 {"candidate", describe(plans[i].chosen, plan.normal)},
                                 {"predicted_seconds", plans[i].predicted_seconds()},
                                 {"seconds", seconds[i]}});
  }
  std::cout << fmt::format("{:8} {:70} {:6.1f} % of a copy, {}\n", c.name, c.text,
                           100 * seconds.back() / seconds.front(), plan.kernel());
  return out;
}

int run(const std::vector<std::string>& suites, const std::string& json) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  const plan::Machine& machine = cuda::machine_of(cuda::current_device());
  ordered_json report = {{"kind", "cornerturn-values"}, {"schema", 1}};
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  for (const std::string& suite : suites) {
    for (const ValueCase& c : value_cases(suite)) {
      report["cases"].push_back(measured(*gpu, machine, suite, c));
    }
  }
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures candidates for values that change, on the GPU that is here");
  std::vector<std::string> suites;
  std::string json;
  app.add_option("--suite", suites, "values:COUNT:SEED")->required();
  app.add_option("--json", json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run(suites, json);
  } catch (const std::exception& error) {
    std::cerr << "bench_values: " << error.what() << "\n";
    return 2;
  }
}
