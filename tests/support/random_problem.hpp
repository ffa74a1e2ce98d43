// Random problems of every kind the library takes: ranks, sizes, strides, offsets.
#pragma once

#include <cstdint>
#include <random>

#include "core/problem.hpp"

namespace cornerturn::test {

struct RandomLimits {
  int max_rank = 12;
  std::int64_t max_bytes = 10 << 10;  // payload
  bool small_elements_only = false;   // 1, 2, 4, 8, 16 bytes
};

class RandomProblems {
 public:
  explicit RandomProblems(std::uint64_t seed, RandomLimits limits = {})
      : random_(seed), limits_(limits) {}

  Problem next();

  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

 private:
  int element_size();
  std::int64_t extent(std::int64_t limit);
  // Gives the modes strides on one side, in a random order, with gaps now and then.
  void lay_out(Problem& problem, std::int64_t Mode::*stride, bool may_repeat, bool identity);

  std::mt19937_64 random_;
  RandomLimits limits_;
};

}  // namespace cornerturn::test
