#include "workshop/analyse/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/validate.hpp"
#include "plan/gpu/runs.hpp"
#include "plan/planner.hpp"
#include "workshop/analyse/kernel_report.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn {
namespace {

// What the emulator does in a few milliseconds.
constexpr std::int64_t small_bytes = 512 << 10;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

// One side's memory, zero everywhere; the problem's offsets count from zero().
class Side {
 public:
  explicit Side(const Reach& reach) : reach_(reach) {
    const auto size = static_cast<std::size_t>(reach.high - reach.low + 1024) / 256 * 256;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(256, size)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::fill_n(memory_.get(), size, std::byte{0});
  }

  std::byte* data() const { return memory_.get(); }
  std::byte* zero() const { return memory_.get() - reach_.low; }
  std::size_t bytes() const { return static_cast<std::size_t>(reach_.high - reach_.low); }

 private:
  Reach reach_;
  std::unique_ptr<std::byte, Free> memory_;
};

CandidateAccesses counted(const plan::Plan& plan, const plan::Candidate& candidate, double scale) {
  const Side src(src_reach(plan.problem));
  const Side dst(dst_reach(plan.problem));
  simt::Emulator emulator;
  emulator.input("src", src.data(), src.bytes());
  emulator.output("dst", dst.data(), dst.bytes());
  KernelReport report;
  simt::execute(emulator, plan, {dst.zero(), src.zero()}, simt::Mode::recording,
                [&](const simt::Request& request) { report.add(request); });
  CandidateAccesses result;
  result.candidate = candidate;
  for (const Leg& leg : report.legs) {
    const auto sectors = scale * static_cast<double>(leg.sectors);
    (leg.op == simt::Op::global_store ? result.sectors_stored : result.sectors_loaded) += sectors;
    result.wavefronts += scale * static_cast<double>(leg.wavefronts);
    result.wavefronts_ideal += scale * static_cast<double>(leg.wavefronts_ideal);
  }
  return result;
}

std::string count_text(double count) {
  if (count < 1e4) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{:.1f} k", count * 1e-3);
  return fmt::format("{:.2f} M", count * 1e-6);
}

// The index of the mode in which a side is fastest.
int fastest(const Problem& problem, std::int64_t Mode::*stride) {
  int best = -1;
  for (int i = 0; i < problem.rank(); ++i) {
    const auto step = [&](int k) { return std::abs(problem.modes[k].*stride); };
    if (step(i) != 0 && (best < 0 || step(i) < step(best))) best = i;
  }
  return best;
}

// Strides for the new extents, with the gaps between the modes as they were, modulo 1024 bytes.
void lay_out(Problem& problem, const Problem& before, std::int64_t Mode::*stride) {
  std::vector<int> order(static_cast<std::size_t>(problem.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(before.modes[a].*stride) < std::abs(before.modes[b].*stride);
  });
  std::int64_t end = plan::gpu::element_size(problem, stride);
  std::int64_t end_before = end;
  for (const int i : order) {
    const std::int64_t step = std::abs(before.modes[i].*stride);
    if (step == 0) continue;
    const std::int64_t gap = (step - end_before) % 1024;
    const std::int64_t now = end + gap;
    problem.modes[i].*stride = before.modes[i].*stride < 0 ? -now : now;
    end = now * problem.modes[i].extent;
    end_before = step * before.modes[i].extent;
  }
}

// So many of the candidates at most, in their order: the cheapest of each kernel, then of all.
plan::Candidates cheapest(const plan::Candidates& all, std::size_t count) {
  std::vector<bool> taken(all.size());
  const auto take = [&](const auto& wanted) {
    for (std::size_t i = 0; i < all.size() && count > 0; ++i) {
      if (taken[i] || !wanted(i)) continue;
      taken[i] = true;
      --count;
    }
  };
  take([&](std::size_t i) {
    return std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const auto& before) { return before.row == all[i].row; });
  });
  take([](std::size_t) { return true; });
  plan::Candidates some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (taken[i]) some.push_back(all[i]);
  }
  return some;
}

}  // namespace

std::optional<Problem> representative(const Problem& normal) {
  Problem small = normal;
  const int leading[] = {fastest(normal, &Mode::src_stride), fastest(normal, &Mode::dst_stride)};
  // Modes shrink to `period` steps and what is left over at their end, the outer ones first: then
  // rows begin at addresses that are the same modulo the period.
  struct Level {
    bool of_leading;
    std::int64_t period;
  };
  constexpr Level levels[] = {{false, 32}, {true, 512}, {false, 16}, {true, 256},
                              {false, 4},  {true, 128}, {false, 2},  {true, 64}};
  for (const Level& level : levels) {
    for (int i = 0; i < small.rank(); ++i) {
      if (small.bytes() <= small_bytes) break;
      const bool leads = i == leading[0] || i == leading[1];
      std::int64_t& extent = small.modes[i].extent;
      if (leads == level.of_leading && extent >= 2 * level.period) {
        extent = level.period + extent % level.period;
      }
    }
  }
  if (small.bytes() > small_bytes) return std::nullopt;
  lay_out(small, normal, &Mode::src_stride);
  lay_out(small, normal, &Mode::dst_stride);
  small.src_offset %= 1024;
  small.dst_offset %= 1024;
  return small;
}

std::optional<PlanReport> report_of(const plan::Plan& plan, std::size_t count) {
  const std::optional<Problem> small = representative(plan.normal);
  if (!small || plan.normal.elements() == 0) return std::nullopt;
  if (plan.normal.scale.present || plan.normal.bias.present) return std::nullopt;  // no data
  // Launches that take no time: the small problem has what only large ones have otherwise.
  plan::gpu::DeviceInfo device = *plan.machine.gpu();
  device.launch_seconds = 0;
  plan::Plan trial =
      plan::make_plan(*small, {device, plan.machine.gpu_costs()}, {1, "", plan.alignment});
  const plan::Candidates there = trial.candidates;

  PlanReport report;
  report.counted = *small;
  report.elements = static_cast<double>(plan.normal.elements());
  report.src_element_bytes = plan.normal.src_type.size();
  report.element_bytes = plan.normal.dst_type.size();
  const double scale = report.elements / static_cast<double>(small->elements());
  plan::Candidates wanted = cheapest(plan::candidates_of(plan), count);
  if (std::find(wanted.begin(), wanted.end(), plan.chosen) == wanted.end()) {
    wanted.insert(wanted.begin(), plan.chosen);
  }
  for (const plan::Candidate& candidate : wanted) {
    // What a configuration allows, but its kernel does not do here, makes no difference.
    const std::string text = describe(candidate, plan.normal);
    const auto same = std::find_if(there.begin(), there.end(), [&](const auto& c) {
      return c.row == candidate.row &&
             (c.config == candidate.config || describe(c, *small) == text);
    });
    if (same == there.end()) continue;
    trial.choose(*same, plan::Choice::forced);
    report.candidates.push_back(counted(trial, candidate, scale));
  }
  return report;
}

std::string PlanReport::text(const plan::Plan& plan) const {
  const double least_loaded = std::max(elements * src_element_bytes / 32, 1.0);
  const double least_stored = std::max(elements * element_bytes / 32, 1.0);
  std::string text =
      fmt::format("accesses    counted in the emulator on {}, scaled\n", to_string(counted));
  text += fmt::format("            {} {:<10} {:>16} {:>16} {:>18}\n", ' ', "", "sectors loaded",
                      "stored", "wavefronts");
  for (const CandidateAccesses& c : candidates) {
    const std::string shared = c.wavefronts == 0
                                   ? "-"
                                   : fmt::format("{} ({:.2f}x)", count_text(c.wavefronts),
                                                 c.wavefronts / c.wavefronts_ideal);
    text += fmt::format(
        "            {} {:<10} {:>16} {:>16} {:>18}  {}\n", c.candidate == plan.chosen ? '*' : ' ',
        c.candidate.row->name,
        fmt::format("{} ({:.2f}x)", count_text(c.sectors_loaded), c.sectors_loaded / least_loaded),
        fmt::format("{} ({:.2f}x)", count_text(c.sectors_stored), c.sectors_stored / least_stored),
        shared, describe(c.candidate, plan.normal));
  }
  return text;
}

std::string PlanReport::json(const plan::Plan& plan) const {
  nlohmann::json list = nlohmann::json::array();
  for (const CandidateAccesses& c : candidates) {
    list.push_back({{"kernel", c.candidate.row->name},
                    {"config", describe(c.candidate, plan.normal)},
                    {"chosen", c.candidate == plan.chosen},
                    {"sectors_loaded", c.sectors_loaded},
                    {"sectors_stored", c.sectors_stored},
                    {"wavefronts", c.wavefronts},
                    {"wavefronts_ideal", c.wavefronts_ideal}});
  }
  return nlohmann::json{{"counted_on", to_string(counted)}, {"candidates", list}}.dump();
}

}  // namespace cornerturn
