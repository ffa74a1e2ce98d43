#include "cpu/convert_run.hpp"

#include <cstring>

#include "cpu/convert_swapped.hpp"
#include "values/epilogue.hpp"

namespace cornerturn::cpu {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class D, class S>
void convert_row(const Problem& problem, const values::Conversion<D, S>& conversion,
                 const ConvertRun& run) {
  if (!conversion.arithmetic && !conversion.stochastic && !conversion.conjugate) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const D result = values::convert<D>(load<S>(run.src + i * run.src_step), conversion.overflow);
      std::memcpy(run.dst + i * run.dst_step, &result, sizeof result);
    }
    return;
  }
  const float* scale = run.scale;
  const float* bias = run.bias;
  for (std::int64_t i = 0; i < run.count; ++i) {
    std::byte* const to = run.dst + i * run.dst_step;
    const D old = conversion.reads_destination ? load<D>(to) : D{};
    const std::int64_t place = problem.values.place + (run.dst_offset + i * run.place_step) /
                                                          static_cast<std::int64_t>(sizeof(D));
    const D result = conversion(
        load<S>(run.src + i * run.src_step), conversion.scaled ? scale[i * run.scale_step] : 1.0F,
        conversion.biased ? bias[i * run.bias_step] : 0.0F, old, static_cast<std::uint64_t>(place));
    std::memcpy(to, &result, sizeof result);
  }
}

template <class D, class S>
void convert_run(const Problem& problem, const ConvertRun& run) {
  const values::Conversion<D, S> conversion(problem.values, problem.scale.present,
                                            problem.bias.present);
  ConvertRun row = run;
  for (std::int64_t r = 0; r < run.rows; ++r, row.advance(run.row, 1)) {
    convert_row(problem, conversion, row);
  }
}

}  // namespace

ConvertFunction native_convert_function(Kind dst, Kind src) {
  return values::with_kind(dst, [&](auto d) {
    return values::with_kind(src, [](auto s) -> ConvertFunction {
      using D = typename decltype(d)::type;
      using S = typename decltype(s)::type;
      if constexpr (values::converts<D, S>) return &convert_run<D, S>;
      return nullptr;
    });
  });
}

ConvertFunction convert_function(ElementType dst, ElementType src) {
  const ConvertFunction native = native_convert_function(dst.kind(), src.kind());
  const bool swaps = dst.is_swapped() || src.is_swapped();
  return native != nullptr && swaps ? &convert_swapped : native;
}

}  // namespace cornerturn::cpu
