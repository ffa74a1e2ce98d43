// An array that is spread over the devices of one process, and goes from one layout to another.
//
// The devices are GPUs whose memory the others can reach, as those of one host that NVLink
// connects: kernels permute and store straight into the memory of the receivers, or copy engines do
// where runs are long on both sides. There is no workspace, and nobody waits on the host. Where the
// shards lie in host memory, the CPU does it before the call returns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/export.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// What is to be done with an array that is spread over devices.
struct Resharding {
  Extents shape;    ///< of the whole array
  Extents mesh;     ///< the devices by coordinates; they are numbered with the last one fastest
  std::string src;  ///< how it is spread, one placement for each dimension of the mesh: "S0,R"
  std::string dst;  ///< how the result is to be spread
  /// Axis i of the result is axis permutation[i] of the array. Empty keeps the axes.
  std::vector<int> permutation = {};
};

struct ReshardingOptions {
  /// A cudaStream_t for each device, in whose order its shards are read and written; empty means
  /// the default streams. They may be captured in a graph, all of them in the same one.
  std::vector<void*> streams = {};
  /// "one pass" or "copy engines". Empty means that the library chooses.
  std::string route = {};
  /// The CPU uses at most so many threads; 0 means all that it may.
  int threads = 0;
};

/// Sets the result, whose shards are `dst`, to the array, whose shards are `src`, with its axes
/// permuted. Each list has a view for every device of the mesh. A view has the shape that the
/// layout gives its device, and any strides. All views of a list have one type; values are
/// converted where the two types differ. The two shards of a device lie in the memory of one GPU,
/// or all shards lie in host memory. Shards must not overlap.
///
/// The current GPU stays the current one. Peer access between the GPUs is enabled, and stays so.
/// Work that comes to a device's stream later finds its shard of the result complete, and may
/// overwrite its shard of the array.
CT_API void redistribute(std::span<const View> dst, std::span<const ConstView> src,
                         const Resharding& what, const ReshardingOptions& options = {});

}  // namespace cornerturn
