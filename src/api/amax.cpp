// The public functions around the largest magnitude of an array: check, then run.
#include "cornerturn/amax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/target.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/amax.hpp"
#include "cpu/threads.hpp"
#include "values/types.hpp"

namespace cornerturn {
namespace {

void check_real(ElementType type) {
  const Kind kind = type.kind();
  if (kind == Kind::bytes || kind == Kind::c64 || kind == Kind::c128) {
    throw Error(
        Status::unsupported,
        fmt::format("src.type = {} has no real values: it has to be bool, i8, ... f64, f16, "
                    "bf16, f8_e4m3 or f8_e5m2",
                    type.name()));
  }
}

void check_on_host(const char* name, const void* data) {
  if (target_of({}, nullptr, data).gpu < 0) return;
  throw Error(Status::unsupported,
              fmt::format("{}.data lies on a GPU: amax is found in host memory", name));
}

double largest(const ConstView& src, int threads) {
  std::int64_t bytes = src.type.size();
  for (const std::int64_t extent : src.shape) bytes *= extent;
  const auto useful = std::clamp<std::int64_t>(bytes >> 19, 1, cpu::most_threads);
  return cpu::amax(static_cast<const std::byte*>(src.data), src.type, src.shape, src.strides,
                   cpu::resolve_threads(threads, static_cast<int>(useful)));
}

/// By what values are multiplied, and what brings them back.
struct TensorScale {
  double factor;
  double scale;
};

// In Real, in which the values are multiplied as well.
template <class Real>
TensorScale scale_for(double amax, Kind to) {
  if (amax == 0) return {1, 1};
  if (!std::isfinite(amax)) return to == Kind::i8 ? TensorScale{0, amax} : TensorScale{1, 1};
  constexpr auto limit = static_cast<Real>(sizeof(Real) == 4 ? 0x1p126 : 0x1p1022);
  const Real most = to == Kind::i8 ? 127 : to == Kind::f8_e4m3 ? 448 : 57344;
  const Real factor = std::min(most / static_cast<Real>(amax), limit);
  return {factor, Real{1} / factor};
}

bool fits_f32(ElementType type) {
  return values::with_kind(type.kind(),
                           [](auto t) { return values::fits_f32<typename decltype(t)::type>; });
}

}  // namespace

double amax(const ConstView& src, int threads) {
  check_real(src.type);
  const Problem problem = make_problem(src, View(nullptr, src.type, src.shape));
  if (problem.elements() == 0) return 0;
  if (src.data == nullptr)
    throw Error(Status::invalid_argument, "src.data = null, but there are elements to read");
  check_on_host("src", src.data);
  return largest(src, threads);
}

double quantise_tensor(const View& dst, const ConstView& src, int threads) {
  check_real(src.type);
  const Kind to = dst.type.kind();
  if (to != Kind::f8_e4m3 && to != Kind::f8_e5m2 && to != Kind::i8) {
    throw Error(Status::invalid_argument,
                fmt::format("dst.type = {} has to be f8_e4m3, f8_e5m2 or i8", dst.type.name()));
  }
  const Problem problem = make_problem(src, dst);
  check_pointers(problem, src.data, dst.data);
  check_on_host("dst", dst.data);
  check_on_host("src", src.data);
  if (problem.elements() == 0) return 1;
  const bool in_f32 = fits_f32(src.type);
  const double most = largest(src, threads);
  const TensorScale scale = in_f32 ? scale_for<float>(most, to) : scale_for<double>(most, to);

  Epilogue epilogue;
  epilogue.overflow = Overflow::saturate;
  const auto factor = static_cast<float>(scale.factor);
  if (in_f32) {
    epilogue.scale = &factor;  // the plan does not depend on it, and serves the next tensor as well
  } else {
    epilogue.alpha = scale.factor;
  }
  // To integers, values are cut off. The sum with this one, in f32 or f64, is rounded to a whole
  // number; modulo 2^8 that is what the value rounds to.
  const float ruler = in_f32 ? 0x1.8p23F : 0x1.8p52F;
  if (to == Kind::i8) {
    epilogue.bias = &ruler;
    epilogue.overflow = Overflow::standard;
  }
  Options options;
  options.threads = threads;
  copy(dst, src, epilogue, options);
  return scale.scale;
}

}  // namespace cornerturn
