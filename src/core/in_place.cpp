#include "core/in_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/divide.hpp"

namespace cornerturn::in_place {
namespace {

constexpr std::int64_t most_cuts = 4096;
constexpr std::int64_t bytes_of_cuts = 1 << 20;  // saved at cuts, at most
// A panel that no cache holds takes so many times as long.
constexpr double large_panel = 1.4;
// A run of the good length takes so much longer than one without end.
constexpr double short_run = 0.25;
// And so many times as much longer where runs begin and end within lines.
constexpr double split_lines = 3;

using Side = Factors::Side;

std::int64_t divided(const Step& step, Side side) {
  return side == Side::rows ? step.rows : step.columns;
}

std::int64_t other(const Step& step, Side side) {
  return side == Side::rows ? step.columns : step.rows;
}

struct Traits {
  std::int64_t panel;  // bytes
  std::int64_t run;
  std::int64_t runs;
  std::int64_t saved;
};

Traits traits_of(const Step& step, const Factors& factors) {
  const std::int64_t across = other(step, factors.side);
  return {factors.size * across * step.element, factors.size * step.element, factors.count * across,
          factors.rest * across * step.element};
}

// Panels that are squares: their elements change places, beside no memory.
bool are_squares(const Step& step, const Factors& factors) {
  return factors.size == other(step, factors.side);
}

Factors factors_of(const Step& step, Side side, std::int64_t size) {
  const std::int64_t extent = divided(step, side);
  return {side, extent / size, size, extent % size};
}

RunPass runs_of(const Traits& traits) {
  return {traits.runs, 1, traits.run};
}

// Bytes of the workspace beside what is saved and the marks.
std::int64_t left_for_runs(const RunPass& pass, const Limits& limits, std::int64_t saved) {
  return limits.workspace - saved - Marks::words_for(pass.rows * pass.columns) * 8;
}

// Calls visit(factors) for all sizes that divide the extent, as far as they are found soon.
template <class Visit>
void for_divisors(const Step& step, Side side, const Visit& visit) {
  constexpr std::int64_t tried = 1 << 16;
  const std::int64_t extent = divided(step, side);
  for (std::int64_t size = 1; size <= tried && size * size <= extent; ++size) {
    if (extent % size != 0) continue;
    visit(factors_of(step, side, size));
    visit(factors_of(step, side, extent / size));
  }
}

// Calls visit(factors) for every way that is worth a thought within `workspace` bytes.
template <class Visit>
void for_each_candidate(const Step& step, const Limits& limits, std::int64_t workspace,
                        const Visit& visit) {
  for (const Side side : {Side::rows, Side::columns}) {
    const std::int64_t row = other(step, side) * step.element;
    const std::int64_t most = std::max<std::int64_t>(1, workspace / limits.workers / row);
    const std::int64_t fast = std::max<std::int64_t>(1, limits.panel / row);
    const std::int64_t good = ceil_div(limits.good_run, step.element);
    for_divisors(step, side, visit);
    // Squares and a rest: two passes where the matrix is nearly square.
    if (divided(step, side) > other(step, side)) {
      visit(factors_of(step, side, other(step, side)));
    }
    // Sizes that leave a rest: smaller ones where what is saved of it takes a part of the
    // workspace.
    for (const std::int64_t size :
         {most, fast, good, good / 2, good / 4, std::min(most, 4 * good)}) {
      constexpr std::int64_t parts = 16;
      for (std::int64_t part = parts; part > 0; --part) {
        visit(factors_of(step, side,
                         std::clamp<std::int64_t>(size * part / parts, 1, divided(step, side))));
      }
    }
  }
}

}  // namespace

std::int64_t RunMap::target_after(std::int64_t k, std::int64_t times) const {
  const std::int64_t last = count() - 1;
  if (k == last || last <= 0) return k;
  __extension__ using Wide = unsigned __int128;
  const auto modulus = static_cast<Wide>(last);
  Wide place = static_cast<Wide>(k);
  Wide factor = static_cast<Wide>(rows_) % modulus;
  for (; times > 0; times /= 2) {
    if (times % 2 != 0) place = place * factor % modulus;
    factor = factor * factor % modulus;
  }
  return static_cast<std::int64_t>(place);
}

bool is_leader(const RunMap& map, std::int64_t k) {
  std::int64_t at = map.source(k);
  while (at > k) at = map.source(at);
  return at == k;
}

Cuts::Cuts(std::int64_t count, std::int64_t most, std::int64_t least_spacing) {
  const std::int64_t last = count - 1;
  if (most <= 0 || last < least_spacing) return;
  std::int64_t spacing = std::max(least_spacing, ceil_div(last, most));
  while (std::gcd(spacing, last) != 1) ++spacing;
  spacing_ = FastDivide64(static_cast<std::uint64_t>(spacing));
  size_ = last / spacing;
}

std::int64_t usual_workspace(std::int64_t array_bytes) {
  return std::max<std::int64_t>(1 << 20, array_bytes / 100);
}

std::int64_t part_of(const RunPass& pass, const Limits& limits, std::int64_t saved) {
  const std::int64_t left = left_for_runs(pass, limits, saved);
  const bool whole = pass.run <= limits.part && pass.run <= left / limits.workers;
  if (limits.part == 0 || whole) return pass.run;
  // As much room for cuts as for what is in work; in whole lines.
  const std::int64_t most = std::min(limits.part, left / limits.workers / 2);
  const std::int64_t part = most < limits.line ? most : most / limits.line * limits.line;
  return std::clamp<std::int64_t>(part, 1, pass.run);
}

Cuts cuts_of(const RunPass& pass, const Limits& limits, std::int64_t saved) {
  const std::int64_t part = part_of(pass, limits, saved);
  const std::int64_t fit =
      std::min(left_for_runs(pass, limits, saved) / part - limits.workers, bytes_of_cuts / part);
  return Cuts(pass.rows * pass.columns, std::clamp<std::int64_t>(fit, 0, most_cuts));
}

std::int64_t workspace_of(const Step& step, const Factors& factors, const Limits& limits) {
  if (step.kind == Step::Kind::swap) return 0;
  const Traits traits = traits_of(step, factors);
  std::int64_t most = 0;
  if (factors.size > 1 && !are_squares(step, factors)) most = traits.panel * limits.workers;
  if (factors.count > 1) {
    const RunPass pass = runs_of(traits);
    const std::int64_t in_work = cuts_of(pass, limits, traits.saved).size() + limits.workers;
    const std::int64_t part = part_of(pass, limits, traits.saved);
    most = std::max(most, Marks::words_for(traits.runs) * 8 + in_work * part);
  }
  return traits.saved + most;
}

double passes_of(const Step& step, const Factors& factors, const Limits& limits) {
  if (step.kind == Step::Kind::swap) return 1;
  const Traits traits = traits_of(step, factors);
  double passes = 0;
  if (factors.size > 1) {
    passes += traits.panel > limits.panel && !are_squares(step, factors) ? large_panel : 1;
  }
  if (factors.count > 1) {
    const double good = static_cast<double>(limits.good_run);
    const double split = traits.run % limits.line == 0 ? 1 : split_lines;
    const std::int64_t part = part_of(runs_of(traits), limits, traits.saved);
    passes += 1 + split * short_run * good / static_cast<double>(part);
  }
  return passes + (factors.rest > 0 ? 1 : 0);
}

std::optional<Factors> factorise(const Step& step, const Limits& limits) {
  std::optional<Factors> best;
  double least = 0;
  for_each_candidate(step, limits, limits.workspace, [&](const Factors& factors) {
    if (workspace_of(step, factors, limits) > limits.workspace) return;
    const double passes = passes_of(step, factors, limits);
    if (best && passes >= least) return;
    best = factors;
    least = passes;
  });
  return best;
}

std::int64_t least_workspace(const Step& step, const Limits& limits) {
  if (step.kind == Step::Kind::swap) return 0;
  std::int64_t least = INT64_MAX;
  Limits tight = limits;
  tight.workspace = 0;  // without cuts
  for (std::int64_t workspace = 1 << 10; workspace / 2 < step.bytes(); workspace *= 2) {
    for_each_candidate(step, limits, workspace, [&](const Factors& factors) {
      least = std::min(least, workspace_of(step, factors, tight));
    });
    if (least <= workspace) break;
  }
  return least;
}

Passes passes(const Step& step, const Factors& factors) {
  const std::int64_t m = step.rows, n = step.columns, e = step.element;
  const std::int64_t size = factors.size, count = factors.count, rest = factors.rest;
  if (step.kind == Step::Kind::swap) {
    return {1, step.bytes(), {SwapPass{step.batch, m, step.middle, e}}};
  }
  if (count == 1 && rest == 0) return {1, step.bytes(), {PanelPass{step.batch, m, n, e}}};
  const auto panels = [&](std::int64_t rows, std::int64_t columns) {
    return rows == columns ? Pass(SwapPass{count, rows, 1, e})
                           : Pass(PanelPass{count, rows, columns, e});
  };
  Passes all{step.batch, m * n * e, {}};
  std::vector<Pass>& list = all.passes;
  if (factors.side == Side::rows) {
    const std::int64_t done = count * size;
    if (rest > 0) list.push_back(SavePass{1, rest * n * e, done * n * e, rest * n * e});
    if (size > 1) list.push_back(panels(size, n));
    if (count > 1) list.push_back(RunPass{count, n, size * e});
    if (rest > 0) {
      list.push_back(MovePass{n, done * e, done * e, m * e});
      list.push_back(RestorePass{n, rest, e, done * e, m * e});
    }
  } else {
    const std::int64_t done = count * size;
    if (rest > 0) {
      list.push_back(SavePass{m, rest * e, done * e, n * e});
      list.push_back(MovePass{m, done * e, n * e, done * e});
    }
    if (count > 1) list.push_back(RunPass{m, count, size * e});
    if (size > 1) list.push_back(panels(m, size));
    if (rest > 0) list.push_back(RestorePass{rest, m, e, done * m * e, m * e});
  }
  return all;
}

namespace {

std::string text_of(const SwapPass& p) {
  return fmt::format("swap {} x [{}][{}][{}] of {} bytes", p.groups, p.extent, p.middle, p.extent,
                     p.element);
}
std::string text_of(const SavePass& p) {
  return fmt::format("save {} bytes", p.bytes());
}
std::string text_of(const PanelPass& p) {
  return fmt::format("{} panels of {} x {} elements of {} bytes", p.panels, p.rows, p.columns,
                     p.element);
}
std::string text_of(const RunPass& p) {
  return fmt::format("{} x {} runs of {} bytes", p.rows, p.columns, p.run);
}
std::string text_of(const MovePass& p) {
  return fmt::format("{} rows of {} bytes from a pitch of {} to {}", p.rows, p.run, p.from_pitch,
                     p.to_pitch);
}
std::string text_of(const RestorePass& p) {
  return fmt::format("restore {} rows of {} bytes", p.rows, p.columns * p.element);
}

}  // namespace

std::string to_string(const Pass& pass) {
  return std::visit([](const auto& some) { return text_of(some); }, pass);
}

std::string to_string(const Step& step) {
  if (step.kind == Step::Kind::swap) {
    return text_of(SwapPass{step.batch, step.rows, step.middle, step.element});
  }
  return fmt::format("transpose {} x [{}][{}] of {} bytes", step.batch, step.rows, step.columns,
                     step.element);
}

}  // namespace cornerturn::in_place
