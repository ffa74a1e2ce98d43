// What one warp request costs in shared memory: wavefronts, and who collides with whom.
//
// Shared memory has 32 banks of 4 bytes: bank = (address / 4) % 32. The lanes of a request are
// served in groups. A group takes as many passes as its fullest bank holds *different* words; lanes
// that want the same word share it. The sum over the groups is the number of wavefronts.
//
//   bytes a lane   1, 2, 4      8             16
//   groups         0-31         0-15, 16-31   0-7, 8-15, 16-23, 24-31
//
// Wide loads merge neighbouring groups (of 16 bytes: the first two, and the last two) into one when
// broadcasts leave room: every active lane i of the *warp* has a partner i^1 that is inactive or
// reads the same address, or every one has such a partner i^2. All groups merge or none does. A
// merged group costs its own passes. Stores, ldmatrix and stmatrix never merge.
//
// These rules equal the hardware's counters on every pattern of bench/results/access/.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cornerturn {

inline constexpr int warp_lanes = 32;
inline constexpr int bank_count = 32;
inline constexpr int bank_bytes = 4;

/// How a warp reaches shared memory. (Asynchronous copies: workshop/analyse/async_copy.hpp.)
enum class SharedOp : std::uint8_t {
  load,
  store,
  ldmatrix,  ///< eight active lanes a matrix, each the address of a row of 16 bytes
  stmatrix,
};

/// One request of one warp: the same instruction, an address a lane.
struct WarpRequest {
  std::array<std::uint64_t, warp_lanes> address = {};  ///< bytes, multiples of `width`
  std::uint32_t active = 0xffffffffU;                  ///< bit i: lane i takes part
  int width = 4;                                       ///< bytes a lane: 1, 2, 4, 8 or 16

  constexpr bool is_active(int lane) const { return ((active >> lane) & 1U) != 0; }
};

/// Two lanes of one group that want different words of one bank.
struct Collision {
  int lane_a = 0;
  int lane_b = 0;
  int bank = 0;
  std::uint64_t word_a = 0;  ///< address / 4
  std::uint64_t word_b = 0;

  friend constexpr bool operator==(const Collision&, const Collision&) = default;
};

/// What a shared request costs.
struct SharedCost {
  int wavefronts = 0;
  int ideal = 0;             ///< the profiler's: what as many bytes need when they lie together
  int conflicts = 0;         ///< wavefronts that are due to different words in one bank
  Collision collision = {};  ///< two lanes in the fullest bank; means something with conflicts

  constexpr bool clean() const { return conflicts == 0; }
};

/// So much shared memory quick counts can know.
inline constexpr int quick_bytes = 64 << 10;

namespace detail {

/// The different words of each bank that a group of lanes wants.
struct BankUse {
  struct Use {
    std::uint64_t word;
    int lane;
  };
  std::array<int, bank_count> words = {};
  Use uses[bank_count][warp_lanes];

  constexpr void add(std::uint64_t word, int lane) {
    const auto bank = static_cast<std::size_t>(word % bank_count);
    const int count = words[bank];
    for (int i = 0; i < count; ++i) {
      if (uses[bank][i].word == word) return;
    }
    uses[bank][count] = {word, lane};
    words[bank] = count + 1;
  }

  constexpr void add_access(std::uint64_t address, int width, int lane) {
    const std::uint64_t last = address + static_cast<std::uint64_t>(width) - 1;
    for (std::uint64_t word = address / bank_bytes; word <= last / bank_bytes; ++word) {
      add(word, lane);
    }
  }

  constexpr int fullest() const {
    int result = 0;
    for (int bank = 1; bank < bank_count; ++bank) {
      if (words[static_cast<std::size_t>(bank)] > words[static_cast<std::size_t>(result)]) {
        result = bank;
      }
    }
    return result;
  }
};

constexpr std::uint32_t lanes_from(int first, int count) {
  return (count >= warp_lanes ? 0xffffffffU : (1U << count) - 1U) << first;
}

/// Has every active lane a partner lane ^ distance that is inactive or has the same address?
constexpr bool partners_agree(const WarpRequest& request, int distance) {
  for (std::uint32_t rest = request.active; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int partner = lane ^ distance;
    if (request.is_active(partner) && request.address[static_cast<std::size_t>(lane)] !=
                                          request.address[static_cast<std::size_t>(partner)]) {
      return false;
    }
  }
  return true;
}

/// Adds what the group `lanes` costs. `room`: so many words a bank may serve without a conflict.
constexpr void add_group(SharedCost& cost, const WarpRequest& request, std::uint32_t lanes,
                         int room) {
  if ((request.active & lanes) == 0) return;
  BankUse banks;
  for (std::uint32_t rest = request.active & lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    banks.add_access(request.address[static_cast<std::size_t>(lane)], request.width, lane);
  }
  const int bank = banks.fullest();
  const int passes = banks.words[static_cast<std::size_t>(bank)];
  cost.wavefronts += passes;
  if (passes <= room) return;
  if (cost.clean()) {
    const auto& use = banks.uses[bank];
    cost.collision = {use[0].lane, use[1].lane, bank, use[0].word, use[1].word};
  }
  cost.conflicts += passes - room;
}

/// The passes of the group `lanes`, or a number of at least `enough` where there are as many. What
/// a lane wants, at a multiple of its width, takes as many banks as any other lane's: they count as
/// one bank of `width` bytes, which is never less than a word. Addresses are less than `bytes`.
template <int width>
constexpr int group_passes(const WarpRequest& request, std::uint32_t lanes, int bytes, int enough) {
  constexpr int banks = bank_count * bank_bytes / width;
  std::array<std::uint64_t, quick_bytes / width / 64> asked;  // a bit for each place
  for (int i = 0; i * 64 * width < bytes; ++i) asked[static_cast<std::size_t>(i)] = 0;
  std::array<std::uint8_t, banks> places = {};  // of each bank
  int most = 0;
  for (std::uint32_t rest = request.active & lanes; rest != 0 && most < enough; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    const std::uint64_t place = request.address[lane] / width;
    std::uint64_t& those = asked[place / 64];
    std::uint8_t& count = places[place % banks];
    count = static_cast<std::uint8_t>(count + (~(those >> (place % 64)) & 1U));
    those |= std::uint64_t{1} << (place % 64);
    most = count > most ? count : most;
  }
  return most;
}

/// The bytes that the active lanes ask for, in units of `unit`; at least 1, at most `actual`.
constexpr int ideal_units(const WarpRequest& request, int unit, int actual) {
  const int units = (std::popcount(request.active) * request.width + unit - 1) / unit;
  return units < 1 ? 1 : units > actual ? actual : units;
}

}  // namespace detail

/// How the lanes of a request are served: `size` neighbours at once, in whose banks `room` words
/// each are no conflict.
struct LaneGroups {
  int size = warp_lanes;
  int room = 1;
};

constexpr LaneGroups lane_groups(const WarpRequest& request, SharedOp op) {
  if (request.width <= bank_bytes) return {};
  const bool merge = op == SharedOp::load &&
                     (detail::partners_agree(request, 1) || detail::partners_agree(request, 2));
  const int room = merge ? 2 : 1;
  return {room * (warp_lanes * bank_bytes / request.width), room};
}

/// The wavefronts of one request, at least 1.
constexpr SharedCost shared_cost(const WarpRequest& request, SharedOp op) {
  const LaneGroups groups = lane_groups(request, op);
  SharedCost cost;
  for (int first = 0; first < warp_lanes; first += groups.size) {
    detail::add_group(cost, request, detail::lanes_from(first, groups.size), groups.room);
  }
  if (cost.wavefronts == 0) cost.wavefronts = 1;
  cost.ideal = detail::ideal_units(request, bank_count * bank_bytes, cost.wavefronts);
  return cost;
}

/// The wavefronts alone; where there are `enough`, a number of at least that. The addresses of
/// active lanes are less than `bytes`, of which there are `quick_bytes` at most.
constexpr int shared_wavefronts(const WarpRequest& request, SharedOp op, int bytes, int enough) {
  const LaneGroups groups = lane_groups(request, op);
  const auto passes = request.width <= bank_bytes       ? detail::group_passes<bank_bytes>
                      : request.width == 2 * bank_bytes ? detail::group_passes<2 * bank_bytes>
                                                        : detail::group_passes<4 * bank_bytes>;
  int wavefronts = 0;
  for (int first = 0; first < warp_lanes && wavefronts < enough; first += groups.size) {
    wavefronts +=
        passes(request, detail::lanes_from(first, groups.size), bytes, enough - wavefronts);
  }
  return wavefronts == 0 ? 1 : wavefronts;
}

}  // namespace cornerturn
