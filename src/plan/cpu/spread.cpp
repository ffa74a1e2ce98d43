#include "plan/cpu/spread.hpp"

#include <algorithm>

namespace cornerturn::plan {
namespace {

// A stride that stands for a table, and the most steps with which offsets fit in 64 bits.
constexpr std::int64_t src_stride_of_table = std::int64_t{1} << 36;
constexpr std::int64_t dst_stride_of_table = src_stride_of_table + 1;
constexpr std::int64_t most_steps = std::int64_t{1} << 24;

}  // namespace

const char* why_not_spread(const Problem& normal) {
  const auto& lists = normal.lists->modes;
  const auto goes_backwards = [](const ListMode& m) {
    return !m.dst.from_table() && m.dst.stride <= 0;
  };
  if (normal.blocks == nullptr && std::any_of(lists.begin(), lists.end(), goes_backwards)) {
    return "the destination goes through a list backwards";
  }
  if (normal.lists->steps() > most_steps) return "a list has more than 2^24 steps";
  if (normal.rank() + static_cast<int>(lists.size()) > ModeList::capacity) {
    return "it has too many modes";
  }
  return nullptr;
}

SpreadProblem spread(const Problem& normal) {
  SpreadProblem result{normal};
  Problem& problem = result.problem;
  problem.lists = nullptr;
  for (const ListMode& list : normal.lists->modes) {
    const Mode mode{list.extent, list.src.from_table() ? src_stride_of_table : list.src.stride,
                    list.dst.from_table() ? dst_stride_of_table : list.dst.stride};
    problem.modes.push_back(mode);
    int at = problem.rank() - 1;
    // The modes of blocks have their places.
    for (; normal.blocks == nullptr && at > 0 && problem.modes[at - 1].dst_stride < mode.dst_stride;
         --at) {
      problem.modes[at] = problem.modes[at - 1];
    }
    problem.modes[at] = mode;
    const auto moved = [&](int& index) {
      if (index >= at) ++index;
    };
    moved(problem.scale.mode);
    moved(problem.bias.mode);
    moved(result.src_list);
    moved(result.dst_list);
    if (list.src.from_table()) result.src_list = at;
    if (list.dst.from_table()) result.dst_list = at;
  }
  return result;
}

BlockModes::BlockModes(const Problem& normal) : problem(normal) {
  if (normal.lists == nullptr) return;
  list = normal.rank();
  problem = spread(normal).problem;
}

}  // namespace cornerturn::plan
