// structures: arrays of small structures to one array a member (a plane), and back. A warp takes
// 32 x `length` vectors: it meets the structures' side in order through its own shared memory, each
// lane the planes in vectors of neighbouring structures; between the two lie constant permutations.
// On their way to planes values may change their type, when they are written.
#pragma once

#include <cstdint>
#include <numeric>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

struct StructuresArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  int element_bytes = 1;
  int length = 2;         ///< of a structure, in elements
  int planes = 2;         ///< members that are moved, the structure's first
  bool to_planes = true;  ///< else from planes, and all of them
  /// Vectors of the destination do not begin where a lane's structures do.
  bool shifted = false;
  bool whole = false;             ///< from planes, and all there is are whole vectors on both sides
  std::int64_t count = 0;         ///< structures of a batch
  std::int64_t plane_stride = 0;  ///< bytes
  std::int64_t src_low = 0;       ///< bytes from `src` to the lowest that may be read
  std::int64_t src_high = 0;      ///< and past the highest
  std::uint32_t chunks = 0;       ///< warps' work, of all batches
  FastDivide of_batch;            ///< chunks
  Walk batches;
  ValueArgs values;
};

/// Word number `i` of the bytes w[from(0)], w[from(1)], ... where bytes of one T stay together.
template <class T, int words, class From>
CT_DEVICE std::uint32_t permuted_word(const std::uint32_t (&w)[words], int i, const From& from) {
  const int a = from(4 * i);
  if constexpr (sizeof(T) >= 4) {
    return w[a / 4];
  } else if constexpr (sizeof(T) == 2) {
    const int b = from(4 * i + 2);
    const int low = a % 4 == 0 ? 0x10 : 0x32;
    const int high = b % 4 == 0 ? 0x54 : 0x76;
    return byte_permute(w[a / 4], w[b / 4], static_cast<std::uint32_t>(low | high << 8));
  } else {
    const int at[4] = {a, from(4 * i + 1), from(4 * i + 2), from(4 * i + 3)};
    // Bytes of two words in one step, those of a third in another.
    int second = a / 4, third = a / 4;
    bool fourth = false;
    CT_UNROLL
    for (int k = 1; k < 4; ++k) {
      const int word = at[k] / 4;
      if (word == a / 4 || word == second) continue;
      if (second == a / 4) {
        second = word;
      } else if (third == a / 4 || third == word) {
        third = word;
      } else {
        fourth = true;
      }
    }
    const auto pair = [&](int x, int y) {
      return byte_permute(w[x / 4], w[y / 4], static_cast<std::uint32_t>(x % 4 | (4 + y % 4) << 4));
    };
    if (fourth) return byte_permute(pair(at[0], at[1]), pair(at[2], at[3]), 0x5410);
    std::uint32_t of_two = 0, of_third = 0;
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int word = at[k] / 4, byte = at[k] % 4;
      const bool early = word == a / 4 || word == second;
      of_two |= static_cast<std::uint32_t>(!early ? 0 : word == a / 4 ? byte : 4 + byte) << 4 * k;
      of_third |= static_cast<std::uint32_t>(early ? k : 4 + byte) << 4 * k;
    }
    const std::uint32_t two = byte_permute(w[a / 4], w[second], of_two);
    return third == a / 4 ? two : byte_permute(two, w[third], of_third);
  }
}

/// What one warp takes: structures [first, first + 32 of_lane) of a batch.
template <class T, int length>
struct StructuresChunk {
  static constexpr int element = sizeof(T);
  static constexpr int of_lane = 16 / element;  ///< structures

  /// False: nothing is left for this warp.
  template <class Ctx>
  CT_DEVICE bool find(Ctx& ctx, const StructuresArgs& a, int warps) {
    const std::uint32_t chunk =
        ctx.block_id().x * static_cast<unsigned>(warps) + static_cast<unsigned>(ctx.warp());
    if (chunk >= a.chunks) return false;
    const std::uint32_t batch = a.of_batch.quotient(chunk);
    base = a.batches.at(batch);
    const std::int64_t number = chunk - batch * a.of_batch.divisor;
    // Shifted vectors need bytes of the lane before: lane 0 repeats the last one of the warp
    // before.
    first = a.shifted ? (31 * number - 1) * of_lane : 32 * number * of_lane;
    return true;
  }

  /// Vector number `c` in the warp's shared memory: where 8 lanes, `length` apart, would meet a
  /// bank again, the vectors move on by one.
  CT_DEVICE static constexpr int place(int c) { return length % 2 == 0 ? c + c / period : c; }
  static constexpr int period = length * 8 / std::gcd(length, 8);
  static constexpr int used = 32 * length + 1;
  static constexpr int places = used + used / period;

  Offsets base;
  std::int64_t first = 0;
};

template <class Change, int length>
struct ToPlanes {
  using T = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int dst_size = static_cast<int>(sizeof(Dst));
  static constexpr int threads = 256;
  static constexpr int min_blocks = length <= 4 ? 4 : 3;
  using Chunk = StructuresChunk<T, length>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const StructuresArgs& a) {
    constexpr int warps = threads / 32, element = sizeof(T), of_lane = 16 / element;
    const auto shared =
        ctx.template shared<Element16, warps * Chunk::places>() + ctx.warp() * Chunk::places;
    Chunk chunk;
    if (!chunk.find(ctx, a, warps)) return;
    const int lane = ctx.lane();

    const int phase = stage(ctx, a, chunk, shared);
    ctx.warp_barrier();

    // This lane's structures.
    std::uint32_t w[4 * length + 4];
    CT_UNROLL
    for (int j = 0; j <= length; ++j) {
      const Element16 own =
          ctx.load_if(j < length || phase != 0, shared + Chunk::place(length * lane + j));
      CT_UNROLL
      for (int i = 0; i < 4; ++i) w[4 * j + i] = own[i];
    }
    if (phase != 0) shift(w, phase);

    const std::int64_t at = (chunk.first + lane * of_lane) * element;  // in a plane
    CT_UNROLL
    for (int k = 0; k < length; ++k) {
      if (k >= a.planes) break;
      Element16 plane;
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        plane[i] = permuted_word<T>(w, i, [&](int byte) {
          return (byte / element * length + k) * element + byte % element;
        });
      }
      std::byte* const to = a.dst + chunk.base.dst + k * a.plane_stride;
      if constexpr (changes_values<Change>) {
        store_changed(ctx, a, to, chunk.first, plane);
      } else {
        store(ctx, a, to, at, plane);
      }
    }
  }

 private:
  // Structures, by the aligned vectors that hold them, to shared memory; the phase of the first.
  template <class Ctx>
  CT_DEVICE static int stage(Ctx& ctx, const StructuresArgs& a, const Chunk& chunk,
                             SharedPointer<Element16> shared) {
    constexpr int element = sizeof(T);
    const int lane = ctx.lane();
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::byte* from = a.src + chunk.base.src + chunk.first * length * element;
    const int phase = phase_of(from);
    const std::byte* end = a.src + chunk.base.src + a.count * length * element;
    from -= phase;
    Element16 v[length + 1];
    CT_UNROLL
    for (int j = 0; j <= length; ++j) {
      const std::byte* p = from + 16 * (32 * j + lane);
      const bool inside = p >= span.low && p + 16 <= span.high && p < end;
      v[j] = ctx.load_if(inside && (j < length || (phase != 0 && lane == 0)),
                         reinterpret_cast<const Element16*>(p));
    }
    CT_UNROLL
    for (int j = 0; j <= length; ++j) {
      ctx.store_if(j < length || (phase != 0 && lane == 0), shared + Chunk::place(32 * j + lane),
                   v[j]);
    }
    if (from < span.low || from + 16 * Chunk::used > span.high) {
      // At an end of the source: element by element.
      CT_NO_UNROLL
      for (int c = lane; c < Chunk::used; c += 32) {
        const std::byte* p = from + 16 * c;
        if (span.holds(p) || p + 16 <= span.low || p >= span.high) continue;
        ctx.store(shared + Chunk::place(c), load_inside<T>(ctx, true, p, span));
      }
    }
    return phase;
  }

  // Moves the words down by `phase` bytes.
  CT_DEVICE static void shift(std::uint32_t (&w)[4 * length + 4], int phase) {
    CT_UNROLL
    for (int i = 0; i < 4 * length + 2; ++i) w[i] = (phase & 8) != 0 ? w[i + 2] : w[i];
    if constexpr (sizeof(T) <= 4) {
      CT_UNROLL
      for (int i = 0; i < 4 * length + 1; ++i) w[i] = (phase & 4) != 0 ? w[i + 1] : w[i];
    }
    if constexpr (sizeof(T) <= 2) {
      const std::uint32_t selector = 0x3210U + 0x1111U * static_cast<std::uint32_t>(phase & 3);
      CT_UNROLL
      for (int i = 0; i < 4 * length; ++i) w[i] = byte_permute(w[i], w[i + 1], selector);
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const StructuresArgs& a, std::byte* plane, std::int64_t at,
                              Element16 v) {
    const std::int64_t bytes = a.count * std::int64_t{sizeof(T)};
    if (a.shifted) {
      const int phase = phase_of(plane + at);
      Element16 before;
      CT_UNROLL
      for (int i = 0; i < 4; ++i) before[i] = ctx.shuffle(v[i], ctx.lane() - 1);
      if (phase != 0) v = VectorPair{before, v}.template from<sizeof(T)>(16 - phase);
      at -= phase;
    }
    const bool mine = !a.shifted || ctx.lane() > 0;
    const bool whole = at >= 0 && at + 16 <= bytes;
    ctx.store_if(mine && whole, reinterpret_cast<Element16*>(plane + at), v);
    if (mine && !whole && at < bytes) {
      store_elements<T>(ctx, plane + at, v, at < 0 ? static_cast<int>(-at) : 0,
                        bytes - at < 16 ? static_cast<int>(bytes - at) : 16);
    }
  }

  // This lane's elements of a plane, from structure `first` of the warp's on. Where they become
  // larger, lanes exchange them, so that neighbours write neighbouring vectors.
  template <class Ctx>
  CT_DEVICE static void store_changed(Ctx& ctx, const StructuresArgs& a, std::byte* plane,
                                      std::int64_t first, const Element16& v) {
    constexpr int repeats = dst_size > Chunk::element ? dst_size / Chunk::element : 1;
    const std::int64_t bytes = a.count * dst_size;
    if constexpr (repeats == 1) {
      constexpr int of_lane = Chunk::of_lane * dst_size;
      put(ctx, plane, first * dst_size + ctx.lane() * of_lane, bytes, changed<Change>(a, v));
    } else {
      constexpr int words = 4 / repeats;  // of a lane's, each time
      CT_UNROLL
      for (int t = 0; t < repeats; ++t) {
        const int number = 32 * t + ctx.lane();  // of a vector of the plane
        Vec<std::uint32_t, words> some{};
        CT_UNROLL
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t word = ctx.shuffle(v[i], number / repeats);
          if (i / words == number % repeats) some[i % words] = word;
        }
        put(ctx, plane, first * dst_size + number * 16, bytes, changed<Change>(a, some));
      }
    }
  }

  // Words at byte `at` of a plane, as far as there is one.
  template <class Ctx, int words>
  CT_DEVICE static void put(Ctx& ctx, std::byte* plane, std::int64_t at, std::int64_t bytes,
                            const Vec<std::uint32_t, words>& v) {
    const bool whole = at + 4 * words <= bytes;
    ctx.store_if(whole, reinterpret_cast<Vec<std::uint32_t, words>*>(plane + at), v);
    if (whole) return;
    CT_UNROLL
    for (int i = 0; i < 4 * words / dst_size; ++i) {
      ctx.store_if(at + (i + 1) * dst_size <= bytes, reinterpret_cast<Dst*>(plane + at) + i,
                   element_of<Dst>(v, i));
    }
  }
};

template <class T, int length, bool whole>
struct FromPlanes {
  static constexpr int threads = 256;
  // As many as need no stack.
  static constexpr int min_blocks = whole ? (length <= 4                  ? 6
                                             : length == 5 || length == 8 ? 4
                                                                          : 3)
                                          : (length <= 4 ? 4 : 3);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const StructuresArgs& a) {
    using Chunk = StructuresChunk<T, length>;
    constexpr int warps = threads / 32, element = sizeof(T);
    const auto shared =
        ctx.template shared<Element16, warps * Chunk::places>() + ctx.warp() * Chunk::places;
    Chunk chunk;
    if (!chunk.find(ctx, a, warps)) return;
    const int lane = ctx.lane();

    std::uint32_t w[4 * length];
    load(ctx, a, chunk, w);

    // The lane's structures to shared memory, from where they go out in order.
    CT_UNROLL
    for (int j = 0; j < length; ++j) {
      Element16 v;
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        v[i] = permuted_word<T>(w, i, [&](int byte) {
          const int member = (16 * j + byte) / element;
          return member % length * 16 + member / length * element + byte % element;
        });
      }
      ctx.store(shared + Chunk::place(length * lane + j), v);
    }
    ctx.warp_barrier();
    std::byte* run = a.dst + chunk.base.dst;
    const std::int64_t bytes = a.count * length * element;
    CT_UNROLL
    for (int j = 0; j < length; ++j) {
      const int c = 32 * j + lane;
      std::int64_t to = chunk.first * length * element + 16 * c;
      Element16 v = ctx.load(shared + Chunk::place(c));
      if constexpr (whole) {
        ctx.store_if(to < bytes, reinterpret_cast<Element16*>(run + to), v);
      } else {
        bool mine = true;
        if (a.shifted) {
          const int phase = phase_of(run + to);
          const Element16 before =
              ctx.load_if(phase != 0 && c > 0, shared + Chunk::place(c > 0 ? c - 1 : 0));
          if (phase != 0) v = VectorPair{before, v}.template from<sizeof(T)>(16 - phase);
          to -= phase;
          mine = c >= length;
        }
        const bool inside = to >= 0 && to + 16 <= bytes;
        ctx.store_if(mine && inside, reinterpret_cast<Element16*>(run + to), v);
        if (mine && !inside && to < bytes) {
          store_elements<T>(ctx, run + to, v, to < 0 ? static_cast<int>(-to) : 0,
                            bytes - to < 16 ? static_cast<int>(bytes - to) : 16);
        }
      }
    }
  }

 private:
  // One vector of every plane.
  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const StructuresArgs& a,
                             const StructuresChunk<T, length>& chunk,
                             std::uint32_t (&w)[4 * length]) {
    constexpr int element = sizeof(T), of_lane = 16 / element;
    const std::int64_t at = (chunk.first + ctx.lane() * of_lane) * element;
    const bool any = at >= 0 && at < a.count * element;
    if constexpr (whole) {
      CT_UNROLL
      for (int k = 0; k < length; ++k) {
        const std::byte* p = a.src + chunk.base.src + k * a.plane_stride + at;
        const Element16 v = ctx.load_if(any, reinterpret_cast<const Element16*>(p));
        CT_UNROLL
        for (int i = 0; i < 4; ++i) w[4 * k + i] = v[i];
      }
    } else {
      const Span span{a.src + a.src_low, a.src + a.src_high};
      constexpr int at_once = 4;
      CT_UNROLL
      for (int begin = 0; begin < length; begin += at_once) {
        VectorPair pair[at_once];
        CT_UNROLL
        for (int k = begin; k < length && k < begin + at_once; ++k) {
          const std::byte* p = a.src + chunk.base.src + k * a.plane_stride + at;
          pair[k - begin] = VectorPair::load_if(ctx, any && span.has_vectors(p), p);
        }
        CT_UNROLL
        for (int k = begin; k < length && k < begin + at_once; ++k) {
          const std::byte* p = a.src + chunk.base.src + k * a.plane_stride + at;
          const int phase = phase_of(p);
          if (any && !span.has_vectors(p)) {
            pair[k - begin] = {load_inside<T>(ctx, true, p - phase, span),
                               load_inside<T>(ctx, phase != 0, p - phase + 16, span)};
          }
          const Element16 v = pair[k - begin].template from<element>(phase);
          CT_UNROLL
          for (int i = 0; i < 4; ++i) w[4 * k + i] = v[i];
        }
      }
    }
  }
};

/// Calls call.operator()<length>() where structures of so many elements have kernels that change
/// values.
template <class Call>
bool with_changing_length(int length, Call&& call) {
  switch (length) {
    case 2:
      return call.template operator()<2>(), true;
    case 3:
      return call.template operator()<3>(), true;
    case 4:
      return call.template operator()<4>(), true;
    case 8:
      return call.template operator()<8>(), true;
    default:
      return false;
  }
}

template <class Visit>
void dispatch(const StructuresArgs& a, Visit&& visit) {
  if (a.values.converts) {
    with_common_cast(a.values.src, a.values.dst, [&]<class Change>() {
      with_changing_length(
          a.length, [&]<int length>() { visit.template operator()<ToPlanes<Change, length>>(); });
    });
    return;
  }
  const auto of_length = [&]<class T, int length>() {
    if (a.to_planes) {
      visit.template operator()<ToPlanes<Move<T>, length>>();
    } else if (a.whole) {
      visit.template operator()<FromPlanes<T, length, true>>();
    } else {
      visit.template operator()<FromPlanes<T, length, false>>();
    }
  };
  const auto of_element = [&]<class T>() {
    switch (a.length) {
      case 2:
        return of_length.template operator()<T, 2>();
      case 3:
        return of_length.template operator()<T, 3>();
      case 4:
        return of_length.template operator()<T, 4>();
      case 5:
        return of_length.template operator()<T, 5>();
      case 6:
        return of_length.template operator()<T, 6>();
      case 7:
        return of_length.template operator()<T, 7>();
      default:
        return of_length.template operator()<T, 8>();
    }
  };
  switch (a.element_bytes) {
    case 1:
      return of_element.template operator()<std::uint8_t>();
    case 2:
      return of_element.template operator()<std::uint16_t>();
    case 4:
      return of_element.template operator()<std::uint32_t>();
    default:
      return of_element.template operator()<std::uint64_t>();
  }
}

}  // namespace cornerturn::kernels
