// Chunks of a run become f32 in the first-level cache, are worked on there, and leave as their new
// type. Each step does in every lane what the function of the same name in values/ does.
#include "cpu/convert_vector.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "plan/cpu/convert.hpp"
#include "values/epilogue.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert_vector.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/convert_lanes-inl.hpp"
#include "cpu/convert_wide-inl.hpp"
#include "cpu/stream-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

// `convert` for the elements before the first whole line, then a few lines at a time on their way
// around the caches, then what is left.
template <class Convert>
HWY_INLINE void stream_row(std::byte* dst, const std::byte* src, std::int64_t count,
                           std::int64_t dst_size, std::int64_t src_size, const Convert& convert) {
  constexpr std::int64_t block = 1024;
  alignas(line) std::byte lines[block];
  const std::int64_t to_line = (line - line_phase(dst)) % line;
  std::int64_t i = to_line % dst_size == 0 ? std::min(count, to_line / dst_size) : count;
  if (i > 0) convert(dst, src, 0, i);
  const std::int64_t per_line = line / dst_size;
  while (count - i >= per_line) {
    const std::int64_t whole = std::min(block / line, (count - i) / per_line);
    convert(lines, src + i * src_size, i, whole * per_line);
    store_lines<true>(dst + i * dst_size, lines, whole);
    i += whole * per_line;
  }
  if (i < count) convert(dst + i * dst_size, src + i * src_size, i, count - i);
}

// By any function.
void stream_run(const Problem& problem, const ConvertRun& run, ConvertFunction convert) {
  ConvertRun row = run;
  row.rows = 1;
  for (std::int64_t r = 0; r < run.rows; ++r, row.advance(run.row, 1)) {
    const auto part = [&](std::byte* dst, const std::byte* src, std::int64_t i,
                          std::int64_t count) {
      ConvertRun piece = row;
      piece.src = src;
      piece.dst = dst;
      piece.dst_offset = row.dst_offset + i * row.place_step;
      if (row.scale != nullptr) piece.scale = row.scale + i * row.scale_step;
      if (row.bias != nullptr) piece.bias = row.bias + i * row.bias_step;
      piece.count = count;
      convert(problem, piece);
    };
    stream_row(row.dst, row.src, row.count, problem.dst_type.size(), problem.src_type.size(), part);
  }
}

#if HWY_TARGET == HWY_SCALAR

void stream_in_vectors(const Problem& problem, const ConvertRun& run, ConvertFunction convert) {
  stream_run(problem, run, convert);
}

void rows_in_vectors(const Problem& problem, const RowBlock& rows) {
  const ConvertFunction convert =
      native_convert_function(problem.dst_type.kind(), problem.src_type.kind());
  ConvertRun run;
  run.src_step = problem.src_type.size();
  run.dst_step = run.place_step = problem.dst_type.size();
  run.count = rows.columns;
  for (int i = 0; i < rows.count; ++i) {
    run.src = rows.src + rows.offset[i];
    run.dst = rows.dst + i * rows.pitch;
    convert(problem, run);
  }
}

void convert_in_vectors(const Problem& problem, const ConvertRun& run) {
  native_convert_function(problem.dst_type.kind(), problem.src_type.kind())(problem, run);
}

#else

// A vector of the epilogue for the indices of a chunk.
void load_vector(const float* data, std::int64_t step, std::int64_t count, float* out) {
  if (step == 1) {
    std::memcpy(out, data, static_cast<std::size_t>(count) * sizeof(float));
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = data[i * step];
  }
}

struct Buffers {
  alignas(64) float x[chunk + most_lanes];
  alignas(64) float old[chunk + most_lanes];
  alignas(64) float scale[chunk + most_lanes];
  alignas(64) float bias[chunk + most_lanes];
};

// In the order of values/epilogue.hpp.
template <class AnyConversion>
void work(const AnyConversion& conversion, const float* x, std::int64_t count, Buffers& buffers) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const VF alpha = hn::Set(df, conversion.alpha);
  const VF beta = hn::Set(df, conversion.beta);
  for (std::int64_t i = 0; i < count; i += lanes) {
    VF factor = alpha;
    if (conversion.scaled) factor = hn::Mul(alpha, hn::Load(df, buffers.scale + i));
    VF y = hn::Mul(factor, hn::LoadU(df, x + i));
    if (conversion.biased) y = hn::Add(y, hn::Load(df, buffers.bias + i));
    if (conversion.reads_destination) {
      y = hn::Add(y, hn::Mul(beta, hn::Load(df, buffers.old + i)));
    }
    y = hn::IfThenElse(hn::IsNaN(y), f32(values::f32_nan), y);
    hn::Store(y, df, buffers.x + i);
  }
}

// NaNs of bf16 become f16's plain one.
bool loses_payloads(Kind src, Kind dst) {
  return src == Kind::bf16 && dst == Kind::f16;
}

void drop_payloads(float* x, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  for (std::int64_t i = 0; i < count; i += lanes) {
    hn::Store(without_payload(hn::Load(df, x + i)), df, x + i);
  }
}

// One run, by way of f32.
void convert_row(const Problem& problem, const values::Conversion<float, float>& conversion,
                 const ConvertRun& run, Buffers& buffers) {
  const Kind src_kind = problem.src_type.kind();
  const Kind dst_kind = problem.dst_type.kind();
  const std::int64_t src_size = problem.src_type.size();
  const std::int64_t dst_size = problem.dst_type.size();
  Storing storing{problem.values.overflow == Overflow::saturate, conversion.stochastic, {}};
  const bool without_payload = loses_payloads(src_kind, dst_kind);
  const std::int64_t first_place = problem.values.place + run.dst_offset / dst_size;
  const std::int64_t place_step = run.place_step / dst_size;
  if (conversion.stochastic) {
    const std::int64_t last_place = first_place + (run.count - 1) * place_step;
    if (first_place >> 32 != last_place >> 32 || run.place_step % dst_size != 0) {
      ConvertRun single = run;
      single.rows = 1;
      return native_convert_function(problem.dst_type.kind(), problem.src_type.kind())(problem,
                                                                                       single);
    }
  }
  for (std::int64_t i = 0; i < run.count; i += chunk) {
    const std::int64_t count = std::min(chunk, run.count - i);
    const std::byte* src = run.src + i * src_size;
    std::byte* dst = run.dst + i * dst_size;
    const float* x = buffers.x;
    if (src_kind == Kind::f32 && count % static_cast<std::int64_t>(hn::Lanes(df)) == 0) {
      x = reinterpret_cast<const float*>(src);  // read by unaligned loads alone
    } else {
      load_small(src_kind, src, count, buffers.x);
    }
    if (conversion.arithmetic) {
      if (conversion.scaled) {
        load_vector(run.scale + i * run.scale_step, run.scale_step, count, buffers.scale);
      }
      if (conversion.biased) {
        load_vector(run.bias + i * run.bias_step, run.bias_step, count, buffers.bias);
      }
      if (conversion.reads_destination) load_small(dst_kind, dst, count, buffers.old);
      work(conversion, x, count, buffers);
      x = buffers.x;
    } else if (without_payload) {
      drop_payloads(buffers.x, count);
    }
    storing.random = {conversion.random, first_place + i * place_step, place_step};
    store_small(dst_kind, x, count, dst, storing);
  }
}

// Some short runs are fetched ahead: the processor does not see where the next ones lie.
HWY_INLINE void fetch_ahead(const ConvertRun& row, const ConvertRun& run, std::int64_t size,
                            std::int64_t r) {
  constexpr std::int64_t ahead = 8;
  if (r + ahead >= run.rows) return;
  const std::byte* const next = row.src + ahead * run.row.src;
  for (std::int64_t k = 0; k < run.count * size; k += 64) __builtin_prefetch(next + k, 0, 2);
}

// Where plan::convert::is_straight(): from f32, to it and between small floats without a stop on
// the way, between other types by way of a buffer of f32.
class Pass {
 public:
  explicit Pass(const Problem& problem)
      : is_straight_(plan::convert::is_straight(problem)),
        saturate_(problem.values.overflow == Overflow::saturate),
        src_(problem.src_type),
        dst_(problem.dst_type),
        direct_(is_straight_ ? direct(src_.kind(), dst_.kind()) : nullptr) {}

  explicit operator bool() const { return is_straight_; }

  void operator()(std::byte* dst, const std::byte* src, std::int64_t count) const {
    if (direct_ != nullptr) return direct_(dst, src, count, saturate_);
    alignas(64) float x[chunk + most_lanes];
    for (std::int64_t i = 0; i < count; i += chunk) {
      const std::int64_t part = std::min(chunk, count - i);
      load_small(src_.kind(), src + i * src_.size(), part, x);
      if (loses_payloads(src_.kind(), dst_.kind())) drop_payloads(x, part);
      store_small(dst_.kind(), x, part, dst + i * dst_.size(), {saturate_, false, {}});
    }
  }

 private:
  using Function = void (*)(std::byte* dst, const std::byte* src, std::int64_t count,
                            bool saturate);

  static Function direct(Kind src, Kind dst) {
    if (dst == Kind::f64 && src != Kind::f64) {
      return values::with_kind(src, [](auto from) -> Function {
        using T = typename decltype(from)::type;
        if constexpr (values::fits_f32<T>) return &convert_all<T, double>;
        return nullptr;
      });
    }
    if (src != Kind::f32 && dst != Kind::f32) return between_small_floats(src, dst);
    return values::with_kind(src == Kind::f32 ? dst : src, [&](auto other) -> Function {
      using T = typename decltype(other)::type;
      if constexpr (values::fits_f32<T> || std::is_same_v<T, std::int32_t> ||
                    std::is_same_v<T, double>) {
        return src == Kind::f32 ? &convert_all<float, T> : &convert_all<T, float>;
      }
      return nullptr;
    });
  }

  static Function between_small_floats(Kind src, Kind dst) {
    return values::with_kind(src, [&](auto from) -> Function {
      return values::with_kind(dst, [](auto to) -> Function {
        using S = typename decltype(from)::type;
        using D = typename decltype(to)::type;
        if constexpr (values::is_small_float<S> && values::is_small_float<D> &&
                      !std::is_same_v<S, D>) {
          return &convert_all<S, D>;
        }
        return nullptr;
      });
    });
  }

  bool is_straight_;
  bool saturate_;
  ElementType src_;
  ElementType dst_;
  Function direct_;
};

// call(dst, src) for every row of `run`.
template <class Call>
HWY_INLINE void for_rows(const Problem& problem, const ConvertRun& run, const Call& call) {
  ConvertRun row = run;
  for (std::int64_t r = 0; r < run.rows; ++r) {
    fetch_ahead(row, run, problem.src_type.size(), r);
    call(row.dst, row.src);
    row.src += run.row.src;
    row.dst += run.row.dst;
  }
}

void convert_in_vectors(const Problem& problem, const ConvertRun& run) {
  if (const Pass pass(problem); pass) {
    for_rows(problem, run,
             [&](std::byte* dst, const std::byte* src) { pass(dst, src, run.count); });
    return;
  }
  const values::Conversion<float, float> conversion(problem.values, problem.scale.present,
                                                    problem.bias.present);
  ConvertRun row = run;
  row.rows = 1;
  if (needs_f64(problem)) {
    if (conversion.arithmetic || conversion.stochastic) {
      return native_convert_function(problem.dst_type.kind(), problem.src_type.kind())(problem,
                                                                                       run);
    }
    for (std::int64_t r = 0; r < run.rows; ++r, row.advance(run.row, 1)) {
      fetch_ahead(row, run, problem.src_type.size(), r);
      convert_wide(problem, row);
    }
    return;
  }
  Buffers buffers;
  for (std::int64_t r = 0; r < run.rows; ++r, row.advance(run.row, 1)) {
    fetch_ahead(row, run, problem.src_type.size(), r);
    convert_row(problem, conversion, row, buffers);
  }
}

void rows_in_vectors(const Problem& problem, const RowBlock& rows) {
  const Pass pass(problem);
  for (int i = 0; i < rows.count; ++i) {
    pass(rows.dst + i * rows.pitch, rows.src + rows.offset[i], rows.columns);
  }
}

void stream_in_vectors(const Problem& problem, const ConvertRun& run, ConvertFunction convert) {
  const Pass pass(problem);
  if (!pass || problem.swaps()) return stream_run(problem, run, convert);
  for_rows(problem, run, [&](std::byte* dst, const std::byte* src) HWY_ATTR {
    stream_row(dst, src, run.count, problem.dst_type.size(), problem.src_type.size(),
               [&](std::byte* to, const std::byte* from, std::int64_t, std::int64_t count) {
                 pass(to, from, count);
               });
  });
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(convert_in_vectors);
HWY_EXPORT(stream_in_vectors);
HWY_EXPORT(rows_in_vectors);

void convert_contiguous(const Problem& problem, const ConvertRun& run) {
  HWY_DYNAMIC_DISPATCH(convert_in_vectors)(problem, run);
}

bool fits_f32(ElementType type) {
  return values::with_kind(type.kind(),
                           [](auto t) { return values::fits_f32<typename decltype(t)::type>; });
}

// May f64 stand between the two? What it does not hold is found while it is converted.
bool fits_f64(ElementType dst, ElementType src) {
  const Kind to = dst.kind();
  const bool from_wide =
      src.kind() == Kind::f64 || src.kind() == Kind::i32 || src.kind() == Kind::i64;
  const bool to_float =
      values::with_kind(to, [](auto t) { return values::is_float<typename decltype(t)::type>; });
  return (from_wide || fits_f32(src)) && (to_float || to == Kind::i32) && src != dst;
}

}  // namespace

void convert_past_caches(const Problem& problem, const ConvertRun& run, ConvertFunction convert) {
  HWY_DYNAMIC_DISPATCH(stream_in_vectors)(problem, run, convert);
}

void convert_rows(const Problem& problem, const RowBlock& rows) {
  HWY_DYNAMIC_DISPATCH(rows_in_vectors)(problem, rows);
}

ConvertFunction contiguous_convert_function(ElementType dst, ElementType src) {
  if (dst.is_swapped() || src.is_swapped()) return convert_function(dst, src);
  if (fits_f32(dst) && fits_f32(src)) return &convert_contiguous;
  if (fits_f64(dst, src)) return &convert_contiguous;
  return convert_function(dst, src);
}

}  // namespace cornerturn::cpu
#endif
