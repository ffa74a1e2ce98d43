// The form of pack for runs that begin anywhere. The box is loaded as it is (pack_load.hpp). What a
// lane writes is an aligned unit of a few elements, which it puts in order (pack_order.hpp).
//
//   shared memory     |......RR|RRRRRRRR|RRR.....|        the phase of the source
//   destination       .DDD|DDDD|DDDD|DDDD|D..             units
//
// Which elements a unit has depends on where its run begins, and runs begin anywhere. Lanes go one
// of two ways, whichever takes them less. By units: a lane works out where the elements of a unit
// lie, while the vectors are on their way, and takes that unit of all runs that begin at the same
// place within a unit. Along runs: it takes one unit of a run after the other, and a table says
// where elements lie: for each element of a run, the places of as many as a unit has, from that one
// on. The table has a plane for each place within a unit at which runs can begin, so that
// neighbouring lanes read neighbouring entries. A run of one mode needs none: a product says it.
//
//   run                  ....|..dddddd|dddddddd|dddddddd|ddd.....|   sectors
//   table, plane 0           [0 1 2 3] [4 5 6 7] ...                 units of four elements
//          plane 2             [2 3 4 5] [6 7 8 9] ...
//
// A sector in which one run ends and another begins, of another block, takes the L2 more than twice
// the time of a whole one. So neighbouring boxes of large arrays share indices of the destination
// run's last mode: as many as fill a sector. A block writes from the first sector that begins in
// its run up to the first one that begins in the next box's run, and reads the elements that this
// takes beyond its own. Units are counted from the beginning of a sector there, so that warps write
// whole ones; else from the first whole unit of a run. Elements that are in no whole unit follow
// one by one.
//
// A run may be cut at one of its modes, where more and shorter ones keep the lanes busier. A long
// run is a list of pieces of whole periods: each has the units that begin within it. Only a run,
// not a piece, has elements outside of units.
//
// Where the runs of a side follow one another at equal distances, a thread steps from one to the
// next. Others are listed in shared memory, as the vectors or the units that they have.
//
// Runs of a few elements have hardly a whole unit. There a lane writes single elements, and
// several runs count as one, with the gaps between them.
// Where values change, all runs are listed, and leave in units.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_args.hpp"
#include "kernels/pack_load.hpp"
#include "kernels/pack_order.hpp"
#include "kernels/pack_prefetch.hpp"
#include "kernels/pack_runs.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

template <class Change, bool single = false>
struct PackAnywhere {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int size = static_cast<int>(sizeof(Dst));
  static constexpr int W = single ? 1 : pack_unit_bytes(size) / size;  // elements of a unit
  using Unit = std::conditional_t<single, Dst, PackedWords<Dst, pack_unit_bytes(size) / size>>;
  using Order = PackOrder<Change, W>;
  using Places = std::conditional_t<W == 4, std::uint64_t, std::uint32_t>;  // 16 bits each
  static constexpr int sector = 32;                                         // bytes
  /// Elements of a sector. Single elements, and those of 16 bytes, need not begin with one.
  static constexpr int E = W == 1 ? 1 : sector / size;
  static constexpr int threads = 512;  ///< at most
  static constexpr int min_blocks = changes_values<Change> ? 2 : 3;
  static constexpr bool lists_all = changes_values<Change>;  ///< also runs that are even

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const PackShared shared = begin(ctx, a);
    PackLoad<Src, lists_all>::run(ctx, a, shared);
    ctx.commit_async();
    // While the vectors are on their way: what the stores need.
    if (!lists_all && a.to.even) {
      prefetch_even(ctx, a, shared);
      store(ctx, a, shared,
            EvenRuns{a.to, {shared.dst, shared.first - a.room, shared.length * size}});
    } else {
      list_destination(ctx, a, shared);
      store(ctx, a, shared, ListedRuns{shared.dst_runs, {}});
    }
  }

  template <class Ctx>
  CT_DEVICE static PackShared begin(Ctx& ctx, const PackArgs& a) {
    PackShared shared;
    shared.box = ctx.template dynamic_shared<std::uint8_t>();
    shared.src_runs = cast<RunPlace>(shared.box + a.runs_at);
    shared.dst_runs = shared.src_runs + a.from.listed();
    const Offsets box = pack_box(a, ctx.block_id().x, shared.limits);
    shared.dst = a.dst + box.dst;
    shared.length = run_bytes(a.to, a.to_list, shared.limits) / size;
    shared.own = shared.length < a.own ? shared.length : a.own;
    if (a.shared_cut >= 0) {
      const std::uint32_t left = a.left(a.shared_cut, ctx.block_id().x);
      shared.begins = left == a.cut[a.shared_cut].extent;
    }
    CT_NO_UNROLL
    for (int i = 0; i < a.flips; ++i) {
      const PackFlip& flip = a.flip[i];
      shared.back += static_cast<int>(shared.limits.count(flip.cut, flip.extent) - 1) * flip.bytes;
    }
    std::byte* const from = const_cast<std::byte*>(a.src) + box.src;
    shared.src = from - shared.back;
    shared.first = static_cast<int>(shared.box.address) + a.room + phase_of(from);
    shared.safe = box.src >= a.safe_low && box.src <= a.safe_high;
    return shared;
  }

  template <class Ctx>
  CT_DEVICE static void prefetch_even(Ctx& ctx, const PackArgs& a, const PackShared& shared) {
    const PackPrefetches prefetches(ctx, a);
    if (!prefetches.any()) return;
    const std::uint32_t runs = a.in_pieces ? 1 : shared.limits.runs_of(a.to);
    CT_NO_UNROLL
    for (auto i = ctx.thread_id().x; i < runs; i += ctx.block_dim().x) {
      std::byte* const run = shared.dst + static_cast<std::int64_t>(i) * a.to.step;
      prefetches.of_run(ctx, run, shared.length * size);
    }
  }

  /// A list of the units of runs.
  template <class Ctx>
  CT_DEVICE static void list_destination(Ctx& ctx, const PackArgs& a, const PackShared& shared) {
    const PackPrefetches prefetches(ctx, a);
    const auto to_the_end = [&](RunPlace place, int left) {
      const int own = left - (shared.length - shared.own) * size;
      const int piece = a.to_list.pieces.bytes;
      place.shared += shared.first - a.room;
      place.bytes = left;
      const bool first = left == shared.length * size;
      if (prefetches.any() && first) prefetches.of_run(ctx, place.at, left);
      return in_units(place, own < piece ? own : piece, a, first && shared.begins);
    };
    fill_runs(ctx, a.to, a.to_list, shared.limits, shared.dst, shared.dst_runs, to_the_end);
  }

  /// Whether boxes share sectors. Then units are counted from the sector that a run begins in, or
  /// the first whole one, else from the first whole unit. These begin at multiples of so many
  /// elements, less one.
  CT_DEVICE static bool shares(const PackArgs& a) { return a.shared_cut >= 0; }
  CT_DEVICE static int mask_of(const PackArgs& a) { return shares(a) ? E - 1 : W - 1; }

  /// Units of a run: where they are counted from, in shared memory the run itself, and two numbers
  /// in one: the bytes from there to where the block's last unit ends, and the elements of the run
  /// before it. These are less than none if that is a sector which begins before the run.
  struct Units {
    static constexpr int shift = 7;

    CT_DEVICE static int pack(int bytes, int before) { return bytes << shift | (before + E); }
    CT_DEVICE static int before(const RunPlace& units) {
      return (units.bytes & ((1 << shift) - 1)) - E;
    }
    CT_DEVICE static int end(const RunPlace& units) { return units.bytes >> shift; }
  };

  /// `own`: bytes of the run up to where that of the next box begins. `begins`: the elements before
  /// the first whole sector are this block's.
  CT_DEVICE static RunPlace in_units(const RunPlace& run, int own, const PackArgs& a, bool begins) {
    const auto at = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(run.at));
    const int mask = mask_of(a);
    const auto behind = static_cast<int>(at / size) & mask;
    const int before = begins && shares(a) ? -behind : -behind & mask;
    const std::uint32_t behind_own = -(at + static_cast<std::uint32_t>(own));
    const int pad = static_cast<int>(behind_own) & (mask * size + size - 1);
    const int end = own + pad < run.bytes ? own + pad : run.bytes;
    return {run.at + before * size, run.shared, Units::pack(end - before * size, before)};
  }
  /// Whether there is the unit that begins so many bytes behind where they are counted from.
  CT_DEVICE static bool has_unit(const RunPlace& units, int at) {
    return at + W * size <= Units::end(units) && at + Units::before(units) * size >= 0;
  }

  /// Where the box's first run begins within a unit, if all runs begin there.
  CT_DEVICE static int phase_of_all(const PackArgs& a, const PackShared& shared) {
    const auto at = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(shared.dst));
    return a.planes == 1 ? static_cast<int>(-(at / size) & (W - 1)) : 0;
  }
  CT_DEVICE static SharedPointer<Places> table_of(const PackArgs& a, const PackShared& shared) {
    return cast<Places>(shared.box + a.table_at);
  }
  /// The table of places, counted from `room` bytes before the run.
  template <class Ctx>
  CT_DEVICE static void fill_places(Ctx& ctx, const PackArgs& a, const PackShared& shared) {
    const int phase = phase_of_all(a, shared);
    CT_NO_UNROLL
    for (int i = thread_of(ctx); i < a.places; i += static_cast<int>(ctx.block_dim().x)) {
      int at[2 * W - 1];
      a.elements_at(static_cast<std::uint32_t>(phase + i * W), at);
      CT_UNROLL
      for (int plane = 0; plane < W; ++plane) {
        if (plane >= a.planes) continue;
        Places packed = 0;
        CT_UNROLL
        for (int k = 0; k < W; ++k) {
          const auto place = static_cast<std::uint16_t>(at[plane + k] + a.room);
          packed |= static_cast<Places>(place) << (16 * k);
        }
        ctx.store(table_of(a, shared) + (plane * a.places + i), packed);
      }
    }
  }

  /// Which units a lane writes: some of a run, the same ones of every `down`-th run.
  struct Lane {
    int first = 0;  ///< element of the first unit that there can be
    int step = 0;   ///< elements from one of its units to the next
    int run = 0;    ///< the first
    unsigned rotation = 0;

    template <class Ctx>
    CT_DEVICE Lane(Ctx& ctx, const PackArgs& a) {
      const int thread = thread_of(ctx);
      const auto across = static_cast<int>(a.across.divisor);
      run = static_cast<int>(a.across.quotient(static_cast<std::uint32_t>(thread)));
      step = across * W;
      // Those that are left over have none.
      first = run < static_cast<int>(a.down.divisor) ? (thread - run * across) * W : 1 << 24;
      rotation = W < 4 ? 0 : a.rotation_of(ctx.thread_id().x % 32);
    }
  };

  /// Bytes from where units are counted from to one. Single elements may have gaps between them.
  CT_DEVICE static int place_of(const PackArgs& a, int unit) {
    return single ? a.place_of(static_cast<std::uint32_t>(unit)) : unit * size;
  }

  /// Where the elements of a unit lie that begins with that one.
  CT_DEVICE static void find(const PackArgs& a, const Lane& lane, int element, int (&from)[W]) {
    a.elements_at(static_cast<std::uint32_t>(element), from);
    CT_UNROLL
    for (int k = 0; k < W; ++k) from[k] += a.room;
    if (W == 4 && a.rotation_shift != PackArgs::no_rotation) Order::rotate(from, lane.rotation);
  }

  template <class Ctx, class Runs>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                              const Runs& places) {
    if constexpr (W > 1) {
      if (a.planes != 0 || a.linear) {
        store_by_runs(ctx, a, shared, places);
      } else {
        store_by_places(ctx, a, shared, places);
      }
    } else {
      store_by_places(ctx, a, shared, places);
    }
    if constexpr (W > 1) {
      const auto begin = reinterpret_cast<std::uintptr_t>(shared.dst);
      const bool are_whole = a.same && begin % (W * size) == 0 && shared.length % W == 0;
      const bool ends = shared.begins || ends_here(shared);
      if (ends && !are_whole) store_ends(ctx, a, shared, places);
    }
  }
  /// Whether runs may end before the sector does up to which the block writes.
  CT_DEVICE static bool ends_here(const PackShared& shared) {
    return shared.length - shared.own < E - 1;
  }

  /// Elements from where units are counted from, in any run or piece, to behind its last unit.
  CT_DEVICE static int reach(const PackArgs& a, const PackShared& shared) {
    const int mask = mask_of(a);
    if (!shares(a)) {
      return shared.own <= a.of_piece ? shared.own & ~mask : (a.of_piece + mask) & ~mask;
    }
    const auto at = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(shared.dst));
    const int before = !shared.begins ? 0 : a.same ? static_cast<int>(at / size) & mask : mask;
    return ((shared.own < a.of_piece ? shared.own : a.of_piece) + before + mask) & ~mask;
  }

  template <class Ctx>
  CT_DEVICE static void wait_for_box(Ctx& ctx) {
    ctx.template wait_async<0>();
    ctx.barrier();
  }

  /// Stores run by run: all units of the lane, whose elements the table says, or one product.
  template <class Ctx, class Runs>
  CT_DEVICE static void store_by_runs(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                                      const Runs& places) {
    const Lane lane(ctx, a);
    const std::uint32_t count = shared.limits.runs_of(a.to);
    const int phase = phase_of_all(a, shared);
    const int end = lane.first < reach(a, shared) ? static_cast<int>(count) : 0;
    const auto step = static_cast<std::int64_t>(a.down.divisor) * a.to.step;
    const PackDigit& digit = a.of_run.digit[0];
    if (!a.linear) fill_places(ctx, a, shared);
    wait_for_box(ctx);
    CT_NO_UNROLL
    for (auto runs = places.every(static_cast<std::uint32_t>(lane.run), a.down.divisor,
                                  static_cast<std::uint32_t>(end), step);
         runs.inside(); runs.next()) {
      const RunPlace here = runs.here(ctx);
      const RunPlace units =
          Runs::even ? in_units(here, shared.own * size, a, shared.begins) : here;
      const int before = Units::before(units);
      const int last = Units::end(units) / size - W;  // where its last unit can begin
      int unit = lane.first;
      if (unit + before < 0) unit += lane.step;  // which is a sector at least
      const auto first = static_cast<unsigned>(unit + before - phase);
      // All units of a run find their elements in one plane.
      auto entry = table_of(a, shared) + (first % W * static_cast<unsigned>(a.places) + first / W);
      CT_NO_UNROLL
      for (; unit <= last; unit += lane.step) {
        int from[W];
        if (a.linear) {
          CT_UNROLL
          for (int k = 0; k < W; ++k) from[k] = (unit + before + k) * digit.more_shared + a.room;
        } else {
          const Places packed = ctx.load(entry);
          CT_UNROLL
          for (int k = 0; k < W; ++k) from[k] = static_cast<int>(packed >> (16 * k) & 0xffffU);
        }
        if (W == 4 && a.rotation_shift != PackArgs::no_rotation) Order::rotate(from, lane.rotation);
        move_unit(ctx, a, lane, units, unit * size, from);
        entry = entry + lane.step / W;
      }
    }
  }

  /// Stores unit by unit: all runs, those together that begin at one place within a unit, or within
  /// a sector where boxes share such. Where the first elements lie is found while the vectors are
  /// on their way.
  template <class Ctx>
  CT_DEVICE static void store_by_places(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                                        const EvenRuns& places) {
    const Lane lane(ctx, a);
    const auto down = static_cast<int>(a.down.divisor);
    const int count = a.in_pieces ? down : static_cast<int>(shared.limits.runs_of(a.to));
    const int most = a.in_pieces ? a.of_piece : reach(a, shared);
    const int end = lane.run < count ? most : 0;
    const int cycle = a.cycle < count - lane.run ? a.cycle : count - lane.run;
    bool loaded = false;
    int unit = lane.first, first = 0;
    CT_NO_UNROLL
    do {
      auto runs = places.every(static_cast<std::uint32_t>(lane.run + first),
                               static_cast<std::uint32_t>(a.cycle),
                               static_cast<std::uint32_t>(count), a.to.stride);
      runs.run = in_units(runs.run, shared.own * size, a, shared.begins);
      const int at = place_of(a, unit);
      bool has = unit < end && (a.in_pieces || has_unit(runs.run, at));
      int element = Units::before(runs.run) + unit;
      if (a.in_pieces) {
        // All are in one run, as far behind one another as pieces are, up to the run's end.
        runs.runs = down * a.to.step;
        runs.left = Units::end(runs.run) - lane.run * a.to.step - at - W * size + 1;
        if (element < 0) {
          element += a.of_piece;
          runs.run.shared -= a.to_list.pieces.shared;
          if (lane.run == 0) runs.next();
        }
        has &= runs.inside();
      }
      int from[W] = {};
      if (has) find(a, lane, element, from);
      if (!loaded) wait_for_box(ctx);
      loaded = true;
      if (has) {
        CT_NO_UNROLL
        for (; runs.inside(); runs.next()) move_unit(ctx, a, lane, runs.run, at, from);
      }
      first += down;
      if (first >= cycle) {
        first = 0;
        unit += lane.step;
      }
    } while (unit < end);
  }
  template <class Ctx>
  CT_DEVICE static void store_by_places(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                                        const ListedRuns& places) {
    const Lane lane(ctx, a);
    const std::uint32_t count = shared.limits.runs_of(a.to);
    const int end = lane.run < static_cast<int>(count) ? reach(a, shared) : 0;
    const RunPlace first{shared.dst, 0, shared.length * size};
    const int usual = Units::before(in_units(first, shared.own * size, a, shared.begins));
    bool loaded = false;
    int unit = lane.first;
    CT_NO_UNROLL
    do {
      int known = usual;  // elements before the units that `from` was found for
      int from[W] = {};
      const bool has = unit < end && known + unit >= 0;
      if (has) find(a, lane, known + unit, from);
      if (!loaded) wait_for_box(ctx);
      loaded = true;
      const int at = place_of(a, unit);
      auto runs = places.every(static_cast<std::uint32_t>(lane.run), a.down.divisor,
                               unit < end ? count : 0, 0);
      if (W == 1 || a.same_before) {
        const int least = Units::pack(at + W * size, -E);
        RunPlace units = ctx.load_if(has && runs.inside(), runs.at);
        CT_NO_UNROLL
        while (has && runs.inside()) {
          runs.next();
          const RunPlace ahead = ctx.load_if(runs.inside(), runs.at);
          if (units.bytes >= least) move_unit(ctx, a, lane, units, at, from);
          units = ahead;
        }
      } else {
        CT_NO_UNROLL
        for (; runs.inside(); runs.next()) {
          const RunPlace units = runs.here(ctx);
          if (!has_unit(units, at)) continue;
          const int before = Units::before(units);
          if (before != known) find(a, lane, before + unit, from);
          known = before;
          move_unit(ctx, a, lane, units, at, from);
        }
      }
      unit += lane.step;
    } while (unit < end);
  }

  template <class Ctx>
  CT_DEVICE static void move_unit(Ctx& ctx, const PackArgs& a, const Lane& lane,
                                  const RunPlace& units, int at, const int (&from)[W]) {
    Src elements[W];
    CT_UNROLL
    for (int k = 0; k < W; ++k) {
      elements[k] = ctx.load(cast<Src>(box_at(units.shared + from[k])));
    }
    auto* const to = reinterpret_cast<Unit*>(units.at + static_cast<std::uint32_t>(at));
    if constexpr (single) {
      ctx.store(to, Change::of(a, elements[0]));
    } else {
      ctx.store(to, Order::unit_of(a, elements, lane.rotation));
    }
  }

  /// The elements of runs that lie in no whole unit: W - 1 at most at each end, a lane each.
  template <class Ctx, class Runs>
  CT_DEVICE static void store_ends(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                                   const Runs& places) {
    constexpr int slots = 2 * W;
    const int thread = thread_of(ctx);
    const int slot = thread % W;
    const bool behind = thread % slots >= W;
    const int element = behind ? shared.length - 1 - slot : slot;
    const bool inside = slot < W - 1 && element >= 0 && element < shared.length &&
                        (behind ? ends_here(shared) : shared.begins);
    const int from = inside ? a.element_at(static_cast<std::uint32_t>(element)) + a.room : 0;
    const std::uint32_t pieces = Runs::even ? 1 : a.to_list.pieces.count.divisor;
    const std::uint32_t first = static_cast<std::uint32_t>(thread / slots) * pieces;
    const std::uint32_t step = ctx.block_dim().x / slots * pieces;
    const std::uint32_t count = a.in_pieces ? 1 : shared.limits.runs_of(a.to);
    CT_NO_UNROLL
    for (auto runs = places.every(first, step, count, std::int64_t{step} * a.to.step);
         runs.inside(); runs.next()) {
      const RunPlace here = runs.here(ctx);
      const RunPlace units =
          Runs::even ? in_units(here, shared.own * size, a, shared.begins) : here;
      const int before = Units::before(units);
      std::byte* const begin = units.at - before * size;
      const auto at = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(begin)) / size;
      const int length = Units::end(units) + before * size < 0 ? 0 : shared.length;
      // What comes before the first unit that the block writes, or is not written by it.
      const int to_unit = before > 0 ? before : static_cast<int>(-at & (W - 1));
      const int head = to_unit < length ? to_unit : length;
      const auto of_next = at + static_cast<std::uint32_t>(shared.own);
      const bool ends = shared.own + static_cast<int>(-of_next & (E - 1)) >= length;
      const int tail = ends ? (length - head) & (W - 1) : 0;
      const bool mine = inside && slot < (behind ? tail : head);
      const Src value = ctx.load_if(mine, cast<Src>(box_at(units.shared + from)));
      ctx.store_if(mine, reinterpret_cast<Dst*>(begin) + element, Change::of(a, value));
    }
  }
};

}  // namespace cornerturn::kernels
