// What one cp.async of a warp costs. It reads global memory and writes shared memory in one go, so
// both addresses of a lane matter. Found by measuring; nothing of it is published.
//
// Through L1 (.ca, 4, 8 or 16 bytes). Groups of lanes as for ordinary accesses. A wavefront takes,
// for each bank in which source words lie in L1, the first lane that still waits; of those, lanes
// whose destination banks are taken by a lower lane wait again. Equal words are never shared.
//
// Past L1 (.cg, 16 bytes). Of the lanes that write one chunk of 16 bytes only the first counts. The
// others are sorted by source line, by destination row of 128 bytes, and by the two low bits of
// (source chunk xor destination chunk). Each sort costs as many wavefronts as one sector of its
// source, or of its destination, takes part in.
//
// Equal to the profiler's per-instruction figures on every pattern of bench/results/access/, whose
// sources are runs, rows and columns. Scattered copies were seen to cost up to 2 wavefronts more.
#pragma once

#include <array>
#include <cstdint>

#include "maps/banks.hpp"
#include "maps/sectors.hpp"

namespace cornerturn {

struct AsyncCopyRequest {
  WarpRequest shared;                                 ///< where the bytes go
  std::array<std::uint64_t, warp_lanes> source = {};  ///< global addresses, multiples of the width
  bool bypass = false;                                ///< .cg instead of .ca
};

struct AsyncCopyCost {
  int wavefronts = 0;  ///< of the write into shared memory
  int sectors = 0;     ///< of the read from global memory
  int lines = 0;
};

namespace detail {

/// The banks that `width` bytes at `address` lie in, one bit each.
constexpr std::uint32_t banks_of(std::uint64_t address, int width) {
  const int words = width <= bank_bytes ? 1 : width / bank_bytes;
  return lanes_from(0, words) << (address / bank_bytes % bank_count);
}

constexpr int async_wavefronts_through_l1(const AsyncCopyRequest& copy) {
  const int width = copy.shared.width;
  const int group = width <= bank_bytes ? warp_lanes : warp_lanes * bank_bytes / width;
  int wavefronts = 0;
  for (int first = 0; first < warp_lanes; first += group) {
    std::uint32_t waiting = copy.shared.active & lanes_from(first, group);
    while (waiting != 0) {
      std::uint32_t sources = 0;
      std::uint32_t destinations = 0;
      std::uint32_t served = 0;
      for (std::uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
        const std::uint32_t from = banks_of(copy.source[lane], width);
        const std::uint32_t to = banks_of(copy.shared.address[lane], width);
        if ((sources & from) == 0 && (destinations & to) == 0) {
          served |= 1U << lane;
          destinations |= to;
        }
        sources |= from;
      }
      waiting &= ~served;
      ++wavefronts;
    }
  }
  return wavefronts < 1 ? 1 : wavefronts;
}

/// A set of 64-bit keys with up to one entry a lane.
struct Keys {
  std::uint64_t key[warp_lanes];
  int count = 0;

  constexpr bool insert(std::uint64_t value) {
    for (int i = 0; i < count; ++i) {
      if (key[i] == value) return false;
    }
    key[count++] = value;
    return true;
  }
};

/// The lanes that count: the first for each destination.
constexpr std::uint32_t first_writers(const WarpRequest& shared) {
  Keys seen;
  std::uint32_t lanes = 0;
  for (std::uint32_t rest = shared.active; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (seen.insert(shared.address[static_cast<std::size_t>(lane)])) lanes |= 1U << lane;
  }
  return lanes;
}

struct SectorMove {
  std::uint64_t from;  ///< sectors
  std::uint64_t to;
  std::uint64_t rotation;  ///< (source chunk xor destination chunk) & 3

  constexpr bool same_sort(const SectorMove& other) const {
    return from / 4 == other.from / 4 && to / 4 == other.to / 4 && rotation == other.rotation;
  }
};

constexpr SectorMove move_of(const AsyncCopyRequest& copy, int lane) {
  const std::uint64_t from = copy.source[static_cast<std::size_t>(lane)];
  const std::uint64_t to = copy.shared.address[static_cast<std::size_t>(lane)];
  return {from / sector_bytes, to / sector_bytes, (from / 16 ^ to / 16) & 3};
}

constexpr int async_wavefronts_past_l1(const AsyncCopyRequest& copy) {
  SectorMove moves[warp_lanes] = {};
  int count = 0;
  for (std::uint32_t rest = first_writers(copy.shared); rest != 0; rest &= rest - 1) {
    const SectorMove move = move_of(copy, std::countr_zero(rest));
    bool is_new = true;
    for (int i = 0; i < count; ++i) {
      if (moves[i].from == move.from && moves[i].to == move.to &&
          moves[i].rotation == move.rotation) {
        is_new = false;
      }
    }
    if (is_new) moves[count++] = move;
  }
  int wavefronts = 0;
  bool counted[warp_lanes] = {};
  for (int i = 0; i < count; ++i) {
    if (counted[i]) continue;
    int most = 0;
    for (int j = i; j < count; ++j) {
      if (!moves[i].same_sort(moves[j])) continue;
      counted[j] = true;
      int from = 0;
      int to = 0;
      for (int k = i; k < count; ++k) {
        if (!moves[i].same_sort(moves[k])) continue;
        from += moves[k].from == moves[j].from ? 1 : 0;
        to += moves[k].to == moves[j].to ? 1 : 0;
      }
      most = from > most ? from : most;
      most = to > most ? to : most;
    }
    wavefronts += most;
  }
  return wavefronts < 1 ? 1 : wavefronts;
}

/// Past L1 a sector is fetched whole only for lanes that keep its two halves together.
constexpr int async_sectors_past_l1(const AsyncCopyRequest& copy) {
  Keys pieces;
  for (std::uint32_t rest = first_writers(copy.shared); rest != 0; rest &= rest - 1) {
    const SectorMove move = move_of(copy, std::countr_zero(rest));
    pieces.insert(move.from << 32 ^ move.to << 1 ^ (move.rotation & 1));
  }
  return pieces.count;
}

}  // namespace detail

constexpr AsyncCopyCost async_copy_cost(const AsyncCopyRequest& copy) {
  WarpRequest read = copy.shared;
  read.address = copy.source;
  const GlobalCost global = global_cost(read);
  if (!copy.bypass) {
    return {detail::async_wavefronts_through_l1(copy), global.sectors, global.lines};
  }
  return {detail::async_wavefronts_past_l1(copy), detail::async_sectors_past_l1(copy),
          global.lines};
}

}  // namespace cornerturn
