// Where pack's arguments say that boxes begin, and how much of each mode they have.
#include "plan/gpu/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "maps/banks.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/pack/lanes.hpp"
#include "plan/gpu/pack/layout.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::Offsets;
using kernels::PackArgs;
using kernels::PackLimits;

struct Seen {
  int boxes = 0;
  int wide = 0;       // problems some of whose axes have more than 32 bits
  int deep = 0;       // that have more axes than can be cut
  int reordered = 0;  // whose cut modes would come too late
};

// Compares box number `n` with what quotients and remainders say.
void expect_box(const PackArgs& args, const Box& box, const Problem& normal, const BoxOrder& order,
                std::uint32_t n) {
  PackLimits limits;
  const Offsets at = kernels::pack_box(args, n, limits);
  std::int64_t src = 0, dst = 0, rest = n;
  bool all = true;
  for (int k = 0; k < order.count; ++k) {
    const int which = order.modes[static_cast<std::size_t>(k)];
    const Mode& mode = normal.modes[which];
    const std::int64_t step = box.step(which), whole = box.extent[static_cast<std::size_t>(which)];
    const std::int64_t boxes = (mode.extent + step - 1) / step;
    const std::int64_t begin = rest % boxes * step;
    rest /= boxes;
    src += begin * mode.src_stride;
    dst += begin * mode.dst_stride;
    const std::int64_t has = std::min(whole, mode.extent - begin);
    all = all && has == whole;
    if (k < PackArgs::max_cuts) {
      EXPECT_EQ(limits.of[k], has) << k;
      EXPECT_EQ(args.left(k, n), mode.extent - begin) << k;
    } else {
      EXPECT_EQ(whole, 1) << k;
    }
  }
  EXPECT_EQ(at.src, src);
  EXPECT_EQ(at.dst, dst);
  EXPECT_EQ(limits.all, all);
}

void expect_boxes(const Problem& normal, Seen& seen) {
  const DeviceInfo device = device_named("h200");
  for (std::int32_t run_bytes = 64; run_bytes <= 32768; run_bytes *= 2) {
    for (const bool anywhere : {false, true}) {
      PackConfig config{.run_bytes = run_bytes, .anywhere = anywhere};
      config.shares = run_bytes % 128 == 0;
      const Box box = Boxes(normal).of(config);
      if (!anywhere &&
          (!has_aligned_runs(box, normal) || piece_of(box, normal, config).vectors == 0)) {
        continue;
      }
      if (!fits(box, normal, device, anywhere)) continue;
      const BoxOrder order(box, normal, anywhere);
      const PackArgs args = setup_of(config, box, normal).args;
      const auto boxes = static_cast<std::uint32_t>(count_boxes(box, normal));
      for (const std::uint32_t n : {0U, 1U, boxes / 3, boxes / 2, boxes - 1}) {
        if (n >= boxes) continue;
        expect_box(args, box, normal, order, n);
        if (::testing::Test::HasFailure()) {
          FAIL() << "box " << n << " of " << boxes << ", runs of " << run_bytes << " B of "
                 << to_string(normal);
        }
        ++seen.boxes;
      }
      seen.wide += args.wide ? 1 : 0;
      seen.deep += order.count > PackArgs::max_cuts ? 1 : 0;
      const auto* last = order.modes.begin() + order.count;
      const auto* kept = order.modes.begin() + std::min(order.count, anywhere ? 2 : 0);
      seen.reordered += std::is_sorted(kept, last, std::greater<>()) ? 0 : 1;
    }
  }
}

Problem problem_of(int size, std::vector<Mode> modes) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(size);
  for (const Mode& mode : modes) problem.modes.push_back(mode);
  return problem;
}

TEST(PackBoxes, BeginWhereTheirNumbersSay) {
  test::RandomProblems random(7, {.max_bytes = 4 << 20});
  Seen seen;
  for (int i = 0; i < 400; ++i) {
    Problem problem = normalise(random.next());
    if (problem.elements() <= 1) continue;
    expect_boxes(problem, seen);
    // Modes so far apart that offsets need 64 bits, and modes that go backwards.
    for (Mode& mode : problem.modes) {
      const bool back = random.chance(0.3);
      if (std::abs(mode.src_stride) > 64) mode.src_stride *= std::int64_t{back ? -3 : 3} << 30;
      if (std::abs(mode.dst_stride) > 64) mode.dst_stride *= std::int64_t{5} << 31;
    }
    expect_boxes(problem, seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.boxes, 5000);
  EXPECT_GT(seen.wide, 100);
  EXPECT_GT(seen.deep, 10);
}

// Only the first modes of the walk from box to box can be cut.
TEST(PackBoxes, CutModesComeFirst) {
  // The source's fastest mode is the destination's slowest, and boxes have one index of four
  // others.
  const std::int64_t row = 64, all = row * 3 * 3 * 3 * 3;
  const Problem problem = problem_of(4, {{4096, 4, 4 * all},
                                         {3, 4096 * 4 * row * 27, 4 * row * 27},
                                         {3, 4096 * 4 * row * 9, 4 * row * 9},
                                         {3, 4096 * 4 * row * 3, 4 * row * 3},
                                         {3, 4096 * 4 * row, 4 * row},
                                         {row, 4096 * 4, 4}});
  Seen seen;
  expect_boxes(problem, seen);
  EXPECT_GT(seen.reordered, 0);
}

// Wavefronts of a request with which a block gathers units, in the mean of all, by its arguments.
double wavefronts_of(const PackArgs& args, const Problem& normal, std::uint32_t threads) {
  const int W = args.of_unit(), size = args.element_bytes;
  const std::uint32_t across = args.across.divisor, down = args.down.divisor;
  int requests = 0, wavefronts = 0;
  for (std::uint32_t turn = 0; turn * down < args.to.runs; ++turn) {
    for (std::uint32_t warp = 0; warp < threads / 32; ++warp) {
      for (int k = 0; k < W; ++k) {
        WarpRequest request;
        request.active = 0;
        request.width = size;
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          const std::uint32_t thread = warp * 32 + lane, n = thread / across + turn * down;
          if (thread / across >= down || n >= args.to.runs) continue;
          const kernels::PackList::Start start = args.to_list.start(n);
          const std::int64_t behind = (normal.dst_offset + start.at) / size % W;
          const std::int64_t first = (W - behind) % W + std::int64_t{thread % across} * W;
          if (first + W > args.of_piece) continue;
          const bool rotates = args.rotation_shift != PackArgs::no_rotation;
          const int by = rotates ? static_cast<int>(args.rotation_of(lane)) : 0;
          const int at = args.element_at(static_cast<std::uint32_t>(first + (k + by) % W));
          request.active |= 1U << lane;
          request.address[lane] = static_cast<std::uint64_t>(args.room + start.shared + at);
        }
        if (request.active == 0) continue;
        ++requests;
        wavefronts += shared_cost(request, SharedOp::load).wavefronts;
      }
    }
  }
  return static_cast<double>(wavefronts) / requests;
}

// Matrices of whole vectors a row, beside one another in the destination: the elements of its runs
// lie in few banks. The order of the elements and pads between the matrices help.
TEST(PackBanks, WholeBlocksMeetMoreOfThem) {
  const auto beside = [](int size, std::int64_t rows, std::int64_t matrices, bool flips) {
    constexpr std::int64_t cols = 16;
    Problem normal;
    normal.src_type = normal.dst_type = ElementType::bytes(size);
    const std::int64_t matrix = rows * cols * size, many = 5000;
    normal.modes.push_back({many, matrix, matrices * matrix});
    normal.modes.push_back({cols, size, matrices * rows * size});
    normal.modes.push_back({matrices, flips ? -many * matrix : many * matrix, rows * size});
    normal.modes.push_back({rows, cols * size, size});
    normal.src_offset = flips ? (matrices - 1) * many * matrix : 0;
    return normal;
  };
  const DeviceInfo device = device_named("h200");
  constexpr std::uint32_t threads = 256;
  int seen = 0;
  const auto expect_fewer = [&](const Problem& normal, double most) {
    for (std::int32_t run_bytes = 64; run_bytes <= 1024; run_bytes *= 2) {
      const PackConfig config{.run_bytes = run_bytes, .threads = threads, .anywhere = true};
      const Box box = Boxes(normal).of(config);
      if (!fits(box, normal, device, true) || takes_single(box, normal)) continue;
      pack::Setup setup = setup_of(config, box, normal);
      const double before = wavefronts_of(setup.args, normal, threads);
      if (before < 3) continue;
      const int bytes = setup.args.runs_at;
      choose_banks(setup, config, box, normal);
      ++seen;
      EXPECT_LE(wavefronts_of(setup.args, normal, threads), most * before) << run_bytes;
      EXPECT_LE(setup.args.runs_at, bytes + bytes / 16) << run_bytes;
    }
  };
  for (const bool flips : {false, true}) {
    for (const int size : {1, 2, 4}) {
      expect_fewer(beside(size, 13, 3, flips), 0.75);
      expect_fewer(beside(size, 23, 3, flips), 0.7);
      expect_fewer(beside(size, 41, 8, flips), 0.85);
      expect_fewer(beside(size, 88, 3, flips), 0.85);
      expect_fewer(beside(size, 2, 44, flips), 1);  // pads would be a part of short runs
      expect_fewer(beside(size, 3, 200, flips), 1);
    }
  }
  EXPECT_GE(seen, 60);
}

}  // namespace
}  // namespace cornerturn::plan::gpu::pack
