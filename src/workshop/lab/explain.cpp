#include "workshop/lab/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "cornerturn/error.hpp"
#include "workshop/analyse/access_costs.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain_words.hpp"
#include "workshop/lab/lane_addresses.hpp"

namespace cornerturn::lab {
namespace {

std::int64_t least_offset(const SwizzledLayout& layout) {
  std::int64_t least = layout.offset;
  for (int i = 0; i < layout.layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.layout.leaf[i];
    least += std::min<std::int64_t>(0, (leaf.extent - 1) * leaf.stride);
  }
  return least;
}

std::int64_t greatest_offset(const SwizzledLayout& layout) {
  std::int64_t greatest = layout.offset;
  for (int i = 0; i < layout.layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.layout.leaf[i];
    greatest += std::max<std::int64_t>(0, (leaf.extent - 1) * leaf.stride);
  }
  return greatest;
}

std::optional<SamePlace> find_same_place(const SwizzledLayout& layout, const TileShape& tile,
                                         std::int64_t span) {
  std::vector<std::int32_t> owner(static_cast<std::size_t>(span), -1);
  const auto point = [&](std::int64_t index) {
    return TilePoint{static_cast<int>(index / tile.columns), static_cast<int>(index % tile.columns),
                     true};
  };
  for (std::int64_t i = 0; i < tile.rows * tile.columns; ++i) {
    const std::int64_t offset = offset_of(layout, i / tile.columns, i % tile.columns);
    std::int32_t& found = owner[static_cast<std::size_t>(offset)];
    if (found >= 0) return SamePlace{point(found), point(i), offset};
    found = static_cast<std::int32_t>(i);
  }
  return std::nullopt;
}

// Which bit of a coordinate the layout puts at each bit of the byte address.
std::vector<AddressBit> address_bits(const SwizzledLayout& layout, const TileShape& tile,
                                     std::int64_t span, bool linear) {
  const int low = std::countr_zero(static_cast<unsigned>(tile.bytes));
  const int count =
      std::max(7, low + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(span - 1))));
  std::vector<AddressBit> bits(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    AddressBit& bit = bits[static_cast<std::size_t>(i)];
    bit.bit = i;
    if (i >= 2 && i < 7) bit.bank_bit = i - 2;
    if (i < low) bit.from = fmt::format("b{}", i);
    const auto offset_bit = [&](std::int64_t mask) { return i >= low && (mask >> (i - low) & 1); };
    bit.is_y = offset_bit(layout.swizzle.y_mask());
    bit.is_z = offset_bit(layout.swizzle.z_mask());
    if (bit.is_z) bit.xored_with = i + layout.swizzle.shift;
  }
  if (!linear) return bits;
  const bool flat = layout.layout.rank() == 1;
  const int rows_end = flat ? 0 : layout.layout.mode_end(0);
  int row_bit = 0;
  int column_bit = 0;
  for (int i = 0; i < layout.layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.layout.leaf[i];
    const int extent_bits = std::countr_zero(static_cast<std::uint64_t>(leaf.extent));
    int& counter = i < rows_end ? row_bit : column_bit;
    for (int k = 0; k < extent_bits; ++k) {
      const int at = low + std::countr_zero(static_cast<std::uint64_t>(leaf.stride)) + k;
      if (at < count) {
        bits[static_cast<std::size_t>(at)].from =
            fmt::format("{}{}", i < rows_end ? 'r' : 'c', counter);
      }
      ++counter;
    }
  }
  return bits;
}

RowPeriod row_period(const SwizzledLayout& layout, const TileShape& tile) {
  RowPeriod period;
  period.elements = layout.swizzle.period();
  const SwizzledLayout plain = {{}, layout.offset, layout.layout};
  std::vector<std::int64_t> moved(static_cast<std::size_t>(tile.rows * tile.columns));
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t column = 0; column < tile.columns; ++column) {
      moved[static_cast<std::size_t>(row * tile.columns + column)] =
          offset_of(layout, row, column) - offset_of(plain, row, column);
    }
  }
  const auto repeats = [&](std::int64_t rows) {
    return std::equal(moved.begin() + rows * tile.columns, moved.end(), moved.begin());
  };
  while (period.rows < tile.rows && !repeats(period.rows)) ++period.rows;
  for (std::int64_t row = 0; row < period.rows; ++row) {
    const auto begin = moved.begin() + row * tile.columns;
    if (std::all_of(begin, begin + tile.columns, [](std::int64_t m) { return m == 0; })) {
      period.unchanged.push_back(row);
    }
  }
  return period;
}

TimeCost time_cost(const std::vector<AccessExplanation>& accesses,
                   const plan::gpu::DeviceInfo& device) {
  TimeCost time;
  time.device = device.name;
  time.bytes_per_clock = device.copy_bandwidth / 2 / device.sm_count / device.clock_hz;
  time.clocks = bank_count * bank_bytes / time.bytes_per_clock;
  bool loads = false;
  bool stores = false;
  for (const AccessExplanation& access : accesses) {
    std::int64_t bytes = 0;
    for (const Request& request : access.requests) {
      bytes += std::popcount(request.lanes.active) * access.width;
    }
    // Rows of matrices: eight lanes' addresses a matrix, 16 bytes each.
    if (bytes > 0) {
      time.wavefronts += static_cast<double>(access.wavefronts) * bank_count * bank_bytes /
                         static_cast<double>(bytes);
    }
    const bool load = access.op == SharedOp::load || access.op == SharedOp::ldmatrix;
    (load ? loads : stores) = true;
  }
  time.assumed_legs = (loads ? 0 : 1) + (stores ? 0 : 1);
  time.wavefronts += time.assumed_legs;
  return time;
}

[[noreturn]] void refuse_lane(const Placement& placed, int bytes, const Access& access,
                              const LaneFault& fault, const TilePoint& point) {
  const int width = access.vector * bytes;
  const std::int64_t at = placed.at(point.row, point.column) * bytes;
  if (fault.element == 0) {
    throw Error(Status::invalid_argument,
                fmt::format("access '{}': lane {} takes {} B at byte {}, element ({},{}): the "
                            "address is no multiple of {}",
                            access.name, fault.lane, width, at, point.row, point.column, width));
  }
  const int row = point.row + (access.down ? fault.element : 0);
  const int column = point.column + (access.down ? 0 : fault.element);
  throw Error(Status::invalid_argument,
              fmt::format("access '{}': lane {} takes {} B from ({},{}) on, but ({},{}) lies at "
                          "byte {} and ({},{}) at byte {}: they are no neighbours",
                          access.name, fault.lane, width, point.row, point.column, point.row,
                          point.column, at, row, column, placed.at(row, column) * bytes));
}

}  // namespace

double TimeCost::shared_clocks() const {
  return access_costs.wavefront * wavefronts;
}

double TimeCost::memory_clocks() const {
  return (1 + access_costs.transposed) * clocks;
}

double TimeCost::slowdown() const {
  const double longest = std::max(shared_clocks(), memory_clocks());
  const double shorter = std::min(shared_clocks(), memory_clocks());
  const double norm = access_costs.norm;
  return longest / clocks * std::pow(1 + std::pow(shorter / longest, norm), 1 / norm);
}

bool Explanation::clean() const {
  return !same_place && std::all_of(accesses.begin(), accesses.end(),
                                    [](const AccessExplanation& access) { return access.clean(); });
}

std::int64_t Explanation::offset(std::int64_t row, std::int64_t column) const {
  return offset_of(layout, row, column);
}

AccessExplanation explain_access(const Placement& placed, int bytes, const Access& access) {
  AccessExplanation result;
  result.name = access.name;
  result.op = access.op;
  result.vector = access.vector;
  result.down = access.down;
  result.width = access.vector * bytes;
  result.requests.reserve(access.requests.size());
  for (const LanePoints& points : access.requests) {
    Request request = explain_request(request_of(placed, bytes, access, points), access.op);
    request.points = points;
    result.wavefronts += request.cost.wavefronts;
    result.floor += request.cost.wavefronts - request.cost.conflicts;
    result.requests.push_back(std::move(request));
    if (result.requests.back().cost.conflicts > result.worst_request().cost.conflicts) {
      result.worst = result.requests.size() - 1;
    }
  }
  result.verdict = verdict(result);
  result.why = why(result);
  return result;
}

Request explain_request(const WarpRequest& lanes, SharedOp op) {
  Request request;
  request.lanes = lanes;
  request.cost = shared_cost(lanes, op);
  const LaneGroups groups = lane_groups(lanes, op);
  for (int first = 0; first < warp_lanes; first += groups.size) {
    LaneGroup group;
    group.lanes = lanes.active & cornerturn::detail::lanes_from(first, groups.size);
    if (group.lanes == 0) continue;
    group.room = groups.room;
    cornerturn::detail::BankUse use;
    for (std::uint32_t rest = group.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const std::uint64_t address = lanes.address[static_cast<std::size_t>(lane)];
      use.add_access(address, lanes.width, lane);
      for (int byte = 0; byte < lanes.width; byte += bank_bytes) {
        const std::uint64_t word = (address + static_cast<std::uint64_t>(byte)) / bank_bytes;
        group.by[static_cast<std::size_t>(word % bank_count)] |= 1U << lane;
      }
    }
    group.words = use.words;
    group.wavefronts = *std::max_element(use.words.begin(), use.words.end());
    request.groups.push_back(group);
  }
  return request;
}

WarpRequest request_of(const Placement& placed, int bytes, const Access& access,
                       const LanePoints& points) {
  WarpRequest request;
  const auto fault = set_addresses(request, points, access, bytes, access.vector, placed.at);
  if (fault) refuse_lane(placed, bytes, access, *fault, points[fault->lane]);
  return request;
}

std::int64_t conflicts_of(const SwizzledLayout& layout, int bytes, const Access& access,
                          std::int64_t enough) {
  std::int64_t conflicts = 0;
  WarpRequest request;
  const auto place = [&](int row, int column) { return offset_of(layout, row, column); };
  for (const LanePoints& points : access.requests) {
    if (set_addresses(request, points, access, bytes, access.vector, place)) return -1;
    conflicts += shared_cost(request, access.op).conflicts;
    if (conflicts > enough) return conflicts;
  }
  return conflicts;
}

Explanation explain(const SwizzledLayout& layout, int bytes, const std::vector<Access>& accesses,
                    const plan::gpu::DeviceInfo& device, bool with_remedy) {
  Explanation result;
  result.layout = layout;
  result.tile = tile_shape(layout.layout, bytes);
  if (const std::int64_t least = least_offset(layout); least < 0) {
    throw Error(Status::invalid_argument,
                fmt::format("{} reaches offset {}: offsets in shared memory begin at 0",
                            to_string(layout), least));
  }
  const std::int64_t span = layout.swizzle.span(greatest_offset(layout) + 1);
  result.shared_bytes = span * bytes;
  if (result.shared_bytes > device.shared_per_block) {
    throw Error(
        Status::invalid_argument,
        fmt::format("{} takes {} B: more than the {} B of shared memory that a block of "
                    "{} can have",
                    to_string(layout), result.shared_bytes, device.shared_per_block, device.name));
  }
  result.same_place = find_same_place(layout, result.tile, span);
  result.linear = is_linear(layout.layout) && layout.offset == 0;
  result.bits = address_bits(layout, result.tile, span, result.linear);
  result.period = row_period(layout, result.tile);
  name_numbers(result);
  const Placement placed = placement_of(layout);
  for (const Access& access : accesses) {
    result.accesses.push_back(explain_access(placed, bytes, access));
  }
  if (with_remedy && !result.clean() && !result.same_place)
    result.remedy = find_remedy(layout, bytes, accesses);
  if (!accesses.empty()) result.time = time_cost(result.accesses, device);
  return result;
}

}  // namespace cornerturn::lab
