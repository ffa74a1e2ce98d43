#include "io/grid.hpp"

#include <algorithm>
#include <cstdlib>

namespace cornerturn::io {
namespace {

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

std::int64_t stride_of(const Mode& mode, Side side) {
  return side == Side::source ? mode.src_stride : mode.dst_stride;
}

std::int64_t product(const Extents& extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

Extents extents_of(const Problem& problem) {
  Extents extents;
  for (const Mode& mode : problem.modes) extents.push_back(mode.extent);
  return extents;
}

// Makes the tiles along a mode alike, so that the last is not a sliver.
std::int64_t evened(std::int64_t extent, std::int64_t tile, std::int64_t multiple) {
  const std::int64_t count = (extent + tile - 1) / tile;
  const std::int64_t even = (extent + count - 1) / count;
  return std::min(tile, (even + multiple - 1) / multiple * multiple);
}

constexpr std::int64_t line_bytes = 64;

}  // namespace

std::int64_t Box::elements() const noexcept {
  return product(extent);
}

std::int64_t Grid::size() const noexcept {
  std::int64_t boxes = 1;
  for (std::size_t m = 0; m < extents.size(); ++m) {
    boxes *= (extents[m] + tile[m] - 1) / tile[m];
  }
  return boxes;
}

std::int64_t Grid::tile_elements() const noexcept {
  return product(tile);
}

Box Grid::box(std::int64_t index) const {
  Box box{Extents(extents.size()), Extents(extents.size())};
  for (std::size_t m = extents.size(); m-- > 0;) {
    const std::int64_t count = (extents[m] + tile[m] - 1) / tile[m];
    box.start[m] = index % count * tile[m];
    box.extent[m] = std::min(tile[m], extents[m] - box.start[m]);
    index /= count;
  }
  return box;
}

std::vector<int> fastest_first(const Problem& problem, Side side) {
  std::vector<int> order;
  for (int m = problem.rank(); m-- > 0;) order.push_back(m);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(stride_of(problem.modes[a], side)) <
           std::abs(stride_of(problem.modes[b], side));
  });
  return order;
}

std::int64_t run_bytes(const Problem& problem, const Extents& tile, Side side) {
  std::int64_t run = problem.dst_type.size();
  for (const int m : fastest_first(problem, side)) {
    if (stride_of(problem.modes[m], side) != run) break;
    run *= tile[at(m)];
    if (tile[at(m)] < problem.modes[m].extent) break;
  }
  return run;
}

Grid balanced_grid(const Problem& problem, std::int64_t budget, std::int64_t src_goal,
                   std::int64_t dst_goal) {
  const std::int64_t element = problem.dst_type.size();
  const std::int64_t most = std::max<std::int64_t>(1, budget / element);
  Grid grid{extents_of(problem), Extents(at(problem.rank()), 1)};
  const std::vector<int> orders[2] = {fastest_first(problem, Side::source),
                                      fastest_first(problem, Side::destination)};

  // Doubles the first mode of a side that is not yet whole; false when there is no room.
  const auto grow = [&](const std::vector<int>& order) {
    const auto partial = std::find_if(
        order.begin(), order.end(), [&](int m) { return grid.tile[at(m)] < grid.extents[at(m)]; });
    if (partial == order.end()) return false;
    std::int64_t& steps = grid.tile[at(*partial)];
    const std::int64_t room = most / (grid.tile_elements() / steps);
    const std::int64_t next = std::min({2 * steps, grid.extents[at(*partial)], room});
    if (next <= steps) return false;
    steps = next;
    return true;
  };
  while (true) {
    const double src_share =
        static_cast<double>(run_bytes(problem, grid.tile, Side::source)) / double(src_goal);
    const double dst_share =
        static_cast<double>(run_bytes(problem, grid.tile, Side::destination)) / double(dst_goal);
    const int first = src_share <= dst_share ? 0 : 1;
    if (!grow(orders[first]) && !grow(orders[1 - first])) break;
  }

  for (std::size_t m = 0; m < grid.tile.size(); ++m) {
    if (grid.tile[m] == grid.extents[m]) continue;
    grid.tile[m] =
        evened(grid.extents[m], grid.tile[m], std::max<std::int64_t>(1, line_bytes / element));
  }
  return grid;
}

Grid contiguous_grid(const Problem& problem, std::int64_t budget, Side side) {
  const std::int64_t most = std::max<std::int64_t>(1, budget / problem.dst_type.size());
  Grid grid{extents_of(problem), Extents(at(problem.rank()), 1)};
  std::int64_t elements = 1;
  for (const int m : fastest_first(problem, side)) {
    const std::int64_t extent = grid.extents[at(m)];
    grid.tile[at(m)] = std::min(extent, most / elements);
    if (grid.tile[at(m)] < extent) {
      grid.tile[at(m)] = evened(extent, grid.tile[at(m)], 1);
      break;
    }
    elements *= extent;
  }
  return grid;
}

std::int64_t offset_of(const Problem& problem, const Box& box, Side side) {
  std::int64_t offset = side == Side::source ? problem.src_offset : problem.dst_offset;
  for (int m = 0; m < problem.rank(); ++m) {
    offset += box.start[at(m)] * stride_of(problem.modes[m], side);
  }
  return offset;
}

Extents packed_like(const Problem& problem, const Extents& extent, Side side) {
  Extents strides(extent.size());
  std::int64_t stride = problem.dst_type.size();
  for (const int m : fastest_first(problem, side)) {
    strides[at(m)] = stride;
    stride *= extent[at(m)];
  }
  return strides;
}

void for_each_run(const Problem& problem, const Box& box, Side side,
                  const std::function<void(std::int64_t offset)>& visit) {
  const std::int64_t run = run_bytes(problem, box.extent, side);
  std::vector<int> outer;  // the modes that a run does not span, fastest first
  std::int64_t spanned = problem.dst_type.size();
  for (const int m : fastest_first(problem, side)) {
    if (spanned < run) {
      spanned *= box.extent[at(m)];
    } else if (box.extent[at(m)] > 1) {
      outer.push_back(m);
    }
  }
  Extents step(outer.size(), 0);
  std::int64_t offset = offset_of(problem, box, side);
  while (true) {
    visit(offset);
    std::size_t k = 0;
    for (; k < outer.size(); ++k) {
      const std::int64_t stride = stride_of(problem.modes[outer[k]], side);
      offset += stride;
      if (++step[k] < box.extent[at(outer[k])]) break;
      offset -= step[k] * stride;
      step[k] = 0;
    }
    if (k == outer.size()) return;
  }
}

}  // namespace cornerturn::io
