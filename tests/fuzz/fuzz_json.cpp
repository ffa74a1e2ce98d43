// JSON files that somebody else has written: a described GPU, a described CPU, a suite, a result of
// the benchmark. Each is refused with an Error, or can be used. The first byte says which it is.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cornerturn/error.hpp"
#include "cpu/cpu_info.hpp"
#include "fuzz/input.hpp"
#include "fuzz/stop.hpp"
#include "harness/case.hpp"
#include "harness/report.hpp"
#include "plan/cpu/cpu_files.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"

namespace cornerturn::fuzz {
namespace {

// A transposition and a row-wise copy: every family is asked.
void plans_for(const plan::Machine& machine) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType(Kind::f32);
  for (const std::int64_t turned : {4, 2048}) {
    problem.modes = {{300, turned, 2048}, {500, turned == 4 ? 1200 : 4, 4}};
    const plan::Plan plan = plan::make_plan(problem, machine);
    if (explain(plan).empty() || to_json(plan).empty()) stop("a plan without words");
  }
}

void read(char what, const std::string& text) {
  switch (what) {
    case 'g':
      return plans_for(plan::gpu::parse_device(text, "x.json"));
    case 'c': {
      const plan::CpuFile file = plan::parse_cpu_file(text, "x.json");
      const std::string written = to_json(file);
      if (to_json(plan::parse_cpu_file(written, "x.json")) != written) stop(written);
      plan::CpuInfo cpu = cpu::cpu_info();
      cpu.costs = file.costs;
      return plans_for(cpu);
    }
    case 's':
      for (const bench::Case& c : bench::parse_suite(text, "x.json").cases) {
        if (c.payload_bytes() < 0 || c.src_span_bytes() < 0 || c.dst_span_bytes() < 0) {
          stop(to_string(c));
        }
      }
      return;
    case 'r': {
      const auto json = nlohmann::json::parse(text, nullptr, false);
      if (!json.is_discarded()) bench::report_from_json(json, "x.json");
      return;
    }
    default:
      return;
  }
}

}  // namespace
}  // namespace cornerturn::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cornerturn::fuzz::Input input(data, size);
  const char what = static_cast<char>(input.byte());
  try {
    cornerturn::fuzz::read(what, std::string(input.rest()));
  } catch (const cornerturn::Error&) {
  }
  return 0;
}
