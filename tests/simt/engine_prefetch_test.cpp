// Sectors that rows of the destination leave in part: kernels ask the L2 for these, and for no
// others. The emulator notes what is asked for; the elements of a problem say what should be.
#include <set>

#include "kernels/pack_args.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/sectors.hpp"
#include "plan/gpu/tiles.hpp"
#include "simt/engine_support.hpp"

namespace cornerturn::simt {
namespace {

using Sectors = std::set<std::uintptr_t>;

// One whose L2 keeps nothing until its sectors are whole.
DeviceInfo without_l2() {
  DeviceInfo device = some_device();
  device.l2_bytes = 0;
  return device;
}

struct Written {
  Sectors all;  // that hold elements
  Sectors cut;  // of these, those that hold a row's beginning or end and other bytes too
};

Written written(const Problem& problem, const Side& dst) {
  std::set<std::uintptr_t> bytes;
  for_each_index(problem, [&](std::int64_t, std::int64_t to) {
    for (int i = 0; i < problem.dst_type.size(); ++i) {
      bytes.insert(reinterpret_cast<std::uintptr_t>(dst.zero + to + i));
    }
  });
  Written sectors;
  for (const std::uintptr_t at : bytes) {
    sectors.all.insert(at / 32);
    const bool begins = !bytes.contains(at - 1), ends = !bytes.contains(at + 1);
    if ((begins && at % 32 != 0) || (ends && (at + 1) % 32 != 0)) sectors.cut.insert(at / 32);
  }
  return sectors;
}

enum class Asked { nothing, ends, all };

// What the candidate asks for: tiles for all cut sectors if their rows are the destination's, boxes
// of pack as their arguments say.
Asked asked(const Candidate& candidate, const Problem& normal) {
  if (candidate.row->name == plan::gpu::pack::Family::name) {
    const auto& config = candidate.config.as<plan::gpu::PackConfig>();
    const plan::gpu::Box box = plan::gpu::pack::Boxes(normal).of(config);
    const kernels::PackArgs args = plan::gpu::pack::Family::prepare(config, normal).args;
    if (args.prefetch == kernels::PackPrefetch::all) return Asked::all;
    const bool has_rows = box.dst.run * normal.dst_type.size() == plan::gpu::dst_row(normal).bytes;
    const bool asks = args.prefetch == kernels::PackPrefetch::ends;
    EXPECT_TRUE(asks || !config.prefetches || !has_rows || box.dst.run_modes != 1 || args.single);
    return asks ? Asked::ends : Asked::nothing;
  }
  const auto& config = candidate.config.as<plan::gpu::TileConfig>();
  std::int64_t bytes = normal.dst_type.size();
  for (int i = 0; i < config.row_modes; ++i) bytes *= normal.modes[normal.rank() - 1 - i].extent;
  return bytes == plan::gpu::dst_row(normal).bytes ? Asked::ends : Asked::nothing;
}

struct Counts {
  int ends = 0, all = 0;
};

// All candidates of a kernel move what they should, and ask for what they should.
Counts run_and_look(const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase,
                    const char* kernel) {
  Side src(src_reach(problem), src_phase), dst(dst_reach(problem), dst_phase);
  for (std::int64_t i = 0; i < src.bytes; ++i) src.first[i] = static_cast<std::byte>(i * 7 + 1);
  std::vector<std::byte> expected(static_cast<std::size_t>(dst.bytes), std::byte{0xa5});
  const std::int64_t low = dst.first - dst.zero;
  for_each_index(problem, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(&expected[static_cast<std::size_t>(to - low)], src.zero + from,
                static_cast<std::size_t>(problem.dst_type.size()));
  });
  Plan plan = plan::make_plan(problem, without_l2(),
                              {1, {}, {true, alignment_of(src.zero), alignment_of(dst.zero)}});
  const Written sectors = written(problem, dst);
  Emulator emulator;
  Counts counts;
  Candidates candidates;
  std::ranges::copy_if(plan.candidates, std::back_inserter(candidates),
                       [&](const Candidate& candidate) { return candidate.row->name == kernel; });
  add_shared(plan, candidates);
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(std::string(kernel) + ": " + describe(candidate, plan.normal) + "; " +
                 to_string(problem) + " phases " + std::to_string(src_phase) + ", " +
                 std::to_string(dst_phase));
    plan.choose(candidate, plan::Choice::forced);
    std::memset(dst.first, 0xa5, static_cast<std::size_t>(dst.bytes));
    emulator.clear();
    emulator.input("src", src.first, static_cast<std::size_t>(src.bytes));
    emulator.output("dst", dst.first, static_cast<std::size_t>(dst.bytes));
    Sectors seen;
    const auto base = reinterpret_cast<std::uintptr_t>(dst.first);
    const auto note = [&](const Request& request) {
      if (request.op != Op::prefetch) return;
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        if ((request.lanes.active >> lane & 1U) == 0) continue;
        const std::uint64_t at =
            request.lanes.address[lane] - emulator.device_address(dst.first) + base;
        seen.insert(at / 32);
      }
    };
    execute(emulator, plan, {dst.zero, src.zero}, Mode::recording, note);
    for (const Finding& finding : emulator.findings()) {
      if (finding.kind != FindingKind::never_written) ADD_FAILURE() << finding.message();
    }
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), dst.first));
    const bool says_so =
        describe(candidate, plan.normal).find(plan::gpu::cut_prefetched) != std::string::npos;
    switch (asked(candidate, plan.normal)) {
      case Asked::nothing:
        EXPECT_TRUE(seen.empty());
        EXPECT_FALSE(says_so);
        break;
      case Asked::ends:
        EXPECT_EQ(seen, sectors.cut);
        EXPECT_TRUE(says_so);
        ++counts.ends;
        break;
      case Asked::all:
        EXPECT_TRUE(std::ranges::includes(seen, sectors.cut));
        EXPECT_TRUE(std::ranges::includes(sectors.all, seen));
        EXPECT_TRUE(says_so);
        ++counts.all;
    }
    if (testing::Test::HasFailure()) return counts;
  }
  return counts;
}

// So many rows of the destination, each with a gap behind it.
Problem gapped(std::int64_t size, std::int64_t rows, std::int64_t length, std::int64_t gap) {
  return problem_of(static_cast<int>(size),
                    {{rows, size, (length + gap) * size}, {length, rows * size, size}});
}

// A problem with gaps whose rows have two modes, and the source goes backwards along one.
Problem gapped_in_modes(std::int64_t size, std::int64_t rows, std::int64_t length,
                        std::int64_t gap) {
  return problem_of(static_cast<int>(size), {{rows, size, (3 * length + gap) * size},
                                             {3, -rows * length * size, length * size},
                                             {length, rows * size, size}});
}

TEST(Engine, TilesAskForCutSectors) {
  int turn = 0, of_modes = 0;
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    const std::int64_t vector = 16 / size;
    for (const std::int64_t bytes : {48, 80, 208, 592}) {
      const std::int64_t length = bytes / size;
      const std::int64_t phase = turn++ % 2 * 16;
      // tile takes whole vectors, skew all else.
      const Problem even = gapped(size, 5 * vector, length, vector);
      EXPECT_GT(run_and_look(even, 0, phase, "tile").ends, 0) << to_string(even);
      if (size == 16) continue;
      const Problem odd = gapped(size, 37, length + 1, 3);
      EXPECT_GT(run_and_look(odd, size, phase + 3 * size, "skew").ends, 0) << to_string(odd);
      const Problem modes = gapped_in_modes(size, 37, length / 3 + 1, 3);
      of_modes += run_and_look(modes, 0, size, "skew").ends;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(of_modes, 10);
}

// Boxes that have whole rows, and the first and the last parts of longer ones; rows of several
// modes, and of so few elements that several of them are one run.
TEST(Engine, PackAsksForCutSectors) {
  Counts counts;
  const auto look = [&](const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase) {
    const Counts of = run_and_look(problem, src_phase, dst_phase, "pack");
    counts.ends += of.ends;
    counts.all += of.all;
    return !HasFailure();
  };
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t length : {2, 3, 7, 33, 130, 600}) {
      if (3 * length * size > 2048) continue;
      for (const std::int64_t gap : {1, 40}) {
        if (!look(gapped(size, 61, length, gap), 3 * size, length % 5 * size)) return;
        if (!look(gapped_in_modes(size, 61, length, gap), size, 3 * size)) return;
      }
    }
    // Kept, or turned within them: vectors, and elements.
    const std::int64_t vector = 16 / size;
    ModeList kept{{19, 15 * vector * size, 11 * vector * size},
                  {5 * vector, vector * size, 2 * size},
                  {2, 7 * vector * size, size}};
    if (!look(problem_of(static_cast<int>(size), kept), 0, 0)) return;
    if (!look(problem_of(static_cast<int>(size), kept), 0, size)) return;
    for (const std::int64_t gap : {1, 2, 40}) {
      if (!look(problem_of(static_cast<int>(size), {{67, size, 9 * (6 + gap) * size},
                                                    {9, 6 * 67 * size, (6 + gap) * size},
                                                    {2, 67 * size, 3 * size},
                                                    {3, 2 * 67 * size, size}}),
                0, 2 * size)) {
        return;
      }
    }
  }
  // Rows of eight bytes in pairs, which others follow after small gaps or large ones.
  for (const std::int64_t step : {64, 68, 100, 4000}) {
    const Problem pairs =
        problem_of(4, {{150, 4, 2 * step + 200}, {2, 600, step}, {2, 1200, 32}, {2, 2400, 4}});
    if (!look(pairs, 0, 0)) return;
  }
  Problem narrowed = gapped(2, 61, 33, 3);
  narrowed.src_type = ElementType(Kind::f32);
  narrowed.dst_type = ElementType(Kind::f16);
  for (cornerturn::Mode& mode : narrowed.modes) mode.src_stride *= 2;
  const Plan plan = plan::make_plan(narrowed, without_l2(), {1, "pack", {}});
  EXPECT_EQ(asked(plan.candidates.front(), plan.normal), Asked::ends);
  EXPECT_GT(counts.ends, 100);
  EXPECT_GT(counts.all, 20);
}

// Where rows are whole sectors, follow each other without a gap, or are long, and where the L2
// has room, nobody asks for anything.
TEST(Engine, NobodyAsksForOtherSectors) {
  const auto asks = [](const Problem& problem, const DeviceInfo& device) {
    const Plan plan = plan::make_plan(problem, device, {});
    return std::ranges::any_of(plan.candidates, [&](const Candidate& candidate) {
      return describe(candidate, plan.normal).find(plan::gpu::cut_prefetched) != std::string::npos;
    });
  };
  EXPECT_TRUE(asks(gapped(4, 65, 33, 2), without_l2()));
  EXPECT_TRUE(asks(gapped(4, 65, 512, 1), without_l2()));
  EXPECT_FALSE(asks(gapped(4, 65, 33, 2), some_device()));
  // Rows touch all that they reach, and a fifth of the L2 has room for that, or not.
  DeviceInfo device = some_device();
  device.l2_bytes = 5 * 65 * 4 * (33 + 2);
  EXPECT_TRUE(asks(gapped(4, 65, 33, 2), device));
  device.l2_bytes += 5;
  EXPECT_FALSE(asks(gapped(4, 65, 33, 2), device));
  EXPECT_FALSE(asks(gapped(4, 65, 33, 0), without_l2()));
  EXPECT_FALSE(asks(gapped(4, 65, 32, 8), without_l2()));
  EXPECT_FALSE(asks(gapped(4, 65, 513, 1), without_l2()));
  Problem shifted = gapped(4, 65, 32, 8);
  shifted.dst_offset = 16;
  EXPECT_TRUE(asks(shifted, without_l2()));
}

}  // namespace
}  // namespace cornerturn::simt
