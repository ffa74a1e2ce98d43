// What one device does of a redistribution, where its kernels or its copy engines reach the memory
// of the receivers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shards/pieces.hpp"
#include "shards/plan.hpp"

namespace cornerturn {

enum class ShardRoute : std::uint8_t { one_pass, copy_engines };

/// "one pass" or "copy engines"; empty: what pays on such GPUs. Throws an Error that names the
/// argument.
ShardRoute route_of(std::string_view name, const shards::Runs& runs, std::string_view gpu_name,
                    const char* argument);

/// The work of a sender.
struct Sending {
  int gpu = -1;  ///< the current GPU; -1: the CPU, whose work is done when the call returns
  void* stream = nullptr;
  ShardRoute route = ShardRoute::one_pass;
  int threads = 0;  ///< of the CPU
};

/// What a sender does by a route (shards/pieces.hpp).
struct SenderWork {
  std::vector<std::vector<shards::Piece>> alike;  ///< for one launch each, if there are any
  std::vector<shards::Piece> pieces;              ///< the same, one after the other
};

/// `on_gpu`: not on the CPU.
SenderWork work_for(const shards::Redistribution& what, int from,
                    const shards::Numbers& src_strides,
                    const std::vector<shards::Numbers>& dst_strides, ShardRoute route, bool on_gpu);

/// Copies the pieces from the shard `src` of the device `from` into the shards of all devices,
/// which begin at `dst`; the caller has checked them and made them reachable. On a GPU it is work
/// of the stream, beside which other streams may work on parts of it.
void send(const SenderWork& work, int from, const void* src, const std::vector<void*>& dst,
          const Sending& how);

}  // namespace cornerturn
