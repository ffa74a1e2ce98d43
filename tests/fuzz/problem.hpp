// Problems and processors that the bytes of a fuzz target describe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/targets.hpp"
#include "fuzz/input.hpp"

namespace cornerturn::fuzz {

/// Strides for one side, in an order of their own, with gaps; in the source some are 0.
inline void lay_out(Input& input, Problem& problem, std::int64_t Mode::*stride, bool may_repeat) {
  std::vector<int> order;
  for (int i = problem.rank(); i-- > 0;) order.push_back(i);
  const bool plain = input.one_in(2);  // packed, in any order
  std::int64_t reach = problem.src_type.size();
  while (!order.empty()) {
    const auto next = order.begin() + input.uniform(0, static_cast<int>(order.size()) - 1);
    Mode& mode = problem.modes[*next];
    order.erase(next);
    std::int64_t step = reach;
    bool backwards = false;
    if (!plain) {
      const std::uint8_t how = input.byte();
      if (how % 4 == 1) step += input.uniform(0, 7) * problem.src_type.size();
      if (how % 4 == 2) step += input.uniform(0, 70);
      if (may_repeat && how % 16 == 15) step = 0;
      backwards = how / 16 % 8 == 7;
    }
    const std::int64_t extent = std::max<std::int64_t>(mode.extent, 1);
    reach = std::max(reach, step * extent);
    mode.*stride = backwards ? -step : step;
  }
}

/// A problem of at most some tens of kilobytes.
inline Problem problem_of(Input& input) {
  constexpr int sizes[] = {1, 2, 4, 8, 16, 3, 6, 12, 24, 40, 256, 0};
  Problem problem;
  int size = input.of(sizes);
  if (size == 0) size = static_cast<int>(input.uniform(1, ElementType::max_size));
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  const int rank = static_cast<int>(input.uniform(0, 9));
  std::int64_t left = (24 << 10) / size;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t most = std::max<std::int64_t>(1, left);
    const bool large = input.one_in(3);
    std::int64_t extent =
        input.uniform(large ? 1 : 0, large ? most : std::min<std::int64_t>(most, 40));
    if (extent == 0 && !input.one_in(8)) extent = 1;
    problem.modes.push_back({extent, 0, 0});
    left /= std::max<std::int64_t>(extent, 1);
  }
  lay_out(input, problem, &Mode::dst_stride, false);
  lay_out(input, problem, &Mode::src_stride, true);
  return problem;
}

/// The processor here, with caches of any size.
inline plan::CpuInfo processor_of(Input& input) {
  plan::CpuInfo cpu = cpu::cpu_info();
  const std::uint8_t how = input.byte();
  if (how % 2 == 0) return cpu;
  cpu.l1_bytes = std::int64_t{256} << how / 2 % 8;
  cpu.l2_bytes = cpu.l1_bytes << input.uniform(0, 5);
  cpu.l3_bytes = input.one_in(2) ? 64 : cpu.l2_bytes << input.uniform(0, 5);
  cpu.caches_taken = input.one_in(4);
  return cpu;
}

/// Makes the kernels use one of the vector targets that this processor has.
inline void choose_target(Input& input) {
  static const std::vector<std::string> targets = cpu::targets();
  cpu::use_target(targets[static_cast<std::size_t>(input.byte()) % targets.size()]);
}

}  // namespace cornerturn::fuzz
