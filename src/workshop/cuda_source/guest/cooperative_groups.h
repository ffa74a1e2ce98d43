// Cooperative groups: blocks, tiles of a warp, the lanes that run together, and the grid of a
// cooperative launch.
#pragma once

#include "cornerturn_guest.hpp"

namespace cooperative_groups {

namespace guest = ::cornerturn::guest;

class grid_group {
 public:
  CT_GUEST_INLINE void sync() const { guest::grid_barrier(); }
  CT_GUEST_INLINE bool is_valid() const { return true; }
  CT_GUEST_INLINE unsigned long long size() const {
    return num_blocks() * blockDim.x * blockDim.y * blockDim.z;
  }
  CT_GUEST_INLINE unsigned long long num_threads() const { return size(); }
  CT_GUEST_INLINE unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  CT_GUEST_INLINE unsigned long long block_rank() const {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
           blockIdx.x;
  }
  CT_GUEST_INLINE unsigned long long thread_rank() const {
    return block_rank() * blockDim.x * blockDim.y * blockDim.z + guest::thread_rank();
  }
  CT_GUEST_INLINE dim3 group_dim() const { return gridDim; }
  CT_GUEST_INLINE dim3 dim_blocks() const { return gridDim; }
  CT_GUEST_INLINE dim3 block_index() const { return blockIdx; }
};
CT_GUEST_INLINE grid_group this_grid() {
  return {};
}

class thread_block {
 public:
  CT_GUEST_INLINE void sync() const { guest::block_barrier(); }
  CT_GUEST_INLINE static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  CT_GUEST_INLINE static unsigned num_threads() { return size(); }
  CT_GUEST_INLINE static unsigned thread_rank() { return guest::thread_rank(); }
  CT_GUEST_INLINE static dim3 group_index() { return blockIdx; }
  CT_GUEST_INLINE static dim3 thread_index() { return threadIdx; }
  CT_GUEST_INLINE static dim3 group_dim() { return blockDim; }
  CT_GUEST_INLINE static dim3 dim_threads() { return blockDim; }
};
CT_GUEST_INLINE thread_block this_thread_block() {
  return {};
}

// Some lanes of one warp. Lane i of the group is the i-th lane of the mask.
class warp_lanes {
 public:
  CT_GUEST_INLINE explicit warp_lanes(unsigned mask) : mask_(mask) {}
  CT_GUEST_INLINE void sync() const { guest::warp_barrier(mask_); }
  CT_GUEST_INLINE unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  CT_GUEST_INLINE unsigned num_threads() const { return size(); }
  CT_GUEST_INLINE unsigned thread_rank() const { return rank_of(guest::lane_id()); }
  CT_GUEST_INLINE unsigned meta_group_rank() const { return guest::thread_rank() / size(); }
  CT_GUEST_INLINE unsigned meta_group_size() const {
    return (thread_block::size() + size() - 1) / size();
  }
  template <class T>
  CT_GUEST_INLINE T shfl(T value, int source) const {
    return read(value, static_cast<unsigned>(source) % size());
  }
  template <class T>
  CT_GUEST_INLINE T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return read(value, delta > rank ? rank : rank - delta);
  }
  template <class T>
  CT_GUEST_INLINE T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return read(value, rank + delta < size() ? rank + delta : rank);
  }
  template <class T>
  CT_GUEST_INLINE T shfl_xor(T value, unsigned bits) const {
    const unsigned rank = thread_rank();
    return read(value, (rank ^ bits) < size() ? rank ^ bits : rank);
  }
  CT_GUEST_INLINE int any(int predicate) const { return __any_sync(mask_, predicate); }
  CT_GUEST_INLINE int all(int predicate) const { return __all_sync(mask_, predicate); }
  CT_GUEST_INLINE unsigned ballot(int predicate) const {
    return packed(__ballot_sync(mask_, predicate));
  }
  template <class T>
  CT_GUEST_INLINE unsigned match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  template <class T>
  CT_GUEST_INLINE unsigned match_all(T value, int& predicate) const {
    return packed(__match_all_sync(mask_, value, &predicate));
  }
  CT_GUEST_INLINE unsigned lane_mask() const { return mask_; }

 private:
  CT_GUEST_INLINE unsigned rank_of(unsigned lane) const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << lane) - 1)));
  }
  template <class T>
  CT_GUEST_INLINE T read(T value, unsigned rank) const {
    const auto* slots = guest::warp_exchange(mask_, guest::to_bits(value));
    return guest::from_bits<T>(
        guest::lane_value(slots, __fns(mask_, 0, static_cast<int>(rank) + 1)));
  }
  // The bits of the group's lanes, moved together.
  CT_GUEST_INLINE unsigned packed(unsigned of_warp) const {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      bits |= (of_warp & mask_ & 1u << lane) != 0 ? 1u << rank_of(lane) : 0u;
    }
    return bits;
  }

  unsigned mask_;
};

// `size` lanes that are neighbours: a power of two up to a warp.
template <unsigned tile_size, class Parent = void>
class thread_block_tile : public warp_lanes {
 public:
  static_assert(tile_size > 0 && tile_size <= 32 && (tile_size & (tile_size - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  template <class Other>
  CT_GUEST_INLINE thread_block_tile(const thread_block_tile<tile_size, Other>&)
      : thread_block_tile() {}
  CT_GUEST_INLINE thread_block_tile() : warp_lanes(mask_of(tile_size)) {}
  CT_GUEST_INLINE static constexpr unsigned size() { return tile_size; }
  CT_GUEST_INLINE static constexpr unsigned num_threads() { return tile_size; }
  CT_GUEST_INLINE static unsigned mask_of(unsigned lanes_of_tile) {
    const unsigned ones = lanes_of_tile == 32 ? 0xffffffffu : (1u << lanes_of_tile) - 1;
    return ones << (guest::lane_id() & ~(lanes_of_tile - 1));
  }
};
class coalesced_group : public warp_lanes {
 public:
  using warp_lanes::warp_lanes;
};
CT_GUEST_INLINE coalesced_group coalesced_threads() {
  return coalesced_group(guest::active_mask());
}

template <unsigned tile_size, class Group>
CT_GUEST_INLINE thread_block_tile<tile_size, Group> tiled_partition(const Group&) {
  return {};
}
CT_GUEST_INLINE coalesced_group tiled_partition(const thread_block&, unsigned tile_size) {
  return coalesced_group(thread_block_tile<32>::mask_of(tile_size));
}

// Any of the groups of a block, as functions take them.
class thread_group {
 public:
  CT_GUEST_INLINE thread_group(const thread_block&) : mask_(0) {}
  CT_GUEST_INLINE thread_group(const warp_lanes& group) : mask_(group.lane_mask()) {}
  CT_GUEST_INLINE void sync() const {
    if (mask_ == 0) {
      guest::block_barrier();
    } else {
      guest::warp_barrier(mask_);
    }
  }
  CT_GUEST_INLINE unsigned size() const {
    return mask_ == 0 ? thread_block::size() : warp_lanes(mask_).size();
  }
  CT_GUEST_INLINE unsigned num_threads() const { return size(); }
  CT_GUEST_INLINE unsigned thread_rank() const {
    return mask_ == 0 ? guest::thread_rank() : warp_lanes(mask_).thread_rank();
  }

 private:
  unsigned mask_;  // 0: the whole block
};
CT_GUEST_INLINE thread_group tiled_partition(const thread_group&, unsigned tile_size) {
  return coalesced_group(thread_block_tile<32>::mask_of(tile_size));
}

template <class Group>
CT_GUEST_INLINE void sync(const Group& group) {
  group.sync();
}
template <class Group>
CT_GUEST_INLINE unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
CT_GUEST_INLINE unsigned group_size(const Group& group) {
  return group.size();
}

template <class T>
struct plus {
  CT_GUEST_INLINE T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  CT_GUEST_INLINE T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  CT_GUEST_INLINE T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  CT_GUEST_INLINE T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  CT_GUEST_INLINE T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  CT_GUEST_INLINE T operator()(T a, T b) const { return a ^ b; }
};

// Every lane gets the reduction of all lanes' values.
template <class Group, class T, class Operation>
CT_GUEST_INLINE T reduce(const Group& group, T value, Operation operation) {
  const auto* slots = guest::warp_exchange(group.lane_mask(), guest::to_bits(value));
  T sum = value;
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((group.lane_mask() >> lane & 1u) != 0) {
      const T next = guest::from_bits<T>(guest::slot(slots, lane));
      sum = first ? next : operation(sum, next);
      first = false;
    }
  }
  return sum;
}
template <class Group, class T, class Operation>
CT_GUEST_INLINE T inclusive_scan(const Group& group, T value, Operation operation) {
  const auto* slots = guest::warp_exchange(group.lane_mask(), guest::to_bits(value));
  T sum = value;
  bool first = true;
  for (unsigned lane = 0; lane <= guest::lane_id(); ++lane) {
    if ((group.lane_mask() >> lane & 1u) != 0) {
      const T next = guest::from_bits<T>(guest::slot(slots, lane));
      sum = first ? next : operation(sum, next);
      first = false;
    }
  }
  return sum;
}
template <class Group, class T>
CT_GUEST_INLINE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>{});
}

// The group's threads share a copy, in the largest pieces that fit.
template <class Group>
CT_GUEST_INLINE void share_copy(const Group& group, void* shared, const void* global,
                                std::size_t bytes) {
  const auto together =
      reinterpret_cast<std::uintptr_t>(shared) | reinterpret_cast<std::uintptr_t>(global) | bytes;
  const std::size_t piece = together % 16 == 0 ? 16 : together % 8 == 0 ? 8 : 4;
  for (std::size_t at = group.thread_rank() * piece; at < bytes; at += group.size() * piece) {
    guest::copy_async(static_cast<char*>(shared) + at, static_cast<const char*>(global) + at,
                      static_cast<int>(piece), static_cast<int>(piece), piece < 16);
  }
}
template <class Group, class To, class From>
CT_GUEST_INLINE void memcpy_async(const Group& group, To* shared, const From* global,
                                  std::size_t bytes) {
  share_copy(group, shared, global, bytes);
  guest::commit_async();
}
template <class Group>
CT_GUEST_INLINE void wait(const Group& group) {
  guest::wait_async(0);
  group.sync();
}
template <unsigned pending, class Group>
CT_GUEST_INLINE void wait_prior(const Group& group) {
  guest::wait_async(static_cast<int>(pending));
  group.sync();
}

}  // namespace cooperative_groups
