#include "plan/gpu/gather/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "maps/sectors.hpp"
#include "plan/gpu/gather/places.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {

// Problems of these sizes have no other kernel that is much faster, and were measured. The
// most holds for rows of several elements, unless they are fields of structures.
constexpr std::int64_t least_bytes = 1 << 20;
constexpr std::int64_t most_bytes = 8 << 20;
constexpr int unit = 16;  // bytes

// Whether 32 bits hold how far any element lies from the first, and `more` bytes.
bool is_near(const Reach& reach, std::int64_t offset, std::int64_t more) {
  const std::int64_t most = (std::int64_t{1} << 31) - 1 - more;
  return reach.low - offset >= -most && reach.high - offset <= most;
}

// Whether the elements of a row are one element of the source.
bool repeats(const Mode& row) {
  return row.src_stride == 0;
}

// The modes of a problem with units for elements of rows, and which they are. The source's fastest
// first, and those that repeat it last; but rows that are one element come before all.
struct Ways {
  std::array<Mode, kernels::NearPlaces::Way::max_rank> modes;
  int rank = 0;
  int units = 0;

  Ways(const GatherConfig& config, const Problem& normal) : rank(normal.rank()) {
    const Mode& row = normal.modes[rank - 1];
    const std::int64_t size = row.dst_stride;
    // Some units are parts where rows begin anywhere.
    const std::int64_t bytes = row.extent * size + unit - std::min<int>(unit, config.granule);
    const auto begin = modes.begin();
    std::copy(normal.modes.begin(), normal.modes.end() - 1, begin);
    const auto distance = [](const Mode& mode) {
      return static_cast<std::uint64_t>(std::abs(mode.src_stride)) - 1;
    };
    std::stable_sort(begin, begin + rank - 1,
                     [&](const Mode& x, const Mode& y) { return distance(x) < distance(y); });
    const Mode of_row{ceil_div(bytes, std::int64_t{unit}), unit / size * row.src_stride, unit};
    const auto is_slower = [&](const Mode& mode) {
      return repeats(row) || distance(mode) >= distance(of_row);
    };
    units = static_cast<int>(std::find_if(begin, begin + rank - 1, is_slower) - begin);
    std::copy_backward(begin + units, begin + rank - 1, begin + rank);
    modes[static_cast<std::size_t>(units)] = of_row;
  }

  const Mode& operator[](int i) const { return modes[static_cast<std::size_t>(i)]; }
};

// Elements of the source that lie next to each other.
std::int64_t source_run(const Ways& ways, std::int64_t size) {
  std::int64_t run = 1;
  for (int i = 0; i < ways.rank && std::abs(ways[i].src_stride) == run * size; ++i) {
    run *= ways[i].extent;
  }
  return run;
}

}  // namespace

bool is_countable(const Problem& normal) {
  return normal.elements() < (std::int64_t{1} << 30);
}

bool is_near(const Problem& normal) {
  return is_countable(normal) && is_near(src_reach(normal), normal.src_offset, 0) &&
         is_near(dst_reach(normal), normal.dst_offset, 0);
}

std::int16_t granule_of_rows(const Problem& normal, const Alignment& start) {
  std::int64_t granule = std::gcd(start.dst, 16);
  for (int i = 0; i + 1 < normal.rank(); ++i) {
    granule = std::gcd(granule, normal.modes[i].dst_stride);
  }
  return static_cast<std::int16_t>(granule);
}

bool takes_units(const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  const int rank = normal.rank();
  if (rank < 2 || rank > kernels::NearPlaces::Way::max_rank || unit < 2 * size ||
      normal.elements() == 0) {
    return false;
  }
  const Mode& row = normal.modes[rank - 1];
  const std::int64_t step = std::abs(row.src_stride);
  if (row.dst_stride != size || row.extent * size < 2 * unit) return false;
  const auto has_neighbours = [&](const Mode& mode) {
    return mode.src_stride != 0 && std::abs(mode.src_stride) <= 16;
  };
  const bool suits = repeats(row) || (step > 16 && std::any_of(normal.modes.begin(),
                                                               normal.modes.end(), has_neighbours));
  if (!suits) return false;
  // A unit may begin before its row, or end behind it.
  return is_near(normal) && is_near(src_reach(normal), normal.src_offset, 16 * step) &&
         is_near(dst_reach(normal), normal.dst_offset, unit);
}

bool are_units_worth_it(const Problem& normal) {
  const std::int64_t bytes = normal.elements() * normal.dst_type.size();
  const bool is_small = bytes <= most_bytes || repeats(normal.modes.back()) || holds_fields(normal);
  return bytes >= least_bytes && is_small && takes_units(normal);
}

std::int64_t units_of(const GatherConfig& config, const Problem& normal) {
  const Ways ways(config, normal);
  return normal.elements() / normal.modes[normal.rank() - 1].extent * ways[ways.units].extent;
}

Demand demand_of_units(const GatherConfig& config, const Problem& normal, const Model& model,
                       const Family::Costs& c) {
  const auto elements = static_cast<double>(normal.elements());
  const auto units = static_cast<double>(units_of(config, normal));
  const int size = normal.dst_type.size();
  Demand demand;
  demand.blocks = std::ceil(units / threads);
  demand.resident = resident_blocks(model.device, threads, 0, unit / size == 16 ? 4 : 8);
  // Those at the ends of rows are stored in pieces.
  const std::int64_t row = normal.modes[normal.rank() - 1].extent;
  const int ends = config.granule < unit ? 2 : row * size % unit != 0 ? 1 : 0;
  const double parts = elements / static_cast<double>(row) * ends;
  const bool is_loaded_once = repeats(normal.modes.back());
  demand.instructions = units * c.axis * normal.rank();
  demand.block_seconds = c.unit_block;
  demand.src_bytes = model.src_read();
  demand.dst_bytes = model.least.dst_bytes + model.cut_bytes();
  // A warp reads from so many places at once, and writes to one a lane.
  const Ways ways(config, normal);
  const auto run = static_cast<double>(source_run(ways, size));
  // A part leaves in two pieces, on the average.
  const double written = (units + parts) * sector_bytes;
  if (is_loaded_once) {  // A warp reads few elements, and writes neighbours.
    const double rows = elements / static_cast<double>(row);
    demand.wavefronts = (rows + units * unit / 128) + parts * c.unit_sector;
    demand.l2_bytes = rows * sector_bytes + written / 2;
  } else {
    demand.wavefronts = units * c.unit_sector;
    demand.l2_bytes = elements * (size + sector_bytes / std::min(run, 32.0)) + written;
  }
  return demand;
}

kernels::UnitPlaces unit_places(const GatherConfig& config, const Problem& normal) {
  const Mode& row = normal.modes[normal.rank() - 1];
  const Ways ways(config, normal);
  kernels::UnitPlaces places;
  places.units = static_cast<std::uint32_t>(units_of(config, normal));
  places.row = static_cast<std::uint32_t>(row.extent);
  places.step = static_cast<std::int32_t>(row.src_stride);
  places.of_row = FastDivide(static_cast<std::uint32_t>(ways[ways.units].extent));
  kernels::WalkMaker<kernels::NearPlaces::Way> maker;
  std::int64_t before = 1;
  for (int i = 0; i < ways.rank; ++i) {
    const Mode& mode = ways[i];
    if (i == ways.units) places.before = FastDivide(static_cast<std::uint32_t>(before));
    maker.add(mode.extent, mode.src_stride, mode.dst_stride);
    before *= mode.extent;
  }
  places.walk = maker.walk;
  return places;
}

}  // namespace cornerturn::plan::gpu::gather
