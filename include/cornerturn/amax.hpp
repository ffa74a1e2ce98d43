// The largest magnitude of an array, and 8-bit values that share one scale made from it: the
// "per-tensor" scaling of training and inference in FP8 and int8.
//
// The source may have any strides. To transpose in the same pass, quantise `x.permuted(...)`. Both
// functions throw cornerturn::Error before anything is written.
//
// All arrays of a call lie in host memory, or on the current GPU (or are managed), where elements
// lie at multiples of their size. A GPU works in the order of options.stream. The call waits for
// the stream, because the number that it returns comes from the GPU. A stream that is being
// captured in a graph is therefore refused.
#pragma once

#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// Returns max |x| over `src`, which holds real values of any type. The result is NaN where any
/// value is NaN, and 0 where there are no values. 64-bit integers are rounded to f64. On a GPU this
/// is one launch, and the wait for it.
CT_API double amax(const ConstView& src, const Options& options = {});

/// The plan that amax finds and runs. The pointer may be null. options.device may name a GPU that
/// is only described.
CT_API Plan plan_amax(const ConstView& src, const Options& options = {});

/// Quantises `src` with one scale into `dst`, which holds f8_e4m3, f8_e5m2 or i8. The scale maps
/// the largest magnitude to the largest value of the type, which is 448, 57344 or 127. Returns the
/// scale: value * scale is what was quantised. If `most` is that largest value, then
///
///     factor = most / amax(src)            at most 2^126 (2^1022)
///     dst = factor * src                   to the nearest, ties to even, saturated
///     scale = 1 / factor
///
/// and each of them is rounded to f32, or to f64 where f32 does not hold all values of the type of
/// `src`. Where amax(src) is 0 the scale is 1. Where it is infinite or NaN, the scale of 8-bit
/// floats is 1, so that infinities saturate and NaNs stay NaNs; the scale of i8 is amax(src) and
/// all values are 0, so that all come back as NaN.
///
/// On a GPU these are two launches. The call waits for the first, which finds the largest
/// magnitude; the second is enqueued on options.stream, as a copy is. The bits are those of the
/// CPU. options.kernel is that of the second step.
CT_API double quantise_tensor(const View& dst, const ConstView& src, const Options& options = {});

}  // namespace cornerturn
