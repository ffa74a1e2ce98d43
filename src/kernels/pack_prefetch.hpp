// How a block of pack asks the L2 for sectors of the destination before it writes to them.
#pragma once

#include <cstdint>

#include "kernels/cut_sectors.hpp"
#include "kernels/pack_args.hpp"

namespace cornerturn::kernels {

/// Asks for the sectors that runs of the destination leave in part.
class PackPrefetches {
 public:
  template <class Ctx>
  CT_DEVICE PackPrefetches(Ctx& ctx, const PackArgs& a) : what_(a.prefetch) {
    // Boxes cut a row: the first and the last one have its ends.
    if (what_ != PackPrefetch::ends || a.to.cut < 0) return;
    const PackCut& cut = a.cut[a.to.cut];
    const std::uint32_t left = a.left(a.to.cut, ctx.block_id().x);
    begins_ = left == cut.extent;
    ends_ = left <= -cut.back;
  }

  CT_DEVICE bool any() const { return what_ != PackPrefetch::none; }

  /// `length`: bytes from the run's first element to behind its last one.
  template <class Ctx>
  CT_DEVICE void of_run(Ctx& ctx, std::byte* run, int length) const {
    if (what_ == PackPrefetch::ends) return prefetch_ends(ctx, run, length, begins_, ends_);
    CT_NO_UNROLL
    for (int at = 0; at < length; at += 32) ctx.prefetch(run + at);
    ctx.prefetch(run + length - 1);
  }

 private:
  PackPrefetch what_;
  bool begins_ = true, ends_ = true;
};

}  // namespace cornerturn::kernels
