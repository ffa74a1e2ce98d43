// What the kernel form can express, beyond what the rungs use: pipelines, shuffles, matrices, and
// how lanes' accesses become requests.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "simt/support.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {
namespace {

using Word = std::uint32_t;

/// Sums rows of 128 words: while one row is added up, the next is on its way.
struct Pipeline {
  static constexpr int width = 128;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const Word* src, Word* dst, int rows) {
    const auto stages = ctx.template shared<Word, 2 * width>();
    const int i = ctx.thread_index();
    const auto fetch = [&](int row) {
      ctx.copy_async_if(row < rows && i < width / 4, as_vec<4>(stages + row % 2 * width + 4 * i),
                        as_vec<4>(src + row * width + 4 * i));
      ctx.commit_async();
    };
    fetch(0);
    Word sum = 0;
    for (int row = 0; row < rows; ++row) {
      fetch(row + 1);
      ctx.template wait_async<1>();
      ctx.barrier();
      sum += ctx.load(stages + row % 2 * width + (width - 1 - i));
      ctx.barrier();
    }
    ctx.store(dst + i, sum);
  }
};

TEST(Form, ATwoStagePipelineOfAsyncCopies) {
  constexpr int rows = 9;
  const std::vector<Word> src = numbered<Word>(rows * Pipeline::width);
  for (const Mode mode : {Mode::fast, Mode::recording}) {
    std::vector<Word> dst(Pipeline::width);
    Emulator emulator;
    emulator.input("src", src.data(), src.size() * sizeof(Word));
    emulator.output("dst", dst.data(), dst.size() * sizeof(Word));
    emulator.launch("pipeline", mode, {{1, 1, 1}, {Pipeline::width, 1, 1}},
                    [&](auto& ctx) { Pipeline::run(ctx, src.data(), dst.data(), rows); });
    expect_clean(emulator);
    for (int i = 0; i < Pipeline::width; ++i) {
      Word sum = 0;
      for (int row = 0; row < rows; ++row) {
        sum += src[static_cast<std::size_t>((row + 1) * Pipeline::width - 1 - i)];
      }
      ASSERT_EQ(dst[static_cast<std::size_t>(i)], sum) << i;
    }
  }
}

TEST(Form, Shuffles) {
  std::vector<std::uint64_t> dst(96);
  Emulator emulator;
  emulator.output("dst", dst.data(), dst.size() * 8);
  emulator.launch("shuffles", Mode::recording, {{1, 1, 1}, {96, 1, 1}}, [&](auto& ctx) {
    auto v = static_cast<std::uint64_t>(ctx.thread_index()) << 33;
    for (int mask = 16; mask > 0; mask /= 2) v += ctx.shuffle_xor(v, mask);
    const auto own = static_cast<std::uint32_t>(ctx.lane());
    const std::uint32_t next = ctx.shuffle(own, ctx.lane() + 1);
    ctx.store(dst.data() + ctx.thread_index(), v + next);
  });
  expect_clean(emulator);
  for (std::uint64_t i = 0; i < 96; ++i) {
    const std::uint64_t warp = i / 32;
    EXPECT_EQ(dst[i], ((warp * 32 * 32 + 31 * 16) << 33) + (i + 1) % 32);
  }
}

TEST(Form, Ballots) {
  std::vector<std::uint32_t> dst(64);
  Emulator emulator;
  emulator.output("dst", dst.data(), dst.size() * 4);
  emulator.launch("ballots", Mode::recording, {{1, 1, 1}, {64, 1, 1}}, [&](auto& ctx) {
    const int thread = ctx.thread_index();
    ctx.store(dst.data() + thread, ctx.ballot(thread % 3 == 0));
  });
  expect_clean(emulator);
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(dst[i] >> lane & 1U, (i / 32 * 32 + lane) % 3 == 0 ? 1U : 0U) << i << " " << lane;
    }
  }
}

TEST(Form, MatricesKeepTheirFragments) {
  std::vector<std::uint16_t> dst(256);
  Emulator emulator;
  emulator.output("dst", dst.data(), dst.size() * 2);
  std::map<Op, int> requests;
  emulator.launch(
      "matrices", Mode::recording, {{1, 1, 1}, {32, 1, 1}},
      [&](auto& ctx) {
        const auto in = ctx.template shared<std::uint16_t, 256>();
        const auto out = ctx.template shared<std::uint16_t, 256, 1>();
        for (int i = ctx.lane(); i < 256; i += 32) {
          ctx.store(in + i, static_cast<std::uint16_t>(i));
        }
        ctx.warp_barrier();
        const auto v = ctx.template load_matrices<4>(in + 8 * ctx.lane());
        // Matrix 0: row lane / 4, columns 2 (lane % 4) and the next.
        const auto first = static_cast<Word>(8 * (ctx.lane() / 4) + 2 * (ctx.lane() % 4));
        if (v[0] != (first | (first + 1) << 16)) ADD_FAILURE() << "lane " << ctx.lane();
        ctx.store_matrices(out + 8 * (31 - ctx.lane()), v);
        ctx.warp_barrier();
        for (int i = ctx.lane(); i < 256; i += 32) ctx.store(dst.data() + i, ctx.load(out + i));
      },
      [&](const Request& request) { ++requests[request.op]; });
  expect_clean(emulator);
  for (int row = 0; row < 32; ++row) {
    for (int col = 0; col < 8; ++col) {
      ASSERT_EQ(dst[static_cast<std::size_t>(8 * row + col)], 8 * (31 - row) + col);
    }
  }
  EXPECT_EQ(requests[Op::ldmatrix], 1);
  EXPECT_EQ(requests[Op::stmatrix], 1);
}

TEST(Form, DynamicSharedMemoryAndBlocksOfThreeAxes) {
  std::vector<Word> dst(4 * 60);
  Emulator emulator;
  emulator.output("dst", dst.data(), dst.size() * sizeof(Word));
  emulator.launch("axes", Mode::recording, {{2, 1, 2}, {5, 4, 3}, 60 * sizeof(Word)},
                  [&](auto& ctx) {
                    const auto tile = ctx.template dynamic_shared<Word>();
                    const Dim3 t = ctx.thread_id();
                    const int linear = static_cast<int>(t.x + 5 * (t.y + 4 * t.z));
                    ctx.store(tile + linear, static_cast<Word>(ctx.thread_index()));
                    ctx.barrier();
                    const Dim3 b = ctx.block_id();
                    const Word v = ctx.load(tile + (59 - linear));
                    ctx.store(dst.data() + 60 * (b.x + 2 * b.z) + linear, v);
                  });
  expect_clean(emulator);
  for (std::size_t i = 0; i < dst.size(); ++i) ASSERT_EQ(dst[i], 59 - i % 60);
}

// Requests -----------------------------------------------------------------------------------

std::vector<Request> requests_of(const Launch& launch, const std::function<void(Context&)>& body,
                                 Emulator& emulator) {
  std::vector<Request> requests;
  emulator.launch("k", Mode::recording, launch, body,
                  [&](const Request& request) { requests.push_back(request); });
  return requests;
}

TEST(Requests, ALaneWithAFalsePredicateIsInactive) {
  std::vector<Word> src(64);
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(Word));
  const auto requests = requests_of(
      {{1, 1, 1}, {32, 1, 1}},
      [&](Context& ctx) {
        for (int i = 0; i < 3; ++i) {
          const int at = ctx.lane() + 20 * i;
          ctx.load_if(at < 50, src.data() + at);
        }
        ctx.load_if(false, src.data() + 1000);
      },
      emulator);
  ASSERT_EQ(requests.size(), 3U);  // nothing of the one without an active lane
  EXPECT_EQ(requests[0].lanes.active, 0xffffffffU);
  EXPECT_EQ(requests[1].lanes.active, (1U << 30) - 1);
  EXPECT_EQ(requests[2].lanes.active, (1U << 10) - 1);
  EXPECT_EQ(requests[1].lanes.address[3] - requests[0].lanes.address[3], 80U);
  EXPECT_EQ(requests[0].lanes.address[0] % 256, 0U);
  EXPECT_EQ(requests[0].lanes.width, 4);
  EXPECT_EQ(requests[0].site_index, requests[2].site_index);
}

TEST(Requests, LanesThatTakeOtherWaysMeetAgain) {
  std::vector<Word> src(64);
  Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(Word));
  const auto requests = requests_of(
      {{1, 1, 1}, {32, 1, 1}},
      [&](Context& ctx) {
        if (ctx.lane() % 2 == 1) ctx.load(src.data() + ctx.lane());
        for (int i = 0; i <= ctx.lane() % 3; ++i) ctx.load(src.data() + i);
        ctx.load(src.data() + 63);
      },
      emulator);
  std::map<unsigned, std::vector<int>> lanes;  // line of the source -> active lanes of each request
  for (const Request& r : requests) lanes[r.site.line].push_back(std::popcount(r.lanes.active));
  ASSERT_EQ(lanes.size(), 3U);
  auto next = lanes.begin();
  EXPECT_EQ((next++)->second, (std::vector<int>{16}));
  auto loop = (next++)->second;
  std::sort(loop.rbegin(), loop.rend());
  EXPECT_EQ(loop, (std::vector<int>{32, 21, 10}));
  EXPECT_EQ(next->second, (std::vector<int>{32}));
}

TEST(Requests, AnAsyncCopyKnowsBothEnds) {
  alignas(16) static std::array<Word, 128> src;
  Emulator emulator;
  emulator.input("src", src.data(), sizeof(src));
  const auto requests = requests_of(
      {{1, 1, 1}, {32, 1, 1}},
      [&](Context& ctx) {
        const auto tile = ctx.shared<Word, 128>();
        ctx.copy_async(as_vec<4>(tile + 4 * (31 - ctx.lane())),
                       as_vec<4>(src.data() + 4 * ctx.lane()));
        ctx.commit_async();
        ctx.wait_async<0>();
      },
      emulator);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].op, Op::async_copy);
  EXPECT_EQ(requests[0].lanes.address[1], 16U * 30);
  EXPECT_EQ(requests[0].source[1] - requests[0].source[0], 16U);
}

}  // namespace
}  // namespace cornerturn::simt
