#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/in_place.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"

namespace cornerturn::in_place {
namespace {

[[noreturn]] void refuse_strides(const View& array, const std::string& rule) {
  refuse(fmt::format("array.strides = ({}) with shape ({}) and elements of {} bytes: {}",
                     fmt::join(array.strides, ","), fmt::join(array.shape, ","), array.type.size(),
                     rule));
}

void check_array(const View& array) {
  if (array.strides.size() != array.shape.size()) {
    refuse(fmt::format("array.strides has {} entries, array.shape has {}", array.strides.size(),
                       array.shape.size()));
  }
  if (array.shape.size() > static_cast<std::size_t>(max_rank)) {
    refuse(fmt::format("array.shape has {} extents, at most {} are supported", array.shape.size(),
                       max_rank));
  }
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.shape[i] < 0) {
      refuse(fmt::format("array.shape[{}] = {} is negative", i, array.shape[i]));
    }
  }
}

// Refuses elements that share bytes. Do they fill their memory without gaps?
bool fills_its_memory(const View& array) {
  std::vector<std::pair<std::int64_t, std::int64_t>> modes;  // stride, extent
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.shape[i] == 1) continue;
    if (array.strides[i] < 0) refuse_strides(array, "in place no stride may be negative");
    if (array.strides[i] == 0) refuse_strides(array, "a repeated element has one place only");
    modes.emplace_back(array.strides[i], array.shape[i]);
  }
  std::sort(modes.begin(), modes.end());
  bool packed = true;
  std::int64_t inner = array.type.size();
  for (const auto& [stride, extent] : modes) {
    if (stride < inner) refuse_strides(array, "two elements must not share a byte");
    packed = packed && stride == inner;
    inner = stride * extent;
  }
  return packed;
}

// Do axes of equal extents and strides change places, and no others?
bool swaps_equal_axes(const Problem& problem) {
  for (const Mode& mode : problem.modes) {
    if (mode.extent == 1 || mode.src_stride == mode.dst_stride) continue;
    const auto partner = std::find(problem.modes.begin(), problem.modes.end(),
                                   Mode{mode.extent, mode.dst_stride, mode.src_stride});
    if (partner == problem.modes.end()) return false;
  }
  return true;
}

}  // namespace

InPlaceProblem problem_in_place(const View& array, std::span<const int> permutation) {
  check_array(array);
  const View permuted = array.permuted(permutation);
  View result(array.data, array.type, permuted.shape);
  make_problem(result, permuted);  // its sizes fit in 64 bits
  const auto& extents = array.shape;
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
    Problem nothing = make_problem(result, permuted);
    nothing.in_place = true;
    return {nothing, result};
  }
  const bool packed = fills_its_memory(array);
  if (!packed) {
    if (permuted.shape != array.shape) {
      refuse_strides(array,
                     "an array with gaps is permuted in place only where its shape stays the same");
    }
    result.strides = array.strides;
  }
  Problem problem = make_problem(result, permuted);
  if (!packed && !swaps_equal_axes(problem)) {
    refuse_strides(array, "in an array with gaps, only pairs of equal axes can change places");
  }
  problem.in_place = true;
  return {problem, result};
}

std::optional<Packed> packed(const Problem& normal) {
  std::vector<int> by_source(static_cast<std::size_t>(normal.rank()));  // as they lie before
  std::iota(by_source.begin(), by_source.end(), 0);
  std::sort(by_source.begin(), by_source.end(),
            [&](int a, int b) { return normal.modes[a].src_stride > normal.modes[b].src_stride; });
  Packed all;
  all.perm.resize(by_source.size());
  for (std::size_t axis = 0; axis < by_source.size(); ++axis) {
    all.shape.push_back(normal.modes[by_source[axis]].extent);
    all.perm[static_cast<std::size_t>(by_source[axis])] = static_cast<int>(axis);
  }
  std::int64_t before = normal.src_type.size();
  std::int64_t after = before;
  for (int i = normal.rank(); i-- > 0;) {
    const Mode& from = normal.modes[by_source[static_cast<std::size_t>(i)]];
    const Mode& to = normal.modes[i];
    if (from.src_stride != before || to.dst_stride != after) return std::nullopt;
    before *= from.extent;
    after *= to.extent;
  }
  return all;
}

}  // namespace cornerturn::in_place
