#include "plan/cpu/passes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/planned_passes.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/planner.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan {

bool operator==(const PassesConfig& a, const PassesConfig& b) {
  return a.planned == b.planned ||
         (a.planned != nullptr && b.planned != nullptr && *a.planned == *b.planned);
}

namespace passes {
namespace {

// Policies. A panel and its transpose stay in the second-level cache; runs are worth what it costs
// to find them from so many bytes on.
constexpr std::int64_t l2_share = 2;
constexpr std::int64_t good_run = 256;
// Rows of a copy from which on it matters how far they lie apart.
constexpr std::int64_t long_row = 256;
// Longer runs move in parts: caches and the workspace then hold more of them at a time.
constexpr std::int64_t longest_part = 32 << 10;
// Square matrices of so few bytes are transposed many at a time, as panels.
constexpr std::int64_t small_matrix = 4 << 10;

in_place::Limits limits_for(const Problem& normal, const CpuInfo& cpu) {
  in_place::Limits limits{};
  limits.workspace = in_place::usual_workspace(normal.bytes());
  limits.panel = cpu.l2_bytes / l2_share;
  limits.good_run = good_run;
  limits.line = cpu.line_bytes;
  limits.squares = true;
  limits.part = longest_part;
  limits.workers =
      std::clamp<std::int64_t>(limits.workspace / limits.panel, 1, std::max(cpu.cores, 1));
  return limits;
}

Problem move_problem(std::int64_t element, std::initializer_list<Mode> modes) {
  Problem problem;  // of bytes: elements have any size
  for (const Mode& mode : modes) problem.modes.push_back(mode);
  problem.modes.push_back({element, 1, 1});
  return problem;
}

// So many panels, from the workspace to the array.
Problem panels_problem(const in_place::PanelPass& p, std::int64_t panels) {
  const std::int64_t bytes = p.rows * p.columns * p.element;
  return move_problem(p.element, {{panels, bytes, bytes},
                                  {p.columns, p.element, p.rows * p.element},
                                  {p.rows, p.columns * p.element, p.element}});
}

Problem swap_problem(const in_place::SwapPass& p) {
  const std::int64_t column = p.element;
  const std::int64_t row = p.extent * p.middle * p.element;
  Problem problem = move_problem(p.element, {{p.groups, p.extent * row, p.extent * row},
                                             {p.extent, column, row},
                                             {p.middle, p.extent * column, p.extent * column},
                                             {p.extent, row, column}});
  problem.in_place = true;
  return problem;
}

// Has a panel enough rows and columns for a register of any processor?
bool in_registers(const in_place::PanelPass& p) {
  const bool known = p.element <= 16 && (p.element & (p.element - 1)) == 0;
  return known && p.rows * p.element >= 64 && p.columns * p.element >= 16;
}

class Planner {
 public:
  // `saved` bytes of the workspace are taken.
  Planner(const in_place::Limits& limits, std::int64_t saved, const CpuInfo& cpu)
      : limits_(limits), saved_(saved), cpu_(cpu) {
    // What is moved out of the workspace was in its place before: nothing is to go past the caches.
    cpu_.l2_bytes = std::max(cpu.l2_bytes, 2 * limits.workspace);
    cpu_.l3_bytes = std::max(cpu.l3_bytes, 8 * limits.workspace);
  }

  PlannedPass operator()(const in_place::SwapPass& p) const {
    const std::int64_t matrix = p.extent * p.extent * p.element;
    if (p.middle == 1 && matrix <= small_matrix) {
      return (*this)(in_place::PanelPass{p.groups, p.extent, p.extent, p.element});
    }
    Plan plan = make_plan(swap_problem(p), cpu_, {1, std::string(swap::Family::name)});
    return {p, 1, 0, {{{plan.normal, std::move(plan.chosen)}}}};
  }
  PlannedPass operator()(const in_place::PanelPass& p) const {
    const std::int64_t bytes = p.rows * p.columns * p.element;
    const std::int64_t group = std::clamp<std::int64_t>(
        std::min(limits_.panel, (limits_.workspace - saved_) / limits_.workers) / bytes, 1,
        p.panels);
    if (in_registers(p)) return {p, group, pitch_of(p, group), {}};
    const std::int64_t last = p.panels % group == 0 ? group : p.panels % group;
    return {p, group, 0,
            plan_moves(
                2, [&](int shape) { return panels_problem(p, shape == 0 ? group : last); }, cpu_)};
  }
  PlannedPass operator()(const in_place::RestorePass& p) const {
    const auto problem = [&](int) {
      return move_problem(
          p.element, {{p.rows, p.element, p.pitch}, {p.columns, p.rows * p.element, p.element}});
    };
    return {p, 1, 0, plan_moves(1, problem, cpu_)};
  }
  template <class Pass>
  PlannedPass operator()(const Pass& p) const {
    return {p, 1, 0, {}};
  }

 private:
  // Long rows of a copy lie an odd number of lines apart, which spreads over the sets of the
  // caches, if there is memory for that.
  std::int64_t pitch_of(const in_place::PanelPass& p, std::int64_t group) const {
    const std::int64_t row = p.columns * p.element;
    const std::int64_t pitch = (ceil_div(row, 64) | 1) * 64;
    const bool fits = saved_ + group * p.rows * pitch * limits_.workers <= limits_.workspace;
    return row >= long_row && fits ? pitch : row;
  }

  const in_place::Limits& limits_;
  std::int64_t saved_;
  CpuInfo cpu_;
};

std::int64_t saved_by(const in_place::Way& way) {
  std::int64_t saved = 0;
  for (const in_place::Pass& pass : in_place::passes(way.step, way.factors).passes) {
    if (const auto* save = std::get_if<in_place::SavePass>(&pass)) saved += save->bytes();
  }
  return saved;
}

// What the groups of panels have that are in work at once.
std::int64_t bytes_of_groups(const PlannedStep& step, const in_place::Limits& limits) {
  std::int64_t most = 0;
  for (const PlannedPass& pass : step.passes) {
    const auto* panels = std::get_if<in_place::PanelPass>(&pass.pass);
    if (panels == nullptr) continue;
    const std::int64_t row = std::max(panels->columns * panels->element, pass.pitch);
    most = std::max(most, pass.group * panels->rows * row);
  }
  return most * limits.workers;
}

std::shared_ptr<const PlannedPasses> planned(const Problem& normal, const CpuInfo& cpu) {
  auto all = std::make_shared<PlannedPasses>();
  all->limits = limits_for(normal, cpu);
  const in_place::Packed packed = *in_place::packed(normal);
  const auto decompose = [&] {
    return in_place::decompose(packed.shape, packed.perm, normal.src_type.size(), all->limits);
  };
  in_place::Decomposition todo = decompose();
  while (!todo.fits && all->limits.workers > 1) {  // fewer panels are in work at once
    all->limits.workers /= 2;
    todo = decompose();
  }
  if (!todo.fits) return nullptr;
  all->passes = todo.passes;
  all->workspace = todo.workspace;
  for (const in_place::Way& way : todo.ways) {
    const in_place::Passes passes = in_place::passes(way.step, way.factors);
    const std::int64_t saved = saved_by(way);
    const Planner planner(all->limits, saved, cpu);
    PlannedStep step{way, passes.batch, passes.matrix_bytes, {}};
    for (const in_place::Pass& pass : passes.passes) {
      step.passes.push_back(std::visit(planner, pass));
    }
    all->workspace = std::max(all->workspace, saved + bytes_of_groups(step, all->limits));
    all->steps.push_back(std::move(step));
  }
  return all;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (normal.elements() == 0) return nullptr;
  return in_place::packed(normal) ? nullptr : "the elements do not fill their memory";
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<PassesConfig>& add) {
  if (normal.elements() == 0) return add({std::make_shared<const PlannedPasses>()});
  if (auto all = planned(normal, cpu)) add({std::move(all)});
}

double Family::cost_ns(const PassesConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const double lines = static_cast<double>(normal.bytes()) / cpu.line_bytes;
  return config.planned->passes * lines * c.line_ns;
}

std::string Family::describe(const PassesConfig& config, const Problem&) {
  const PlannedPasses& all = *config.planned;
  return fmt::format("{} step{}, {} of workspace", all.steps.size(),
                     all.steps.size() == 1 ? "" : "s", bytes_text(all.workspace));
}

std::string Family::details(const PassesConfig& config) {
  const PlannedPasses& all = *config.planned;
  std::string text;
  std::size_t number = 0;
  for (const PlannedStep& step : all.steps) {
    text += fmt::format("step {}      {}\n", ++number, to_string(step.way.step));
    const std::int64_t saved = saved_by(step.way);
    for (const PlannedPass& pass : step.passes) {
      text += fmt::format("            - {}", to_string(pass.pass));
      if (!pass.moves.of_shape.empty()) text += fmt::format(", by {}", plan::describe(pass.moves));
      if (pass.pitch != 0) text += ", in registers from copies to the side";
      if (const auto* runs = std::get_if<in_place::RunPass>(&pass.pass)) {
        const std::int64_t part = in_place::part_of(*runs, all.limits, saved);
        if (part < runs->run) text += fmt::format(", in parts of {}", bytes_text(part));
      }
      text += '\n';
    }
  }
  text += fmt::format("workspace   {}\n", bytes_text(all.workspace));
  return text;
}

}  // namespace passes
}  // namespace cornerturn::plan
