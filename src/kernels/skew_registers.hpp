// skew for small elements: rows that begin anywhere, transposed on the way to shared memory. A lane
// takes four rows by 16 bytes, each row shifted together from two aligned vectors, transposes them
// in registers, and lays them down, as tile does. A vector of the destination is then shifted
// together from two neighbours of its row. Gathering it element by element, as the other form does,
// would take 8 or 16 loads whose banks collide, since every row has its own phase. Values may
// change their type: what lies in shared memory has the smaller of the two.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/skew_args.hpp"
#include "kernels/skew_joints.hpp"

namespace cornerturn::kernels {

inline constexpr int skew_register_shape_count = 4;
inline constexpr TileShape skew_register_shapes[skew_register_shape_count] = {
    {8, 128}, {16, 256}, {4, 256}, {4, 128}};
inline constexpr int narrow_register_shape = 2;  ///< for short rows of 1 and 2 bytes
inline constexpr int small_register_shape = 3;   ///< for few tiles of single bytes
constexpr bool has_skew_register_shape(int shape, int element_bytes) {
  if (shape == small_register_shape) return element_bytes == 1;
  return element_bytes <= (shape == narrow_register_shape ? 2 : 4);
}
/// How often a lane takes another four rows, by shape.
inline constexpr int skew_register_repeats[skew_register_shape_count] = {1, 2, 2, 1};
/// Those that there are where values change.
inline constexpr int changing_skew_shapes[] = {0, 1};

template <class Change, int shape, bool one_mode>
struct SkewInRegisters {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int src_size = static_cast<int>(sizeof(Src));
  static constexpr int dst_size = static_cast<int>(sizeof(Dst));
  static constexpr bool when_read = dst_size <= src_size;  ///< values change, else when written
  static constexpr bool changes_read = changes_values<Change> && when_read;
  static constexpr bool changes_written = changes_values<Change> && !when_read;
  using T = std::conditional_t<when_read, Dst, Src>;  ///< in shared memory
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int read = 16 / src_size;  ///< elements of a vector of the source
  static constexpr int V = 16 / dst_size;     ///< and of the destination
  static constexpr int across = skew_register_shapes[shape].across;
  static constexpr int columns = across * read;
  static constexpr int down = skew_register_shapes[shape].down_bytes / size;
  static constexpr int rows = down + 32 / dst_size;
  static constexpr int lanes_across = across < 8 ? across : 8;
  static constexpr int lanes_down = 32 / lanes_across;
  static constexpr int fours = (rows / 4 + lanes_down - 1) / lanes_down * lanes_down;
  static constexpr int items = across * fours;
  static constexpr int repeats = skew_register_repeats[shape];
  static constexpr int of_row = down / V;  ///< vectors that a tile has of every row
  static constexpr int unit = of_row > 32 ? of_row : 32;
  static constexpr int threads = ((items + repeats - 1) / repeats + unit - 1) / unit * unit;
  // As measured: with fewer registers more tiles are on their way, unless too many are spilled.
  static constexpr bool is_wide = across == 16 && (size == 1 || one_mode);
  static constexpr int min_blocks =
      threads > 512 ? 2 : (size <= 2 && (repeats == 1 || is_wide) ? 1280 : 1024) / threads;
  static_assert(rows % 4 == 0 && threads <= 1024);

  using Map = Padded<columns, rows, 16 / size, read>;
  using Starts = SkewStarts<one_mode>;
  static constexpr unsigned tile_bytes = static_cast<unsigned>(Map::required_span_size()) * size;
  static constexpr unsigned shared_bytes = tile_bytes + Starts::bytes(rows, columns);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SkewArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const auto tables = cast<std::byte*>(cast<std::uint8_t>(buffer) + tile_bytes);
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const Starts starts =
        Starts::template make<Src, Dst>(ctx, a, tile, tables, rows, columns, threads);
    const int rows_left = left_of(a.matrix.rows, tile.row, rows);
    const int cols_left = left_of(a.matrix.cols, tile.col, columns);
    load(ctx, a, starts, rows_left, cols_left, buffer);
    prefetch_rows<Dst, threads>(ctx, a, tile, down + of_sector<Dst>, starts.dst, cols_left);
    ctx.barrier();
    store(ctx, a, starts, rows_left, cols_left, buffer);
    const auto element_of = [&](bool active, int m, int n) {
      const T value = ctx.load_if(active, buffer + Map::at(m, n));
      if constexpr (changes_written) {
        return Change::of(a, value);
      } else {
        return value;
      }
    };
    if constexpr (!changes_values<Change>) {
      if (a.whole_rows) {
        return store_joints<Dst, threads>(
            ctx, starts.dst.at(ctx, 0), rows_left, cols_left,
            [&](int m, int n) { return joint_at(ctx, a, m, n, rows_left, buffer); }, element_of);
      }
    }
    const auto word_of = [&](bool active, int m, int n) {
      if constexpr (changes_written || dst_size >= 4) {
        return word_of_elements<Dst>(element_of, active, m, n);
      } else {
        const int aligned = n & -(4 / size);
        const auto at = cast<std::uint32_t>(buffer + Map::at(m, aligned));
        const auto shift = static_cast<unsigned>(n - aligned) * size;  // bytes
        const std::uint32_t low = ctx.load_if(active, at);
        const std::uint32_t high = ctx.load_if(active && shift != 0, at + 1);
        return byte_permute(low, high, 0x3210U + 0x1111U * shift);
      }
    };
    store_edges<Dst, threads, down>(ctx, a, tile, starts.dst, cols_left, element_of, word_of);
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SkewArgs& a, const Starts& starts, int rows_left,
                             int cols_left, SharedPointer<T> buffer) {
    const Span span{a.src + a.src_low, a.src + a.src_high};
    CT_NO_UNROLL
    for (unsigned u = 0; u < repeats; ++u) {
      const unsigned item = ctx.thread_id().x + u * threads;
      const unsigned lane = item % 32;
      constexpr unsigned warps_across = across / lanes_across;
      const unsigned vector = lane % lanes_across + item / 32 % warps_across * lanes_across;
      const auto four =
          static_cast<int>(4 * (lane / lanes_across + item / 32 / warps_across * lanes_down));
      // What the store may look at, and no more.
      const bool needed = four < rows && four < rows_left + 32 / dst_size &&
                          static_cast<int>(vector) * read < cols_left;
      if (needed) load_four(ctx, a, starts, span, rows_left, vector, four, buffer);
    }
  }

  // Rows that there are not are taken to be the last one: so all tiles run the same instructions,
  // which are in the caches by then.
  template <class Ctx>
  CT_DEVICE static void load_four(Ctx& ctx, const SkewArgs& a, const Starts& starts,
                                  const Span& span, int rows_left, unsigned vector, int four,
                                  SharedPointer<T> buffer) {
    const std::byte* from[4];
    bool whole = true;
    std::byte* begin = starts.src.at(ctx, four < rows_left ? four : rows_left - 1);
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i > 0 && four + i < rows_left) begin = starts.src.after(ctx, begin, four + i);
      from[i] = begin + vector * 16;
      // A step that is the same everywhere: its ends tell of all.
      if (!one_mode || i % 3 == 0) whole = whole & span.holds_two(from[i] - phase_of(from[i]));
    }
    Words v[4];
    if (whole) {
      VectorPair pair[4];
      CT_UNROLL
      for (int i = 0; i < 4; ++i) pair[i] = VectorPair::load<one_mode>(ctx, from[i]);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) v[i] = pair[i].template from<src_size>(phase_of(from[i]));
    } else {  // Next to an end of the source
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const bool active = four + i < rows_left;
        const int phase = phase_of(from[i]);
        const Words low = load_inside<Src>(ctx, active, from[i] - phase, span);
        const Words high = load_inside<Src>(ctx, active && phase != 0, from[i] - phase + 16, span);
        v[i] = funnel<src_size>(low, high, static_cast<unsigned>(phase));
      }
    }
    const int column = static_cast<int>(vector) * read;
    if constexpr (changes_read) {
      constexpr int words = read * size / 4;
      const Vec<std::uint32_t, words> narrow[4] = {
          changed<Change>(a, v[0]), changed<Change>(a, v[1]), changed<Change>(a, v[2]),
          changed<Change>(a, v[3])};
      put_transposed<T, Map, words>(ctx, narrow, column, four, buffer);
    } else {
      put_transposed<T, Map>(ctx, v, column, four, buffer);
    }
  }

  static constexpr int staged_bytes = V * size;  // of a vector of the destination
  static constexpr int piece_bytes = staged_bytes < 8 ? 4 : 8;
  using Piece = Vec<std::uint32_t, piece_bytes / 4>;

  // The vector from element n of a row on.
  template <class Ctx>
  CT_DEVICE static Words vector_at(Ctx& ctx, const SkewArgs& a, int m, int n,
                                   SharedPointer<T> buffer) {
    const int aligned = n & -(piece_bytes / size);
    const auto at = cast<Piece>(buffer + Map::at(m, aligned));
    std::uint32_t w[8] = {};
    CT_UNROLL
    for (int i = 0; i <= staged_bytes / piece_bytes; ++i) {
      const Piece piece = ctx.load(at + i);
      CT_UNROLL
      for (int k = 0; k < piece_bytes / 4; ++k) w[i * piece_bytes / 4 + k] = piece[k];
    }
    const Words staged =
        funnel<size, piece_bytes>({w[0], w[1], w[2], w[3]}, {w[4], w[5], w[6], w[7]},
                                  static_cast<unsigned>(n - aligned) * size);
    if constexpr (changes_written) {
      Vec<std::uint32_t, staged_bytes / 4> narrow;
      CT_UNROLL
      for (int i = 0; i < staged_bytes / 4; ++i) narrow[i] = staged[i];
      return changed<Change>(a, narrow);
    } else {
      return staged;
    }
  }

  // A vector that may begin in the row before: the end of that and the beginning of this one are
  // shifted together.
  template <class Ctx>
  CT_DEVICE static Words joint_at(Ctx& ctx, const SkewArgs& a, int m, int n, int rows_left,
                                  SharedPointer<T> buffer) {
    const bool inside = n >= 0;
    const int of_end = n + V < 0 ? n : -V;
    const Words low =
        vector_at(ctx, a, inside ? m : m - 1, inside ? n : rows_left + of_end, buffer);
    const Words high = vector_at(ctx, a, m, 0, buffer);
    return funnel<dst_size>(low, high,
                            inside ? 0U : static_cast<unsigned>((n - of_end) * dst_size));
  }

  // The whole vectors of a tile, every row's from its first whole sector on.
  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SkewArgs& a, const Starts& starts, int rows_left,
                              int cols_left, SharedPointer<T> buffer) {
    static_assert(threads % of_row == 0);
    const unsigned thread = ctx.thread_id().x;
    const auto vector = static_cast<int>(thread % of_row * V);
    const int end_of_sector = (vector / of_sector<Dst> + 1) * of_sector<Dst>;
    CT_PARTLY_UNROLL
    for (auto m = static_cast<int>(thread / of_row); m < cols_left; m += threads / of_row) {
      std::byte* const row = starts.dst.at(ctx, m);
      const int before = elements_to_sector<Dst>(row);
      if (before + end_of_sector > rows_left) continue;
      const int n = before + vector;
      ctx.store(reinterpret_cast<Words*>(row + n * dst_size), vector_at(ctx, a, m, n, buffer));
    }
  }
};

}  // namespace cornerturn::kernels
