// One run of elements converted one by one, for every pair of types: plain loops over the functions
// of values/, which every other kernel is checked against.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::cpu {

/// Elements a step apart on either side, one run or several alike. Steps of src and dst are in
/// bytes, those of the vectors in values; vectors that the problem lacks are not read.
struct ConvertRun {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
  std::int64_t scale_step = 0;
  std::int64_t bias_step = 0;
  /// How far the run's first element lies from the destination's first one, in bytes, and what each
  /// element adds to it: dst_step, unless `dst` is a stage. Stochastic rounding needs to know.
  std::int64_t dst_offset = 0;
  std::int64_t place_step = 0;
  std::int64_t count = 0;

  /// What each of several such runs adds to where the one before began.
  struct Step {
    std::int64_t src;
    std::int64_t dst;
    std::int64_t place;
    std::int64_t scale;
    std::int64_t bias;
  };
  std::int64_t rows = 1;
  Step row{};

  void advance(const Step& step, std::int64_t times) {
    src += times * step.src;
    dst += times * step.dst;
    dst_offset += times * step.place;
    if (scale != nullptr) scale += times * step.scale;
    if (bias != nullptr) bias += times * step.bias;
  }
};

/// Converts elements of `problem`, which is normalised and converts values.
using ConvertFunction = void (*)(const Problem& problem, const ConvertRun& run);
ConvertFunction convert_function(ElementType dst, ElementType src);
/// That of the two kinds, which takes the bytes of both sides for the machine's own order.
ConvertFunction native_convert_function(Kind dst, Kind src);

/// The step of a vector along a run of mode `mode` (-1: a single element), and the vector itself at
/// the index at which the other modes stand.
inline std::int64_t step_along(const ModeVector& vector, int mode) {
  return vector.present && vector.mode == mode ? vector.step : 0;
}

}  // namespace cornerturn::cpu
