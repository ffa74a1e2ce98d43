// The largest magnitude of an array, and 8-bit values that share one scale made from it: the
// "per-tensor" scaling of training and inference in FP8 and int8.
//
// What is read may have any strides, so that a transposition happens in the same pass: quantise
// `x.permuted(...)`. Both functions throw cornerturn::Error before anything is written. All arrays
// of a call lie in host memory, or on the current GPU (or are managed), where elements lie at
// multiples of their size. Then the GPU works in the order of `stream`, a cudaStream_t (null: the
// default stream), and the call waits for it: what it returns has to come from the GPU. So a stream
// that is being captured in a graph is refused.
#pragma once

#include "cornerturn/export.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// max |x| over `src`, which holds real values of any type: NaN where any of them is NaN, 0 where
/// there are none. 64-bit integers are rounded to f64. `threads`: at most so many of the CPU; 0:
/// all that the process may use. On a GPU it is one launch, and the wait for it.
CT_API double amax(const ConstView& src, int threads = 0, void* stream = nullptr);

/// `dst`, of f8_e4m3, f8_e5m2 or i8, becomes the values of `src` divided by one scale, with which
/// the largest magnitude is the largest value of the type: 448, 57344 or 127. Returns the scale:
/// value * scale is what was quantised. With `most` for that largest value:
///
///     factor = most / amax(src)            at most 2^126 (2^1022)
///     dst = factor * src                   to the nearest, ties to even, saturated
///     scale = 1 / factor
///
/// each rounded to f32, or to f64 where f32 does not hold all values of the type of `src`. Where
/// amax(src) is 0 the scale is 1. Where it is infinite or NaN, the scale of 8-bit floats is 1:
/// infinities saturate and NaNs stay NaNs; that of i8 is amax(src) and all values are 0, so that
/// all come back as NaN.
///
/// On a GPU these are two launches: the call waits for the first, which finds the largest
/// magnitude; the second is enqueued on `stream`, as a copy is. The bits are those of the CPU.
CT_API double quantise_tensor(const View& dst, const ConstView& src, int threads = 0,
                              void* stream = nullptr);

}  // namespace cornerturn
