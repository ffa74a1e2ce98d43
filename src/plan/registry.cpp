#include <functional>
#include <utility>

#include "plan/cpu/costs.hpp"
#include "plan/gpu/families.hpp"
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
  row.describe = [](const AnyConfig& config, const Problem& normal) {
    return Family::describe(config.as<Config>(), normal);
  };
  if constexpr (requires(const Config& config) { Family::details(config); }) {
    row.details = [](const AnyConfig& config) { return Family::details(config.as<Config>()); };
  }
  return row;
}

template <class Family, int number>
Row cpu_row() {
  using Config = typename Family::Config;
  Row row = named_row<Family>(number);
  row.why_not = [](const Problem& normal, const Machine& machine) {
    return Family::why_not(normal, *machine.cpu());
  };
  row.configure = [](const Row& self, const Setting& setting, Candidates& out) {
    const auto add = [&](const Config& config) {
      out.push_back({&self, config, self.estimate(config, setting)});
    };
    const CpuInfo& cpu = *setting.machine.cpu();
    const auto& costs = std::get<number>(cpu.costs->families.of);
    // The function object is passed by reference: nothing is allocated.
    if constexpr (requires { Family::configure(setting.normal, cpu, costs, std::ref(add)); }) {
      Family::configure(setting.normal, cpu, costs, std::ref(add));
    } else {
      Family::configure(setting.normal, cpu, std::ref(add));
    }
  };
  row.estimate = [](const AnyConfig& config, const Setting& setting) {
    const auto& of_family = config.as<Config>();
    const CpuInfo& cpu = *setting.machine.cpu();
    const auto& costs = std::get<number>(cpu.costs->families.of);
    const int phase = setting.dst_phase;
    if constexpr (requires { Family::cost_ns(of_family, setting.normal, cpu, costs, phase); }) {
      return Estimate{1e-9 * Family::cost_ns(of_family, setting.normal, cpu, costs, phase)};
    } else {
      return Estimate{1e-9 * Family::cost_ns(of_family, setting.normal, cpu, costs)};
    }
  };
  return row;
}

template <class Args>
Prepared prepared(const gpu::Launchable<Args>& ready) {
  Prepared first{std::make_shared<const Args>(ready.args), ready.launch};
  if (ready.then) first.then = std::make_shared<const Prepared>(prepared(*ready.then));
  return first;
}

// Calls use() with the facts of the problem, if the family has such.
template <class Family, class Use>
auto with_facts(const Problem& normal, const Use& use) {
  if constexpr (requires { typename Family::Facts; }) {
    typename Family::Facts facts(normal);
    return use(facts);
  } else {
    return use();
  }
}

template <class Family, int number>
const typename Family::Costs& costs_of(const Setting& setting) {
  return std::get<number>(setting.machine.gpu_costs().families.of);
}

template <class Family, int number, class... Facts>
Estimate gpu_estimate(const typename Family::Config& config, const Setting& setting,
                      Facts&... facts) {
  return Family::estimate(config, setting.normal, *setting.model, costs_of<Family, number>(setting),
                          facts...);
}

template <class Family, int number>
Row gpu_row() {
  using Config = typename Family::Config;
  Row row = named_row<Family>(number);
  row.takes_empty = requires {
    Family::takes_empty;
  };
  row.why_not = [](const Problem& normal, const Machine& machine) {
    return Family::why_not(normal, *machine.gpu());
  };
  row.configure = [](const Row& self, const Setting& setting, Candidates& out) {
    with_facts<Family>(setting.normal, [&](auto&... facts) {
      if constexpr (requires { &Family::least; }) {
        // Is no other candidate asked for, and one known that is faster than all of the family?
        const gpu::Model& model = *setting.model;
        const auto& costs = costs_of<Family, number>(setting);
        if (model.least_seconds != nullptr &&
            model.is_out_of_reach(
                Family::least(setting.normal, setting.start, model, costs, facts...)))
          return;
      }
      const auto add = [&](const Config& config) {
        const Estimate estimate = gpu_estimate<Family, number>(config, setting, facts...);
        if (double* const least = setting.model->least_seconds) {
          if (!out.empty() && estimate.seconds >= *least) return;
          *least = estimate.seconds;
          out.clear();
        }
        out.push_back({&self, config, estimate});
      };
      const Machine& machine = setting.machine;
      if constexpr (requires {
                      Family::configure(setting.normal, setting.start, machine, facts...,
                                        std::ref(add));
                    }) {
        Family::configure(setting.normal, setting.start, machine, facts..., std::ref(add));
      } else {
        Family::configure(setting.normal, setting.start, *machine.gpu(), facts..., std::ref(add));
      }
    });
  };
  row.estimate = [](const AnyConfig& config, const Setting& setting) {
    return with_facts<Family>(setting.normal, [&](auto&... facts) {
      return gpu_estimate<Family, number>(config.as<Config>(), setting, facts...);
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

const std::vector<Row>& registry_of(const Machine& machine) {
  return machine.gpu() != nullptr ? gpu_registry() : cpu_registry();
}

}  // namespace cornerturn::plan
