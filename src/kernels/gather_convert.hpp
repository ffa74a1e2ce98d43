// gather, for values that change: with everything that can happen to a value. The kernel that the
// others are compared with.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/gather.hpp"

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

struct GatherConvertArgs : GatherArgs {
  int src_bytes = 1;  ///< of an element
  AnyValueArgs change;
  AxisVector scale;
  AxisVector bias;
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
struct GatherConvert {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int threads = 256;
  static constexpr int min_blocks = Change::min_blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const GatherConvertArgs& a) {
    const Change change(a.change);
    const auto all = static_cast<std::uint64_t>(a.elements);
    const std::uint64_t step = std::uint64_t{ctx.grid_dim().x} * threads;
    for (std::uint64_t first = std::uint64_t{ctx.block_id().x} * threads; first < all;
         first += step) {
      const std::uint64_t number = first + static_cast<std::uint64_t>(thread_of(ctx));
      const bool mine = number < all;
      std::uint64_t n = number;
      Offsets at;
      std::int64_t scale_at = a.scale.first;
      std::int64_t bias_at = a.bias.first;
      for (int i = 0; i < a.mode.rank; ++i) {
        const std::uint64_t rest = a.wide[i].quotient(n);
        const auto index = static_cast<std::int64_t>(n - rest * a.wide[i].divisor);
        at.src += index * a.mode.axis[i].src_step;
        at.dst += index * a.mode.axis[i].dst_step;
        if (i == a.scale.axis) scale_at += index * a.scale.step;
        if (i == a.bias.axis) bias_at += index * a.bias.step;
        n = rest;
      }
      auto* const to = reinterpret_cast<Dst*>(a.dst + at.dst);
      const Src value = ctx.load_if(mine, reinterpret_cast<const Src*>(a.src + at.src));
      const Dst old = ctx.load_if(mine && a.change.values.beta != 0, static_cast<const Dst*>(to));
      const float scale = ctx.load_if(mine && a.scale.present, a.scale.data + scale_at);
      const float bias = ctx.load_if(mine && a.bias.present, a.bias.data + bias_at);
      constexpr auto size = static_cast<std::int64_t>(sizeof(Dst));
      const auto place = static_cast<std::uint64_t>(a.change.values.place + at.dst / size);
      if (mine) ctx.store(to, change(value, scale, bias, old, place));
    }
  }
};

template <class Visit>
void dispatch(const GatherConvertArgs& a, Visit&& visit) {
  const auto known = [&]<class Pair>() {
    visit.template operator()<GatherConvert<KnownChange<typename Pair::S, typename Pair::D>>>();
  };
  if (with_cast(a.change.src_kind, a.change.dst_kind, known) ||
      with_scaled_cast(a.change.src_kind, a.change.dst_kind, known)) {
    return;
  }
  with_sizes<16>(a.src_bytes, a.element_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<GatherConvert<AnyChange<src_size, dst_size>>>();
  });
}

}  // namespace cornerturn::kernels
