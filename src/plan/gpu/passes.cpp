#include "plan/gpu/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "plan/gpu/panels.hpp"
#include "plan/planner.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan::gpu::passes {
namespace {

constexpr std::int64_t good_run = 256;  // bytes: longer ones are not moved faster
constexpr std::int64_t sector = 32;     // bytes: a part of one costs as much as all of it
// Runs of any length follow their cycles in registers: they need no more room than this.
constexpr std::int64_t longest_part = 64 << 10;
// The workspace has room for rows and panels on their way: whatever is saved leaves them so much.
constexpr std::int64_t share_on_the_way = 4;

std::int64_t whole_vectors(std::int64_t bytes) {
  return (bytes + 15) / 16 * 16;
}

in_place::Limits limits_of(const Problem& normal, const DeviceInfo& device) {
  const std::int64_t usual = in_place::usual_workspace(normal.bytes());
  in_place::Limits limits{usual - usual / share_on_the_way, panels::largest_panel(device), good_run,
                          1};
  limits.squares = true;
  limits.line = sector;
  limits.part = longest_part;
  return limits;
}

Problem bytes_problem(std::initializer_list<Mode> modes, std::int64_t element) {
  Problem problem;  // of bytes: elements have any size
  for (const Mode& mode : modes) problem.modes.push_back(mode);
  problem.modes.push_back({element, 1, 1});
  return problem;
}

Problem transposition_problem(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                              std::int64_t element) {
  const std::int64_t bytes = rows * columns * element;
  Problem problem = bytes_problem({{batch, bytes, bytes},
                                   {columns, element, rows * element},
                                   {rows, columns * element, element}},
                                  element);
  problem.in_place = true;
  return problem;
}

// Adds the parts of all passes, one after the other.
class Builder {
 public:
  Builder(const Machine& machine, std::int64_t alignment, std::int64_t workspace)
      : machine_(machine), alignment_(alignment), usual_(workspace) {}

  Passes all;

  void step(int number, const in_place::Way& way) {
    all.text += fmt::format("step {:<6} {}\n", number, to_string(way.step));
    const in_place::Passes passes = in_place::passes(way.step, way.factors);
    // Where nothing is left over, the matrices of a batch are one array of panels, and of runs.
    const bool together = way.step.kind == in_place::Step::Kind::transpose && way.factors.rest == 0;
    saved_ = 0;
    for (const in_place::Pass& pass : passes.passes) {
      if (const auto* save = std::get_if<in_place::SavePass>(&pass)) {
        saved_ = whole_vectors(save->bytes());
      }
    }
    reserve(saved_);
    for (std::int64_t matrix = 0; matrix < (together ? 1 : passes.batch); ++matrix) {
      base_ = matrix * passes.matrix_bytes;
      batch_ = together ? passes.batch : 1;
      says_ = matrix == 0;
      for (const in_place::Pass& pass : passes.passes) {
        if (says_) all.text += fmt::format("            - {}", to_string(pass));
        std::visit([&](const auto& some) { add(some); }, pass);
      }
    }
  }

 private:
  void add(const in_place::SwapPass& p) {
    const std::int64_t row = p.extent * p.middle * p.element;
    Problem problem = bytes_problem({{p.groups, p.extent * row, p.extent * row},
                                     {p.extent, p.element, row},
                                     {p.middle, p.extent * p.element, p.extent * p.element},
                                     {p.extent, row, p.element}},
                                    p.element);
    problem.in_place = true;
    within(plan_of(problem, "swap", 0), 0);
    say("swap");
  }

  void add(const in_place::RunPass& p) {
    const auto plan =
        plan_of(transposition_problem(batch_, p.rows, p.columns, p.run), "cycles", left());
    within(plan, 0);
    say(plan::describe(plan->chosen, plan->normal));
  }

  void add(const in_place::PanelPass& p) {
    const Problem whole = transposition_problem(batch_ * p.panels, p.rows, p.columns, p.element);
    if (takes("panels", whole)) {
      within(plan_of(whole, "panels", 0), 0);
      return say("panels in shared memory");
    }
    add_large(p);
  }

  // Panels that no block holds go to the workspace, transposed, and come back as they are.
  void add_large(const in_place::PanelPass& p) {
    const std::int64_t bytes = p.rows * p.columns * p.element;
    const std::int64_t panels = batch_ * p.panels;
    const std::int64_t group = std::clamp<std::int64_t>(staged() / bytes, 1, panels);
    reserve(saved_ + group * bytes);
    for (std::int64_t first = 0; first < panels; first += group) {
      const std::int64_t count = std::min(group, panels - first);
      const Problem out = bytes_problem({{count, bytes, bytes},
                                         {p.columns, p.element, p.rows * p.element},
                                         {p.rows, p.columns * p.element, p.element}},
                                        p.element);
      move(out, {Memory::workspace, saved_}, {Memory::array, base_ + first * bytes});
      move(bytes_problem({}, count * bytes), {Memory::array, base_ + first * bytes},
           {Memory::workspace, saved_});
    }
    say(fmt::format("{} at a time through the workspace", group));
  }

  void add(const in_place::SavePass& p) {
    move(bytes_problem({{p.rows, p.pitch, p.run}}, p.run), {Memory::workspace, 0},
         {Memory::array, base_ + p.offset});
    say("");
  }

  void add(const in_place::RestorePass& p) {
    move(bytes_problem({{p.rows, p.element, p.pitch}, {p.columns, p.rows * p.element, p.element}},
                       p.element),
         {Memory::array, base_ + p.offset}, {Memory::workspace, 0});
    say("");
  }

  void add(const in_place::MovePass& p) {
    Problem problem = bytes_problem({{p.rows, p.from_pitch, p.to_pitch}}, p.run);
    problem.in_place = true;
    if (takes("slide", problem)) {
      within(plan_of(problem, "slide", left()), 0);
      return say("chunks, one after the other");
    }
    add_short(p);
  }

  // Some rows at a time, or parts of a row, in the order in which they have to move.
  void add_short(const in_place::MovePass& p) {
    const bool spreads = p.to_pitch > p.from_pitch;
    const std::int64_t piece = std::min(p.run, staged());
    const std::int64_t rows =
        piece < p.run ? 1 : std::clamp<std::int64_t>(staged() / p.run, 1, p.rows);
    reserve(saved_ + rows * piece);
    const std::int64_t groups = (p.rows + rows - 1) / rows;
    const std::int64_t pieces = (p.run + piece - 1) / piece;
    for (std::int64_t i = 0; i < groups * pieces; ++i) {
      const std::int64_t number = spreads ? groups * pieces - 1 - i : i;
      const std::int64_t first = number / pieces * rows;
      const std::int64_t at = number % pieces * piece;
      const std::int64_t count = std::min(rows, p.rows - first);
      const std::int64_t run = std::min(piece, p.run - at);
      move(bytes_problem({{count, p.from_pitch, run}}, run), {Memory::workspace, saved_},
           {Memory::array, base_ + first * p.from_pitch + at});
      move(bytes_problem({{count, run, p.to_pitch}}, run),
           {Memory::array, base_ + first * p.to_pitch + at}, {Memory::workspace, saved_});
    }
    say(fmt::format("{} at a time through the workspace", rows));
  }

  void say(const std::string& how) {
    if (says_) all.text += how.empty() ? "\n" : ", by " + how + "\n";
  }

  // Bytes of the workspace beside what is saved.
  std::int64_t left() const { return usual_ - saved_; }
  // And of rows or panels that are on their way: no more than the L2 keeps.
  std::int64_t staged() const {
    return std::max<std::int64_t>(std::min(left(), machine_.gpu()->l2_bytes / 3), 16) / 16 * 16;
  }
  void reserve(std::int64_t bytes) { all.parts.workspace = std::max(all.parts.workspace, bytes); }

  Alignment alignment_at(std::int64_t dst, std::int64_t src) const {
    return {true, std::gcd(alignment_, src), std::gcd(alignment_, dst)};
  }

  bool takes(const char* kernel, const Problem& problem) const {
    const Problem normal = normalise(problem, alignment_at(base_, base_));
    for (const Row& row : gpu_registry()) {
      if (row.name == kernel) return why_not(row, normal, machine_) == nullptr;
    }
    return false;
  }

  // A plan in place by one kernel, the cheapest within so much workspace.
  std::shared_ptr<const Plan> plan_of(const Problem& problem, const std::string& kernel,
                                      std::int64_t workspace) {
    return planned(problem, {1, kernel, alignment_at(base_, base_)}, workspace);
  }

  void within(const std::shared_ptr<const Plan>& plan, std::int64_t offset) {
    reserve(saved_ + plan->workspace());
    all.parts.list.push_back(
        {plan, {Memory::array, base_ + offset}, {Memory::array, base_ + offset}, saved_});
    all.seconds += plan->predicted_seconds();
  }

  void move(const Problem& problem, const PartPlace& dst, const PartPlace& src) {
    const auto of = [&](const PartPlace& place) {
      const std::int64_t start = place.memory == Memory::workspace ? 16 : alignment_;
      return std::gcd(start, place.offset);
    };
    const auto plan = planned(problem, {1, "", {true, of(src), of(dst)}}, 0);
    all.parts.list.push_back({plan, dst, src, 0});
    all.seconds += plan->predicted_seconds();
  }

  // Most parts have one of a few plans.
  std::shared_ptr<const Plan> planned(const Problem& problem, const Request& request,
                                      std::int64_t workspace) {
    for (const Known& one : known_) {
      if (one.problem == problem && one.request == request) return one.plan;
    }
    Plan plan = make_plan(problem, machine_, request);
    const Candidates candidates = std::move(plan.candidates);
    plan.candidates.clear();
    for (const Candidate& candidate : candidates) {
      plan.choose(candidate, Choice::estimated);
      if (plan.workspace() <= workspace) break;
    }
    known_.push_back({problem, request, std::make_shared<const Plan>(std::move(plan))});
    return known_.back().plan;
  }

  struct Known {
    Problem problem;
    Request request;
    std::shared_ptr<const Plan> plan;
  };

  const Machine& machine_;
  std::int64_t alignment_;
  std::int64_t usual_;
  std::int64_t saved_ = 0;
  std::int64_t base_ = 0;
  std::int64_t batch_ = 1;
  bool says_ = true;
  std::vector<Known> known_;
};

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  return in_place::packed(normal) ? nullptr : "the elements do not fill their memory";
}

void Family::configure(const Problem& normal, const Alignment& start, const Machine& machine,
                       const Add<Config>& add) {
  const in_place::Packed packed = *in_place::packed(normal);
  const in_place::Decomposition todo = in_place::decompose(
      packed.shape, packed.perm, normal.src_type.size(), limits_of(normal, *machine.gpu()));
  if (!todo.fits) return;
  Builder builder(machine, start.dst, in_place::usual_workspace(normal.bytes()));
  int number = 0;
  for (const in_place::Way& way : todo.ways) builder.step(++number, way);
  add({std::make_shared<const Passes>(std::move(builder.all))});
}

Demand Family::demand(const Config& config, const Problem&, const Model& model, const Costs& c) {
  const auto parts = static_cast<double>(config.all->parts.list.size());
  return {.src_bytes = model.least.src_bytes,
          .dst_bytes = model.least.dst_bytes,
          .parts_seconds = config.all->seconds + parts * c.part};
}

std::string Family::describe(const Config& config, const Problem&) {
  const std::size_t parts = config.all->parts.list.size();
  return fmt::format("{} part{}, {} of workspace", parts, parts == 1 ? "" : "s",
                     bytes_text(config.all->parts.workspace));
}

std::string Family::details(const Config& config) {
  return config.all->text + "workspace   " + bytes_text(config.all->parts.workspace) + "\n";
}

}  // namespace cornerturn::plan::gpu::passes
