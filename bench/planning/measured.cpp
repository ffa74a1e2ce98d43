#include "planning/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>

#include "core/validate.hpp"
#include "cornerturn/error.hpp"
#include "plan/cpu/cpu_files.hpp"
#include "planning/value_cases.hpp"

namespace cornerturn::bench {
namespace {

// "L2 Unified 512K" -> 512 KiB.
std::int64_t cache_bytes(const nlohmann::json& caches, const std::string& level) {
  for (const nlohmann::json& cache : caches) {
    std::istringstream text(cache.get<std::string>());
    std::string name, kind;
    std::int64_t size = 0;
    char unit = 0;
    text >> name >> kind >> size >> unit;
    if (name == level && kind != "Instruction") {
      return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
    }
  }
  return 0;
}

plan::CpuInfo cpu_of(const nlohmann::json& provenance) {
  plan::CpuInfo cpu;
  cpu.model = provenance.at("cpu").get<std::string>();
  cpu.family = std::atoi(provenance.value("family_model_stepping", "").c_str());
  cpu.isa = provenance.at("non_temporal_copy").get<std::string>();
  const nlohmann::json& caches = provenance.at("caches");
  for (const auto& [level, bytes] :
       {std::pair{"L1", &cpu.l1_bytes}, {"L2", &cpu.l2_bytes}, {"L3", &cpu.l3_bytes}}) {
    if (const std::int64_t found = cache_bytes(caches, level)) *bytes = found;
  }
  cpu.costs = plan::costs_of(cpu);
  return cpu;
}

// The problems of cases, each suite loaded once.
class Problems {
 public:
  explicit Problems(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      const Suite suite = load_suite(file);
      suites_[suite.name] = suite;
    }
  }

  // Says which problem a case is, and what its plan is asked for on such a machine.
  void find(MeasuredCase& measured, bool on_gpu) {
    if (is_value_suite(measured.suite)) {
      const ValueCase& c = value_case(measured);
      measured.label = c.name + " " + c.text;
      measured.problem = c.problem;
      return;
    }
    const Case& c = moved_case(measured);
    measured.label = to_string(c);
    measured.problem = problem_of(c);
    if (on_gpu) {
      measured.request.alignment = alignment_of(c);
    } else {  // buffers begin at cache lines
      measured.request.dst_phase = static_cast<int>(c.dst_offset * c.element_bytes % 64);
    }
  }

 private:
  [[noreturn]] static void refuse(const MeasuredCase& measured) {
    throw Error(Status::invalid_argument,
                fmt::format("case = '{}' of {} B is not in suite '{}'", measured.name,
                            measured.element_bytes, measured.suite));
  }

  const Case& moved_case(const MeasuredCase& measured) {
    if (!suites_.contains(measured.suite)) suites_[measured.suite] = load_suite(measured.suite);
    for (const Case& c : suites_[measured.suite].cases) {
      if (c.name == measured.name && c.element_bytes == measured.element_bytes) return c;
    }
    refuse(measured);
  }

  const ValueCase& value_case(const MeasuredCase& measured) {
    auto found = values_.find(measured.suite);
    if (found == values_.end()) {
      found = values_.emplace(measured.suite, value_cases(measured.suite)).first;
    }
    for (const ValueCase& c : found->second) {
      if (c.name == measured.name) return c;
    }
    refuse(measured);
  }

  std::map<std::string, Suite> suites_;
  std::map<std::string, std::vector<ValueCase>> values_;
};

void append_cases(const nlohmann::json& run, const std::string& path,
                  std::vector<MeasuredCase>& cases) {
  if (!run.is_object() || !run.contains("cases")) {
    throw Error(Status::invalid_argument,
                fmt::format("file = '{}' is not a result of the benchmark", path));
  }
  for (const nlohmann::json& c : run["cases"]) {
    const auto listed = c.find("candidates");
    if (listed == c.end() || listed->empty()) continue;
    MeasuredCase& to = cases.emplace_back();
    to.suite = c.at("suite");
    to.name = c.at("case");
    to.group = c.at("class");
    to.element_bytes = c.at("element_bytes");
    to.in_graph = c.value("graph_calls", 1) > 1 || to.group == "latency";
    for (const nlohmann::json& candidate : *listed) {
      to.candidates.push_back({name_today(candidate.at("kernel")),
                               name_today(candidate.at("candidate")), candidate.at("seconds")});
    }
  }
}

}  // namespace

std::optional<double> MeasuredCase::seconds_of(const plan::Candidate& candidate,
                                               const Problem& normal) const {
  const std::string text = describe(candidate, normal);
  for (const MeasuredCandidate& one : candidates) {
    if (one.kernel == candidate.row->name && one.description == text) return one.seconds;
  }
  return std::nullopt;
}

double MeasuredCase::best_seconds() const {
  double best = std::numeric_limits<double>::infinity();
  for (const MeasuredCandidate& one : candidates) best = std::min(best, one.seconds);
  return best;
}

Measurement measurement(const std::string& path, const plan::gpu::DeviceInfo& device,
                        const std::vector<std::string>& suites) {
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  const bool whole = json.is_object();
  const bool on_cpu = whole && json.value("device", "") == "cpu";
  if (on_cpu && (json.value("threads", 0) != 1 || !json.contains("provenance"))) {
    throw Error(
        Status::invalid_argument,
        fmt::format("file = '{}' is not a result of the benchmark on a CPU with one thread", path));
  }
  Measurement result{on_cpu ? plan::Machine(cpu_of(json["provenance"])) : plan::Machine(device),
                     {}};
  const auto runs = whole && json.contains("runs") ? json["runs"] : nlohmann::json::array({json});
  for (const nlohmann::json& run : runs) append_cases(run, path, result.cases);
  Problems problems(suites);
  for (MeasuredCase& one : result.cases) problems.find(one, !on_cpu);
  return result;
}

std::string name_today(std::string stored) {
  static constexpr std::string_view apart = "_convert";
  const auto kernel = std::string_view(stored).substr(0, stored.find(':'));
  if (kernel.ends_with(apart)) stored.erase(kernel.size() - apart.size(), apart.size());
  static constexpr std::string_view in_registers = ", turned in registers";
  if (const auto at = stored.find(in_registers); at != std::string::npos) {
    stored.replace(at, in_registers.size(), ", transposed in registers");
  }
  // Some results are of stores around the caches unless others were faster. Memory that is in no
  // cache, as it was there, is stored to around them.
  static constexpr std::string_view if_faster = " if that is faster";
  if (stored.ends_with(if_faster)) stored.erase(stored.size() - if_faster.size());
  return stored;
}

plan::Machine with_costs(const plan::Machine& machine, const plan::gpu::Costs& costs) {
  return plan::Machine(*machine.gpu(), costs);
}

plan::Machine with_costs(const plan::Machine& machine, const plan::CpuCosts& costs) {
  plan::CpuInfo cpu = *machine.cpu();
  cpu.costs = std::make_shared<const plan::CpuCosts>(costs);
  return plan::Machine(cpu);
}

Problem problem_of(const Case& c) {
  const auto in_bytes = [&](std::vector<std::int64_t> strides) {
    for (std::int64_t& stride : strides) stride *= c.element_bytes;
    return Extents(strides.begin(), strides.end());
  };
  const ElementType type = ElementType::bytes(c.element_bytes);
  return make_problem(View(nullptr, type, c.shape, in_bytes(c.dst_strides)),
                      ConstView(nullptr, type, c.shape, in_bytes(c.src_strides)));
}

Alignment alignment_of(const Case& c) {
  const auto of = [&](std::int64_t offset) {
    constexpr std::int64_t of_buffer = 256;
    return std::gcd(offset * c.element_bytes, of_buffer);
  };
  return {true, of(c.src_offset), of(c.dst_offset)};
}

}  // namespace cornerturn::bench
