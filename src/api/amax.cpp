// The public functions around the largest magnitude of an array: check, then run.
#include "cornerturn/amax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/amax.hpp"
#include "cpu/threads.hpp"
#include "cuda/backend.hpp"
#include "plan/gpu/amax.hpp"
#include "values/magnitude.hpp"

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

double largest_on_gpu(const ConstView& src, cuda::Stream stream) {
  check_elements_aligned("src", src.data, src.type, src.strides);
  cuda::refuse_captured(stream, "amax returns a number", "reading it has to wait for the stream");
  const plan::gpu::AmaxWork work = plan::gpu::amax_work(static_cast<const std::byte*>(src.data),
                                                        src.type, src.shape, src.strides);
  return values::magnitude_number(src.type.kind(), cuda::largest_magnitude(work, stream));
}

/// What becomes of the values, in f32 or in f64.
struct Quantising {
  TensorScale by;
  Overflow overflow = Overflow::saturate;
  /// To integers, values are cut off. The sum with this one is rounded to a whole number; modulo
  /// 2^8 that is what the value rounds to.
  float ruler = 0;
  bool in_f32 = true;

  Quantising(ElementType src, Kind to, double largest) : in_f32(fits_f32(src)) {
    by = in_f32 ? scale_for<float>(largest, to) : scale_for<double>(largest, to);
    if (to == Kind::i8) {
      ruler = in_f32 ? 0x1.8p23F : 0x1.8p52F;
      overflow = Overflow::standard;
    }
  }
};

void quantise_on_cpu(const View& dst, const ConstView& src, const Quantising& how, int threads) {
  Epilogue epilogue;
  epilogue.overflow = how.overflow;
  const auto factor = static_cast<float>(how.by.factor);
  if (how.in_f32) {
    epilogue.scale = &factor;  // the plan does not depend on it, and serves the next tensor as well
  } else {
    epilogue.alpha = how.by.factor;
  }
  if (how.ruler != 0) epilogue.bias = &how.ruler;
  Options options;
  options.threads = threads;
  copy(dst, src, epilogue, options);
}

void quantise_on_gpu(int gpu, const View& dst, const ConstView& src, const Quantising& how,
                     cuda::Stream stream) {
  Epilogue epilogue;
  epilogue.overflow = how.overflow;
  const bool arithmetic = how.in_f32 || how.ruler != 0 || how.by.factor != 1;
  if (arithmetic) epilogue.alpha = 2;  // any: the plan serves the next tensor as well
  const Target target{gpu, alignment_of(src.data), alignment_of(dst.data)};
  const FoundPlan found = find_plan(dst, src, epilogue, {}, target);
  const plan::gpu::Plan& plan = *found.plan->of_gpu();
  if (!arithmetic) return cuda::execute(plan, dst.data, src.data, stream);
  cuda::execute(with_factor(plan, how.by.factor, how.ruler), dst.data, src.data, stream);
}

}  // namespace

double amax(const ConstView& src, int threads, void* stream) {
  check_real(src.type);
  const Problem problem = make_problem(src, View(nullptr, src.type, src.shape));
  if (problem.elements() == 0) return 0;
  if (src.data == nullptr)
    throw Error(Status::invalid_argument, "src.data = null, but there are elements to read");
  return gpu_of({{"src", src.data}}) < 0 ? largest(src, threads)
                                         : largest_on_gpu(src, static_cast<cuda::Stream>(stream));
}

double quantise_tensor(const View& dst, const ConstView& src, int threads, void* stream) {
  check_real(src.type);
  const Kind to = dst.type.kind();
  if (to != Kind::f8_e4m3 && to != Kind::f8_e5m2 && to != Kind::i8) {
    throw Error(Status::invalid_argument,
                fmt::format("dst.type = {} has to be f8_e4m3, f8_e5m2 or i8", dst.type.name()));
  }
  const Problem problem = make_problem(src, dst);
  check_pointers(problem, src.data, dst.data);
  if (problem.elements() == 0) return 1;
  const int gpu = gpu_of({{"dst", dst.data}, {"src", src.data}});
  if (gpu < 0) {
    const Quantising how(src.type, to, largest(src, threads));
    quantise_on_cpu(dst, src, how, threads);
    return how.by.scale;
  }
  const auto on = static_cast<cuda::Stream>(stream);
  const Quantising how(src.type, to, largest_on_gpu(src, on));
  quantise_on_gpu(gpu, dst, src, how, on);
  return how.by.scale;
}

}  // namespace cornerturn
