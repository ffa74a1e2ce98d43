#include "plan/gpu/repeat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "plan/gpu/sectors.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan::gpu::repeat {
namespace {

Problem moved(const Problem& normal, const ModeList& modes) {
  Problem problem;
  problem.src_type = normal.src_type;
  problem.dst_type = normal.dst_type;
  problem.modes = modes;
  return problem;
}

// Adds the parts, one after the other.
class Builder {
 public:
  explicit Builder(const Machine& machine) : machine_(machine) {}

  Repeats all;

  void add(const Problem& problem, const PartPlace& dst, const PartPlace& src,
           const Alignment& start) {
    auto plan = std::make_shared<const Plan>(make_quick_plan(problem, machine_, {1, "", start}));
    all.seconds += plan->predicted_seconds();
    all.parts.list.push_back({std::move(plan), dst, src, 0});
  }

 private:
  const Machine& machine_;
};

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo& device) {
  if (std::none_of(normal.modes.begin(), normal.modes.end(), repeats_pieces)) {
    return "the destination holds nothing twice, 128 B or more apart";
  }
  const double moved_bytes = 2 * static_cast<double>(normal.bytes());
  if (moved_bytes < device.copy_bandwidth * device.launch_seconds) {
    return "a copy takes no longer than another launch";
  }
  // A copy is what would be left: this is also how the parts' own plans come to an end.
  const bool copies = std::all_of(normal.modes.begin(), normal.modes.end(), [](const Mode& mode) {
    return repeats_pieces(mode) || mode.src_stride == mode.dst_stride;
  });
  return copies ? "the source already lies as the destination shall" : nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const Machine& machine,
                       const Add<Config>& add) {
  Builder builder(machine);
  ModeList once;
  std::vector<Mode> repeated;
  for (const Mode& mode : normal.modes) {
    if (repeats_pieces(mode)) {
      repeated.push_back(mode);
    } else {
      once.push_back(mode);
    }
  }
  const PartPlace first{Memory::array, normal.dst_offset};
  builder.add(moved(normal, once), first, {Memory::source, normal.src_offset}, start);
  // The destination's fastest mode first: what is copied becomes longer each time.
  std::reverse(repeated.begin(), repeated.end());
  ModeList done = once;
  for (Mode& mode : done) mode.src_stride = mode.dst_stride;
  for (const Mode& mode : repeated) {
    ModeList modes = done;
    modes.push_back({mode.extent - 1, 0, mode.dst_stride});
    builder.add(moved(normal, modes), {Memory::array, first.offset + mode.dst_stride}, first,
                {true, start.dst, std::gcd(start.dst, mode.dst_stride)});
    done.push_back({mode.extent, mode.dst_stride, mode.dst_stride});
  }
  add({std::make_shared<const Repeats>(std::move(builder.all))});
}

Demand Family::demand(const Config& config, const Problem&, const Model& model, const Costs& c) {
  const auto parts = static_cast<double>(config.all->parts.list.size());
  // The launch of a part waits for the one before it, but not for the host.
  return {
      .src_bytes = model.least.src_bytes,
      .dst_bytes = model.least.dst_bytes,
      .parts_seconds = config.all->seconds + (parts - 1) * (c.part - model.device.launch_seconds)};
}

std::string Family::describe(const Config& config, const Problem&) {
  std::string text;
  for (const Part& part : config.all->parts.list) {
    text += fmt::format("{}{}", text.empty() ? "once by " : ", copied by ", part.plan->kernel());
  }
  return text;
}

std::string Family::details(const Config& config) {
  std::string text;
  for (const Part& part : config.all->parts.list) {
    const Plan& plan = *part.plan;
    text += fmt::format("{:<12}{}, {}\n", text.empty() ? "once" : "copied", plan.kernel(),
                        plan::describe(plan.chosen, plan.normal));
  }
  return text;
}

}  // namespace cornerturn::plan::gpu::repeat
