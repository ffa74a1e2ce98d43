// The tile kernel in configurations that the planner would not choose for problems so small:
// narrow strips, streaming stores, rows copied first.
#include <gtest/gtest.h>

#include <cstring>

#include "core/normalise.hpp"
#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/kernel.hpp"
#include "cpu/targets.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"

namespace cornerturn::test {
namespace {

class Tile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Tile, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST_P(Tile, AnyConfiguration) {
  constexpr std::size_t capacity = 4 << 20;
  GuardedBuffer src(capacity);
  GuardedBuffer dst(capacity);
  GuardedBuffer expected(capacity);
  RandomProblems random(5, {5, 60 << 10, true});
  std::byte* bytes = src.place(capacity, GuardedBuffer::Touching::front);
  for (std::size_t i = 0; i < capacity; ++i) {
    bytes[i] = static_cast<std::byte>(random.uniform(0, 255));
  }
  const auto pick = [&random](std::initializer_list<int> list) {
    return list.begin()[random.uniform(0, static_cast<std::int64_t>(list.size()) - 1)];
  };
  int taken = 0;
  for (int i = 0; taken < 1500; ++i) {
    ASSERT_LT(i, 100'000) << "too few random problems are for the tile kernel";
    const Problem problem = normalise(random.next());
    if (plan::tile::why_not(problem, cpu::cpu_info()) != nullptr) continue;
    ++taken;
    const plan::tile::Configs offered = plan::tile::configure(problem, cpu::cpu_info());
    plan::TileConfig config =
        offered.list[static_cast<std::size_t>(random.uniform(0, offered.size - 1))];
    config.strip_bytes = pick({64, 128, 256, 1024});
    config.window_bytes = pick({16, 64, 128, 256});
    config.prefetch_bytes = pick({0, 64, 256});
    config.copy_rows = random.chance(0.5);
    config.packed = config.packed && random.chance(0.7);
    config.non_temporal = random.chance(0.7);

    const Reach from = src_reach(problem);
    const Reach to = dst_reach(problem);
    const auto src_bytes = static_cast<std::size_t>(from.high - from.low);
    const auto dst_bytes = static_cast<std::size_t>(to.high - to.low);
    const auto touching =
        random.chance(0.5) ? GuardedBuffer::Touching::front : GuardedBuffer::Touching::back;
    const std::byte* in = src.place(src_bytes, touching) - from.low;
    std::byte* out = dst.place(dst_bytes, touching);
    std::byte* reference = expected.place(dst_bytes, touching);
    std::memset(out, 0xA5, dst_bytes);
    std::memset(reference, 0xA5, dst_bytes);
    reference_copy(problem, in, reference - to.low);
    const std::int64_t pieces = cpu::pieces(config, problem);
    for (std::int64_t first = 0; first < pieces;) {
      const std::int64_t last = random.uniform(first + 1, pieces);
      cpu::run(config, problem, in + problem.src_offset, out - to.low + problem.dst_offset, first,
               last);
      first = last;
    }
    ASSERT_EQ(std::memcmp(out, reference, dst_bytes), 0)
        << to_string(problem) << "\n  " << plan::tile::describe(config, problem);
  }
}

}  // namespace
}  // namespace cornerturn::test
