// Kernels broken on purpose, at least one for each detector: each must be seen and explained. Their
// sound twins, and code that only looks suspicious, must not be.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "simt/support.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {
namespace {

using Word = std::uint32_t;
using Kernel = std::function<void(Context&, const Word* src, Word* dst)>;

constexpr Launch one_warp{{1, 1, 1}, {32, 1, 1}};
constexpr Launch two_warps{{1, 1, 1}, {64, 1, 1}};

/// What the emulator finds when `kernel` runs over 64 words in and 64 words out.
std::vector<Finding> findings(const Launch& launch, const Kernel& kernel) {
  struct Words {
    alignas(16) std::array<Word, 64> src;
    std::array<Word, 64> gap;
    alignas(16) std::array<Word, 64> dst;
  } memory{};
  Emulator emulator;
  emulator.input("src", memory.src.data(), sizeof(memory.src));
  emulator.output("dst", memory.dst.data(), sizeof(memory.dst));
  emulator.launch("broken", Mode::recording, launch,
                  [&](Context& ctx) { kernel(ctx, memory.src.data(), memory.dst.data()); });
  return emulator.findings();
}

/// Fills the output, so that nothing else is to be found.
void fill(Context& ctx, Word* dst) {
  for (int i = ctx.thread_index(); i < 64; i += static_cast<int>(ctx.block_dim().count())) {
    ctx.store(dst + i, Word{1});
  }
}

void expect_one(const std::vector<Finding>& found, FindingKind kind,
                const std::vector<std::string>& words) {
  ASSERT_EQ(found.size(), 1U) << (found.empty() ? "" : found.back().message());
  EXPECT_EQ(found[0].kind, kind);
  const std::string message = found[0].message();
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << "\n" << message;
  }
}

std::string line(unsigned number) {
  return "detector_test.cpp:" + std::to_string(number);
}

// Races --------------------------------------------------------------------------------------

TEST(Race, ReadOfWhatAnotherThreadWrote) {
  unsigned store = 0;
  unsigned load = 0;
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 64>();
    store = __LINE__ + 1;
    ctx.store(tile + ctx.thread_index(), Word{1});
    load = __LINE__ + 1;
    ctx.load(tile + ctx.thread_index() / 32 * 5);
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::race,
             {"broken, block (0,0,0)", "in shared memory at byte 0", "thread (1,0,0) loads 4 B at",
              line(load), "thread (0,0,0) stores 4 B at", line(store), "no barrier"});
}

TEST(Race, WriteOfWhatAnotherThreadReads) {
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 64>();
    ctx.store(tile + ctx.thread_index(), Word{1});
    ctx.barrier();
    ctx.load(tile + (ctx.thread_index() + 1) % 64);
    ctx.store(tile + ctx.thread_index(), Word{2});
    fill(ctx, dst);
  });
  ASSERT_EQ(found.size(), 2U);  // seen from the reader and from the writer, as the order falls
  EXPECT_EQ(found[0].kind, FindingKind::race);
  EXPECT_EQ(found[1].kind, FindingKind::race);
}

TEST(Race, TwoWritesOfTheSameValue) {
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 64>();
    ctx.store(tile + ctx.thread_index() % 63, Word{1});
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::race, {"thread (63,0,0) stores", "thread (0,0,0) stores"});
}

TEST(Race, PartsOfAWordAreApart) {
  const auto bytes = [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<std::uint8_t, 64>();
    ctx.store(tile + ctx.thread_index(), std::uint8_t{1});
    fill(ctx, dst);
  };
  EXPECT_TRUE(findings(two_warps, bytes).empty());
  const auto wide_over_narrow = [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<std::uint8_t, 64>();
    ctx.store(tile + ctx.thread_index(), std::uint8_t{1});
    ctx.load_if(ctx.thread_index() == 63, as_vec<16>(tile));
    fill(ctx, dst);
  };
  expect_one(findings(two_warps, wide_over_narrow), FindingKind::race, {"loads 16 B", "byte 0"});
}

TEST(Race, AWarpBarrierOrdersItsWarpOnly) {
  const auto within = [](int distance) {
    return [=](Context& ctx, const Word*, Word* dst) {
      const auto tile = ctx.shared<Word, 64>();
      ctx.store(tile + ctx.thread_index(), Word{1});
      ctx.warp_barrier();
      ctx.load(tile + (ctx.thread_index() ^ distance));
      fill(ctx, dst);
    };
  };
  EXPECT_TRUE(findings(two_warps, within(1)).empty());
  EXPECT_TRUE(findings(two_warps, within(31)).empty());
  EXPECT_FALSE(findings(two_warps, within(32)).empty());
}

TEST(Race, AnEarlierReaderOfAnotherWarpIsNotForgotten) {
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 1>();
    ctx.store_if(ctx.thread_index() == 0, tile, Word{1});
    ctx.barrier();
    ctx.load_if(ctx.thread_index() < 33, tile);  // lanes 0-31, then one of the other warp
    ctx.warp_barrier();
    ctx.store_if(ctx.thread_index() == 33, tile, Word{2});
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::race, {"thread (33,0,0) stores", "thread (31,0,0) loads"});
}

// ggml's loop over matrices as published: a fast warp stores the next one over the tile.
TEST(Race, TheLoopOverMatricesWithoutASecondBarrier) {
  constexpr int side = 32;
  constexpr int height = 8;
  constexpr int matrices = 3;
  const std::vector<Word> src = numbered<Word>(matrices * side * side);
  std::vector<Word> dst(src.size());
  for (const bool second_barrier : {true, false}) {
    unsigned store = 0;
    unsigned load = 0;
    Emulator emulator;
    emulator.input("src", src.data(), src.size() * sizeof(Word));
    emulator.output("dst", dst.data(), dst.size() * sizeof(Word));
    const auto kernel = [&](auto& ctx) {
      const auto tile = ctx.template shared<Word, side*(side + 1)>();
      const int x = static_cast<int>(ctx.thread_id().x);
      const int y = static_cast<int>(ctx.thread_id().y);
      for (int m = 0; m < matrices; ++m) {
        const Word* from = src.data() + m * side * side;
        Word* to = dst.data() + m * side * side;
        for (int i = y; i < side; i += height) {
          const Word v = ctx.load(from + i * side + x);
          store = __LINE__ + 1;
          ctx.store(tile + i * (side + 1) + x, v);
        }
        ctx.barrier();
        for (int i = y; i < side; i += height) {
          load = __LINE__ + 1;
          const Word v = ctx.load(tile + x * (side + 1) + i);
          ctx.store(to + i * side + x, v);
        }
        if (second_barrier) ctx.barrier();
      }
    };
    emulator.launch("cpy_transpose as published", Mode::recording, {{1, 1, 1}, {side, height, 1}},
                    kernel);
    if (second_barrier) {
      expect_clean(emulator);
      continue;
    }
    ASSERT_FALSE(emulator.findings().empty());
    const Finding& race = emulator.findings()[0];
    EXPECT_EQ(race.kind, FindingKind::race);
    const std::string message = race.message();
    EXPECT_NE(message.find(line(store)), std::string::npos) << message;
    EXPECT_NE(message.find(line(load)), std::string::npos) << message;
    ASSERT_TRUE(race.first && race.second);
    EXPECT_FALSE(race.first->thread == race.second->thread);
  }
}

TEST(Race, ABlockReadsWhatAnotherOneWrote) {
  unsigned store = 0;
  unsigned load = 0;
  const auto found = findings({{2, 1, 1}, {32, 1, 1}}, [&](Context& ctx, const Word*, Word* dst) {
    const unsigned block = ctx.block_id().x;
    store = __LINE__ + 1;
    ctx.store(dst + 32 * block + static_cast<unsigned>(ctx.lane()), Word{1});
    load = __LINE__ + 1;
    ctx.load_if(block == 1 && ctx.lane() == 5, dst + 7);
  });
  expect_one(
      found, FindingKind::race,
      {"block (1,0,0)", "in dst at byte 28", "thread (5,0,0) loads 4 B", line(load),
       "thread (7,0,0) of block (0,0,0) stores 4 B", line(store), "nothing orders two blocks"});
}

TEST(Race, ABlockWritesWhatAnEarlierOneRead) {
  const auto found = findings({{2, 1, 1}, {32, 1, 1}}, [](Context& ctx, const Word*, Word* dst) {
    const unsigned block = ctx.block_id().x;
    if (block == 0) ctx.load_if(ctx.lane() == 3, dst + 40);
    ctx.store(dst + 32 * block + static_cast<unsigned>(ctx.lane()), Word{1});
  });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, FindingKind::unwritten_read);
  EXPECT_EQ(found[1].kind, FindingKind::race);
  EXPECT_NE(found[1].message().find("thread (3,0,0) of block (0,0,0) loads"), std::string::npos);
}

TEST(Race, ABarrierOrdersGlobalMemoryWithinItsBlock) {
  for (const bool orders : {true, false}) {
    const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
      ctx.store(dst + ctx.thread_index(), Word{1});
      if (orders) ctx.barrier();
      ctx.load(dst + (63 - ctx.thread_index()));
    });
    if (orders) {
      EXPECT_TRUE(found.empty());
    } else {
      ASSERT_FALSE(found.empty());
      EXPECT_EQ(found.back().kind, FindingKind::race);
    }
  }
}

TEST(Steps, AThreadThatNeverEndsIsStopped) {
  std::array<Word, 64> words{};
  Emulator emulator;
  emulator.output("dst", words.data(), sizeof(words));
  emulator.limit_steps(1000);
  const auto spin = [&](auto&& wait) {
    emulator.launch("spins", Mode::recording, two_warps, [&](Context& ctx) {
      while (true) wait(ctx);
    });
    ASSERT_EQ(emulator.findings().size(), 1U);
    EXPECT_EQ(emulator.findings()[0].kind, FindingKind::never_ends);
    const std::string message = emulator.findings()[0].message();
    EXPECT_NE(message.find("endless loop: thread "), std::string::npos) << message;
    EXPECT_NE(message.find("1000 accesses and waits"), std::string::npos) << message;
    EXPECT_EQ(message.find("0 B"), std::string::npos) << message;
  };
  spin([](Context& ctx) { ctx.barrier(); });
  spin([](Context& ctx) { ctx.warp_barrier(); });
  spin([&](Context& ctx) { ctx.load_if(false, words.data()); });
  emulator.launch("fills", Mode::recording, two_warps,
                  [&](Context& ctx) { fill(ctx, words.data()); });
  EXPECT_TRUE(emulator.findings().empty());
}

TEST(Race, AnAsyncCopyThatNobodyWaitedFor) {
  const auto copy = [](bool wait) {
    return [=](Context& ctx, const Word* src, Word* dst) {
      const auto tile = ctx.shared<Word, 64>();
      const int i = ctx.thread_index();
      ctx.copy_async(tile + i, src + i);
      ctx.commit_async();
      if (wait) ctx.wait_async<0>();
      ctx.barrier();
      ctx.store(dst + i, ctx.load(tile + i));
    };
  };
  EXPECT_TRUE(findings(two_warps, copy(true)).empty());
  expect_one(findings(two_warps, copy(false)), FindingKind::race,
             {"thread (0,0,0) copies 4 B", "still in flight"});
}

// Unwritten memory ---------------------------------------------------------------------------

TEST(Unwritten, SharedMemory) {
  const auto found = findings(one_warp, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 32>();
    ctx.store_if(ctx.lane() != 7, tile + ctx.lane(), Word{1});
    ctx.barrier();
    ctx.load(tile + ctx.lane());
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::unwritten_read,
             {"shared memory at byte 28", "thread (7,0,0) loads 4 B"});
}

TEST(Unwritten, WhatTheLastBlockLeftInSharedMemory) {
  const auto found = findings({{2, 1, 1}, {32, 1, 1}}, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 32>();
    ctx.store_if(ctx.block_id().x == 0, tile + ctx.lane(), Word{1});
    ctx.barrier();
    ctx.store(dst + 32 * ctx.block_id().x + ctx.lane(), ctx.load(tile + ctx.lane()));
  });
  expect_one(found, FindingKind::unwritten_read, {"block (1,0,0)", "thread (0,0,0)"});
}

TEST(Unwritten, GlobalMemory) {
  const auto found = findings(one_warp, [&](Context& ctx, const Word*, Word* dst) {
    ctx.load_if(ctx.lane() == 28, dst + 60);
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::unwritten_read, {"in dst at byte 240", "thread (28,0,0)"});
}

// Bounds and alignment -----------------------------------------------------------------------

TEST(Bounds, GlobalMemory) {
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word* src, Word* dst) {
                        ctx.load(src + 33 + ctx.lane());
                        fill(ctx, dst);
                      }),
             FindingKind::out_of_bounds,
             {"in src at byte 256", "thread (31,0,0) loads", "lane 31 of warp 0", "src has 256 B"});
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word*, Word* dst) {
                        ctx.store_if(ctx.lane() == 5, dst + 64, Word{1});
                        fill(ctx, dst);
                      }),
             FindingKind::out_of_bounds, {"in dst at byte 256", "thread (5,0,0) stores"});
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word* src, Word* dst) {
                        ctx.store(const_cast<Word*>(src) + ctx.lane(), Word{1});
                        fill(ctx, dst);
                      }),
             FindingKind::out_of_bounds,
             {"store into an input in src", "it is an input, which a kernel may only read"});
}

TEST(Bounds, AVectorThatSticksOut) {
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word* src, Word* dst) {
                        ctx.load(as_vec<4>(src + 4 * (ctx.lane() / 2 + 1)));
                        fill(ctx, dst);
                      }),
             FindingKind::out_of_bounds, {"loads 16 B", "thread (30,0,0)"});
}

TEST(Bounds, SharedMemory) {
  const auto found = findings(one_warp, [&](Context& ctx, const Word*, Word* dst) {
    const auto tile = ctx.shared<Word, 32>();
    const auto other = ctx.shared<Word, 32, 1>();
    ctx.store(other + ctx.lane(), Word{1});
    ctx.store(tile + ctx.lane() + 1, Word{1});
    fill(ctx, dst);
  });
  expect_one(found, FindingKind::out_of_bounds,
             {"shared memory at byte 128", "thread (31,0,0) stores", "bytes 0 to 127"});
}

TEST(Bounds, FastModeChecksThemToo) {
  std::array<Word, 8> dst{};
  Emulator emulator;
  emulator.output("dst", dst.data(), sizeof(dst));
  emulator.launch("broken", Mode::fast, one_warp,
                  [&](auto& ctx) { ctx.store(dst.data() + ctx.lane(), Word{1}); });
  ASSERT_EQ(emulator.findings().size(), 1U);
  EXPECT_EQ(emulator.finding_count(), 24U);
  EXPECT_EQ(emulator.findings()[0].kind, FindingKind::out_of_bounds);
}

TEST(Alignment, OfVectors) {
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word* src, Word* dst) {
                        ctx.load(as_vec<4>(src + ctx.lane() / 31));
                        fill(ctx, dst);
                      }),
             FindingKind::misaligned, {"in src at byte 4", "thread (31,0,0)", "multiple of 16"});
  expect_one(findings(one_warp,
                      [&](Context& ctx, const Word*, Word* dst) {
                        const auto tile = ctx.shared<Word, 128>();
                        ctx.store(as_vec<2>(tile + 3 * ctx.lane()), Vec<Word, 2>{});
                        fill(ctx, dst);
                      }),
             FindingKind::misaligned, {"shared memory at byte 12", "multiple of 8"});
}

// Barriers -----------------------------------------------------------------------------------

TEST(Barrier, ThatSomeThreadsNeverReach) {
  unsigned wait = 0;
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    fill(ctx, dst);
    if (ctx.thread_index() == 40) return;
    wait = __LINE__ + 1;
    ctx.barrier();
  });
  expect_one(found, FindingKind::divergent_barrier,
             {"thread (0,0,0) waits at", line(wait), "thread (40,0,0) has ended"});
}

TEST(Barrier, InTwoBranches) {
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    fill(ctx, dst);
    if (ctx.warp() == 0) {
      ctx.barrier();
    } else {
      ctx.barrier();
    }
  });
  expect_one(found, FindingKind::divergent_barrier, {"(0,0,0) waits", "(63,0,0) waits"});
}

TEST(Barrier, AgainstAShuffleCannotEnd) {
  const auto found = findings(two_warps, [&](Context& ctx, const Word*, Word* dst) {
    fill(ctx, dst);
    if (ctx.lane() < 8) {
      ctx.barrier();
    } else {
      ctx.shuffle_xor(Word{1}, 1);
    }
  });
  expect_one(found, FindingKind::divergent_barrier, {"(8,0,0) waits", "(0,0,0) waits"});
}

TEST(Barrier, ShuffleThatALaneMisses) {
  const auto found = findings(one_warp, [&](Context& ctx, const Word*, Word* dst) {
    fill(ctx, dst);
    if (ctx.lane() == 31) return;
    ctx.shuffle_xor(Word{1}, 1);
  });
  expect_one(found, FindingKind::divergent_barrier, {"(31,0,0) has ended", "all lanes"});
}

TEST(Barrier, AfterABrokenBlockTheNextRuns) {
  std::array<Word, 3> dst{};
  Emulator emulator;
  emulator.output("dst", dst.data(), sizeof(dst));
  emulator.launch("broken", Mode::recording, {{3, 1, 1}, {64, 1, 1}}, [&](auto& ctx) {
    ctx.store_if(ctx.thread_index() == 0, dst.data() + ctx.block_id().x, Word{7});
    if (ctx.block_id().x == 1 && ctx.lane() == 0) ctx.warp_barrier();
    ctx.barrier();
  });
  EXPECT_EQ(emulator.findings().size(), 1U);
  EXPECT_EQ(dst, (std::array<Word, 3>{7, 7, 7}));
}

TEST(Barrier, EarlyEndsOfWholeBlocksAndAfterTheLastBarrierAreFine) {
  const auto found = findings({{3, 1, 1}, {64, 1, 1}}, [&](Context& ctx, const Word*, Word* dst) {
    if (ctx.block_id().x != 1) return;
    ctx.barrier();
    if (ctx.thread_index() > 3) return;
    for (int i = 0; i < 16; ++i) ctx.store(dst + i * 4 + ctx.thread_index(), Word{1});
  });
  EXPECT_TRUE(found.empty());
}

// Outputs ------------------------------------------------------------------------------------

TEST(Output, WrittenTwice) {
  unsigned store = 0;
  const auto found = findings({{2, 1, 1}, {33, 1, 1}}, [&](Context& ctx, const Word*, Word* dst) {
    store = __LINE__ + 1;
    ctx.store(dst + ctx.block_id().x * 31 + ctx.thread_index(), Word{1});
  });
  expect_one(found, FindingKind::written_twice,
             {"broken, block (1,0,0)", "in dst at byte 124", "thread (0,0,0) stores 4 B at",
              line(store), "thread (31,0,0) of block (0,0,0) stores"});
}

TEST(Output, NeverWritten) {
  const auto found = findings(one_warp, [&](Context& ctx, const Word*, Word* dst) {
    ctx.store(dst + ctx.lane(), Word{1});
    ctx.store_if(ctx.lane() != 9, dst + 32 + ctx.lane(), Word{1});
  });
  expect_one(found, FindingKind::never_written, {"in dst at byte 164", "4 of its 256 B"});
}

// Misuse -------------------------------------------------------------------------------------

TEST(Launch, ThatNoDeviceTakesIsRefused) {
  Emulator emulator;
  const auto nothing = [](auto&) {};
  EXPECT_THROW(emulator.launch("k", Mode::fast, {{1, 1, 1}, {1025, 1, 1}}, nothing), Error);
  EXPECT_THROW(emulator.launch("k", Mode::fast, {{1, 1, 1}, {32, 1, 1}, 228 * 1024}, nothing),
               Error);
  EXPECT_NO_THROW(emulator.launch("k", Mode::fast, {{0, 1, 1}, {32, 1, 1}}, nothing));
}

TEST(Launch, AnExceptionOfTheKernelComesOut) {
  Emulator emulator;
  const auto throws = [](auto& ctx) {
    ctx.barrier();
    if (ctx.thread_index() == 3) throw Error(Status::internal, "three");
    ctx.barrier();
  };
  EXPECT_THROW(emulator.launch("k", Mode::fast, two_warps, throws), Error);
  EXPECT_NO_THROW(emulator.launch("k", Mode::fast, two_warps, [](auto& ctx) { ctx.barrier(); }));
}

}  // namespace
}  // namespace cornerturn::simt
