// panels: matrices that fit into the shared memory of a block, each transposed within its own
// memory. A block reads some whole panels, waits until it has all of them, and writes them in the
// order of the result: every byte is read and written once.
//
//   array     a rows of n elements    shared memory: the same, the rows padded so that a column
//   array     n rows of a elements    has its elements in different banks
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/walk.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

struct PanelsArgs {
  std::byte* array = nullptr;
  int word_bytes = 1;
  bool joined = false;  ///< words of 1 or 2 bytes come and go 4 bytes at a time
  std::uint32_t panels = 1;
  std::uint32_t of_block = 1;  ///< more than one: the panels lie one after the other
  std::uint32_t panel_words = 1;
  std::uint32_t pitch = 1;  ///< words from one row to the next in shared memory
  FastDivide row_words;
  FastDivide element_words;
  FastDivide panel_elements;
  FastDivide rows;
  Walk place;
};

/// What a block has in shared memory.
struct PanelsPlace {
  std::byte* base = nullptr;
  std::uint32_t words = 0;
};

CT_DEVICE PanelsPlace panels_place(const PanelsArgs& a, std::uint32_t block) {
  const std::uint32_t first = block * a.of_block;
  const std::uint32_t left = a.panels - first;
  return {a.array + a.place.at(first).dst, (left < a.of_block ? left : a.of_block) * a.panel_words};
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

/// Elements of 1 or 2 bytes in words of 4: rows in shared memory begin at multiples of 4 bytes, or
/// lie there as in the array.
template <class T>
struct PanelsJoined {
  static constexpr int threads = 512;
  static constexpr int min_blocks = 2;
  static constexpr int of_word = 4 / static_cast<int>(sizeof(T));
  static constexpr int at_once = 2;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PanelsArgs& a) {
    const auto shared = ctx.template dynamic_shared<T>();
    const PanelsPlace p = panels_place(a, ctx.block_id().x);
    auto* const array = reinterpret_cast<std::uint32_t*>(p.base);
    const std::uint32_t words = p.words / of_word;
    CT_NO_UNROLL
    for (auto w = static_cast<std::uint32_t>(thread_of(ctx)); w < words; w += threads) {
      ctx.copy_async(cast<std::uint32_t>(shared + staged_at(a, w * of_word)), array + w);
    }
    ctx.commit_async();
    ctx.template wait_async<0>();

    ctx.barrier();

    CT_NO_UNROLL
    for (std::uint32_t first = 0; first < words; first += threads * at_once) {  // Store
      std::uint32_t v[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        v[k] = 0;
        CT_UNROLL
        for (int i = 0; i < of_word; ++i) {
          const std::uint32_t element = w * of_word + static_cast<std::uint32_t>(i);
          const std::uint32_t one = ctx.load_if(w < words, shared + source_of(a, element));
          v[k] |= one << (32 / of_word * i);
        }
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t w = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        ctx.store_if(w < words, array + w, v[k]);
      }
    }
  }
};

template <class Visit>
void dispatch(const PanelsArgs& a, Visit&& visit) {
  if (a.joined && a.word_bytes == 1) return visit.template operator()<PanelsJoined<std::uint8_t>>();
  if (a.joined) return visit.template operator()<PanelsJoined<std::uint16_t>>();
  with_element(a.word_bytes, [&]<class T>(T) { visit.template operator()<Panels<T>>(); });
}

}  // namespace cornerturn::kernels
