#include <algorithm>
#include <functional>
#include <utility>

#include "plan/cpu/costs.hpp"
#include "plan/cpu/spread.hpp"
#include "plan/gpu/families.hpp"
#include "plan/link/families.hpp"
#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {
namespace {

// What rows of both kinds of machines have in common.
template <class Family>
Row named_row(int number) {
  using Config = typename Family::Config;
  Row row{};
  row.number = number;
  row.name = Family::name;
  row.idea = Family::idea;
  row.operations = Family::operations;
  row.assumed = requires {
    Family::assumed;
  };
  row.describe = [](const AnyConfig& config, const Problem& normal) {
    return Family::describe(config.as<Config>(), normal);
  };
  if constexpr (requires(const Config& config) { Family::details(config); }) {
    row.details = [](const AnyConfig& config) { return Family::details(config.as<Config>()); };
  }
  return row;
}

// The problem as a family of the CPU sees it, which may take lists as modes.
template <class Family, class Use>
auto with_lists(const Problem& normal, const Use& use) {
  if constexpr (requires { Family::spreads_lists; }) {
    if (normal.lists != nullptr) return use(spread(normal).problem);
  }
  return use(normal);
}

template <class Family, int number>
Row cpu_row() {
  using Config = typename Family::Config;
  Row row = named_row<Family>(number);
  if constexpr (requires { Family::spreads_lists; }) row.lists = Row::ListRule::also;
  if constexpr (requires { Family::sees_lists; }) row.lists = Row::ListRule::also;
  if constexpr (requires { Family::takes_lists; }) row.lists = Row::ListRule::only;
  row.why_not = [](const Problem& normal, const Machine& machine) -> const char* {
    if constexpr (requires { Family::spreads_lists; }) {
      if (normal.lists == nullptr) return Family::why_not(normal, *machine.cpu());
      if (const char* rule = why_not_spread(normal)) return rule;
    }
    return with_lists<Family>(
        normal, [&](const Problem& problem) { return Family::why_not(problem, *machine.cpu()); });
  };
  row.configure = [](const Row& self, const Setting& setting, Candidates& out) {
    const auto add = [&](const Config& config) {
      out.push_back({&self, config, self.estimate(config, setting)});
    };
    const CpuInfo& cpu = *setting.machine.cpu();
    const auto& costs = std::get<number>(cpu.costs->families.of);
    with_lists<Family>(setting.normal, [&](const Problem& normal) {
      // The function object is passed by reference: nothing is allocated.
      if constexpr (requires { Family::configure(normal, cpu, costs, std::ref(add)); }) {
        Family::configure(normal, cpu, costs, std::ref(add));
      } else {
        Family::configure(normal, cpu, std::ref(add));
      }
    });
  };
  row.estimate = [](const AnyConfig& config, const Setting& setting) {
    const auto& of_family = config.as<Config>();
    const CpuInfo& cpu = *setting.machine.cpu();
    const auto& costs = std::get<number>(cpu.costs->families.of);
    const int phase = setting.dst_phase;
    return with_lists<Family>(setting.normal, [&](const Problem& normal) {
      if constexpr (requires { Family::cost_ns(of_family, normal, cpu, costs, phase); }) {
        return Estimate{1e-9 * Family::cost_ns(of_family, normal, cpu, costs, phase)};
      } else {
        return Estimate{1e-9 * Family::cost_ns(of_family, normal, cpu, costs)};
      }
    });
  };
  row.describe = [](const AnyConfig& config, const Problem& normal) {
    return with_lists<Family>(normal, [&](const Problem& problem) {
      return Family::describe(config.as<Config>(), problem);
    });
  };
  return row;
}

template <class Args>
Prepared prepared(const gpu::Launchable<Args>& ready) {
  Prepared first{std::make_shared<const Args>(ready.args), ready.launch};
  if (ready.then) first.then = std::make_shared<const Prepared>(prepared(*ready.then));
  return first;
}

// Calls use() with what the configurations of the problem have in common, if the family says so.
template <class Family, class Use>
auto with_common(const Problem& normal, const Use& use) {
  if constexpr (requires { typename Family::Common; }) {
    typename Family::Common common(normal);
    return use(common);
  } else {
    return use();
  }
}

template <class Family, int number>
const typename Family::Costs& costs_of(const Setting& setting) {
  return std::get<number>(setting.machine.gpu_costs().families.of);
}

template <class Family, int number, class... Common>
Estimate gpu_estimate(const typename Family::Config& config, const Setting& setting,
                      Common&... common) {
  return gpu::roofline(Family::demand(config, setting.normal, *setting.model,
                                      costs_of<Family, number>(setting), common...),
                       *setting.model);
}

// Calls add() with the configurations that a family offers.
template <class Family, class AddConfig, class... Common>
void gpu_configure(const Setting& setting, const AddConfig& add, Common&... common) {
  const Machine& machine = setting.machine;
  if constexpr (requires {
                  Family::configure(setting.normal, setting.start, machine, common...,
                                    std::ref(add));
                }) {
    Family::configure(setting.normal, setting.start, machine, common..., std::ref(add));
  } else {
    Family::configure(setting.normal, setting.start, *machine.gpu(), common..., std::ref(add));
  }
}

// Adds a candidate to those of a plan. A quick plan has one, the best so far.
void offer(const Candidate& candidate, const Setting& setting, Candidates& out) {
  if (setting.quick && !out.empty()) {
    if (!comes_before(candidate, out.front())) return;
    out.clear();
  }
  out.push_back(candidate);
}

// Offers the best configuration of a family that says least demands. The one whose time is the
// least has it counted until that is so of the least one: no other can become less.
template <class Family, int number, class... Common>
void offer_best(const Row& self, const Setting& setting, Candidates& out, Common&... common) {
  const auto& costs = costs_of<Family, number>(setting);
  const auto may_be_best = [&](const Candidate& one) {
    return out.empty() || comes_before(one, out.front());
  };
  const auto least_estimate = [&](const auto&... of) {
    return gpu::roofline(
        Family::least_demand(of..., setting.normal, *setting.model, costs, common...),
        *setting.model);
  };
  if (!may_be_best({&self, {}, least_estimate(setting.start)})) return;
  struct Priced {
    typename Family::Config config;
    Estimate estimate;
    bool is_counted = false;
  };
  std::vector<Priced> all;
  all.reserve(16);
  gpu_configure<Family>(
      setting,
      [&](const auto& config) {
        all.push_back({config, least_estimate(config)});
      },
      common...);
  while (!all.empty()) {
    const auto best = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.estimate.seconds < b.estimate.seconds;
    });
    const Candidate candidate{&self, best->config, best->estimate};
    if (best->is_counted || !may_be_best(candidate)) return offer(candidate, setting, out);
    best->estimate = gpu_estimate<Family, number>(best->config, setting, common...);
    best->is_counted = true;
  }
}

template <class Family, int number>
Row gpu_row() {
  using Config = typename Family::Config;
  Row row = named_row<Family>(number);
  row.takes_empty = requires {
    Family::takes_empty;
  };
  if constexpr (requires { Family::sees_lists; }) row.lists = Row::ListRule::also;
  if constexpr (requires { Family::takes_lists; }) row.lists = Row::ListRule::only;
  row.why_not = [](const Problem& normal, const Machine& machine) {
    return Family::why_not(normal, *machine.gpu());
  };
  row.configure = [](const Row& self, const Setting& setting, Candidates& out) {
    with_common<Family>(setting.normal, [&](auto&... common) {
      if constexpr (requires { Family::has_least_demand; }) {
        if (setting.quick) return offer_best<Family, number>(self, setting, out, common...);
      }
      gpu_configure<Family>(
          setting,
          [&](const Config& config) {
            offer({&self, config, gpu_estimate<Family, number>(config, setting, common...)},
                  setting, out);
          },
          common...);
    });
  };
  row.estimate = [](const AnyConfig& config, const Setting& setting) {
    return with_common<Family>(setting.normal, [&](auto&... common) {
      return gpu_estimate<Family, number>(config.as<Config>(), setting, common...);
    });
  };
  if constexpr (requires(const Config& config) { Family::workspace(config); }) {
    row.workspace = [](const AnyConfig& config) { return Family::workspace(config.as<Config>()); };
  }
  if constexpr (requires(const Config& config) { Family::parts(config); }) {
    row.parts = [](const AnyConfig& config) { return &Family::parts(config.as<Config>()); };
  }
  row.prepare = [](const AnyConfig& config, const Problem& normal) {
    return prepared(Family::prepare(config.as<Config>(), normal));
  };
  return row;
}

template <class Family>
Row link_row(int number) {
  Row row{};
  row.number = number;
  row.name = Family::name;
  row.idea = Family::idea;
  row.operations = Family::operations;
  row.takes_empty = number == 0;
  if constexpr (requires { Family::sees_lists; }) row.lists = Row::ListRule::also;
  row.why_not = [](const Problem& normal, const Machine& machine) {
    return Family::why_not(normal, *machine.link());
  };
  row.configure = [](const Row& self, const Setting& setting, Candidates& out) {
    Family::configure({setting.normal, setting.start, setting.machine},
                      [&](std::shared_ptr<const link::Route> route) {
                        const double seconds = route->seconds;
                        out.push_back({&self, link::RouteConfig{std::move(route)}, {seconds}});
                      });
  };
  row.estimate = [](const AnyConfig& config, const Setting&) {
    return Estimate{config.as<link::RouteConfig>().route->seconds};
  };
  row.describe = [](const AnyConfig& config, const Problem&) {
    return config.as<link::RouteConfig>().route->words;
  };
  row.details = [](const AnyConfig& config) {
    return link::details_of(*config.as<link::RouteConfig>().route);
  };
  return row;
}

template <class... Family>
std::vector<Row> link_rows(TypeList<Family...>) {
  int number = 0;
  return {link_row<Family>(number++)...};
}

template <class... Family>
std::vector<Row> cpu_rows(TypeList<Family...>) {
  return [&]<int... number>(std::integer_sequence<int, number...>) {
    return std::vector<Row>{cpu_row<Family, number>()...};
  }
  (std::make_integer_sequence<int, sizeof...(Family)>());
}

template <class... Family>
std::vector<Row> gpu_rows(TypeList<Family...>) {
  return [&]<int... number>(std::integer_sequence<int, number...>) {
    return std::vector<Row>{gpu_row<Family, number>()...};
  }
  (std::make_integer_sequence<int, sizeof...(Family)>());
}

}  // namespace

const std::vector<Row>& cpu_registry() {
  // Here and elsewhere, what is made once is never destroyed: later destructors may need it.
  static const auto& rows = *new std::vector<Row>(cpu_rows(CpuFamilies()));
  return rows;
}

const std::vector<Row>& gpu_registry() {
  static const auto& rows = *new std::vector<Row>(gpu_rows(gpu::Families()));
  return rows;
}

const std::vector<Row>& link_registry() {
  static const auto& rows = *new std::vector<Row>(link_rows(link::Families()));
  return rows;
}

const std::vector<Row>& registry_of(const Machine& machine) {
  if (machine.link() != nullptr) return link_registry();
  return machine.gpu() != nullptr ? gpu_registry() : cpu_registry();
}

}  // namespace cornerturn::plan
