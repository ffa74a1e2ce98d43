// Calls that find no scratch memory: where one candidate needs none, no trial of another fails
// them. A process of its own, since all its memory is asked for here.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "plan/learning.hpp"

namespace {

std::atomic<bool> refuses = false;
std::atomic<int> refused = 0;

}  // namespace

// Scratch memory is what the library asks of it.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (refuses) {
    ++refused;
    return nullptr;
  }
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

namespace cornerturn {
namespace {

struct Turned {
  Extents shape;
  std::vector<int> order;
  int width;
};

// Each by other kernels.
const Turned problems[] = {{{2100, 2300}, {1, 0}, 4},
                           {{263, 257}, {1, 0}, 256},
                           {{31, 8, 31, 129, 17}, {1, 3, 4, 2, 0}, 1}};

// On a thread of its own, which has no scratch memory yet. Empty: it threw.
std::vector<unsigned char> result_of(const Turned& one, const std::vector<unsigned char>& src,
                                     Effort effort, const char* kernel = "") {
  std::vector<unsigned char> dst(src.size());
  std::thread([&] {
    try {
      const ConstView from(src.data(), ElementType::bytes(one.width), one.shape);
      const int calls = effort == Effort::automatic ? 8 : 1;  // the first ones have turns
      for (int call = 0; call < calls; ++call) {
        permute(dst.data(), from, one.order, {.threads = 1, .kernel = kernel, .effort = effort});
      }
    } catch (const std::exception&) {
      dst.clear();
    }
  }).join();
  return dst;
}

TEST(WithoutScratch, NoTrialFailsACallThatNeedsNone) {
  const plan::UnpaidTurns unpaid;
  int need_none = 0;
  for (const Turned& one : problems) {
    std::size_t bytes = static_cast<std::size_t>(one.width);
    for (const std::int64_t extent : one.shape) bytes *= static_cast<std::size_t>(extent);
    std::vector<unsigned char> src(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      src[i] = static_cast<unsigned char>((i * 2654435761U) >> 13);
    }
    const auto expected = result_of(one, src, Effort::estimate, "gather");
    refuses = true;
    forget_plans();
    const bool works = result_of(one, src, Effort::estimate) == expected;
    need_none += works ? 1 : 0;
    for (const Effort effort : {Effort::automatic, Effort::measure}) {
      forget_plans();
      const auto result = result_of(one, src, effort);
      // A trial may find a kernel that needs none where the model's choice does.
      EXPECT_TRUE(works ? result == expected : result.empty() || result == expected)
          << testing::PrintToString(one.shape) << " of " << one.width;
    }
    refuses = false;
  }
  forget_plans();
  EXPECT_GT(refused, 0) << "somebody asked for scratch memory";
  EXPECT_GT(need_none, 0);
}

}  // namespace
}  // namespace cornerturn
