// The one list of shapes that tests share: corners, edges, and small versions of what people do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace cornerturn::test {

struct Shape {
  std::string name;
  std::vector<std::int64_t> extents;  // of the destination, last fastest
  std::vector<int> source_order;      // the source's axes, slowest first
  std::int64_t src_pad = 0;           // elements after each run of the source's fastest axis
  std::int64_t dst_pad = 0;
};

inline std::vector<Shape> shapes() {
  std::vector<Shape> list = {
      {"scalar", {}, {}},
      {"one", {1}, {0}},
      {"empty", {0}, {0}},
      {"empty in the middle", {3, 0, 5}, {2, 1, 0}},
      {"vector", {1000}, {0}},
      {"row", {1, 777}, {1, 0}},
      {"column", {777, 1}, {1, 0}},
      {"rows of 3", {60, 50, 3}, {1, 0, 2}},
      {"rows of 5", {40, 30, 5}, {1, 0, 2}},
      {"rows of 65", {20, 30, 65}, {1, 0, 2}},
      {"rows of 1000", {9, 11, 1000}, {1, 0, 2}},
      {"padded rows", {30, 100}, {0, 1}, 7, 3},
      {"to planes, 3", {3, 5000}, {1, 0}},
      {"from planes, 3", {5000, 3}, {1, 0}},
      {"images to planes", {4, 3, 33, 41}, {0, 2, 3, 1}},
      {"images from planes", {4, 33, 41, 3}, {0, 3, 1, 2}},
      {"channels last", {2, 14, 14, 128}, {0, 3, 1, 2}},
      {"attention heads", {2, 8, 64, 32}, {0, 2, 1, 3}},
      {"batched 5 x 5", {400, 5, 5}, {0, 2, 1}},
      {"batched 8 x 8", {200, 8, 8}, {0, 2, 1}},
      {"batched 16 x 16", {60, 16, 16}, {0, 2, 1}},
      {"batched 33 x 17", {40, 17, 33}, {0, 2, 1}},
      {"reverse 2^13",
       std::vector<std::int64_t>(13, 2),
       {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
      {"reverse 3^8", std::vector<std::int64_t>(8, 3), {7, 6, 5, 4, 3, 2, 1, 0}},
      {"reverse mixed", {6, 7, 9, 5, 3, 2, 4}, {6, 5, 4, 3, 2, 1, 0}},
      {"five 7s", {7, 7, 7, 7, 7}, {1, 0, 2, 4, 3}},
      {"cube 29", {29, 29, 29}, {2, 1, 0}},
      {"cube 32 rotated", {32, 32, 32}, {1, 2, 0}},
      {"rank 6", {12, 5, 7, 6, 4, 9}, {3, 5, 1, 4, 0, 2}},
  };
  for (const std::int64_t n : {2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 256}) {
    list.push_back({"square", {n, n}, {1, 0}});
    list.push_back({"n x 300", {n, 300}, {1, 0}});
    list.push_back({"300 x n", {300, n}, {1, 0}});
    list.push_back({"padded square", {n, n}, {1, 0}, 5, 2});
  }
  list.push_back({"large odd", {401, 403}, {1, 0}});
  list.push_back({"large aligned", {512, 384}, {1, 0}});
  list.push_back({"near a power of two", {511, 513}, {1, 0}});
  return list;
}

/// The problem of `shape` with elements of `size` bytes.
inline Problem problem_of(const Shape& shape, int size) {
  Problem problem;
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  for (const std::int64_t extent : shape.extents) problem.modes.push_back({extent, 0, 0});
  std::int64_t stride = size;
  for (int i = problem.rank(); i-- > 0;) {
    Mode& mode = problem.modes[i];
    mode.dst_stride = stride;
    stride *= std::max<std::int64_t>(mode.extent, 1);
    if (i + 1 == problem.rank()) stride += shape.dst_pad * size;
  }
  stride = size;
  for (int i = problem.rank(); i-- > 0;) {
    Mode& mode = problem.modes[shape.source_order[static_cast<std::size_t>(i)]];
    mode.src_stride = stride;
    stride *= std::max<std::int64_t>(mode.extent, 1);
    if (i + 1 == problem.rank()) stride += shape.src_pad * size;
  }
  return problem;
}

}  // namespace cornerturn::test
