// panels: matrices that fit into the shared memory of a block, each transposed within its own
// memory. A block reads some whole panels, waits until it has all of them, and writes them in the
// order of the result: every byte is read and written once.
//
//   array     a rows of n elements    array     n rows of a elements
//
//   PanelVectors   both have whole vectors of 16 bytes: elements are transposed on their way to
//                  shared memory as those of `tile` are
//   PanelUnits     the result's rows have whole units, of 4 bytes or of one element where that is
//                  longer: a unit of the result is gathered from as many rows as it has elements
//   Panels         everything else, a word at a time
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/tile.hpp"
#include "kernels/walk.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

/// Units of a row of the result that a warp takes at once.
inline constexpr unsigned panel_chunk = 128;

enum class PanelWay : std::uint8_t { words, units, vectors };

struct PanelsArgs {
  std::byte* array = nullptr;
  int word_bytes = 1;
  PanelWay way = PanelWay::words;
  bool wide = false;  ///< units come in vectors of 16 bytes: all panels begin at multiples of these
  std::uint32_t panels = 1;
  std::uint32_t of_block = 1;  ///< more than one: the panels lie one after the other
  std::uint32_t panel_words = 1;
  std::uint32_t pitch = 1;  ///< words from one row to the next in shared memory
  FastDivide row_words;
  FastDivide element_words;
  FastDivide panel_elements;
  FastDivide rows;
  FastDivide columns;
  FastDivide row_units;    ///< of the result: units, or vectors
  FastDivide row_chunks;   ///< of the result, panel_chunk units each or less; divisor 0: short rows
  FastDivide row_vectors;  ///< of the array
  FastDivide row_fours;    ///< four rows each, of a panel
  Walk place;
};

/// What a block has in shared memory.
struct PanelsPlace {
  std::byte* base = nullptr;
  std::uint32_t panels = 0;
  std::uint32_t words = 0;
};

CT_DEVICE PanelsPlace panels_place(const PanelsArgs& a, std::uint32_t block) {
  const std::uint32_t first = block * a.of_block;
  const std::uint32_t left = a.panels - first;
  const std::uint32_t panels = left < a.of_block ? left : a.of_block;
  return {a.array + a.place.at(first).dst, panels, panels * a.panel_words};
}

/// Where word `w` of the array, counted from the block's first one, lies in shared memory.
CT_DEVICE std::uint32_t staged_at(const PanelsArgs& a, std::uint32_t w) {
  const std::uint32_t row = a.row_words.quotient(w);
  return w + row * (a.pitch - a.row_words.divisor);
}

/// Where the word lies that goes to place `w` of the result.
CT_DEVICE std::uint32_t source_of(const PanelsArgs& a, std::uint32_t w) {
  const std::uint32_t element = a.element_words.quotient(w);
  const std::uint32_t panel = a.panel_elements.quotient(element);
  const std::uint32_t in_panel = element - panel * a.panel_elements.divisor;
  const std::uint32_t column = a.rows.quotient(in_panel);
  const std::uint32_t row = in_panel - column * a.rows.divisor + panel * a.rows.divisor;
  return row * a.pitch + column * a.element_words.divisor + w - element * a.element_words.divisor;
}

template <class T>
struct Panels {
  static constexpr int threads = 512;
  static constexpr int min_blocks = 2;
  static constexpr int at_once = 4;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PanelsArgs& a) {
    const auto shared = ctx.template dynamic_shared<T>();
    const PanelsPlace p = panels_place(a, ctx.block_id().x);
    T* const array = reinterpret_cast<T*>(p.base);
    if constexpr (sizeof(T) >= 4) {
      CT_NO_UNROLL
      for (auto w = static_cast<std::uint32_t>(thread_of(ctx)); w < p.words; w += threads) {
        ctx.copy_async(shared + staged_at(a, w), array + w);
      }
      ctx.commit_async();
      ctx.template wait_async<0>();
    } else {
      CT_NO_UNROLL
      for (std::uint32_t first = 0; first < p.words; first += threads * at_once) {
        T v[at_once];
        CT_UNROLL
        for (int k = 0; k < at_once; ++k) {
          const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
          v[k] = ctx.load_if(w < p.words, array + w);
        }
        CT_UNROLL
        for (int k = 0; k < at_once; ++k) {
          const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
          ctx.store_if(w < p.words, shared + staged_at(a, w), v[k]);
        }
      }
    }

    ctx.barrier();

    CT_NO_UNROLL
    for (std::uint32_t first = 0; first < p.words; first += threads * at_once) {  // Store
      T v[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        v[k] = ctx.load_if(w < p.words, shared + source_of(a, w));
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        ctx.store_if(w < p.words, array + w, v[k]);
      }
    }
  }
};

/// The rows of the array that one unit of the result is gathered from are `columns` units long. In
/// shared memory one unit more follows them where their number is even: neighbouring lanes, which
/// gather from neighbouring groups of rows, then read from different banks.
template <class T>
struct PanelUnits {
  static constexpr int of_unit = sizeof(T) >= 4 ? 1 : 4 / static_cast<int>(sizeof(T));
  using Unit = std::conditional_t<of_unit == 1, T, std::uint32_t>;
  static constexpr int threads = 512;
  static constexpr int min_blocks = 2;
  static constexpr int warps = threads / 32;
  static constexpr unsigned at_once = panel_chunk / 32;
  static constexpr std::uint32_t of_vector = 16 / sizeof(Unit);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PanelsArgs& a) {
    const auto shared = ctx.template dynamic_shared<Unit>();
    const PanelsPlace p = panels_place(a, ctx.block_id().x);
    Unit* const array = reinterpret_cast<Unit*>(p.base);
    const std::uint32_t pad = a.columns.divisor % 2 == 0 ? 1 : 0;
    load(ctx, a, p.words / of_unit, pad, array, shared);

    ctx.barrier();

    if (a.row_chunks.divisor > 0) {
      store_chunks(ctx, a, p, pad, array, shared);
    } else {
      store_units(ctx, a, p, pad, array, shared);
    }
  }

 private:
  // Long rows of the result: a warp takes 128 units of one of them.
  template <class Ctx>
  CT_DEVICE static void store_chunks(Ctx& ctx, const PanelsArgs& a, const PanelsPlace& p,
                                     std::uint32_t pad, Unit* array, SharedPointer<Unit> shared) {
    const std::uint32_t items = p.panels * a.columns.divisor * a.row_chunks.divisor;
    const std::uint32_t units = a.row_units.divisor;
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    CT_NO_UNROLL
    for (auto item = static_cast<std::uint32_t>(ctx.warp()); item < items; item += warps) {
      const std::uint32_t row = a.row_chunks.quotient(item);
      const std::uint32_t first = (item - row * a.row_chunks.divisor) * panel_chunk + lane;
      const auto from = source(a, row, first, pad, shared);
      const std::uint32_t step = 32 * of_unit * (a.columns.divisor + pad);
      Unit* const to = array + (row * units + first);
      Unit v[at_once];
      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        v[k] = gathered(ctx, first + k * 32 < units, from + k * step, a.columns.divisor);
      }
      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        ctx.store_if(first + k * 32 < units, to + k * 32, v[k]);
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void store_units(Ctx& ctx, const PanelsArgs& a, const PanelsPlace& p,
                                    std::uint32_t pad, Unit* array, SharedPointer<Unit> shared) {
    const std::uint32_t units = p.words / of_unit;
    CT_NO_UNROLL
    for (std::uint32_t begin = 0; begin < units; begin += threads * at_once) {
      const std::uint32_t first = begin + static_cast<std::uint32_t>(thread_of(ctx));
      Unit v[at_once];
      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        const std::uint32_t u = first + k * threads;
        const std::uint32_t row = a.row_units.quotient(u);
        v[k] = gathered(ctx, u < units, source(a, row, u - row * a.row_units.divisor, pad, shared),
                        a.columns.divisor);
      }
      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        ctx.store_if(first + k * threads < units, array + (first + k * threads), v[k]);
      }
    }
  }

  // Where unit `u` of a row of the result has its first element.
  CT_DEVICE static SharedPointer<T> source(const PanelsArgs& a, std::uint32_t row, std::uint32_t u,
                                           std::uint32_t pad, SharedPointer<Unit> shared) {
    const std::uint32_t panel = a.columns.quotient(row);
    const std::uint32_t column = row - panel * a.columns.divisor;
    const std::uint32_t group = panel * a.row_units.divisor + u;
    return cast<T>(shared + group * (a.columns.divisor + pad)) + column;
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PanelsArgs& a, std::uint32_t units, std::uint32_t pad,
                             const Unit* array, SharedPointer<Unit> shared) {
    if (a.wide && pad == 0) {
      CT_NO_UNROLL
      for (auto v = static_cast<std::uint32_t>(thread_of(ctx)); v < units / of_vector;
           v += threads) {
        ctx.copy_async(cast<Element16>(shared + v * of_vector),
                       reinterpret_cast<const Element16*>(array) + v);
      }
    } else {
      CT_NO_UNROLL
      for (auto u = static_cast<std::uint32_t>(thread_of(ctx)); u < units; u += threads) {
        ctx.copy_async(shared + (u + pad * a.columns.quotient(u)), array + u);
      }
    }
    ctx.commit_async();
    ctx.template wait_async<0>();
  }

  template <class Ctx>
  CT_DEVICE static Unit gathered(Ctx& ctx, bool active, SharedPointer<T> from,
                                 std::uint32_t columns) {
    if constexpr (of_unit == 1) {
      return ctx.load_if(active, from);
    } else {
      Unit unit = 0;
      CT_UNROLL
      for (int i = 0; i < of_unit; ++i) {
        const Unit one = ctx.load_if(active, from + static_cast<std::uint32_t>(i) * columns);
        unit |= one << (32 / of_unit * i);
      }
      return unit;
    }
  }
};

/// A lane takes four rows by 16 bytes. What lies in shared memory are the rows of the result, with
/// 16 bytes more after as many of them as a vector of the array has elements.
template <class T>
struct PanelVectors {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int vector = 16 / size;  ///< elements
  static constexpr int threads = 512;
  static constexpr int min_blocks = 2;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PanelsArgs& a) {
    const auto shared = ctx.template dynamic_shared<T>();
    const PanelsPlace p = panels_place(a, ctx.block_id().x);
    auto* const array = reinterpret_cast<Words*>(p.base);
    const std::uint32_t rows = a.rows.divisor;
    const std::uint32_t across = a.row_vectors.divisor;
    const std::uint32_t items = p.panels * a.row_fours.divisor * across;
    CT_NO_UNROLL
    for (auto i = static_cast<std::uint32_t>(thread_of(ctx)); i < items; i += threads) {
      const std::uint32_t four = a.row_vectors.quotient(i);
      const std::uint32_t at = i - four * across;
      const std::uint32_t panel = a.row_fours.quotient(four);
      const std::uint32_t row = 4 * (four - panel * a.row_fours.divisor);
      const std::uint32_t group = panel * across + at;  // of rows of the result
      Words v[4];
      CT_UNROLL
      for (unsigned k = 0; k < 4; ++k) v[k] = ctx.load(array + ((4 * four + k) * across + at));
      const auto to = shared + (group * vector * (rows + 1) + row);
      put_transposed_at<T>(ctx, v, [=](int m, int n) {
        return to + (static_cast<std::uint32_t>(m) * rows + static_cast<std::uint32_t>(n));
      });
    }

    ctx.barrier();

    const std::uint32_t vectors = p.words / vector;
    CT_NO_UNROLL
    for (std::uint32_t first = 0; first < vectors; first += 4 * threads) {
      Words v[4];
      CT_UNROLL
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        const std::uint32_t group = a.row_units.quotient(w) / vector;
        v[k] = ctx.load_if(w < vectors, cast<Words>(shared) + (w + group));
      }
      CT_UNROLL
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        ctx.store_if(w < vectors, array + w, v[k]);
      }
    }
  }
};

template <class Visit>
void dispatch(const PanelsArgs& a, Visit&& visit) {
  with_element(a.word_bytes, [&]<class T>(T) {
    switch (a.way) {
      case PanelWay::vectors:
        return visit.template operator()<PanelVectors<T>>();
      case PanelWay::units:
        return visit.template operator()<PanelUnits<T>>();
      default:
        return visit.template operator()<Panels<T>>();
    }
  });
}

}  // namespace cornerturn::kernels
