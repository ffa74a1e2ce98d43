#include "plan/gpu/listed.hpp"

#include <numeric>

#include "core/divide.hpp"

namespace cornerturn::plan::gpu {
namespace {

kernels::ListSide side_of(const Steps& steps) {
  using Kind = kernels::ListSide::Kind;
  kernels::ListSide side;
  side.stride = steps.places == Places::pointers ? 1 : steps.stride;
  side.kind = !steps.from_table()           ? Kind::steps
              : steps.places == Places::i32 ? Kind::narrow
                                            : Kind::wide;
  side.null_is_missing = steps.places == Places::pointers;
  return side;
}

// Bytes from a step to the next, if all of them lay one behind the other.
std::int64_t apart(const Reach& reach) {
  constexpr std::int64_t page = 4096;
  return ceil_div(reach.high - reach.low, page) * page;
}

std::int64_t alignment_of(const Steps& steps) {
  return steps.places == Places::pointers ? steps.alignment : steps.stride;
}

}  // namespace

const char* why_no_list(const Problem& normal) {
  if (normal.lists->modes.size() != 1) return "two modes' places come from tables";
  if (normal.lists->modes.front().extent >= std::int64_t{1} << 31) return "2^31 steps or more";
  return nullptr;
}

Problem step_of_list(const Problem& normal) {
  Problem step = normal;
  step.lists = nullptr;
  step.src_offset = 0;
  step.dst_offset = 0;
  return step;
}

Problem in_order(const Problem& normal) {
  Problem problem = step_of_list(normal);
  const ListMode& list = normal.lists->modes.front();
  const Mode mode{list.extent, list.src.from_table() ? apart(src_reach(problem)) : list.src.stride,
                  list.dst.from_table() ? apart(dst_reach(problem)) : list.dst.stride};
  problem.modes.push_back(mode);
  for (int i = problem.rank() - 1; i > 0; --i) {
    if (problem.modes[i - 1].dst_stride >= mode.dst_stride) break;
    std::swap(problem.modes[i - 1], problem.modes[i]);
  }
  return problem;
}

Problem with_list_last(const Problem& normal) {
  Problem problem = normal;
  if (normal.lists == nullptr) return problem;
  problem.lists = nullptr;
  const ListMode& list = normal.lists->modes.front();
  problem.modes.push_back({list.extent, list.src.stride, list.dst.stride});
  return problem;
}

Alignment of_steps(const Problem& normal, const Alignment& start) {
  const ListMode& list = normal.lists->modes.front();
  Alignment of = start;
  of.required = true;
  of.src = std::gcd(start.src, alignment_of(list.src));
  of.dst = std::gcd(start.dst, alignment_of(list.dst));
  return of;
}

kernels::ListSide from_of(const Problem& normal) {
  return side_of(normal.lists->modes.front().src);
}
kernels::ListSide to_of(const Problem& normal) {
  return side_of(normal.lists->modes.front().dst);
}

}  // namespace cornerturn::plan::gpu
