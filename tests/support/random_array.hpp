// Arrays as files hold them, of any shape, item size and order, and what becomes of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "io/schedule.hpp"

namespace cornerturn::io::test {

using Bytes = std::vector<std::byte>;

// One element after the other.
inline Bytes reference(const Problem& problem, const Bytes& source) {
  Bytes result(source.size());
  const auto size = static_cast<std::size_t>(problem.dst_type.size());
  Extents index(static_cast<std::size_t>(problem.rank()), 0);
  for (std::int64_t n = 0; n < problem.elements(); ++n) {
    std::int64_t from = problem.src_offset, to = problem.dst_offset;
    for (int m = 0; m < problem.rank(); ++m) {
      from += index[static_cast<std::size_t>(m)] * problem.modes[m].src_stride;
      to += index[static_cast<std::size_t>(m)] * problem.modes[m].dst_stride;
    }
    std::memcpy(result.data() + to, source.data() + from, size);
    for (int m = problem.rank(); m-- > 0;) {
      if (++index[static_cast<std::size_t>(m)] < problem.modes[m].extent) break;
      index[static_cast<std::size_t>(m)] = 0;
    }
  }
  return result;
}

struct RandomArray {
  Problem problem;
  Bytes source;
};

inline RandomArray random_array(std::mt19937& random, std::int64_t most_bytes) {
  const int rank = static_cast<int>(random() % 7);
  const std::int64_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 257, 514};
  const std::int64_t item = sizes[random() % 11];
  Extents shape;
  std::int64_t bytes = item;
  for (int k = 0; k < rank; ++k) {
    const std::int64_t room = std::max<std::int64_t>(1, most_bytes / bytes);
    const auto extent = static_cast<std::int64_t>(
        1 + random() % static_cast<unsigned>(std::min<std::int64_t>(room, 1 + 200 / rank)));
    shape.push_back(extent);
    bytes *= extent;
  }
  std::vector<int> permutation(static_cast<std::size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end(), random);
  RandomArray array{file_problem(shape, item, random() % 2 == 0, permutation),
                    Bytes(static_cast<std::size_t>(bytes))};
  for (std::byte& b : array.source) b = static_cast<std::byte>(random());
  return array;
}

}  // namespace cornerturn::io::test
