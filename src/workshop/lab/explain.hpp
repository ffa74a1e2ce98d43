// A layout in shared memory, and accesses to it, in depth: what they cost, which lanes meet in
// which bank and why, what would part them, and what the swizzle's numbers mean. An Explanation is
// a value that holds all that is said; text, JSON and pictures are made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "maps/banks.hpp"
#include "maps/composed.hpp"
#include "plan/gpu/device_info.hpp"
#include "workshop/lab/access.hpp"
#include "workshop/lab/placement.hpp"

namespace cornerturn::lab {

/// Lanes that are served together.
struct LaneGroup {
  std::uint32_t lanes = 0;  ///< bit i: lane i is active and in this group
  int wavefronts = 0;
  int room = 1;                                   ///< words a bank that are no conflict
  std::array<int, bank_count> words = {};         ///< different words that each bank is asked for
  std::array<std::uint32_t, bank_count> by = {};  ///< the lanes that ask for them
};

/// One warp request.
struct Request {
  LanePoints points = {};  ///< (row, column) each lane begins at
  WarpRequest lanes;       ///< byte addresses
  SharedCost cost;
  std::vector<LaneGroup> groups;
};

/// One access over the whole tile.
struct AccessExplanation {
  std::string name;
  SharedOp op = SharedOp::load;
  int vector = 1;     ///< elements a lane
  int width = 4;      ///< bytes a lane
  bool down = false;  ///< the elements of a lane are neighbours in a column
  std::vector<Request> requests;
  std::size_t worst = 0;        ///< the request that costs most
  std::int64_t wavefronts = 0;  ///< of all requests
  std::int64_t floor = 0;       ///< the same without conflicts
  std::string verdict;          ///< one sentence
  std::string why;              ///< empty without conflicts

  bool clean() const { return wavefronts == floor; }
  const Request& worst_request() const { return requests[worst]; }
};

/// One bit of the byte address of an element.
struct AddressBit {
  int bit = 0;
  std::string from;     ///< what the layout puts there: "r3", "c0"; empty if no single bit does
  int xored_with = -1;  ///< Z: the address bit that the swizzle xors in; -1: none
  bool is_y = false;
  bool is_z = false;
  int bank_bit = -1;  ///< which bit of the bank number it is; -1: none
};

/// After how many rows the swizzle's pattern repeats.
struct RowPeriod {
  std::vector<std::int64_t> unchanged;  ///< rows, within one period, that stay as they are
  std::int64_t rows = 1;                ///< the period within the tile
  std::int64_t elements = 1;            ///< the swizzle's own
  std::string b, m, s;                  ///< what each number does here, a sentence each
};

/// Two coordinates that lie at one place.
struct SamePlace {
  TilePoint a, b;
  std::int64_t offset = 0;
};

/// A swizzle, or padding, under which none of the accesses has a conflict.
struct Remedy {
  SwizzledLayout layout;
  std::string text;
};

/// What the accesses cost in a transposition through this tile that nothing else bounds: the
/// ledger's parts for memory and for shared memory, with its numbers (analyse/access_costs.hpp).
struct TimeCost {
  std::string device;
  double bytes_per_clock = 0;  ///< payload of an SM at the speed of a plain copy
  double wavefronts = 0;       ///< for 128 bytes of payload
  double clocks = 0;           ///< that a copy takes for as many
  int assumed_legs = 0;        ///< shared legs not given, taken as free of conflicts

  double shared_clocks() const;  ///< of shared memory, for 128 bytes of payload
  double memory_clocks() const;  ///< of the memory, for the same in a transposition
  double slowdown() const;       ///< how much longer than a copy it takes
};

struct Explanation {
  SwizzledLayout layout;
  TileShape tile;
  std::int64_t shared_bytes = 0;
  std::vector<AccessExplanation> accesses;
  std::vector<AddressBit> bits;  ///< from bit 0 on
  bool linear = false;           ///< every address bit is the xor of bits of the coordinates
  RowPeriod period;
  std::optional<SamePlace> same_place;  ///< the layout is not injective
  std::optional<Remedy> remedy;         ///< sought if some access has conflicts
  std::optional<TimeCost> time;         ///< if there are accesses

  bool clean() const;
  std::int64_t offset(std::int64_t row, std::int64_t column) const;

  /// What someone wants to read.
  std::string to_text() const;
  std::string to_json() const;
};

/// Throws Error when an access is misaligned or its elements are no neighbours, naming lane and
/// address; when an offset is negative; and when the tile does not fit the device's shared memory.
/// Without `with_remedy` none is sought, which takes most of the time.
Explanation explain(const SwizzledLayout& layout, int bytes, const std::vector<Access>& accesses,
                    const plan::gpu::DeviceInfo& device, bool with_remedy = true);

/// One access alone, to a tile of elements of `bytes`. Throws Error as explain() does.
AccessExplanation explain_access(const Placement& placed, int bytes, const Access& access);

/// One warp request as it is served.
Request explain_request(const WarpRequest& lanes, SharedOp op);

/// The warp's addresses. Throws Error as explain() does.
WarpRequest request_of(const Placement& placed, int bytes, const Access& access,
                       const LanePoints& points);

/// Wavefronts that are due to conflicts, of all requests; -1 when some access is impossible.
/// Returns early with any number above `enough`.
std::int64_t conflicts_of(const SwizzledLayout& layout, int bytes, const Access& access,
                          std::int64_t enough);

}  // namespace cornerturn::lab
