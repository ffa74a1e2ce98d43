// Any conversion with any arithmetic: every way that the planner offers makes the bits of the
// obvious implementation and touches no other bytes.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/validate.hpp"
#include "fuzz/problem.hpp"
#include "fuzz/stop.hpp"
#include "support/conversion.hpp"
#include "support/conversions.hpp"

namespace cornerturn::fuzz {
namespace {

void add_vector(Input& input, const Problem& problem, ModeVector& vector,
                std::vector<float>& data) {
  if (!input.one_in(3)) return;
  vector.present = true;
  vector.mode = static_cast<int>(input.uniform(-1, problem.rank() - 1));
  const std::int64_t length = vector.mode < 0 ? 1 : problem.modes[vector.mode].extent;
  const bool any_bits = input.one_in(4);
  auto state = static_cast<std::uint32_t>(input.uniform(0, 65535));
  for (std::int64_t i = 0; i < length; ++i) {
    state = state * 1664525U + 1013904223U;
    data.push_back(any_bits ? std::bit_cast<float>(state)
                            : static_cast<float>(static_cast<int>(state >> 20) - 2048) / 16);
  }
}

double factor(Input& input) {
  constexpr double some[] = {1, 0, -1, -0.0, 0.5, 2.25, 1e-3, 1e30, 1e300, 3, -7.75, 1e-300};
  return input.one_in(5) ? std::bit_cast<double>(input.word()) : input.of(some);
}

test::ConversionCase case_of(Input& input) {
  test::ConversionCase c;
  Problem& problem = c.problem;
  problem = problem_of(input);
  const int size = problem.src_type.size();
  const auto& kinds = test::kinds();
  const auto kind = [&] { return kinds[static_cast<std::size_t>(input.byte()) % kinds.size()]; };
  const Kind from = kind();
  Kind to = kind();
  if (!test::can_convert(from, to)) to = Kind::c64;
  problem.src_type = ElementType(from);
  problem.dst_type = ElementType(to);
  for (Mode& mode : problem.modes) {
    mode.src_stride = mode.src_stride / size * problem.src_type.size();
    mode.dst_stride = mode.dst_stride / size * problem.dst_type.size();
  }
  add_vector(input, problem, problem.scale, c.scale);
  add_vector(input, problem, problem.bias, c.bias);
  Values& values = problem.values;
  const std::uint8_t how = input.byte();
  if (how % 2 == 1) values.alpha = factor(input);
  if (how % 4 / 2 == 1) values.beta = factor(input);
  if (how % 8 / 4 == 1) values.overflow = Overflow::saturate;
  values.conjugate = how % 16 / 8 == 1 && !test::can_convert(from, Kind::f32);
  if (how % 32 / 16 == 1) {
    values.rounding = Rounding::stochastic;
    values.seed = static_cast<std::uint64_t>(input.word());
    values.place = input.one_in(3) ? input.word() >> 20 & 0xffffffffff : 0;
  }
  if (!problem.converts()) values.alpha = -1;
  return c;
}

}  // namespace
}  // namespace cornerturn::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  constexpr std::size_t capacity = 4 << 20;
  static test::ConversionRunner runner(capacity);
  fuzz::Input input(data, size);
  fuzz::choose_target(input);
  const plan::Machine machine(fuzz::processor_of(input));
  const int threads = static_cast<int>(input.uniform(1, 3));
  const auto touching =
      input.one_in(2) ? test::GuardedBuffer::Touching::front : test::GuardedBuffer::Touching::back;
  const test::ConversionCase c = fuzz::case_of(input);
  const Reach from = src_reach(c.problem), to = dst_reach(c.problem);
  if (std::max(from.high - from.low, to.high - to.low) > static_cast<std::int64_t>(capacity)) {
    return 0;
  }
  const std::string wrong = runner.run_on(machine, c, threads, touching);
  if (!wrong.empty()) fuzz::stop(wrong);
  return 0;
}
