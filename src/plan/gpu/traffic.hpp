// The bytes that must move between the chip and its memory, counted in whole sectors of 32 bytes.
#pragma once

#include "core/problem.hpp"

namespace cornerturn::plan::gpu {

struct Traffic {
  double src_bytes = 0;
  double dst_bytes = 0;

  double bytes() const { return src_bytes + dst_bytes; }
};

/// Sectors of both sides that hold elements of the problem: what no kernel can avoid.
Traffic least_traffic(const Problem& normal);

}  // namespace cornerturn::plan::gpu
