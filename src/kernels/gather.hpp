// gather: one element after the other, in the order of the destination. Takes every problem, and
// everything that can happen to a value; the kernel that the others are compared with. Values that
// change have a body of their own: it also reads scales, biases and old values, one element at a
// time, while moves take several elements and narrow indices.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// A number for each index of an axis, `first` elements into a vector and `step` apart; one for all
/// where there is no such axis.
struct AxisVector {
  const float* data = nullptr;
  bool present = false;
  int axis = -1;
  std::int64_t step = 1;
  std::int64_t first = 0;
};

struct GatherArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t elements = 0;
  int element_bytes = 1;
  bool single = false;   ///< one element a thread, for problems that do not fill the GPU
  bool near = false;     ///< all offsets fit 32 bits, and there are fewer than 2^30 elements
  bool one_run = false;  ///< the destination is one run without gaps
  Walk mode;             ///< the destination's fastest first; axes beyond its rank have one index
  FastDivide64 wide[max_axes];  ///< extents, for problems of 2^30 elements or more
  bool converts = false;        ///< values change; else they are moved, and nothing below counts
  int src_bytes = 1;            ///< of an element
  AnyValueArgs change;
  AxisVector scale;
  AxisVector bias;

  /// Where elements number `n` of the destination's order come from and go to. What an axis needs
  /// is read once for all of them, and their divisions do not wait for each other. The first
  /// `known` axes are taken without a look at the rank: none waits for another one's arguments.
  /// With `Step` of 32 bits all offsets fit them. see(axis, index) hears of every axis and every
  /// element.
  template <int known, class Step, class Index, int N, class See>
  CT_HOST_DEVICE constexpr void at(const Index (&n)[N], Offsets (&offsets)[N], See&& see) const {
    Index left[N];
    Step from[N] = {};
    Step to[N] = {};
    CT_UNROLL
    for (int k = 0; k < N; ++k) left[k] = n[k];
    const auto take = [&](int i) {
      const auto by = divide<Index>(i);
      const auto src_step = static_cast<Step>(mode.axis[i].src_step);
      const auto dst_step = static_cast<Step>(mode.axis[i].dst_step);
      CT_UNROLL
      for (int k = 0; k < N; ++k) {
        const Index rest = by.quotient(left[k]);
        const auto index = static_cast<Step>(left[k] - rest * by.divisor);
        from[k] += index * src_step;
        if (!one_run) to[k] += index * dst_step;
        see(i, index);
        left[k] = rest;
      }
    };
    CT_UNROLL
    for (int i = 0; i < known; ++i) take(i);
    for (int i = known; i < mode.rank; ++i) take(i);
    CT_UNROLL
    for (int k = 0; k < N; ++k) {
      offsets[k].src = from[k];
      offsets[k].dst = one_run ? static_cast<std::int64_t>(n[k]) * element_bytes : to[k];
    }
  }

 private:
  template <class Index>
  CT_HOST_DEVICE constexpr BasicFastDivide<Index> divide(int i) const {
    if constexpr (sizeof(Index) == 4) {
      return mode.axis[i].count;
    } else {
      return wide[i];
    }
  }
};

/// Elements of a thread, where there are many.
inline constexpr int gather_at_once = 4;

/// Index: of an element. Step: of a byte on either side.
template <class T, class Index, class Step, int of_thread>
struct Gather {
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int known_axes = of_thread == 1 ? 4 : 0;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const GatherArgs& a) {
    const auto all = static_cast<Index>(a.elements);
    const Index step = Index{ctx.grid_dim().x} * (threads * of_thread);
    for (Index first = Index{ctx.block_id().x} * (threads * of_thread); first < all;
         first += step) {
      Index n[of_thread];
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        n[i] = first + static_cast<Index>(thread_of(ctx) + i * threads);
      }
      T v[of_thread];
      Offsets at[of_thread];
      a.at<known_axes, Step>(n, at, [](int, Step) {});
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        v[i] = ctx.load_if(n[i] < all, reinterpret_cast<const T*>(a.src + at[i].src));
      }
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        ctx.store_if(n[i] < all, reinterpret_cast<T*>(a.dst + at[i].dst), v[i]);
      }
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

/// The same for types that are known when the kernel runs.
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
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int threads = 256;
  static constexpr int min_blocks = Change::min_blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const GatherArgs& a) {
    const Change change(a.change);
    const auto all = static_cast<std::uint64_t>(a.elements);
    const std::uint64_t step = std::uint64_t{ctx.grid_dim().x} * threads;
    for (std::uint64_t first = std::uint64_t{ctx.block_id().x} * threads; first < all;
         first += step) {
      const std::uint64_t number = first + static_cast<std::uint64_t>(thread_of(ctx));
      const bool mine = number < all;
      std::int64_t scale_at = a.scale.first;
      std::int64_t bias_at = a.bias.first;
      const std::uint64_t n[] = {number};
      Offsets at[1];
      a.at<0, std::int64_t>(n, at, [&](int axis, std::int64_t index) {
        if (axis == a.scale.axis) scale_at += index * a.scale.step;
        if (axis == a.bias.axis) bias_at += index * a.bias.step;
      });
      auto* const to = reinterpret_cast<Dst*>(a.dst + at[0].dst);
      const Src value = ctx.load_if(mine, reinterpret_cast<const Src*>(a.src + at[0].src));
      const Dst old = ctx.load_if(mine && a.change.values.beta != 0, static_cast<const Dst*>(to));
      const float scale = ctx.load_if(mine && a.scale.present, a.scale.data + scale_at);
      const float bias = ctx.load_if(mine && a.bias.present, a.bias.data + bias_at);
      constexpr auto size = static_cast<std::int64_t>(sizeof(Dst));
      const auto place = static_cast<std::uint64_t>(a.change.values.place + at[0].dst / size);
      if (mine) ctx.store(to, change(value, scale, bias, old, place));
    }
  }
};

/// Kernels that change values: those of two types that were compiled for, or of two sizes.
template <class Visit>
void dispatch_changed(const GatherArgs& a, Visit&& visit) {
  const auto known = [&]<class Pair>() {
    visit.template operator()<GatherChanged<KnownChange<typename Pair::S, typename Pair::D>>>();
  };
  if (with_cast(a.change.src_kind, a.change.dst_kind, known) ||
      with_scaled_cast(a.change.src_kind, a.change.dst_kind, known)) {
    return;
  }
  with_sizes<16>(a.src_bytes, a.element_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<GatherChanged<AnyChange<src_size, dst_size>>>();
  });
}

template <class Visit>
void dispatch(const GatherArgs& a, Visit&& visit) {
  if (a.converts) return dispatch_changed(a, visit);
  with_element(a.element_bytes, [&]<class T>(T) {
    if (a.single) {
      visit.template operator()<Gather<T, std::uint32_t, std::int64_t, 1>>();
    } else if (a.near) {
      visit.template operator()<Gather<T, std::uint32_t, std::int32_t, gather_at_once>>();
    } else if (a.elements < (std::int64_t{1} << 30)) {
      visit.template operator()<Gather<T, std::uint32_t, std::int64_t, gather_at_once>>();
    } else {
      visit.template operator()<Gather<T, std::uint64_t, std::int64_t, gather_at_once>>();
    }
  });
}

}  // namespace cornerturn::kernels
