#include "api/track.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"

namespace cornerturn {
namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t long_run = 128;  // bytes that lie together in a slice, at least

// Takes the first `count` indices of a mode from a problem, as a problem of their own.
Problem cut(Problem& from, int mode, std::int64_t count) {
  Problem slice = from;
  slice.modes[mode].extent = count;
  from.src_offset += count * from.modes[mode].src_stride;
  from.dst_offset += count * from.modes[mode].dst_stride;
  from.modes[mode].extent -= count;
  return slice;
}

// Bytes from an index of a mode to the next, on the side where they lie closer to each other. 0: it
// is broadcast.
std::int64_t step_of(const Mode& mode) {
  return std::min(std::abs(mode.src_stride), mode.dst_stride);
}

// So many indices of a mode are whole lines of both sides.
std::int64_t whole_lines(const Mode& mode) {
  return std::max(line_bytes / std::gcd(line_bytes, mode.src_stride),
                  line_bytes / std::gcd(line_bytes, mode.dst_stride));
}

// The modes of a problem, those that are outermost on both sides first.
std::vector<int> from_outermost(const Problem& normal) {
  std::vector<int> modes(static_cast<std::size_t>(normal.rank()));
  std::iota(modes.begin(), modes.end(), 0);
  std::stable_sort(modes.begin(), modes.end(), [&](int a, int b) {
    return step_of(normal.modes[a]) > step_of(normal.modes[b]);
  });
  return modes;
}

}  // namespace

Track::Track(const Problem& normal, std::int64_t slices) {
  for (const int i : from_outermost(normal)) {
    const Mode& mode = normal.modes[i];
    // A slice that has all of a broadcast mode reads its source as often as the whole does.
    if (indices_ >= slices || step_of(mode) == 0) break;
    const std::int64_t least = ceil_div(long_run, step_of(mode));  // indices of a slice
    // A single index would be a short run: enough of them together must be enough slices.
    if (least > 1 && indices_ * (mode.extent / least) < slices) continue;
    indices_ *= mode.extent;
    levels_.push_back({i, normal});
  }
  usable_ = !levels_.empty() && indices_ >= slices;
  if (!usable_) return;
  for (std::size_t k = 1; k < levels_.size(); ++k)
    levels_[k].left.modes[levels_[k].mode].extent = 0;
  const Mode& innermost = normal.modes[levels_.back().mode];
  slice_ = std::max(ceil_div(indices_, slices), ceil_div(long_run, step_of(innermost)));
  const std::int64_t whole = whole_lines(innermost);
  if (slice_ > whole) slice_ = ceil_div(slice_, whole) * whole;
}

Problem Track::take(std::int64_t count) {
  std::size_t k = levels_.size() - 1;
  while (levels_[k].extent() == 0 && k > 0) --k;
  for (; k + 1 < levels_.size(); ++k) {
    levels_[k + 1].left = cut(levels_[k].left, levels_[k].mode, 1);
  }
  const std::int64_t extent = levels_[k].extent();
  const std::int64_t taken = extent - count < slice_ ? extent : count;  // leaves no short slice
  taken_ += taken;
  return cut(levels_[k].left, levels_[k].mode, taken);
}

std::vector<Problem> Track::rest() const {
  std::vector<Problem> problems;
  for (const Level& level : levels_) {
    if (level.extent() > 0) problems.push_back(level.left);
  }
  return problems;
}

}  // namespace cornerturn
