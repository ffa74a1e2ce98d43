// Random problems that convert values, and the obvious way to solve them.
#pragma once

#include <string>
#include <vector>

#include "core/problem.hpp"
#include "plan/machine.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::test {

/// A problem whose values change, with the vectors it needs.
struct ConversionCase {
  Problem problem;
  std::vector<float> scale;
  std::vector<float> bias;

  Vectors vectors() const { return {scale.data(), bias.data()}; }
};

/// Two random types, and any arithmetic with a probability of one in three.
ConversionCase random_conversion(RandomProblems& random);

/// One element at a time, in the order of the modes.
void reference_convert(const ConversionCase& c, const std::byte* src, std::byte* dst);

/// Solves `c` in every way that the CPU's planner offers, between guard pages. Returns "" or what
/// is wrong. Keeps its buffers over many cases.
class ConversionRunner {
 public:
  explicit ConversionRunner(std::size_t capacity = 8 << 20);
  /// Whether the buffers are large enough for it.
  bool holds(const ConversionCase& c) const;
  std::string run_all(const ConversionCase& c, int threads = 1);
  /// On one side of the guard pages, planned for `machine`, a processor.
  std::string run_on(const plan::Machine& machine, const ConversionCase& c, int threads,
                     GuardedBuffer::Touching touching);

 private:
  int runs_ = 0;
  GuardedBuffer src_;
  GuardedBuffer dst_;
  GuardedBuffer expected_;
  std::vector<std::byte> before_;
};

}  // namespace cornerturn::test
