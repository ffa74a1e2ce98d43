#include "plan/link/cut.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace cornerturn::plan::link {
namespace {

constexpr std::int64_t whole_tiles = 128;  // steps: kernels work on tiles of so many at most

bool belongs_to_vector(const Problem& problem, int mode) {
  return (problem.scale.present && problem.scale.mode == mode) ||
         (problem.bias.present && problem.bias.mode == mode);
}

// The modes, those first that lie furthest apart on the side; those that are not cut come last.
std::vector<int> order_of(const Problem& problem, Side side) {
  std::vector<int> order(static_cast<std::size_t>(problem.rank()));
  std::iota(order.begin(), order.end(), 0);
  const auto reach = [&](int mode) {
    return belongs_to_vector(problem, mode) ? 0 : std::abs(stride_on(side, problem.modes[mode]));
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return reach(a) > reach(b); });
  return order;
}

std::int64_t steps_of(std::int64_t extent, std::int64_t most) {
  if (most >= extent) return extent;
  const std::int64_t pieces = (extent + most - 1) / most;
  const std::int64_t even = (extent + pieces - 1) / pieces;
  const std::int64_t tiled = (even + whole_tiles - 1) / whole_tiles * whole_tiles;
  return even >= whole_tiles && tiled <= most ? tiled : even;
}

// The problem without the modes that are stepped through; the mode that is cut comes first.
Problem piece_of(const Problem& problem, const std::vector<int>& kept, std::int64_t steps) {
  Problem piece = problem;
  piece.src_offset = 0;
  piece.dst_offset = 0;
  piece.modes.clear();
  const auto renumbered = [&](ModeVector vector) {
    const auto at = std::find(kept.begin(), kept.end(), vector.mode);
    if (at != kept.end()) vector.mode = static_cast<int>(at - kept.begin());
    return vector;
  };
  for (const int mode : kept) piece.modes.push_back(problem.modes[mode]);
  if (!piece.modes.empty()) piece.modes[0].extent = steps;
  piece.scale = renumbered(problem.scale);
  piece.bias = renumbered(problem.bias);
  return piece;
}

}  // namespace

std::int64_t Cut::count() const {
  std::int64_t product = pieces_of_split();
  for (const Mode& mode : outer) product *= mode.extent;
  return product;
}

Piece Cut::at(std::int64_t number) const {
  const std::int64_t along = number % pieces_of_split();
  std::int64_t left = number / pieces_of_split();
  Piece found{along * step * split.src_stride, along * step * split.dst_stride,
              has_rest() && along + 1 == pieces_of_split()};
  for (int k = outer.size() - 1; k >= 0; --k) {
    const std::int64_t index = left % outer[k].extent;
    left /= outer[k].extent;
    found.src += index * outer[k].src_stride;
    found.dst += index * outer[k].dst_stride;
  }
  return found;
}

Cut cut_along(const Problem& normal, Side side, std::int64_t element, std::int64_t most) {
  Cut cut;
  std::vector<int> order = order_of(normal, side);
  std::int64_t bytes = normal.elements() * element;
  while (!order.empty()) {
    const int mode = order.front();
    const std::int64_t inner = bytes / normal.modes[mode].extent;
    const bool fits = inner <= most;
    if (fits || belongs_to_vector(normal, mode) || stride_on(side, normal.modes[mode]) == 0) {
      cut.split = normal.modes[mode];
      cut.step = fits ? steps_of(cut.split.extent, std::max<std::int64_t>(1, most / inner))
                      : cut.split.extent;
      if (belongs_to_vector(normal, mode)) cut.step = cut.split.extent;
      break;
    }
    cut.outer.push_back(normal.modes[mode]);
    bytes = inner;
    order.erase(order.begin());
  }
  cut.piece = piece_of(normal, order, cut.step);
  cut.rest = cut.has_rest() ? piece_of(normal, order, cut.split.extent % cut.step) : cut.piece;
  return cut;
}

Span span_of(const Problem& problem, Side side) {
  const ElementType type = side == Side::source ? problem.src_type : problem.dst_type;
  Span span{0, type.size()};
  for (const Mode& mode : problem.modes) {
    const std::int64_t reach = (mode.extent - 1) * stride_on(side, mode);
    span.first += std::min<std::int64_t>(reach, 0);
    span.bytes += std::abs(reach);
  }
  return span;
}

int run_of(const Problem& problem) {
  for (int k = 0; k < problem.rank(); ++k) {
    const Mode& mode = problem.modes[k];
    if (mode.src_stride == problem.src_type.size() && mode.dst_stride == problem.dst_type.size()) {
      return k;
    }
  }
  return -1;
}

bool is_dense(const Problem& problem, Side side) {
  const ElementType type = side == Side::source ? problem.src_type : problem.dst_type;
  std::vector<Mode> modes(problem.modes.begin(), problem.modes.end());
  std::sort(modes.begin(), modes.end(), [&](const Mode& a, const Mode& b) {
    return std::abs(stride_on(side, a)) < std::abs(stride_on(side, b));
  });
  std::int64_t run = type.size();
  for (const Mode& mode : modes) {
    if (mode.extent == 1) continue;
    if (std::abs(stride_on(side, mode)) != run) return false;
    run *= mode.extent;
  }
  return true;
}

}  // namespace cornerturn::plan::link
