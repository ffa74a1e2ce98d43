#include "plan/cpu/box_sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/divide.hpp"

namespace cornerturn::plan {
namespace {

// Policies. A box with its lines on both sides stays in the first-level cache, or in the second
// where its runs need that.
constexpr std::int64_t least_box = 8 << 10;
constexpr std::int64_t most_box = 64 << 10;
constexpr std::int64_t line_bytes = 64;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// A mode continues a run where its stride leaves no more than a line free and no more than there
// is, or where two of its indices share a line.
std::int64_t reach(std::int64_t run) {
  return std::max(run + std::min(run, line_bytes), line_bytes / 4);
}

int is_uneven(std::int64_t extent, std::int64_t all) {
  return all % extent != 0 ? 1 : 0;
}

}  // namespace

BoxSizes::BoxSizes(const Problem& normal, int rank, std::int64_t atom, std::int64_t wanted_run,
                   std::int64_t most_atoms, int most_parts)
    : normal_(normal),
      rank_(rank),
      bytes_(atom),
      atom_(atom),
      wanted_run_(wanted_run),
      most_atoms_(most_atoms),
      most_parts_(most_parts) {
  for (int i = 0; i < rank; ++i) extent_[at(i)] = 1;
}

void BoxSizes::choose() {
  while (true) {
    const std::int64_t src = run(&Mode::src_stride);
    const std::int64_t dst = run(&Mode::dst_stride);
    const bool src_first = src <= dst;
    if (std::min(src, dst) < wanted_run_ &&
        (grow(src_first ? &Mode::src_stride : &Mode::dst_stride, src_first ? src : dst))) {
      continue;
    }
    if (std::max(src, dst) < wanted_run_ &&
        (grow(src_first ? &Mode::dst_stride : &Mode::src_stride, src_first ? dst : src))) {
      continue;
    }
    if (bytes_ < least_box &&
        grow(&Mode::dst_stride, 1 + bytes_ * wanted_run_ / least_box, /*anywhere=*/true)) {
      continue;
    }
    return;
  }
}

bool BoxSizes::leave_broadcasts() {
  const int before = parts_;
  for (int i = 0; i < rank_; ++i) {
    std::int64_t& extent = extent_[at(i)];
    if (normal_.modes[i].src_stride != 0 || extent == 1) continue;
    uneven_ -= is_uneven(extent, normal_.modes[i].extent);
    bytes_ /= extent;
    extent = 1;
    --parts_;
  }
  return parts_ < before;
}

std::int64_t BoxSizes::run(std::int64_t Mode::*stride) const {
  std::int64_t run = atom_;
  for (int last = -1;;) {
    const int i = next(stride, last);
    if (i < 0 || std::abs(normal_.modes[i].*stride) > reach(run)) return run;
    run = std::max(run, std::abs(normal_.modes[i].*stride) * extent_[at(i)]);
    if (extent_[at(i)] < normal_.modes[i].extent) return run;
    last = i;
  }
}

// The mode with the next stride after that of `last`; -1: none has.
int BoxSizes::next(std::int64_t Mode::*stride, int last) const {
  const auto key = [&](int i) { return std::pair(std::abs(normal_.modes[i].*stride), -i); };
  int found = -1;
  for (int i = 0; i < rank_; ++i) {
    if (normal_.modes[i].*stride == 0 || (last >= 0 && key(i) <= key(last))) continue;
    if (found < 0 || key(i) < key(found)) found = i;
  }
  return found;
}

// Takes more of the mode at which this side's run ends. False: no mode continues it, or there is
// no room.
bool BoxSizes::grow(std::int64_t Mode::*stride, std::int64_t run, bool anywhere) {
  int i = next(stride, -1);
  while (i >= 0 && extent_[at(i)] == normal_.modes[i].extent) i = next(stride, i);
  if (i < 0 || (!anywhere && std::abs(normal_.modes[i].*stride) > reach(run))) return false;
  const std::int64_t all = normal_.modes[i].extent;
  std::int64_t& extent = extent_[at(i)];
  const std::int64_t room = extent * std::min(most_box / bytes_, most_atoms_ * atom_ / bytes_);
  std::int64_t wanted = extent * std::max<std::int64_t>(2, ceil_div(wanted_run_, run));
  if (all - wanted <= wanted / 2) wanted = all;  // no small rest
  wanted = std::min({wanted, all, room});
  if (wanted <= extent) return false;
  wanted = ceil_div(all, ceil_div(all, wanted));
  const int uneven = uneven_ - is_uneven(extent, all) + is_uneven(wanted, all);
  const int parts = parts_ + (extent == 1 ? 1 : 0);
  if (wanted <= extent || uneven > BoxGrid::most_uneven || parts > most_parts_) return false;
  uneven_ = uneven;
  parts_ = parts;
  bytes_ = bytes_ / extent * wanted;
  extent = wanted;
  return true;
}

}  // namespace cornerturn::plan
