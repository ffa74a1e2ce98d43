#include "plan/gpu/pack_lanes.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "plan/gpu/pack_layout.hpp"

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
constexpr double of_other_unit = 40;  // if it begins at another element than the one before
constexpr double of_wait = 10;        // more for a unit, where others have nothing to do meanwhile
constexpr double of_listed = 30;
constexpr double of_listed_digit = 12;
constexpr double of_end = 20;

// The runs of the destination of a box.
struct Runs {
  std::int64_t run = 1;     // elements
  std::int64_t period = 1;  // of all modes but the last
  std::int64_t count = 1;
  int modes = 0;
  int beside = 0;      // modes
  int first = 1;       // indices of the first mode
  bool same = true;    // all begin at the same place within a unit
  bool evenly = true;  // each begins as far behind the one before as the second does
  std::int64_t step = 0;

  // Whether those do that are `down` apart.
  bool are_steady(std::int64_t down, std::int64_t pieces, std::int64_t unit) const {
    return same || (evenly && pieces == 1 && step * down % unit == 0);
  }
};

Runs runs_of(const Box& box, const Box::Side& side, const Problem& normal) {
  const std::int64_t unit = kernels::pack_unit_bytes(normal.dst_type.size());
  Runs runs;
  std::int64_t reached = 0;
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
    runs.same = runs.same && stride % unit == 0;
    if (runs.beside++ == 0) {
      runs.step = stride;
    } else {
      runs.evenly = runs.evenly && (stride - reached) % unit == 0;
    }
    reached = stride * extent;
    runs.count *= extent;
  }
  return runs;
}

// Elements of a piece of a long run: whole units of so many elements and whole periods, so that
// each thread needs the places of one unit only, and few lanes are idle. Or the run's units.
std::int64_t piece_elements(std::int64_t run, std::int64_t period, std::int64_t threads,
                            std::int64_t width) {
  const std::int64_t least = period * (width / std::gcd(width, period));
  const std::int64_t all = run / width * width;
  if (all <= threads * width || least > run / 2) return all;
  double best = 0;
  std::int64_t piece = all;
  const std::int64_t most = std::max<std::int64_t>(1, threads * width / least);
  for (std::int64_t count = most; count > 0 && count > most - 16; --count) {
    const std::int64_t units = count * least / width;
    const double busy = static_cast<double>(units) / static_cast<double>(ceil_div(units, 32) * 32);
    if (busy <= best) continue;
    best = busy;
    piece = count * least;
  }
  return piece;
}

std::int64_t count_pieces(std::int64_t run, std::int64_t piece, std::int64_t width) {
  return piece < run / width * width ? ceil_div(run, piece) : 1;
}

struct Laid {
  std::int64_t piece = 1;   // elements
  std::int64_t across = 1;  // neighbours in a run
  std::int64_t down = 1;
  int columns = 1;
  bool steady = true;
  double cost = std::numeric_limits<double>::max();
};

double list_cost(const Runs& runs, std::int64_t pieces, bool steady, std::int64_t threads) {
  if (steady && runs.beside <= 1 && pieces == 1) return 0;
  const std::int64_t warps = threads / 32;
  return static_cast<double>(ceil_div(runs.count * pieces, threads) * warps) *
         (of_listed + of_listed_digit * runs.beside);
}

// How lanes take units of such pieces of all runs in the least time.
Laid laid_over_pieces(const Runs& runs, std::int64_t piece, std::int64_t threads,
                      std::int64_t width, std::int64_t unit_bytes) {
  const std::int64_t units = std::max<std::int64_t>(1, piece / width);
  const std::int64_t pieces = count_pieces(runs.run, piece, width);
  const std::int64_t count = runs.count * pieces;
  const bool is_short = runs.modes > 1 && runs.first + 1 < 2 * width - 1;
  const double column = of_column + (is_short ? of_short_places : of_places) +
                        (is_short ? of_short_digit : of_digit) * std::max(0, runs.modes - 2);
  Laid best;
  const std::int64_t warps = threads / 32;
  const auto attempt = [&](std::int64_t columns, std::int64_t across, std::int64_t down) {
    const bool steady = runs.are_steady(down, pieces, unit_bytes);
    const double unit = steady ? of_unit : of_other_unit;
    const double longest = static_cast<double>(columns * warps) *
                           (column + static_cast<double>(ceil_div(count, down)) * (unit + of_wait));
    const double all = static_cast<double>(columns * across) / 32 *
                       (static_cast<double>(down) * column + static_cast<double>(count) * unit);
    // On an H200 boxes took longer in which all lanes did less and one did more. The weights are
    // chosen to say so; no fit has found them.
    const double cost = 0.8 * longest + 0.2 * all + list_cost(runs, pieces, steady, threads);
    if (cost >= best.cost) return;
    best = {piece, across, down, static_cast<int>(columns), steady, cost};
  };
  // As measured, lanes that come back to the same runs for other units take longer than this says.
  const std::int64_t columns = ceil_div(units, threads);
  const std::int64_t across = ceil_div(units, columns);
  const std::int64_t down = std::min(threads / across, count);
  attempt(columns, across, down);
  if (down > width) attempt(columns, across, down - down % width);
  // Else most often no elements lie outside of units.
  if (width > 1 && !(runs.same && runs.run % width == 0)) {
    const std::int64_t turns = ceil_div(runs.count * 2 * width, threads) * warps;
    best.cost += static_cast<double>(turns) * of_end;
  }
  return best;
}

// The same of whole runs or of pieces of them.
Laid laid_over(const Runs& runs, std::int64_t period, std::int64_t threads, std::int64_t width,
               std::int64_t unit_bytes) {
  const std::int64_t whole = runs.run / width * width;
  const Laid all = laid_over_pieces(runs, whole, threads, width, unit_bytes);
  const std::int64_t piece = piece_elements(runs.run, period, threads, width);
  if (piece == whole) return all;
  const Laid some = laid_over_pieces(runs, piece, threads, width, unit_bytes);
  return some.cost < all.cost ? some : all;
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
  if (args.values.converts) return;
  set_even(args.from, args.from_list, args.from.vectors.quotient(threads));
  if (args.steady) set_even(args.to, args.to_list, args.down.divisor);
  place_lists(args);
}

// Lanes that write one element at once, as many neighbours as a run has.
void choose_single_lanes(PackArgs& args, const PackConfig& config, std::uint32_t run) {
  args.single = true;
  args.steady = true;
  args.of_piece = static_cast<int>(run);
  args.across = FastDivide(run);
  args.down = FastDivide(static_cast<std::uint32_t>(config.threads) / run);
}

void choose_unit_lanes(PackArgs& args, const PackConfig& config, const Runs& runs) {
  const std::int64_t width = args.of_unit();
  const std::int64_t period = args.period.divisor;  // longer than that of the modes if padded
  const Laid laid =
      laid_over(runs, period, config.threads, width, kernels::pack_unit_bytes(args.element_bytes));
  const auto pieces = static_cast<std::uint32_t>(count_pieces(runs.run, laid.piece, width));
  if (pieces > 1) {
    args.to_list.pieces.count = FastDivide(pieces);
    args.to.runs *= pieces;
    place_lists(args);
    args.to_list.pieces.bytes = static_cast<int>(laid.piece * args.element_bytes);
    args.to_list.pieces.shared = static_cast<int>(laid.piece / period) * args.last_stride;
  }
  args.of_piece = static_cast<int>(laid.piece);
  args.across = FastDivide(static_cast<std::uint32_t>(laid.across));
  args.columns = laid.columns;
  args.down = FastDivide(static_cast<std::uint32_t>(laid.down));
  args.steady = laid.steady;
  args.same = runs.same;
}

// Of shorter runs most elements lie in no whole unit.
bool takes_single(const Box& box, const Problem& normal) {
  const int size = normal.dst_type.size();
  return size <= 2 && !normal.converts() && box.dst.run < 4 * kernels::pack_unit_bytes(size) / size;
}

}  // namespace

Box::Side runs_for_lanes(const PackConfig& config, const Box& box, const Problem& normal) {
  constexpr std::int64_t least = 64;  // units: the lists stay short, and so does what lies in none
  Box::Side best = box.dst;
  const std::int64_t unit = kernels::pack_unit_bytes(normal.dst_type.size());
  const std::int64_t width = unit / normal.dst_type.size();
  if (box.dst.run_modes < 2 || takes_single(box, normal)) return best;
  Box::Side side = box.dst;
  double least_cost = std::numeric_limits<double>::max();
  while (side.run_modes > 0) {
    const Runs runs = runs_of(box, side, normal);
    if (side.run_modes < box.dst.run_modes && runs.run < least * width) break;
    const Laid laid = laid_over(runs, runs.period, config.threads, width, unit);
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
    choose_single_lanes(args, config, static_cast<std::uint32_t>(box.dst.run));
  } else {
    choose_unit_lanes(args, config, runs_of(box, to, normal));
  }
  set_even(args, static_cast<std::uint32_t>(config.threads));
}

}  // namespace cornerturn::plan::gpu::pack
