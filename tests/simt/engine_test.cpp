// The kernels of the GPU engine in the configurations that the planner offers, in the emulator: all
// elements compared, every byte of the destination written exactly once, nothing else touched.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "core/validate.hpp"
#include "kernels/pack_args.hpp"
#include "plan/gpu/gather_units.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/parts.hpp"
#include "plan/planner.hpp"
#include "support.hpp"
#include "support/random_problem.hpp"
#include "support/shapes.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::simt {
namespace {

using plan::Candidate;
using plan::Candidates;
using plan::Plan;
using plan::gpu::DeviceInfo;

DeviceInfo some_device() {
  DeviceInfo device;
  device.name = "test device";
  device.arch = 90;
  device.sm_count = 1;  // so that small problems have many blocks for it
  device.clock_hz = 1.7e9;
  device.copy_bandwidth = 4.25e12;
  device.launch_seconds = 0;  // so that small problems may take several launches
  device.l2_bytes = 50 << 20;
  device.shared_per_sm = 228 << 10;
  device.shared_per_block = 227 << 10;
  device.threads_per_sm = 2048;
  device.blocks_per_sm = 32;
  return device;
}

void for_each_index(const Problem& problem, const auto& visit) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem.rank()), 0);
  for (std::int64_t n = problem.elements(); n > 0; --n) {
    std::int64_t from = problem.src_offset, to = problem.dst_offset;
    for (int i = 0; i < problem.rank(); ++i) {
      from += index[static_cast<std::size_t>(i)] * problem.modes[i].src_stride;
      to += index[static_cast<std::size_t>(i)] * problem.modes[i].dst_stride;
    }
    visit(from, to);
    for (int i = problem.rank(); i-- > 0;) {
      if (++index[static_cast<std::size_t>(i)] < problem.modes[i].extent) break;
      index[static_cast<std::size_t>(i)] = 0;
    }
  }
}

// All candidates.
constexpr int each = -1;

// One candidate of every kernel, another one the next turn.
Candidates in_turn(const Candidates& all, int turn) {
  Candidates some;
  for (const auto& row : plan::gpu_registry()) {
    Candidates own;
    std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                 [&](const Candidate& candidate) { return candidate.row == &row; });
    if (!own.empty()) some.push_back(own[static_cast<std::size_t>(turn) % own.size()]);
  }
  return some;
}

// Units of gather are candidates of problems that would take long here.
void add_units(const Plan& plan, Candidates& candidates) {
  using plan::gpu::gather::Family;
  if (plan.normal.converts() || !plan::gpu::gather::takes_units(plan.normal)) return;
  const auto& rows = plan::gpu_registry();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [](const auto& one) { return one.name == Family::name; });
  Alignment start = plan.alignment;
  start.dst = std::gcd(start.dst, plan.normal.dst_offset);
  const int granule = plan::gpu::gather::granule_of_rows(plan.normal, start);
  candidates.push_back({&*row, plan::gpu::GatherConfig{false, true, granule}, {}});
}

// Runs the candidates of a turn, or all of a kernel that must take the problem.
void run_and_compare(const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase,
                     const std::string& kernel = {}, int turn = each) {
  if (problem.elements() == 0) return;
  Side src(src_reach(problem), src_phase);
  const Reach reach = dst_reach(problem);
  Side dst(reach, dst_phase);
  std::uint64_t state = 7;
  for (std::int64_t i = 0; i < src.bytes; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    src.first[i] = static_cast<std::byte>(state >> 56);
  }
  const auto size = static_cast<std::size_t>(problem.dst_type.size());
  std::vector<std::byte> expected(static_cast<std::size_t>(dst.bytes), std::byte{0xa5});
  for_each_index(problem, [&](std::int64_t from, std::int64_t to) {
    std::memcpy(&expected[static_cast<std::size_t>(to - reach.low)], src.zero + from, size);
  });

  Plan plan = plan::make_plan(problem, some_device(),
                              {1, kernel, {true, alignment_of(src.zero), alignment_of(dst.zero)}});
  Emulator emulator;
  const bool packed = problem.bytes() == dst.bytes;
  Candidates candidates = turn == each ? plan.candidates : in_turn(plan.candidates, turn);
  if (kernel.empty()) add_units(plan, candidates);
  for (const Candidate& candidate : candidates) {
    SCOPED_TRACE(std::string(candidate.row->name) + ": " + describe(candidate, plan.normal) + "; " +
                 to_string(problem) + " -> " + to_string(plan.normal) + " phases " +
                 std::to_string(src_phase) + ", " + std::to_string(dst_phase));
    plan.choose(candidate, plan::Choice::forced);
    std::memset(dst.first, 0xa5, static_cast<std::size_t>(dst.bytes));
    emulator.clear();
    emulator.input("src", src.first, static_cast<std::size_t>(src.bytes));
    if (candidate.row->parts == nullptr) {
      // Gaps in the destination are nobody's: only the elements are outputs that must be written.
      emulator.output("dst", dst.first, static_cast<std::size_t>(dst.bytes));
    } else {  // Later parts read what earlier ones have written.
      emulator.update("dst", dst.first, static_cast<std::size_t>(dst.bytes));
    }
    const Mode mode = kernel.empty() ? Mode::fast : Mode::recording;
    plan::gpu::for_each_part(plan, {dst.zero, src.zero}, [&](const Plan& part, const Buffers& its) {
      execute(emulator, part, its, mode);
      for (const Finding& finding : emulator.findings()) {
        if (!packed && finding.kind == FindingKind::never_written) continue;
        // A vector of the first copy may end in the next one. What it has of that goes nowhere.
        if (candidate.row->parts != nullptr && finding.kind == FindingKind::race) continue;
        ADD_FAILURE() << finding.message();
      }
    });
    const auto wrong = std::mismatch(expected.begin(), expected.end(), dst.first).first;
    if (wrong != expected.end()) {
      ADD_FAILURE() << "differs first at byte " << wrong - expected.begin();
    }
    if (testing::Test::HasFailure()) return;
  }
}

Problem problem_of(int size, const ModeList& modes) {
  Problem problem;
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  problem.modes = modes;
  return problem;
}

TEST(Engine, SharedShapes) {
  int turn = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const int size : {1, 2, 4, 8, 16}) {
      const Problem problem = test::problem_of(shape, size);
      if (problem.elements() > 30'000) continue;
      // Aligned, and in turns one side, the other, and both where they should not be.
      // So that no size and no phase always meets the same candidate.
      const int which = turn + turn / 15;
      run_and_compare(problem, 0, 0, {}, which);
      switch (turn++ % 3) {
        case 0:
          run_and_compare(problem, size, 0, {}, which + 1);
          break;
        case 1:
          run_and_compare(problem, 0, size, {}, which + 1);
          break;
        default:
          run_and_compare(problem, 3, 5, {}, which + 1);
      }
      if (HasFailure()) FAIL() << shape.name << " of " << size << " B";
    }
  }
}

TEST(Engine, RandomProblems) {
  test::RandomProblems problems(20, {.max_rank = 12, .max_bytes = 20 << 10});
  for (int i = 0; i < 600; ++i) {
    const Problem problem = problems.next();
    run_and_compare(problem, problems.chance(0.5) ? 0 : problems.uniform(0, 31),
                    problems.chance(0.5) ? 0 : problems.uniform(0, 31), {}, i);
    if (HasFailure()) FAIL() << "problem " << i;
  }
}

// Broadcast along outer modes, one and two of them, beside others that are in another order.
TEST(Engine, RepeatedSources) {
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::int64_t row = 200 * size;
    const Problem column = problem_of(size, {{7, 0, row}, {200, 5 * size, size}});
    const Problem middle = problem_of(
        size, {{3, size, 9 * row}, {9, 0, row}, {20, 30 * size, 10 * size}, {10, 3 * size, size}});
    const Problem apart = problem_of(
        size, {{2, 0, 40 * row}, {3, size, 13 * row}, {4, 0, 3 * row}, {200, 3 * size, size}});
    for (const Problem& problem : {column, middle, apart}) {
      for (const auto& [src, dst] : {std::pair{0, 0}, {size % 16, 0}, {0, size % 16}, {3, 5}}) {
        run_and_compare(problem, src, dst, "repeat");
      }
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

TEST(Engine, Copies) {
  for (const std::int64_t bytes : {16, 17, 31, 4096, 12288, 16384, 50003}) {
    const Problem problem = problem_of(1, {{bytes, 1, 1}});
    for (const auto& [src, dst] :
         {std::pair{0, 0}, {1, 0}, {0, 1}, {5, 5}, {3, 14}, {8, 4}, {8, 0}}) {
      run_and_compare(problem, src, dst, "copy");
    }
    if (HasFailure()) FAIL() << bytes << " B";
  }
}

// A b rows and c d columns in reverse: groups of one mode and of two on either side.
Problem reversed(int size, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return problem_of(size, {{d, size, a * b * c * size},
                           {c, d * size, a * b * size},
                           {b, c * d * size, a * size},
                           {a, b * c * d * size, size}});
}

// Large enough for the largest tile of each element, aligned and not; all configurations.
TEST(Engine, TilesOfEveryShape) {
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::int64_t side = size <= 2 ? 288 : 192;
    for (const bool grouped : {false, true}) {
      const Problem problem =
          grouped ? reversed(size, 4, side / 4, side / 4, 4) : reversed(size, 1, side, side, 1);
      for (const int phase : {0, size % 16}) {
        run_and_compare(problem, phase, 0, {}, each);
        if (HasFailure()) FAIL() << size << " B";
      }
    }
  }
}

// Matrices of which one side is shorter than a usual tile.
TEST(Engine, NarrowTiles) {
  for (const int size : {1, 2, 4}) {
    for (const std::int64_t shorter : {23 / size, 61 / size}) {
      const std::int64_t longer = 611 / size;
      for (const Problem& problem :
           {reversed(size, 1, shorter, longer, 1), reversed(size, 1, longer, shorter, 1)}) {
        for (const int phase : {0, 3 * size}) {
          run_and_compare(problem, phase, 0, "skew", each);
          if (HasFailure()) FAIL() << size << " B, " << shorter;
        }
      }
    }
  }
}

// Rows shorter and longer than a block's work; pitches that keep the phase, and others.
TEST(Engine, Rows) {
  for (const std::int64_t bytes : {16, 24, 57, 80, 256, 2052, 16384, 16400, 20001}) {
    const std::int64_t rows = std::max<std::int64_t>(3, 20000 / bytes);
    for (const std::int64_t src_gap : {0, 4, 13, 16}) {
      for (const std::int64_t dst_gap : {0, 4, 13, 16}) {
        const std::int64_t src_pitch = bytes + src_gap, dst_pitch = bytes + dst_gap;
        // Two planes whose rows change places.
        const Problem problem = problem_of(
            1, {{rows, 2 * src_pitch, dst_pitch}, {2, src_pitch, rows * dst_pitch}, {bytes, 1, 1}});
        run_and_compare(problem, 0, 0, "rows");
        run_and_compare(problem, 4, 0, "rows");
        run_and_compare(problem, 7, 2, "rows");
        if (HasFailure()) FAIL() << bytes << " B, gaps " << src_gap << ", " << dst_gap;
      }
    }
  }
}

// Rows of three modes in reverse; whole vectors on both sides, or gaps that move the phase.
TEST(Engine, Boxes) {
  for (const std::int64_t bytes : {16, 32, 48, 80, 368, 20000}) {
    for (const auto& [a, b, c] :
         {std::tuple{10, 15, 7}, {3, 2, 40}, {2, 1, 103}, {37, 2, 1}, {16, 3, 16}, {2, 1, 3}}) {
      if (bytes * a * b * c > 200'000) continue;
      for (const std::int64_t gap : {0, 16}) {
        const std::int64_t src = bytes, dst = bytes + gap;
        run_and_compare(problem_of(16, {{a, src, b * c * dst},
                                        {b, a * src, c * dst},
                                        {c, a * b * src, dst},
                                        {bytes / 16, 16, 16}}),
                        0, 0, "boxes");
      }
    }
    if (HasFailure()) FAIL() << bytes << " B";
  }
  for (const std::int64_t bytes : {64, 100, 257, 4100, 17000}) {
    const std::int64_t rows = std::max<std::int64_t>(3, 6000 / bytes);
    for (const std::int64_t src_gap : {0, 4, 13, 16}) {
      for (const std::int64_t dst_gap : {0, 4, 13, 16}) {
        const std::int64_t src = bytes + src_gap, dst = bytes + dst_gap;
        const int granule = (src_gap | dst_gap | bytes) % 4 == 0 ? 4 : 1;
        const Problem problem = problem_of(
            granule,
            {{rows, 5 * src, dst}, {5, -src, rows * dst}, {bytes / granule, granule, granule}});
        run_and_compare(problem, 0, 0, "boxes");
        run_and_compare(problem, 4, 12, "boxes");
        if (granule == 1) run_and_compare(problem, 7, 2, "boxes");
        if (HasFailure()) FAIL() << bytes << " B, gaps " << src_gap << ", " << dst_gap;
      }
    }
  }
}

// A source that is read again and again, and one that is read backwards.
TEST(Engine, RowsRepeatedAndFlipped) {
  run_and_compare(problem_of(1, {{40, 0, 50}, {50, 1, 1}}), 0, 0, "rows");
  run_and_compare(problem_of(4, {{3, 0, 8000}, {40, -200, 200}, {50, 4, 4}}), 4, 4, "rows");
  run_and_compare(problem_of(2, {{40, -102, 110}, {50, 2, 2}}), 6, 2, "rows");
}

// Structures of `length` elements, `members` of them moved, and planes `gap` elements apart.
struct Structures {
  std::int64_t batches, count;
  int length, members;
  std::int64_t gap;

  Problem to_planes(int size) const {
    const std::int64_t plane = (count + gap) * size;
    return problem_of(size, {{batches, count * length * size, members * plane},
                             {members, size, plane},
                             {count, length * size, size}});
  }
  Problem from_planes(int size) const {
    Problem problem = to_planes(size);
    for (auto& mode : problem.modes) std::swap(mode.src_stride, mode.dst_stride);
    return problem;
  }
};

// Of every length and element size; planes and batches that keep the phase, and others.
TEST(Engine, Structures) {
  for (const int size : {1, 2, 4, 8}) {
    for (int length = 2; length <= 8; ++length) {
      for (const Structures& s : {Structures{1, 4096, length, length, 0},
                                  {3, 520, length, length, 8},
                                  {2, 1201, length, length, 0},
                                  {5, 64, length, length, 3}}) {
        for (const auto& [src, dst] :
             {std::pair{0, 0}, {size, 0}, {0, size}, {3 * size, 5 * size}}) {
          run_and_compare(s.to_planes(size), src, dst, "structures");
          run_and_compare(s.from_planes(size), src, dst, "structures");
        }
      }
      if (HasFailure()) FAIL() << size << " B x " << length;
    }
  }
}

// Some members of every structure only: every second element, RGB out of RGBA.
TEST(Engine, MembersOfStructures) {
  for (const int size : {1, 2, 4, 8}) {
    for (int length = 2; length <= 8; ++length) {
      for (const int members : {1, length - 1}) {
        const Structures s{2, 777, length, members, 0};
        run_and_compare(s.to_planes(size), 0, 0, "structures");
        run_and_compare(s.to_planes(size), size, 3 * size, "structures");
      }
      if (HasFailure()) FAIL() << size << " B x " << length;
    }
  }
}

// Runs that begin anywhere: odd strides, both sides with phases of their own, and nothing around
// the source that may be read.
TEST(Engine, PackAnywhere) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    const auto packed = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
      return problem_of(
          static_cast<int>(size),
          {{a, size, b * c * size}, {b, a * c * size, c * size}, {c, a * size, size}});
    };
    for (const Problem& problem : {packed(37, 29, 13), packed(5, 3, 501), packed(211, 2, 17)}) {
      run_and_compare(problem, 0, 0, "pack");
      run_and_compare(problem, size, 0, "pack");
      run_and_compare(problem, 3 * size, 5 * size, "pack");
    }
    // Runs of three modes, of which the first is too short for all elements of a unit.
    for (const std::int64_t first : {2, 3, 7}) {
      const std::int64_t a = first * size, b = 5 * a, c = 3 * b;
      run_and_compare(
          problem_of(static_cast<int>(size),
                     {{41, c, size}, {3, b, 41 * 5 * a}, {5, a, 41 * a}, {first, size, 41 * size}}),
          size, 0, "pack");
      run_and_compare(
          problem_of(static_cast<int>(size),
                     {{41, size, c}, {3, 41 * 5 * a, b}, {5, 41 * a, a}, {first, 41 * size, size}}),
          0, size, "pack");
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

// The nearest that a box of bytes ends to where the source does, without reaching it.
std::int64_t nearest_end(const Problem& problem) {
  const Plan plan = plan::make_plan(problem, some_device(), {1, "pack", {true, 1, 1}});
  std::int64_t nearest = problem.bytes();
  for (const Candidate& candidate : plan.candidates) {
    const auto& config = candidate.config.as<plan::gpu::PackConfig>();
    if (!config.anywhere) continue;
    const auto ready = plan::gpu::pack::Family::prepare(config, plan.normal);
    for (unsigned n = 0; n < ready.launch.grid.x; ++n) {
      kernels::PackLimits limits;
      const std::int64_t from = kernels::pack_box(ready.args, n, limits).src;
      constexpr std::int64_t beyond = 15;  // what boxes are safe for
      const std::int64_t left = ready.args.safe_high - from + beyond;
      if (limits.all && left > 0) nearest = std::min(nearest, left);
    }
  }
  return nearest;
}

// A box of which the last byte begins a vector: 14 bytes after it belong to the source, and the
// vector has one more. Boxes that are a byte nearer or farther are run as well.
TEST(Engine, PackNearTheEnd) {
  int near = 0;
  for (std::int64_t columns = 100; columns < 1000 && near < 6; ++columns) {
    const Problem problem = reversed(1, 1, 96, columns, 1);
    const std::int64_t left = nearest_end(problem);
    if (left < 13 || left > 15) continue;
    ++near;
    const std::int64_t phase = (16 + 15 - problem.bytes() % 16) % 16;
    run_and_compare(problem, phase, 0, "pack");
  }
  EXPECT_EQ(near, 6);
}

// Long runs of the destination, which are cut into pieces, with other runs between them.
TEST(Engine, PackPieces) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    for (const std::int64_t members : {2, 5}) {
      const std::int64_t count = 9001 / size;
      for (const std::int64_t gap : {0, 1}) {
        const Problem problem =
            problem_of(static_cast<int>(size),
                       {{members, size, (count + gap) * size}, {count, members * size, size}});
        run_and_compare(problem, 0, 0, "pack");
        run_and_compare(problem, size, 3 * size, "pack");
        Problem back = problem;
        for (auto& mode : back.modes) std::swap(mode.src_stride, mode.dst_stride);
        run_and_compare(back, 3 * size, size, "pack");
      }
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

// Candidates whose lanes take parts of the runs of the destination: what some modes of these make.
int count_parts_of_runs(const Problem& problem) {
  const Plan plan = plan::make_plan(problem, some_device(), {1, "pack", {true, 1, 1}});
  int found = 0;
  for (const Candidate& candidate : plan.candidates) {
    const auto& config = candidate.config.as<plan::gpu::PackConfig>();
    if (!config.anywhere) continue;
    const auto ready = plan::gpu::pack::Family::prepare(config, plan.normal);
    const plan::gpu::Box box = plan::gpu::pack::Boxes(plan.normal).of(config);
    found += ready.args.to.bytes < box.dst.run * ready.args.element_bytes ? 1 : 0;
  }
  return found;
}

// Runs of the destination of several modes: boxes have all of them, or cut the last one, and parts
// of the runs are whole units or are not.
TEST(Engine, PackPartsOfRuns) {
  int found = 0;
  for (const std::int64_t size : {1, 2, 4}) {
    for (const std::int64_t first : {2, 8, 11}) {
      const auto of = [&](std::int64_t extent, std::int64_t src, std::int64_t dst) {
        return cornerturn::Mode{extent, src * size, dst * size};
      };
      const std::int64_t row = 3 * 12 * 11, all = row * first;
      for (const std::int64_t gap : {0, 1}) {
        const Problem problem = problem_of(
            static_cast<int>(size), {of(5, all, all + gap), of(11, 36, first * 36),
                                     of(12, 3, first * 3), of(3, 1, first), of(first, row, 1)});
        found += count_parts_of_runs(problem);
        run_and_compare(problem, 0, 0, "pack");
        run_and_compare(problem, size, 3 * size, "pack");
      }
      if (HasFailure()) FAIL() << size << " B, " << first;
    }
  }
  EXPECT_GT(found, 0);
}

// Candidates whose runs of the destination begin with a mode of fewer indices than a lane looks at,
// and more than lie without a pad.
int count_short_padded(const Problem& problem) {
  const Plan plan = plan::make_plan(problem, some_device(), {1, "pack", {true, 1, 1}});
  int found = 0;
  for (const Candidate& candidate : plan.candidates) {
    const auto& config = candidate.config.as<plan::gpu::PackConfig>();
    if (!config.anywhere) continue;
    const auto ready = plan::gpu::pack::Family::prepare(config, plan.normal);
    const kernels::PackDigit& first = ready.args.of_run.digit[0];
    const bool padded = first.pad_shift != kernels::PackDigit::no_pads;
    found += padded && first.extent + 1 < 2 * ready.args.of_unit() - 1 ? 1 : 0;
  }
  return found;
}

TEST(Engine, PackShortPaddedModes) {
  int found = 0;
  for (const std::int64_t size : {1, 2, 4}) {
    const auto of = [&](std::int64_t extent, std::int64_t src, std::int64_t dst) {
      return cornerturn::Mode{extent, src * size, dst * size};
    };
    const Problem problem = problem_of(
        static_cast<int>(size),
        {of(14, 1, 300), of(5, 14, 60), of(2, 70, 4200), of(12, 9458, 5), of(5, 1890, 1)});
    found += count_short_padded(problem);
    run_and_compare(problem, 0, 0, "pack");
    run_and_compare(problem, size, 3 * size, "pack");
    if (HasFailure()) FAIL() << size << " B";
  }
  EXPECT_GT(found, 0);
}

// Sources that go backwards along their runs, in boxes that are whole and in those that are not.
TEST(Engine, PackFlipped) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    for (const auto& [a, b] : {std::pair{1501, 7}, {67, 93}, {260, 31}}) {
      run_and_compare(
          problem_of(static_cast<int>(size), {{a, -size, b * size}, {b, a * size, size}}), 0, 0,
          "pack");
      run_and_compare(
          problem_of(static_cast<int>(size), {{a, -size, b * size}, {b, -a * size, size}}), size,
          size, "pack");
      // Backwards along the second mode of the run.
      run_and_compare(
          problem_of(static_cast<int>(size),
                     {{3, size, a * b * size}, {a, -3 * size, b * size}, {b, 3 * a * size, size}}),
          size, 0, "pack");
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

// Runs with gaps between their pieces, on either side and on both, in boxes that are whole and in
// those that are not: elements of gaps stay what they were, and are read only where they lie
// inside.
TEST(Engine, PackGaps) {
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    const auto both = [&](const ModeList& modes, std::int64_t src_phase, std::int64_t dst_phase) {
      Problem problem = problem_of(static_cast<int>(size), modes);
      for (auto& mode : problem.modes) {
        mode.src_stride *= size;
        mode.dst_stride *= size;
      }
      run_and_compare(problem, src_phase * size, dst_phase * size, "pack");
      for (auto& mode : problem.modes) std::swap(mode.src_stride, mode.dst_stride);
      const bool has_runs = std::all_of(problem.modes.begin(), problem.modes.end(),
                                        [](const auto& mode) { return mode.dst_stride > 0; });
      if (!has_runs) return;
      run_and_compare(problem, dst_phase * size, src_phase * size, "pack");
    };
    // Pieces of 5 out of 7 on one side; members apart on the other.
    both({{5, 1, 403}, {403, 7, 1}}, 0, 0);
    both({{5, 1, 403}, {403, 7, 1}}, 1, 3);
    // Pieces of 3 x 2 out of 8, beside rows; and a second level of gaps.
    both({{37, 8 * 11, 6}, {11, 8, 37 * 6}, {2, 3, 1}, {3, 1, 2}}, 3, 0);
    both({{13, 7 * 19 + 2, 3 * 19}, {19, 7, 3}, {3, 1, 1}}, 0, 1);
    // Rows with gaps on both sides.
    both({{29, 9, 11 * 17}, {17, 9 * 29, 11}, {8, 1, 1}}, 2, 5);
    // Backwards, repeated, and every third element.
    both({{7, 1, 307}, {307, -9, 1}}, 1, 1);
    run_and_compare(problem_of(static_cast<int>(size), {{17, 300 * size, 3 * size},
                                                        {100, 3 * size, 60 * size},
                                                        {3, 5100 * size, size}}),
                    size, 0, "pack");
    run_and_compare(problem_of(static_cast<int>(size),
                               {{41, 9 * size, 30 * size}, {5, 0, 6 * size}, {5, size, size}}),
                    0, size, "pack");
    if (HasFailure()) FAIL() << size << " B";
  }
}

// Sources whose runs go on along the destination's fastest mode, a multiple of the banks' bytes
// further on with each index: such runs lie apart in some of the boxes.
TEST(Engine, PackApart) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    for (const std::int64_t row : {32, 48, 64}) {
      const std::int64_t width = row / size;
      const auto modes = [&](std::int64_t count, std::int64_t gap, std::int64_t backwards) {
        return problem_of(static_cast<int>(size),
                          {{width, backwards * size, (count + gap) * size}, {count, row, size}});
      };
      run_and_compare(modes(401, 0, 1), 0, 0, "pack");
      run_and_compare(modes(401, 3, 1), size, 3 * size, "pack");
      run_and_compare(modes(1024 / size, 0, -1), 0, size, "pack");
    }
    run_and_compare(problem_of(static_cast<int>(size), {{32, size, 16 * 124 * 5 * size},
                                                        {5, 32 * 124 * size, 16 * 124 * size},
                                                        {16, 32 * 124 * 5 * size, 124 * size},
                                                        {124, 32 * size, size}}),
                    0, 0, "pack");
    if (HasFailure()) FAIL() << size << " B";
  }
}

}  // namespace
}  // namespace cornerturn::simt
