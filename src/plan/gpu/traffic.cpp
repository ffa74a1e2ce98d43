#include "plan/gpu/traffic.hpp"

#include <algorithm>
#include <cstdlib>

#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr double sector = 32;

// Bytes of whole sectors for one side: runs of `run` bytes (as the modes allow), and what lies
// between elements of a step shorter than a sector.
double side_bytes(const Problem& normal, std::int64_t Mode::*stride) {
  const auto element = static_cast<double>(element_size(normal, stride));
  auto elements = static_cast<double>(normal.elements());
  // The mode of the smallest stride decides how densely sectors are used.
  const Mode* fastest = nullptr;
  for (const Mode& mode : normal.modes) {
    if (mode.*stride == 0) {  // repeated, not moved again
      elements /= static_cast<double>(std::max<std::int64_t>(mode.extent, 1));
      continue;
    }
    if (fastest == nullptr || std::abs(mode.*stride) < std::abs(fastest->*stride)) fastest = &mode;
  }
  if (fastest == nullptr) return elements * element;
  // Neighbouring modes that continue the run count with it.
  double run =
      static_cast<double>(std::abs(fastest->*stride)) * static_cast<double>(fastest->extent - 1) +
      element;
  double of_run = static_cast<double>(fastest->extent);
  for (bool grown = true; grown;) {
    grown = false;
    for (const Mode& mode : normal.modes) {
      const auto step = static_cast<double>(std::abs(mode.*stride));
      if (&mode == fastest || step < run || step >= run + sector) continue;
      run = step * static_cast<double>(mode.extent - 1) + run;
      of_run *= static_cast<double>(mode.extent);
      grown = true;
    }
  }
  const double runs = std::max(1.0, elements / of_run);
  if (runs <= 1.5) return run;
  const double step = static_cast<double>(std::abs(fastest->*stride));
  if (step >= sector) return elements * sector;
  return runs * (run + sector / 2);  // half a sector is cut off, on the average
}

}  // namespace

Traffic least_traffic(const Problem& normal) {
  return {side_bytes(normal, &Mode::src_stride), side_bytes(normal, &Mode::dst_stride)};
}

}  // namespace cornerturn::plan::gpu
