// gather: one element after the other, in the order of the destination. Takes every problem, and
// everything that can happen to a value; the kernel that the others are compared with. Values that
// change have a body of their own: it also reads scales, biases and old values, one element at a
// time, while moves take several elements and narrow numbers.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/lists.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// Where elements lie, by their numbers in the destination's order.
template <class Walk>
struct Places {
  using Index = decltype(decltype(Walk::Carry::after)::magic);
  using Way = Walk;

  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  Index elements = 0;
  Walk walk;
};

/// Few modes, fewer than 2^30 elements, and all offsets fit 32 bits.
using NearPlaces = Places<BasicWalk<std::uint32_t, std::uint32_t, 9>>;
/// Near places with as many modes as there can be.
using DeepPlaces = Places<BasicWalk<std::uint32_t, std::uint32_t, 29>>;
/// Fewer than 2^30 elements.
using FarPlaces = Places<Walk>;
using WidePlaces = Places<BasicWalk<std::uint64_t, std::uint64_t, 39>>;

/// Where the destination holds the source several times: elements by their numbers in the order of
/// the first of these places. Each is loaded once, and stored in all of them.
struct RepeatedPlaces : FarPlaces {
  std::uint32_t times = 1;
  std::int64_t step = 0;  ///< bytes from a place to the next
};

template <class Form>
inline constexpr bool is_near = sizeof(Form::Way::src_step) == 4;
template <class Form>
inline constexpr bool is_repeated = std::is_same_v<Form, RepeatedPlaces>;

/// Units of several elements, one a thread, in an order in which neighbours are neighbours in the
/// source, or in a row that is one element there. A row is the destination's fastest mode; a unit
/// of it is a vector of the destination, and where rows do not begin at such, the first and the
/// last one have less than all elements.
struct UnitPlaces {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::uint32_t units = 0;
  std::uint32_t row = 0;  ///< elements
  std::int32_t step = 0;  ///< bytes from one element of a row to the next, in the source; 0: they
                          ///< are one there
  FastDivide of_row;      ///< units
  FastDivide before;      ///< units that lie at the same place of a row, one after the other
  NearPlaces::Way walk;   ///< over the units; last, since most need only its beginning
};

/// A number for each index of a mode, `first` elements into a vector and `step` apart; one for all
/// where there is no such mode.
struct AxisVector {
  const float* data = nullptr;
  bool present = false;
  FastDivide64 before = {};  ///< elements that have the same index
  FastDivide64 extent = {};  ///< of the mode
  std::int64_t step = 1;
  std::int64_t first = 0;

  CT_HOST_DEVICE constexpr std::int64_t at(std::uint64_t n) const {
    const std::uint64_t count = before.quotient(n);
    const std::uint64_t index = count - extent.quotient(count) * extent.divisor;
    return first + static_cast<std::int64_t>(index) * step;
  }
};

/// Places of elements whose values change.
struct ChangedPlaces : WidePlaces {
  int src_bytes = 1;  ///< of an element
  int dst_bytes = 1;
  AnyValueArgs change;
  AxisVector scale;
  AxisVector bias;
};

/// Those of a list's steps, one step after the other.
struct ListedPlaces : ChangedPlaces {
  FastDivide64 of_step;  ///< elements
  ListSide from;
  ListSide to;
  bool leaves_missing = false;
};

struct GatherArgs {
  int element_bytes = 1;
  bool single = false;  ///< one element a thread, for problems that do not fill the GPU
  Offsets first = {};   ///< of a launch that takes what others have left: where that begins
  std::variant<NearPlaces, DeepPlaces, FarPlaces, WidePlaces, RepeatedPlaces, UnitPlaces,
               ChangedPlaces, ListedPlaces>
      form = {};
};

/// Elements of a thread, where there are many.
inline constexpr int gather_at_once = 4;

template <class T, class Form, int of_thread>
struct Gather {
  using Args = Form;
  using Index = typename Form::Index;
  static constexpr int threads = 256;
  // As many as the registers of its walk leave room for.
  static constexpr int min_blocks = of_thread == 1 || is_near<Form> ? 8
                                    : sizeof(Index) == 4            ? 4
                                                                    : 3;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const Form& a) {
    const Index first = Index{ctx.block_id().x} * (threads * of_thread);
    Index n[of_thread];
    CT_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      n[i] = first + static_cast<Index>(thread_of(ctx) + i * threads);
    }
    Offsets at[of_thread];
    a.walk.at(n, at);
    T v[of_thread];
    CT_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      v[i] = ctx.load_if(n[i] < a.elements, reinterpret_cast<const T*>(a.src + at[i].src));
    }
    store(ctx, a, n, a.dst, at, v);
    if constexpr (is_repeated<Form>) {
      std::byte* dst = a.dst;
      CT_NO_UNROLL
      for (std::uint32_t time = 1; time < a.times; ++time) store(ctx, a, n, dst += a.step, at, v);
    }
  }

 private:
  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const Form& a, const Index (&n)[of_thread], std::byte* dst,
                              const Offsets (&at)[of_thread], const T (&v)[of_thread]) {
    CT_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      ctx.store_if(n[i] < a.elements, reinterpret_cast<T*>(dst + at[i].dst), v[i]);
    }
  }
};

/// Neighbouring threads read neighbours, of as many rows as a unit has elements, and store a vector
/// each: nothing goes through shared memory. Of a row that is one element they read that.
template <class T>
struct GatherUnits {
  using Args = UnitPlaces;
  static constexpr int V = static_cast<int>(16 / sizeof(T));
  static constexpr int threads = 256;
  static constexpr int min_blocks = V == 16 ? 4 : 8;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const UnitPlaces& a) {
    constexpr int size = static_cast<int>(sizeof(T));
    const std::uint32_t n = ctx.block_id().x * threads + static_cast<unsigned>(thread_of(ctx));
    const std::uint32_t same = a.before.quotient(n);
    const auto number = static_cast<int>(same - a.of_row.quotient(same) * a.of_row.divisor);
    const Offsets at = a.walk.at(n);
    // The unit begins so many elements before where it would if the row began with a vector.
    const int ahead = phase_of(a.dst + at.dst) / size;
    const int first = number * V - ahead;
    const std::byte* const from = a.src + at.src - std::int64_t{ahead} * a.step;
    T* const to = reinterpret_cast<T*>(a.dst + at.dst) - ahead;
    Vec<T, V> v;
    bool inside[V];
    CT_UNROLL
    for (int k = 0; k < V; ++k) {
      inside[k] = n < a.units && static_cast<std::uint32_t>(first + k) < a.row;
    }
    if (a.step == 0) {
      const T one = ctx.load_if(n < a.units, reinterpret_cast<const T*>(from));
      CT_UNROLL
      for (int k = 0; k < V; ++k) v[k] = one;
    } else {
      CT_UNROLL
      for (int k = 0; k < V; ++k) {
        v[k] = ctx.load_if(inside[k], reinterpret_cast<const T*>(from + std::int64_t{k} * a.step));
      }
    }
    store_inside<0, V>(ctx, to, v, inside);
  }

  /// Those of `count` neighbours that belong to the row, which are all of them, the first or the
  /// last ones: in pieces as long as can be, since lanes write to sectors far from each other.
  template <int first, int count, class Ctx>
  CT_DEVICE static void store_inside(Ctx& ctx, T* to, const Vec<T, V>& v, const bool (&inside)[V]) {
    Vec<T, count> piece;
    CT_UNROLL
    for (int k = 0; k < count; ++k) piece[k] = v[first + k];
    const bool whole = inside[first] && inside[first + count - 1];
    ctx.store_if(whole, as_vec<count>(to + first), piece);
    if constexpr (count > 1) {
      if (whole) return;
      store_inside<first, count / 2>(ctx, to, v, inside);
      store_inside<first + count / 2, count / 2>(ctx, to, v, inside);
    }
  }
};

/// All that can happen to a value of type S on its way to one of type D.
template <class S, class D>
struct KnownChange {
  using Src = Bits<S>;
  using Dst = Bits<D>;
  static constexpr int min_blocks = 4;

  values::Conversion<D, S> conversion;
  bool biased = false;
  float addend = 0;

  CT_DEVICE explicit KnownChange(const AnyValueArgs& a)
      : conversion(a.values, a.scaled, a.biased || a.addend != 0),
        biased(a.biased),
        addend(a.addend) {
    conversion.arithmetic |= a.arithmetic;
  }
  CT_DEVICE Dst operator()(Src x, float scale, float bias, Dst old, std::uint64_t place) const {
    return values::bits_as<Dst>(conversion(values::bits_as<S>(x), scale, biased ? bias : addend,
                                           values::bits_as<D>(old), place));
  }
};

/// A change between types that are known when the kernel runs.
template <int src_size, int dst_size>
struct AnyChange {
  using Src = typename BitsOf<src_size>::type;
  using Dst = typename BitsOf<dst_size>::type;
  static constexpr int min_blocks = 2;

  const AnyValueArgs& args;

  CT_DEVICE explicit AnyChange(const AnyValueArgs& a) : args(a) {}
  CT_DEVICE Dst operator()(const Src& x, float scale, float bias, const Dst& old,
                           std::uint64_t place) const {
    return any_value(args, x, scale, bias, old, place);
  }
};

template <class Change>
struct GatherChanged {
  using Args = ChangedPlaces;
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int threads = 256;
  static constexpr int min_blocks = Change::min_blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const ChangedPlaces& a) {
    const Change change(a.change);
    const std::uint64_t step = std::uint64_t{ctx.grid_dim().x} * threads;
    for (std::uint64_t first = std::uint64_t{ctx.block_id().x} * threads; first < a.elements;
         first += step) {
      const std::uint64_t n[] = {first + static_cast<std::uint64_t>(thread_of(ctx))};
      const bool mine = n[0] < a.elements;
      Offsets at[1];
      a.walk.at(n, at);
      auto* const to = reinterpret_cast<Dst*>(a.dst + at[0].dst);
      const Src value = ctx.load_if(mine, reinterpret_cast<const Src*>(a.src + at[0].src));
      const Dst old = ctx.load_if(mine && a.change.values.beta != 0, static_cast<const Dst*>(to));
      const float scale = ctx.load_if(mine && a.scale.present, a.scale.data + a.scale.at(n[0]));
      const float bias = ctx.load_if(mine && a.bias.present, a.bias.data + a.bias.at(n[0]));
      constexpr auto size = static_cast<std::int64_t>(sizeof(Dst));
      const auto place = static_cast<std::uint64_t>(a.change.values.place + at[0].dst / size);
      if (mine) ctx.store(to, change(value, scale, bias, old, place));
    }
  }
};

/// Values that change on their way by a list, an element a thread: one kernel for all types.
struct GatherListed {
  using Args = ListedPlaces;
  static constexpr int threads = 256;
  static constexpr int min_blocks = 2;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const ListedPlaces& a) {
    const SizedFacts src{facts_of(a.change.src.kind), a.src_bytes};
    const SizedFacts dst{facts_of(a.change.dst.kind), a.dst_bytes};
    const std::uint64_t step = std::uint64_t{ctx.grid_dim().x} * threads;
    for (std::uint64_t first = std::uint64_t{ctx.block_id().x} * threads; first < a.elements;
         first += step) {
      const std::uint64_t n = first + static_cast<std::uint64_t>(thread_of(ctx));
      const std::uint64_t of_list = a.of_step.quotient(n);
      const std::uint32_t entry[] = {static_cast<std::uint32_t>(of_list)};
      const bool inside[] = {n < a.elements};
      std::int64_t from[1], to[1];
      a.from.offsets(ctx, entry, inside, from);
      a.to.offsets(ctx, entry, inside, to);
      const bool there = inside[0] && from[0] != ListSide::nothing;
      const bool mine = inside[0] && to[0] != ListSide::nothing && (there || !a.leaves_missing);
      const Offsets at = a.walk.at(n - of_list * a.of_step.divisor);
      const std::byte* const x = ListSide::behind(a.src + at.src, from[0]);
      std::byte* const y = ListSide::behind(a.dst + at.dst, to[0]);
      const bool adds = mine && a.change.values.beta != 0;
      const PartBits value = load(ctx, there && mine, x, src);
      const PartBits old = load(ctx, adds, static_cast<const std::byte*>(y), dst);
      const float scale = ctx.load_if(mine && a.scale.present, a.scale.data + a.scale.at(n));
      const float bias = ctx.load_if(mine && a.bias.present, a.bias.data + a.bias.at(n));
      if (mine) store(ctx, y, dst, any_parts(a.change, src, dst, value, old, scale, bias, 0));
    }
  }

 private:
  template <class Ctx>
  CT_DEVICE static PartBits load(Ctx& ctx, bool active, const std::byte* from,
                                 const SizedFacts& of) {
    PartBits parts;
    with_size(of.size, [&]<class T>() {
      parts = parts_of(ctx.load_if(active, reinterpret_cast<const T*>(from)), of.kind.complex);
    });
    return parts;
  }
  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, std::byte* to, const SizedFacts& of,
                              const PartBits& parts) {
    with_size(of.size, [&]<class T>() {
      ctx.store(reinterpret_cast<T*>(to), element_of_parts<T>(parts, of.kind.complex));
    });
  }
  template <class Use>
  CT_DEVICE static void with_size(int bytes, const Use& use) {
    if (bytes == 1) return use.template operator()<std::uint8_t>();
    if (bytes == 2) return use.template operator()<std::uint16_t>();
    if (bytes == 4) return use.template operator()<std::uint32_t>();
    if (bytes == 8) return use.template operator()<std::uint64_t>();
    use.template operator()<Element16>();
  }
};

/// Kernels that change values: those of two types that were compiled for, or of two sizes.
template <class Visit>
void dispatch(const ChangedPlaces& a, Visit&& visit) {
  const auto known = [&]<class Pair>() {
    visit.template operator()<GatherChanged<KnownChange<typename Pair::S, typename Pair::D>>>();
  };
  if (with_cast(a.change.src, a.change.dst, known) ||
      with_scaled_cast(a.change.src, a.change.dst, known)) {
    return;
  }
  with_sizes<16>(a.src_bytes, a.dst_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<GatherChanged<AnyChange<src_size, dst_size>>>();
  });
}

template <class Visit>
void dispatch(const GatherArgs& a, Visit&& visit) {
  const auto of_form = [&]<class Form>(const Form& form) {
    if constexpr (std::is_same_v<Form, ListedPlaces>) {
      visit.template operator()<GatherListed>();
    } else if constexpr (std::is_same_v<Form, ChangedPlaces>) {
      dispatch(form, visit);
    } else if constexpr (std::is_same_v<Form, UnitPlaces>) {
      with_element(a.element_bytes, [&]<class T>(T) {
        if constexpr (sizeof(T) < 16) visit.template operator()<GatherUnits<T>>();
      });
    } else {
      with_element(a.element_bytes, [&]<class T>(T) {
        if constexpr (is_repeated<Form>) {
          visit.template operator()<Gather<T, Form, 1>>();
        } else {
          if constexpr (!std::is_same_v<Form, WidePlaces>) {
            if (a.single) return visit.template operator()<Gather<T, Form, 1>>();
          }
          visit.template operator()<Gather<T, Form, gather_at_once>>();
        }
      });
    }
  };
  std::visit(of_form, a.form);
}

}  // namespace cornerturn::kernels
