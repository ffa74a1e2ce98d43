// What each line of each kernel does to memory: the requests that the engine tells, counted by the
// project's one model of sectors and wavefronts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/context.hpp"
#include "workshop/analyse/kernel_report.hpp"
#include "workshop/cuda_source/run/where.hpp"

namespace cornerturn::cuda_source {

/// The most expensive request of a line.
struct WorstRequest {
  int cost = 0;
  Dim3 block;
  std::size_t warp = 0;
  simt::Request request;
};

struct KernelCounts {
  std::string name;
  Where launched;
  Launch launch;
  std::size_t static_shared = 0;
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t counted_blocks = 0;
  std::uint64_t uncounted = 0;  ///< accesses that found no room
  KernelReport report;
  // Of each leg of the report.
  std::vector<WorstRequest> worst;
  std::vector<std::uint64_t> lanes;
  std::vector<std::string> memory;

  /// Returns the request's leg.
  std::size_t add(const simt::Request& request, const Dim3& block, std::size_t warp);
};

/// The counts of launches of this kernel, with this shape and from this place.
KernelCounts& counts_of(const std::string& kernel, Where launched, const Launch& launch);
const std::vector<KernelCounts*>& all_counts();

}  // namespace cornerturn::cuda_source
