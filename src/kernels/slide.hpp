// slide: rows move from one pitch to another within one array, which they overlap. The bytes of the
// result are taken in chunks, in the order in which rows have to move: a block reads all that its
// chunk holds, says so, waits for the blocks that have still to read what it is about to overwrite,
// and writes. These have drawn their tickets earlier, and nobody waits before it has read, so each
// block ends.
//
//   spreading   |row 0|row 1|row 2|row 3|            the last chunk first: its block reads from
//               |row 0|  |row 1|  |row 2|  |row 3|   places that chunks before it overwrite
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/unaligned.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

struct SlideArgs {
  std::byte* array = nullptr;
  std::uint32_t* state = nullptr;  ///< how many tickets are drawn; for each chunk: is it read?
  bool clears = false;             ///< the first launch, for the state
  int word_bytes = 1;
  bool spreads = false;  ///< rows move apart, the last one first
  std::uint32_t chunks = 0;
  std::int64_t rows = 0;
  std::int64_t run = 0;  ///< bytes of a row
  std::int64_t from_pitch = 0;
  std::int64_t to_pitch = 0;
  FastDivide64 from_rows;  ///< by the pitch: its row
  FastDivide64 to_rows;
  FastDivide to_rows_near;  ///< the same for bytes from the row in which a chunk begins

  /// Where the byte at `at` of one arrangement is in the other; of what lies between rows, the end
  /// of the row before.
  CT_HOST_DEVICE std::int64_t source(std::int64_t at) const {
    return moved(at, to_rows, from_pitch);
  }
  CT_HOST_DEVICE std::int64_t target(std::int64_t at) const {
    return moved(at, from_rows, to_pitch);
  }

 private:
  CT_HOST_DEVICE std::int64_t moved(std::int64_t at, const FastDivide64& rows_of,
                                    std::int64_t pitch) const {
    const auto row = static_cast<std::int64_t>(rows_of.quotient(static_cast<std::uint64_t>(at)));
    const std::int64_t column = at - row * static_cast<std::int64_t>(rows_of.divisor);
    return row * pitch + (column < run ? column : run);
  }
};

/// Bytes of the result, from a multiple of 16 on.
inline constexpr std::int64_t slide_chunk = 32 << 10;

struct SlideStart {
  static constexpr int threads = 256;
  static constexpr int min_blocks = 8;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SlideArgs& a) {
    const std::uint32_t i =
        ctx.block_id().x * threads + static_cast<std::uint32_t>(ctx.thread_index());
    ctx.store_if(i <= a.chunks, a.state + i, 0U);
  }
};

template <class T>
struct Slide {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int vectors = slide_chunk / 16;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SlideArgs& a) {
    const auto shared = ctx.template dynamic_shared<std::uint8_t>();
    const auto ticket = ctx.template shared<std::uint32_t, 1>();
    if (ctx.thread_index() == 0) ctx.store(ticket, ctx.take_ticket(a.state));
    ctx.barrier();
    const std::uint32_t number = ctx.load(ticket);
    const Chunk c(a, a.spreads ? a.chunks - 1 - number : number);

    load(ctx, a, c, shared);
    ctx.commit_async();
    ctx.template wait_async<0>();
    ctx.barrier();

    if (ctx.thread_index() == 0) ctx.announce(a.state + 1 + c.number);
    std::uint32_t first = 0, last = 0;
    readers_of(a, c, first, last);
    CT_NO_UNROLL
    for (std::uint32_t n = first + static_cast<std::uint32_t>(ctx.thread_index()); n < last;
         n += threads) {
      ctx.wait_for(a.state + 1 + n);
    }
    ctx.barrier();

    store(ctx, a, c, shared);
  }

 private:
  // Bytes of the result from `begin` to `end`. What they come from lies at `low` and up to `high`,
  // whole vectors.
  struct Chunk {
    std::uint32_t number;
    int phase;           // of the array
    std::int64_t first;  // of the chunk's first vector: below 0 in the first chunk
    std::int64_t begin;
    std::int64_t end;
    std::int64_t low;
    std::int64_t high;

    CT_DEVICE Chunk(const SlideArgs& a, std::uint32_t n) : number(n), phase(phase_of(a.array)) {
      const std::int64_t all = (a.rows - 1) * a.to_pitch + a.run;
      first = n * slide_chunk - phase;
      begin = first < 0 ? 0 : first;
      end = first + slide_chunk < all ? first + slide_chunk : all;
      if (begin > end) begin = end;
      low = a.source(begin) + phase;
      low -= low % 16 + phase;
      high = a.source(end) + phase + 15;
      high -= high % 16 + phase;
      if (begin == end) high = low;
    }
  };

  // The chunks that read what this one overwrites: [first, last), beside itself.
  CT_DEVICE static void readers_of(const SlideArgs& a, const Chunk& c, std::uint32_t& first,
                                   std::uint32_t& last) {
    const auto chunk_of = [&](std::int64_t at) {
      return static_cast<std::uint32_t>((at + c.phase) / slide_chunk);
    };
    if (a.spreads) {
      first = c.number + 1;
      last = chunk_of(a.target(c.end) + a.to_pitch - a.run) + 2;
      last = last < a.chunks ? last : a.chunks;
    } else {
      first = chunk_of(a.target(c.begin));
      first = first > 0 ? first - 1 : 0;
      last = c.number;
    }
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SlideArgs& a, const Chunk& c,
                             SharedPointer<std::uint8_t> shared) {
    const Span span{a.array, a.array + (a.rows - 1) * a.from_pitch + a.run};
    const int bytes = static_cast<int>(c.high - c.low);
    CT_PARTLY_UNROLL
    for (int at = 16 * ctx.thread_index(); at < bytes; at += 16 * threads) {
      const std::byte* const from = a.array + (c.low + at);
      const auto to = cast<Words>(shared + at);
      if (span.holds(from)) {
        ctx.copy_async(to, reinterpret_cast<const Words*>(from));
      } else {
        ctx.store(to, load_inside<T>(ctx, true, from, span));
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SlideArgs& a, const Chunk& c,
                              SharedPointer<std::uint8_t> shared) {
    const auto to_pitch = static_cast<int>(a.to_pitch);
    const auto row =
        static_cast<std::int64_t>(a.to_rows.quotient(static_cast<std::uint64_t>(c.begin)));
    const int column = static_cast<int>(c.first - row * a.to_pitch);  // of the first vector
    const int run = static_cast<int>(a.run);
    const std::int64_t staged = row * a.from_pitch - c.low;  // the row's first byte
    const std::int64_t rows_left = a.rows - row;
    CT_PARTLY_UNROLL
    for (int v = ctx.thread_index(); v < vectors; v += threads) {
      const int at = column + 16 * v;
      const int below =
          at < 0 ? 0 : static_cast<int>(a.to_rows_near.quotient(static_cast<std::uint32_t>(at)));
      const int in_row = at - below * to_pitch;
      std::byte* const to = a.array + (c.first + 16 * v);
      const auto from = static_cast<int>(staged + below * a.from_pitch) + in_row;
      if (in_row >= 0 && in_row + 16 <= run && below < rows_left) {
        const int shift = from % 16;
        const auto low = cast<Words>(shared + (from - shift));
        const Words words = ctx.load(low);
        const Words after = ctx.load_if(shift != 0, low + 1);
        ctx.store(reinterpret_cast<Words*>(to),
                  funnel<size>(words, after, static_cast<unsigned>(shift)));
        continue;
      }
      CT_NO_UNROLL
      for (int i = 0; i < 16; i += size) {
        const bool next = in_row + i >= to_pitch;
        const int element = in_row + i - (next ? to_pitch : 0);
        const std::int64_t its_row = below + (next ? 1 : 0);
        if (element < 0 || element >= run || its_row >= rows_left) continue;
        const auto its = static_cast<int>(staged + its_row * a.from_pitch) + element;
        ctx.store(reinterpret_cast<T*>(to + i), ctx.load(cast<T>(shared + its)));
      }
    }
  }
};

template <class Visit>
void dispatch(const SlideArgs& a, Visit&& visit) {
  if (a.clears) return visit.template operator()<SlideStart>();
  with_element(a.word_bytes, [&]<class T>(T) { visit.template operator()<Slide<T>>(); });
}

}  // namespace cornerturn::kernels
