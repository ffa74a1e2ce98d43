#include "plan/gpu/pack/lanes.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "plan/gpu/pack/layout.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;
using kernels::PackDigit;
using kernels::PackList;
using kernels::PackSide;

// What a warp does, in instructions, counted in what the compiler made of the kernel for sm_90.
// They say which of the ways to lay lanes over a box is the shortest. What a box costs beside
// others is what Family::Costs say, which are fitted to measured times.
constexpr double of_column = 45;  // before the first unit of a column, but for the following
constexpr double of_places = 45;
constexpr double of_digit = 13;  // of a place, more than two
constexpr double of_short_places = 65;
constexpr double of_short_digit = 19;
constexpr double of_unit = 21;
constexpr double of_again = 30;   // where elements are found again, beside their places
constexpr double of_run = 35;     // along runs: before the first unit of one
constexpr double of_looked = 26;  // along runs: a unit
constexpr double of_entry = 12;   // of the table
constexpr double of_wait = 10;    // more for a unit, where others have nothing to do meanwhile
constexpr double of_listed = 30;
constexpr double of_listed_digit = 12;
constexpr double of_end = 20;

// What lanes write: units of so many elements. They begin at multiples of `granule`.
struct Units {
  std::int64_t width;    // elements
  std::int64_t granule;  // elements of a unit, or a sector
  std::int64_t size;     // bytes of an element

  std::int64_t grid() const { return granule * size; }
  bool in_sectors() const { return granule > width; }
  // So many elements, in whole granules.
  std::int64_t whole(std::int64_t elements) const { return ceil_div(elements, granule) * granule; }
};

// The runs of the destination of a box.
struct Runs {
  std::int64_t run = 1;       // elements
  std::int64_t unshared = 1;  // those up to where the runs of the next box begin
  std::int64_t period = 1;    // of all modes but the last
  std::int64_t count = 1;
  int modes = 0;
  int beside = 0;             // modes
  int first = 1;              // indices of the first mode
  bool same = true;           // all begin at the same place within the grid of units
  bool same_in_units = true;  // within a unit
  std::int64_t step = 0;      // of the first mode beside
  Units unit;

  // The runs that lanes step along, each `down` runs on, until one begins again at the same place
  // within the grid: of one mode, else of all.
  std::int64_t cycle(std::int64_t down) const {
    if (same || beside == 0) return down;
    return std::lcm(down, unit.grid() / std::gcd(step, unit.grid()));
  }
  // How often such a lane finds out where the elements of its unit lie.
  std::int64_t finds(std::int64_t down, std::int64_t pieces, std::int64_t piece) const {
    const std::int64_t all = count * pieces;
    if (pieces == 1 && beside <= 1) return ceil_div(std::min(cycle(down), all), down);
    const bool once = same && (pieces == 1 || piece % unit.granule == 0);
    return once ? 1 : ceil_div(all, down);
  }
};

Runs runs_of(const Box& box, const Box::Side& side, const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  const std::int64_t unit_bytes = kernels::pack_unit_bytes(static_cast<int>(size));
  Runs runs;
  runs.unshared = box.unshared(side.run);
  runs.unit = {unit_bytes / size, unit_bytes / size, size};
  for (int i = 0; i < side.modes; ++i) {
    const int which = side.order[static_cast<std::size_t>(i)];
    const std::int64_t extent = box.extent[static_cast<std::size_t>(which)];
    if (extent == 1) continue;
    if (i < side.run_modes) {
      runs.period = runs.run;
      runs.run *= extent;
      if (runs.modes++ == 0) runs.first = static_cast<int>(extent);
      continue;
    }
    const std::int64_t stride = normal.modes[which].dst_stride;
    runs.same = runs.same && stride % sector_bytes == 0;
    runs.same_in_units = runs.same_in_units && stride % unit_bytes == 0;
    if (runs.beside++ == 0) runs.step = stride;
    runs.count *= extent;
  }
  if (box.shared > 0) {
    runs.unit.granule = sector_bytes / size;
  } else {
    runs.same = runs.same_in_units;
  }
  return runs;
}

// Elements of a piece of a long run: a multiple of `least`, which is whole periods, so that all
// pieces have one table, and few lanes are idle. Or the run.
std::int64_t piece_elements(std::int64_t run, std::int64_t least, std::int64_t threads,
                            const Units& unit) {
  if (run <= threads * unit.width || least > run / 2) return run;
  double best = 0;
  std::int64_t piece = run;
  const std::int64_t most = std::max<std::int64_t>(1, threads * unit.width / least);
  for (std::int64_t count = most; count > 0 && count > most - 16; --count) {
    const std::int64_t units = unit.whole(count * least) / unit.width;
    const double busy = static_cast<double>(units) / static_cast<double>(ceil_div(units, 32) * 32);
    if (busy <= best) continue;
    best = busy;
    piece = count * least;
  }
  return piece;
}

// They reach as far as a block writes.
std::int64_t count_pieces(const Runs& runs, std::int64_t piece) {
  if (piece >= runs.unshared) return 1;
  return ceil_div(std::min(runs.run, runs.unshared + runs.unit.granule - 1), piece);
}

// The table of places: its planes, and the entries of each.
struct Table {
  std::int64_t planes = 0;
  std::int64_t places = 0;
};

Table table_of(const Runs& runs, std::int64_t piece, std::int64_t box_bytes) {
  const Units& unit = runs.unit;
  if (unit.width == 1) return {};
  const bool is_one = runs.same_in_units && (piece % unit.width == 0 || piece >= runs.unshared);
  const Table table{is_one ? 1 : unit.width, (unit.whole(piece) + unit.granule) / unit.width + 1};
  const std::int64_t bytes = table.planes * table.places * unit.width * 2;
  return bytes <= TableRoom::of(box_bytes) ? table : Table{};
}

std::int64_t floor_of(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

struct Laid {
  std::int64_t piece = 1;   // elements
  std::int64_t across = 1;  // neighbours in a run
  std::int64_t down = 1;
  int columns = 1;
  std::int64_t finds = 1;
  bool along_runs = false;  // lanes take one unit of a run after the other
  double cost = std::numeric_limits<double>::max();
};

double list_cost(const Runs& runs, std::int64_t pieces, std::int64_t piece, std::int64_t threads) {
  if (runs.beside <= 1 && pieces == 1) return 0;
  if (runs.beside == 0 && piece % runs.unit.granule == 0) return 0;
  const std::int64_t warps = threads / 32;
  return static_cast<double>(ceil_div(runs.count * pieces, threads) * warps) *
         (of_listed + of_listed_digit * runs.beside);
}

// How lanes take units of such pieces of all runs in the least time.
Laid laid_over_pieces(const Runs& runs, std::int64_t piece, std::int64_t period,
                      std::int64_t threads, std::int64_t box_bytes) {
  const Units& unit = runs.unit;
  const std::int64_t pieces = count_pieces(runs, piece);
  const std::int64_t reach = pieces > 1 || unit.in_sectors() ? unit.whole(piece) : piece;
  const std::int64_t units = std::max<std::int64_t>(1, reach / unit.width);
  const std::int64_t count = runs.count * pieces;
  const bool is_short = runs.modes > 1 && runs.first + 1 < unit.width;
  const double places = (is_short ? of_short_places : of_places) +
                        (is_short ? of_short_digit : of_digit) * std::max(0, runs.modes - 2);
  const bool linear = period == 1 && unit.width > 1;
  const Table table = table_of(runs, piece, box_bytes);
  const std::int64_t warps = threads / 32;
  const double filling = static_cast<double>(ceil_div(table.places, threads) * warps) *
                         (places + of_entry * static_cast<double>(table.planes));
  Laid best;
  // `lane`: before its first run.
  const auto attempt = [&](const Laid& laid, double lane, double of_run, double other) {
    const double turns = static_cast<double>(ceil_div(count, laid.down));
    const double longest = static_cast<double>(warps) * (lane + turns * (of_run + of_wait));
    const double busy = static_cast<double>(laid.across) / 32;
    const double all =
        busy * (static_cast<double>(laid.down) * lane + static_cast<double>(count) * of_run);
    // On an H200 boxes took longer in which all lanes did less and one did more. The weights are
    // chosen to say so; no fit has found them.
    const double cost = 0.8 * longest + 0.2 * all + list_cost(runs, pieces, piece, threads) + other;
    if (cost >= best.cost) return;
    best = laid;
    best.cost = cost;
  };
  const std::int64_t of_sector = unit.granule / unit.width;
  const std::int64_t columns = ceil_div(units, threads);
  const std::int64_t across = ceil_div(ceil_div(units, columns), of_sector) * of_sector;
  const std::int64_t most_down = std::min(threads / across, count);
  for (std::int64_t step = 1; step <= 8 && (step == 1 || step < most_down); step *= 2) {
    const std::int64_t down = most_down - most_down % step;
    const std::int64_t finds = runs.finds(down, pieces, piece);
    const auto times = static_cast<double>(columns);
    attempt({piece, across, down, static_cast<int>(columns), finds},
            times * (of_column + places + static_cast<double>(finds - 1) * (places + of_again)),
            times * of_unit, 0);
    if (finds == 1) break;  // fewer at once would find no less
  }
  // Fewer neighbours than a line has would take the L2 more requests.
  // As measured, it is not worth it where a lane would find its places once.
  const bool along_runs = best.finds > 1 && (linear || table.planes > 0);
  for (std::int64_t few = across; along_runs && (few == across || few >= 32);
       few = few == across ? floor_of(std::min<std::int64_t>(few - 1, 128)) : few / 2) {
    const std::int64_t times = ceil_div(units, few);
    attempt({piece, few, std::min(threads / few, count), static_cast<int>(times), 1, true},
            of_column, of_run + static_cast<double>(times) * of_looked, linear ? 0 : filling);
  }
  // Else no elements lie outside of units.
  if (unit.width > 1 && runs.unshared == runs.run && !(runs.same && runs.run % unit.width == 0)) {
    const std::int64_t turns = ceil_div(runs.count * 2 * unit.width, threads) * warps;
    best.cost += static_cast<double>(turns) * of_end;
  }
  return best;
}

// How lanes take whole runs, or pieces of them, in the least time.
Laid laid_over(const Runs& runs, std::int64_t period, std::int64_t threads,
               std::int64_t box_bytes) {
  const Units& unit = runs.unit;
  Laid best = laid_over_pieces(runs, runs.unshared, period, threads, box_bytes);
  if (runs.unshared <= threads * unit.width || period > runs.unshared / 2) return best;
  constexpr std::int64_t few = 256;  // units: then there is room for a table
  std::int64_t before = 0;
  for (const std::int64_t granule : {std::int64_t{1}, unit.width, unit.granule}) {
    const std::int64_t least = std::lcm(period, granule);
    if (least == before) continue;
    before = least;
    for (std::int64_t lanes = threads; lanes > 0; lanes = lanes > few ? few : 0) {
      const std::int64_t piece = piece_elements(runs.unshared, least, lanes, unit);
      if (piece == runs.unshared) continue;
      const Laid some = laid_over_pieces(runs, piece, period, threads, box_bytes);
      if (some.cost < best.cost) best = some;
    }
  }
  return best;
}

// Whether the runs of a side follow one another at equal distances. Threads take every
// `distance`-th.
void set_even(PackSide& side, const PackList& list, std::uint32_t distance) {
  const PackDigit& digit = list.beside.digit[0];
  if (list.beside.count > 1 || list.pieces.count.divisor > 1 || list.beside.padded) return;
  if (std::abs(digit.more) > std::numeric_limits<std::int32_t>::max()) return;
  side.even = true;
  side.step = static_cast<std::int32_t>(digit.more);
  side.step_shared = digit.more_shared;
  side.stride = distance * digit.more;
  side.cut_runs = digit.cut;
}

void set_even(PackArgs& args, std::uint32_t threads) {
  args.at_once = args.from.vectors.quotient(threads);
  if (!args.values.converts) {
    set_even(args.from, args.from_list, args.at_once);
    set_even(args.to, args.to_list, static_cast<std::uint32_t>(args.cycle));
  }
  place_lists(args);
}

// One run of the destination whose pieces are whole granules of lanes' units.
void set_pieces(PackArgs& args) {
  if (args.values.converts || args.planes > 0 || args.linear) return;
  args.in_pieces = true;
  args.to.even = true;
  args.to.step = args.to_list.pieces.bytes;
  args.to.step_shared = args.to_list.pieces.shared;
  args.to.stride = std::int64_t{args.to.step} * args.down.divisor;
}

// Lanes that write one element at once, as many neighbours as a run has.
void choose_single_lanes(PackArgs& args, const PackConfig& config, const Box::Side& to) {
  const auto run = static_cast<std::uint32_t>(to.run);
  args.single = true;
  args.cycle = config.threads / static_cast<int>(run);
  args.of_piece = static_cast<int>(run);
  args.own = static_cast<int>(to.places);
  args.across = kernels::PackDivide(run);
  args.down = kernels::PackDivide(static_cast<std::uint32_t>(config.threads) / run);
}

void choose_unit_lanes(PackArgs& args, const PackConfig& config, const Runs& runs,
                       std::int64_t box_bytes) {
  const std::int64_t period = args.period.divisor;  // longer than that of the modes if padded
  const Laid laid = laid_over(runs, period, config.threads, box_bytes);
  const auto pieces = static_cast<std::uint32_t>(count_pieces(runs, laid.piece));
  if (pieces > 1) {
    args.to_list.pieces.count = kernels::PackDivide(pieces);
    args.to.runs *= pieces;
    args.to_list.pieces.bytes = static_cast<int>(laid.piece * args.element_bytes);
    args.to_list.pieces.shared = static_cast<int>(laid.piece / period) * args.last_stride;
  }
  args.of_piece = static_cast<int>(laid.piece);
  args.own = static_cast<int>(runs.unshared);
  if (laid.along_runs && period == 1) {
    args.linear = true;
  } else if (laid.along_runs) {
    const Table table = table_of(runs, laid.piece, box_bytes);
    args.planes = static_cast<std::uint8_t>(table.planes);
    args.places = static_cast<int>(table.places);
  }
  args.across = kernels::PackDivide(static_cast<std::uint32_t>(laid.across));
  args.columns = laid.columns;
  args.down = kernels::PackDivide(static_cast<std::uint32_t>(laid.down));
  args.finds = static_cast<int>(laid.finds);
  args.cycle = static_cast<int>(runs.cycle(laid.down));
  args.same = runs.same;
  args.same_before = laid.finds == 1 && runs.same && (pieces == 1 || !runs.unit.in_sectors());
  if (pieces > 1 && runs.beside == 0 && laid.piece % runs.unit.granule == 0) set_pieces(args);
}

// Several runs of the destination with the gaps between them, as one of single elements: with all
// indices that a box has of the next modes, as long as few lanes take them.
Box::Side with_gaps(const Box& box, const Problem& normal) {
  constexpr std::int64_t most = 64;            // elements
  constexpr std::int64_t most_reached = 4096;  // bytes
  const std::int64_t size = normal.dst_type.size();
  Box::Side side = box.dst;
  int last = side.run_modes > 0 ? side.order[static_cast<std::size_t>(side.run_modes - 1)] : -1;
  while (side.run_modes < side.modes) {
    const int next = side.order[static_cast<std::size_t>(side.run_modes)];
    const std::int64_t stride = normal.modes[next].dst_stride;
    const std::int64_t extent = box.extent[static_cast<std::size_t>(next)];
    const bool is_whole =
        last < 0 || box.extent[static_cast<std::size_t>(last)] == normal.modes[last].extent;
    const std::int64_t places = side.places + (extent - 1) * stride / size;
    if (!is_whole || extent == 1 || stride < side.places * size) break;
    if (side.run * extent > most || places * size > most_reached) break;
    side.run *= extent;
    side.places = places;
    ++side.run_modes;
    last = next;
  }
  return side;
}

}  // namespace

// Most elements of shorter runs lie in no whole unit.
bool takes_single(const Box& box, const Problem& normal) {
  const int size = normal.dst_type.size();
  return size <= kernels::most_single_bytes && !normal.converts() &&
         box.dst.run < 4 * kernels::pack_unit_bytes(size) / size;
}

Box::Side single_runs(const Box& box, const Problem& normal) {
  return takes_single(box, normal) ? with_gaps(box, normal) : box.dst;
}

Box::Side runs_for_lanes(const PackConfig& config, const Box& box, const Problem& normal) {
  constexpr std::int64_t least = 64;  // units: the lists stay short, and so does what lies in none
  Box::Side best = single_runs(box, normal);
  if (box.dst.run_modes < 2 || box.shared > 0 || takes_single(box, normal)) return best;
  Box::Side side = box.dst;
  double least_cost = std::numeric_limits<double>::max();
  while (side.run_modes > 0) {
    const Runs runs = runs_of(box, side, normal);
    if (side.run_modes < box.dst.run_modes && runs.run < least * runs.unit.width) break;
    const Laid laid = laid_over(runs, runs.period, config.threads, box.bytes);
    if (laid.cost < least_cost) {
      least_cost = laid.cost;
      best = side;
    }
    --side.run_modes;
    const int last = side.order[static_cast<std::size_t>(side.run_modes)];
    side.run /= box.extent[static_cast<std::size_t>(last)];
    side.places = side.run;
  }
  return best;
}

void choose_lanes(PackArgs& args, const PackConfig& config, const Box& box, const Box::Side& to,
                  const Problem& normal) {
  if (takes_single(box, normal)) {
    choose_single_lanes(args, config, to);
  } else {
    choose_unit_lanes(args, config, runs_of(box, to, normal), box.bytes);
  }
  set_even(args, static_cast<std::uint32_t>(config.threads));
}

}  // namespace cornerturn::plan::gpu::pack
