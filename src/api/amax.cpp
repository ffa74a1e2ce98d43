// The public functions around the largest magnitude of an array: check, then run.
#include "cornerturn/amax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/blocks.hpp"
#include "core/fp_environment.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cuda/backend.hpp"
#include "values/magnitude.hpp"

namespace cornerturn {
namespace {

void check_real(ElementType type) {
  if (!is_real(type.kind())) {
    throw Error(
        Status::unsupported,
        fmt::format("src.type = {} has no real values: it has to be bool, i8, ... f64, f16, "
                    "bf16, f8_e4m3 or f8_e5m2",
                    type.name()));
  }
}

// The plan of a reduction. `src` may be null where it is not measured.
FoundPlan find_reduction(const ConstView& src, const Options& options, const Target& on,
                         std::uint64_t* found) {
  Target target = on;
  if (target.gpu >= 0) target.alignment.src = alignment_of(src.data);
  Options how = options;
  // On a GPU the numbers that are found are the library's own, so nothing of the caller's is timed.
  if (target.gpu >= 0) how.effort = Effort::estimate;
  return find_plan(reduce_problem(src.type, src.shape, src.strides), how, target,
                   {found, src.data});
}

double largest(const ConstView& src, const Options& options, const Target& target) {
  const auto stream = static_cast<cuda::Stream>(options.stream);
  if (target.gpu >= 0) {
    check_elements_aligned("src", src.data, src.type, src.strides);
    cuda::refuse_captured(stream, "amax returns a number", "reading it has to wait for the stream");
  }
  std::uint64_t found = 0;
  const FoundPlan plan = find_reduction(src, options, target, &found);
  if (target.gpu >= 0) {
    found = cuda::largest_magnitude(*plan.plan, src.data, stream);
  } else if (!plan.executed) {
    run(*plan.plan, {&found, src.data}, nullptr);
  }
  return values::magnitude_number(src.type.kind(), found);
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

void quantise_on_cpu(const View& dst, const ConstView& src, const Quantising& how,
                     const Options& options) {
  Epilogue epilogue;
  epilogue.overflow = how.overflow;
  const auto factor = static_cast<float>(how.by.factor);
  if (how.in_f32) {
    epilogue.scale = &factor;  // the plan does not depend on it, and serves the next tensor as well
  } else {
    epilogue.alpha = how.by.factor;
  }
  if (how.ruler != 0) epilogue.bias = &how.ruler;
  copy_on({}, dst, src, epilogue, options);
}

void quantise_on_gpu(const Target& on, const View& dst, const ConstView& src, const Quantising& how,
                     const Options& options) {
  Epilogue epilogue;
  epilogue.overflow = how.overflow;
  const bool arithmetic = how.in_f32 || how.ruler != 0 || how.by.factor != 1;
  if (arithmetic) epilogue.alpha = 2;  // any: the plan serves the next tensor as well
  const Target target = target_on(on.gpu, dst.data, src.data);
  const FoundPlan found = find_plan(dst, src, epilogue, options, target);
  Buffers buffers{dst.data, src.data};
  if (arithmetic) buffers.late = LateFactor{how.by.factor, how.ruler};
  run(*found.plan, buffers, options.stream);
}

void check_readable(const ConstView& src) {
  check_real(src.type);
  const Problem problem = make_problem(View(nullptr, src.type, src.shape), src);
  if (problem.elements() != 0 && src.data == nullptr) {
    refuse("src.data = null, but there are elements to read");
  }
}

bool is_empty(const ConstView& src) {
  return std::find(src.shape.begin(), src.shape.end(), 0) != src.shape.end();
}

}  // namespace

double amax(const ConstView& src, const Options& options) {
  require_here(options);
  check_readable(src);
  if (is_empty(src)) return 0;
  return largest(src, options, target_of(options, {{"src", src.data}}));
}

Plan plan_amax(const ConstView& src, const Options& options) {
  check_real(src.type);
  make_problem(View(nullptr, src.type, src.shape), src);
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, reduce_problem(src.type, src.shape, src.strides), options));
  }
  const Target target = target_of(options, {{"src", src.data}});
  if (target.gpu >= 0) check_elements_aligned("src", src.data, src.type, src.strides);
  std::uint64_t found = 0;
  if (options.effort == Effort::measure) check_readable(src);
  return Plan(find_reduction(src, options, target, &found).plan);
}

double quantise_tensor(const View& dst, const ConstView& src, const Options& options) {
  require_here(options);
  check_real(src.type);
  const Kind to = dst.type.kind();
  if (to != Kind::f8_e4m3 && to != Kind::f8_e5m2 && to != Kind::i8) {
    refuse(fmt::format("dst.type = {} has to be f8_e4m3, f8_e5m2 or i8", dst.type.name()));
  }
  const Problem problem = make_problem(dst, src);
  check_pointers(problem, dst.data, src.data);
  if (problem.elements() == 0) return 1;
  const Target target = target_of(options, {{"dst", dst.data}, {"src", src.data}});
  Options reduction = options;
  reduction.kernel.clear();
  const DefaultFpEnvironment environment;  // for the scale, too
  const Quantising how(src.type, to, largest(src, reduction, target));
  if (target.gpu < 0) {
    quantise_on_cpu(dst, src, how, options);
  } else {
    Options cast = options;
    cast.effort = Effort::estimate;  // its factor is known when it runs
    quantise_on_gpu(target, dst, src, how, cast);
  }
  return how.by.scale;
}

}  // namespace cornerturn
