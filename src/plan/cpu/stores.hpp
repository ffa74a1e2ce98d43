// What a CPU's caches hold of a problem, and how a kernel's stores pass them.
#pragma once

#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::plan {

struct CpuInfo;

enum class Stores : std::uint8_t {
  regular,      ///< through the caches
  past_caches,  ///< whole lines go around them to memory; parts of lines still go through them
  /// As past_caches, except where the operating system has yet to provide the destination's pages.
  /// It clears pages when they are first written to, which brings them into the caches: long runs
  /// stored around the caches would have to drive them out again, so stores are then regular. The
  /// kernel asks once, when a plan begins to run, at three places of the destination.
  past_caches_unless_fresh,
};

/// Do kernels set up like this store around the caches?
constexpr bool past_caches(Stores stores) {
  return stores != Stores::regular;
}

/// Do the source and the destination stay in a core's second-level cache?
bool fits_l2(const Problem& normal, const CpuInfo& cpu);

/// How a destination of this size is best stored: past the caches once it would push everything
/// else out of them.
Stores stores_for(const Problem& normal, const CpuInfo& cpu);
/// The part of the bytes that a problem reads which it has not read before: a mode without a stride
/// in the source reads the same again, from the caches.
double first_reads(const Problem& normal);
/// Do different places of the first `rank` modes share lines of the source, so that one finds in
/// the caches what another has brought? Elsewhere each brings its own, as a column of a wide table
/// does.
bool shares_lines(const Problem& normal, int rank, const CpuInfo& cpu);
/// Neither in the second-level cache nor that large: either way may be the faster one, which
/// depends on what was done before. Both are offered then, and calls learn which it is.
bool either_stores(const Problem& normal, const CpuInfo& cpu);

}  // namespace cornerturn::plan
