// The ladder's predicted figures: what each rung does to sectors and banks, and what is said of it.
#include "workshop/analyse/kernel_report.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simt/support.hpp"
#include "workshop/analyse/access.hpp"
#include "workshop/rungs/registry.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn {
namespace {

using simt::Op;

template <class Rung, class T>
KernelReport rung_report(std::int64_t rows, std::int64_t cols) {
  const std::vector<T> src = simt::numbered<T>(rows * cols);
  std::vector<T> dst(src.size());
  const auto args = ladder::matrix_args(src.data(), dst.data(), rows, cols);
  simt::Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(T));
  emulator.output("dst", dst.data(), dst.size() * sizeof(T));
  KernelReport report;
  report.kernel = Rung::name;
  emulator.launch(
      Rung::name, simt::Mode::recording, Rung::launch(args),
      [&](auto& ctx) { Rung::run(ctx, args); },
      [&](const simt::Request& request) { report.add(request); });
  simt::expect_clean(emulator);
  return report;
}

/// Figures of one request, of the legs that do `op`; all requests of a leg alike.
struct Figures {
  double sectors = 0;
  double wavefronts = 0;
  bool conflict_free = false;
  int width = 0;
};

Figures figures(const KernelReport& report, Op op) {
  Figures result;
  int found = 0;
  for (const Leg& leg : report.legs) {
    if (leg.op != op) continue;
    ++found;
    const auto requests = static_cast<double>(leg.requests);
    result = {static_cast<double>(leg.sectors) / requests,
              static_cast<double>(leg.wavefronts) / requests, leg.conflict_free(), leg.width};
  }
  EXPECT_EQ(found, 1) << report.text();
  return result;
}

// "lanes 0 and 1 want words 0 and 32, both in bank 0" of the leg that collides.
std::string collision(const KernelReport& report) {
  for (const Leg& leg : report.legs) {
    if (leg.conflicts > 0) return describe(leg.collision);
  }
  return {};
}

using Word = std::uint32_t;

TEST(KernelReport, TheNaiveRungsScatterOneLeg) {
  const auto read = rung_report<ladder::NaiveRead<16>, Word>(128, 128);
  EXPECT_EQ(figures(read, Op::global_load).sectors, 4);
  EXPECT_EQ(figures(read, Op::global_store).sectors, 16);
  const auto wide = rung_report<ladder::NaiveRead<32>, Word>(128, 128);
  EXPECT_EQ(figures(wide, Op::global_store).sectors, 32);
  const auto small = rung_report<ladder::NaiveRead<8>, Word>(128, 128);
  EXPECT_EQ(figures(small, Op::global_store).sectors, 8);
  const auto write = rung_report<ladder::NaiveWrite, Word>(128, 128);
  EXPECT_EQ(figures(write, Op::global_load).sectors, 16);
  EXPECT_EQ(figures(write, Op::global_store).sectors, 4);
}

TEST(KernelReport, TheUnpaddedTileIsReadThroughOneBank) {
  const auto smem = rung_report<ladder::Smem, Word>(128, 128);
  EXPECT_EQ(figures(smem, Op::global_load).sectors, 4);
  EXPECT_EQ(figures(smem, Op::global_store).sectors, 4);
  EXPECT_EQ(figures(smem, Op::shared_store).wavefronts, 1);
  EXPECT_EQ(figures(smem, Op::shared_load).wavefronts, 32);
  EXPECT_EQ(collision(smem), "lanes 0 and 1 want words 0 and 32, both in bank 0");
}

template <class Rung, class T>
void expect_free(std::int64_t side, int global_width, int shared_width) {
  const KernelReport report = rung_report<Rung, T>(side, side);
  SCOPED_TRACE(report.text());
  const Figures load = figures(report, Op::global_load);
  const Figures store = figures(report, Op::global_store);
  EXPECT_EQ(load.width, global_width);
  EXPECT_EQ(store.width, global_width);
  EXPECT_EQ(load.sectors, global_width);
  EXPECT_EQ(store.sectors, global_width);
  if (shared_width == 0) return;
  for (const Op op : {Op::shared_load, Op::shared_store}) {
    EXPECT_EQ(figures(report, op).width, shared_width);
    EXPECT_TRUE(figures(report, op).conflict_free);
    EXPECT_EQ(figures(report, op).wavefronts, shared_width / 4);
  }
}

TEST(KernelReport, PaddingRotationAndXorAreFreeOfConflicts) {
  expect_free<ladder::SmemPad, Word>(128, 4, 4);
  expect_free<ladder::SmemRotate, Word>(128, 4, 4);
  expect_free<ladder::SmemPadVec, Word>(128, 16, 4);
  expect_free<ladder::SmemXorVec, Word>(128, 16, 4);
}

TEST(KernelReport, ChunkXorIsWideAndFreeOnAllFourLegsForEveryElement) {
  expect_free<ladder::SmemChunkXor, std::uint8_t>(256, 16, 16);
  expect_free<ladder::SmemChunkXor, std::uint16_t>(256, 16, 16);
  expect_free<ladder::SmemChunkXor, std::uint32_t>(128, 16, 16);
  expect_free<ladder::SmemChunkXor, std::uint64_t>(128, 16, 16);
}

TEST(KernelReport, ShufflesFillWholeSectors) {
  expect_free<ladder::Shuffle, std::uint8_t>(256, 16, 0);
  expect_free<ladder::Shuffle, std::uint16_t>(256, 16, 0);
  expect_free<ladder::Shuffle, std::uint32_t>(256, 16, 0);
  expect_free<ladder::Shuffle, std::uint64_t>(256, 16, 0);
}

// A copy of smem_chunk_xor's map without its xor.
struct Chunks {
  static constexpr const char* name = "smem_chunk_xor without the xor";
  static constexpr int V = 4;
  static constexpr int side = 32;

  template <class T>
  static Launch launch(const ladder::MatrixArgs<T>& a) {
    return ladder::tiled_launch(a, side, side, {side * side / V / V, 1, 1});
  }
  template <class T, class Ctx>
  static void run(Ctx& ctx, const ladder::MatrixArgs<T>& a) {
    const ladder::Tile tile = ladder::tile_of(a, ctx.block_id().x, side, side);
    const auto buffer = ctx.template shared<T, side * side>();
    const int across = ctx.thread_index() % (side / V) * V;
    const int down = ctx.thread_index() / (side / V) * V;
    Vec<T, V> v[V];
    for (int i = 0; i < V; ++i) {
      v[i] = ctx.load(as_vec<V>(a.src + a.src_at(tile.row + down + i, tile.col + across)));
    }
    ladder::transpose_block<T>(ctx, v);
    for (int i = 0; i < V; ++i) ctx.store(as_vec<V>(buffer + (across + i) * side + down), v[i]);
    ctx.barrier();
    for (int i = 0; i < V; ++i) v[i] = ctx.load(as_vec<V>(buffer + (down + i) * side + across));
    for (int i = 0; i < V; ++i) {
      ctx.store(as_vec<V>(a.dst + a.dst_at(tile.row + across, tile.col + down + i)), v[i]);
    }
  }
};

TEST(KernelReport, WithoutTheXorLanesAndBankAreNamed) {
  const auto report = rung_report<Chunks, Word>(64, 64);
  EXPECT_EQ(figures(report, Op::shared_store).wavefronts, 32);
  EXPECT_EQ(collision(report), "lanes 0 and 1 want words 0 and 128, both in bank 0");
}

TEST(KernelReport, EdgesCountActiveLanesOnly) {
  const auto report = rung_report<ladder::SmemPad, Word>(33, 1);
  std::uint64_t bytes = 0;
  for (const Leg& leg : report.legs) {
    if (leg.op == Op::global_load) bytes += leg.bytes_used;
  }
  EXPECT_EQ(bytes, 33U * 4);
}

// Around the L1, a sector whose halves do not stay together is asked for twice.
TEST(KernelReport, AnAsyncCopyIsCountedByTheWayItTakes) {
  constexpr int words = 4 * 32;
  alignas(32) static std::array<Word, words + 8> src;
  const auto sectors = [](bool through_l1, int first) {
    simt::Emulator emulator;
    emulator.input("src", src.data(), sizeof(src));
    KernelReport report;
    emulator.launch(
        "copy", simt::Mode::recording, {{1, 1, 1}, {32, 1, 1}},
        [&](auto& ctx) {
          const auto tile = ctx.template shared<Word, words>();
          ctx.copy_line_async_if(true, through_l1, as_vec<4>(tile + 4 * ctx.lane()),
                                 as_vec<4>(src.data() + first + 4 * ctx.lane()));
          ctx.commit_async();
          ctx.template wait_async<0>();
        },
        [&](const simt::Request& request) { report.add(request); });
    simt::expect_clean(emulator);
    return figures(report, Op::async_copy).sectors;
  };
  EXPECT_EQ(sectors(true, 0), 16);
  EXPECT_EQ(sectors(false, 0), 16);
  EXPECT_EQ(sectors(true, 4), 17);
  EXPECT_EQ(sectors(false, 4), 32);
}

TEST(KernelReport, TextAndJsonHaveTheSameLegs) {
  const auto report = rung_report<ladder::Smem, Word>(64, 64);
  ASSERT_EQ(report.legs.size(), 4U);
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["kernel"], "smem");
  ASSERT_EQ(json["legs"].size(), 4U);
  const auto& load = json["legs"][0];
  EXPECT_EQ(load["leg"], "global load");
  EXPECT_EQ(load["sectors"]["mean"], 4.0);
  EXPECT_EQ(load["bytes"]["used"], 64 * 64 * 4);
  EXPECT_EQ(load["bytes"]["moved"], 64 * 64 * 4);
  EXPECT_EQ(json["legs"][2]["wavefronts"]["actual"], 32 * 64 * 64 / 32);
  EXPECT_EQ(json["legs"][2]["collision"]["lanes"], nlohmann::json({0, 1}));
  EXPECT_EQ(json["legs"][2]["collision"]["words"], nlohmann::json({0, 32}));
  const std::string text = report.text();
  EXPECT_NE(text.find("32.0 (1.0)"), std::string::npos) << text;
  EXPECT_NE(text.find("4.0 4-4 (4.0)"), std::string::npos) << text;
}

}  // namespace
}  // namespace cornerturn
