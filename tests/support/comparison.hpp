// One configuration of one kernel of the CPU, as its family has it, against the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "core/validate.hpp"
#include "support/guarded_buffer.hpp"
#include "support/kernel_named.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"

namespace cornerturn::test {

// Runs one configuration, in shares of random size, and compares every byte of the destination.
class Comparison {
 public:
  explicit Comparison(RandomProblems& random) : random_(random) {
    std::byte* bytes = src_.place(capacity, GuardedBuffer::Touching::front);
    for (std::size_t i = 0; i < capacity; ++i) {
      bytes[i] = static_cast<std::byte>(random.uniform(0, 255));
    }
  }

  int pick(std::initializer_list<int> list) {
    return list.begin()[random_.uniform(0, static_cast<std::int64_t>(list.size()) - 1)];
  }

  /// `phase`: so many bytes lie before the destination, in front of which is a guard page.
  /// `whole`: in one call instead of shares.
  template <class Family>
  void run(const typename Family::Config& config, const Problem& problem, std::int64_t phase,
           bool whole = false) {
    const Reach from = src_reach(problem);
    const Reach to = dst_reach(problem);
    const auto src_bytes = static_cast<std::size_t>(from.high - from.low);
    const auto dst_bytes = static_cast<std::size_t>(to.high - to.low + phase);
    const auto touching = phase != 0 || random_.chance(0.5) ? GuardedBuffer::Touching::front
                                                            : GuardedBuffer::Touching::back;
    const std::byte* in = src_.place(src_bytes, touching) - from.low;
    std::byte* out = dst_.place(dst_bytes, touching);
    std::byte* reference = expected_.place(dst_bytes, touching);
    std::memset(out, 0xA5, dst_bytes);
    std::memset(reference, 0xA5, dst_bytes);
    const std::int64_t origin = phase - to.low;
    reference_copy(problem, in, reference + origin);
    const Buffers buffers{out + origin + problem.dst_offset, in + problem.src_offset};
    const cpu::Kernel& kernel = kernel_named(Family::name);
    const std::int64_t pieces = kernel.pieces(config, problem);
    if (whole) {
      ASSERT_TRUE(kernel.stops_at_last);
      kernel.run(config, problem, buffers, 0, std::numeric_limits<std::int64_t>::max());
    }
    for (std::int64_t first = whole ? pieces : 0; first < pieces;) {
      const std::int64_t last = random_.uniform(first + 1, pieces);
      kernel.run(config, problem, buffers, first, last);
      first = last;
    }
    ASSERT_EQ(std::memcmp(out, reference, dst_bytes), 0)
        << to_string(problem) << ", phase " << phase << "\n  " << Family::describe(config, problem);
  }

 private:
  static constexpr std::size_t capacity = 4 << 20;
  RandomProblems& random_;
  GuardedBuffer src_{capacity};
  GuardedBuffer dst_{capacity};
  GuardedBuffer expected_{capacity};
};

}  // namespace cornerturn::test
