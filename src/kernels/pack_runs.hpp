// The runs of a block of pack, on one side: those that follow one another at equal distances, and
// those that it lists in shared memory.
#pragma once

#include <cstdint>

#include "kernels/pack_args.hpp"

namespace cornerturn::kernels {

/// One run: where it begins on its side and in shared memory, and its bytes. There are -16 where
/// this block does not have the run. Shared memory is counted from the box, and from that of the
/// block in the anywhere form. The lists of that form hold vectors or units instead
/// (pack_load.hpp, pack_anywhere.hpp).
struct alignas(16) RunPlace {
  std::byte* at = nullptr;
  int shared = 0;
  int bytes = 0;
};
using RunTable = SharedPointer<RunPlace>;

/// Every `step`-th run of a list.
struct ListedRuns {
  static constexpr bool even = false;
  RunTable at;
  RunTable end;
  std::uint32_t step = 0;  ///< runs

  CT_DEVICE ListedRuns every(std::uint32_t first, std::uint32_t distance, std::uint32_t count,
                             std::int64_t) const {
    return {at + first, at + count, distance};
  }
  CT_DEVICE bool inside() const { return at.address < end.address; }
  template <class Ctx>
  CT_DEVICE RunPlace here(Ctx& ctx) const {
    return ctx.load(at);
  }
  CT_DEVICE void next() { at = at + step; }
};

/// Every `runs`-th of runs that follow one another at equal distances.
struct EvenRuns {
  static constexpr bool even = true;
  const PackSide& side;
  RunPlace run;             ///< the first, then the next one
  std::int64_t stride = 0;  ///< bytes from one to the next, on this side
  int stride_shared = 0;    ///< in shared memory
  int runs = 0;
  int left = 0;  ///< of the side

  /// `bytes` says how far they are apart on this side.
  CT_DEVICE EvenRuns every(std::uint32_t first, std::uint32_t distance, std::uint32_t count,
                           std::int64_t bytes) const {
    const auto n = static_cast<int>(first), d = static_cast<int>(distance);
    return {
        side,  {run.at + std::int64_t{n} * side.step, run.shared + n * side.step_shared, run.bytes},
        bytes, d * side.step_shared,
        d,     static_cast<int>(count) - n};
  }
  CT_DEVICE bool inside() const { return left > 0; }
  template <class Ctx>
  CT_DEVICE const RunPlace& here(Ctx&) const {
    return run;
  }
  CT_DEVICE void next() {
    run.at += stride;
    run.shared += stride_shared;
    left -= runs;
  }
};

/// Bytes of a run of such a block.
CT_DEVICE int run_bytes(const PackSide& side, const PackList& list, const PackLimits& limits) {
  if (limits.all || side.cut < 0) return side.bytes;
  return static_cast<int>(limits.count(side.cut, 0)) * list.last.bytes - list.last.gap;
}

/// finish(place, left) says otherwise, where `left` bytes of the run are left at the place, or -16.
template <class Ctx, class Finish>
CT_DEVICE void fill_runs(Ctx& ctx, const PackSide& side, const PackList& list,
                         const PackLimits& limits, std::byte* base, RunTable table,
                         Finish&& finish) {
  const int length = run_bytes(side, list, limits);
  CT_NO_UNROLL
  for (auto i = ctx.thread_id().x; i < side.runs; i += ctx.block_dim().x) {
    const PackList::Start start = list.start(i);
    int left = length - start.piece * list.pieces.bytes;
    if (left <= 0 || !(limits.all || list.has(i, limits))) left = -16;
    const RunPlace place{base + start.at, start.shared,
                         left < list.pieces.bytes ? left : list.pieces.bytes};
    ctx.store(table + i, finish(place, left));
  }
}

}  // namespace cornerturn::kernels
