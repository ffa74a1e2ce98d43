// The copy kernel at every phase and with every ragged end: no byte beside its run changes, through
// the caches and around them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/targets.hpp"
#include "plan/cpu/copy.hpp"
#include "support/kernel_named.hpp"

namespace cornerturn::cpu {
namespace {

constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t longest_copy = 5 * line_bytes;
constexpr auto canary = std::byte{0xA5};

class CopyKernel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, CopyKernel, testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param; });

// Copies `count` elements of `width` bytes to an address of that phase, between canaries.
::testing::AssertionResult copies(const plan::CopyConfig& config, int width, std::int64_t count,
                                  std::int64_t phase) {
  const std::int64_t bytes = count * width;
  std::vector<std::byte> from(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  std::vector<std::byte> expected = from;
  for (std::int64_t i = 0; config.reversed && i < count; ++i) {
    std::memcpy(expected.data() + i * width, from.data() + (count - 1 - i) * width,
                static_cast<std::size_t>(width));
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(longest_copy + 4 * line_bytes), canary);
  void* start = memory.data() + line_bytes;
  std::size_t space = memory.size() - line_bytes;
  auto* to = static_cast<std::byte*>(std::align(line_bytes, line_bytes, start, space)) + phase;

  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(width);
  problem.modes.push_back({count, config.reversed ? -width : width, width});
  const std::byte* first = from.data() + (config.reversed ? bytes - width : 0);
  const Kernel& copy = test::kernel_named("copy");
  copy.run(config, problem, {to, first}, 0, copy.pieces(config, problem));

  if (std::memcmp(to, expected.data(), expected.size()) != 0) {
    return ::testing::AssertionFailure() << "other bytes";
  }
  const auto is_canary = [](std::byte byte) { return byte == canary; };
  const bool before = std::all_of(memory.data(), to, is_canary);
  const bool after = std::all_of(to + bytes, memory.data() + memory.size(), is_canary);
  if (before && after) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "bytes " << (before ? "behind" : "before") << " the run have changed";
}

TEST_P(CopyKernel, WritesItsRunAndNothingElse) {
  for (const plan::Stores stores : {plan::Stores::regular, plan::Stores::past_caches}) {
    for (const bool reversed : {false, true}) {
      for (const int width : {1, 2, 4, 8, 16}) {
        for (std::int64_t phase = 0; phase < line_bytes; phase += width == 1 ? 1 : width / 2) {
          for (std::int64_t bytes = width; bytes <= longest_copy; bytes += width * 3) {
            ASSERT_TRUE(copies({reversed, stores}, width, bytes / width, phase))
                << "reversed " << reversed << ", width " << width << ", " << bytes
                << " bytes to phase " << phase << ", around the caches "
                << plan::past_caches(stores);
          }
        }
      }
    }
  }
}

// Each piece by itself, as threads take them: it writes its bytes and no others.
TEST_P(CopyKernel, EveryPieceIsItsOwn) {
  for (const bool reversed : {false, true}) {
    for (const int width : {1, 16}) {
      const std::int64_t bytes = (5 << 19) + 48;
      const std::int64_t count = bytes / width;
      std::vector<std::byte> from(static_cast<std::size_t>(bytes));
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::byte>((i * 2654435761U) >> 13);
      }
      Problem problem;
      problem.src_type = problem.dst_type = ElementType::bytes(width);
      problem.modes.push_back({count, reversed ? -width : width, width});
      const plan::CopyConfig config{reversed, plan::Stores::regular};
      const Kernel& copy = test::kernel_named("copy");
      const std::int64_t all = copy.pieces(config, problem);
      ASSERT_EQ(all, 3);
      std::vector<std::byte> whole(from.size());
      for (std::int64_t k = 0; k < all; ++k) {
        std::vector<std::byte> to(from.size(), canary);
        copy.run(config, problem, {to.data(), from.data() + (reversed ? bytes - width : 0)}, k,
                 k + 1);
        const std::int64_t first = k << 20, last = std::min(first + (1 << 20), bytes);
        const auto begin = static_cast<std::ptrdiff_t>(first),
                   end = static_cast<std::ptrdiff_t>(last);
        EXPECT_TRUE(std::all_of(to.begin(), to.begin() + begin,
                                [](std::byte byte) { return byte == canary; }));
        EXPECT_TRUE(
            std::all_of(to.begin() + end, to.end(), [](std::byte byte) { return byte == canary; }));
        std::copy(to.begin() + begin, to.begin() + end, whole.begin() + begin);
      }
      if (reversed) {
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::memcmp(whole.data() + i * width, from.data() + (count - 1 - i) * width,
                                static_cast<std::size_t>(width)),
                    0);
        }
      } else {
        EXPECT_TRUE(whole == from);
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::cpu
