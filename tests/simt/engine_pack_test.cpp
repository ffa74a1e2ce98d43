// pack in the configurations that the planner offers, in the emulator: runs that begin anywhere,
// long and short ones, pieces and parts of them, gaps, flips and pads.
#include "kernels/pack_args.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "simt/engine_support.hpp"

namespace cornerturn::simt {
namespace {

// The numbers of boxes and of elements are divided by multiplications.
TEST(Pack, QuotientsUpToTheLimit) {
  constexpr auto last = static_cast<std::uint32_t>(kernels::PackQuotient::limit - 1);
  for (const std::uint32_t divisor : {1U, 2U, 3U, 7U, 641U, 65536U, 1000003U, last - 2, last}) {
    const kernels::PackQuotient by(divisor);
    for (const std::uint32_t times : {0U, 1U, 2U, last / divisor / 2, last / divisor}) {
      if (times > last / divisor) continue;
      const std::uint32_t n = times * divisor;
      EXPECT_EQ(by.of(n), times) << n << " / " << divisor;
      if (n == 0) continue;
      EXPECT_EQ(by.of(n - 1), (n - 1) / divisor) << n - 1 << " / " << divisor;
    }
    EXPECT_EQ(by.of(last), last / divisor) << last << " / " << divisor;
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

// Boxes that share sectors: the last one along the mode may have less than is shared, one sector's
// worth, or more, and runs begin anywhere.
TEST(Engine, PackSharesSectors) {
  const auto compare = [](const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase) {
    const Plan plan = plan::make_plan(problem, some_device(), {1, "pack", {true, 1, 1}});
    Candidates candidates = plan.candidates;
    add_shared(plan, candidates);
    EXPECT_GT(candidates.size(), plan.candidates.size()) << to_string(problem);
    run_and_compare(problem, src_phase, dst_phase, "pack");
  };
  for (const std::int64_t size : {1, 2, 4, 8}) {
    const std::int64_t step = size <= 2 ? 128 : 64;
    for (const std::int64_t rest : {std::int64_t{1}, 16 / size + 1, 32 / size, step / 2}) {
      const std::int64_t rows = 6 * step + rest, columns = 64 / size + 1;
      const auto bytes = static_cast<int>(size);
      compare(problem_of(bytes,
                         {{columns, size, (rows + 1) * size}, {rows, (columns + 2) * size, size}}),
              size, 3 * size);
      // Periods of three elements.
      compare(problem_of(bytes, {{21, size, (3 * rows + 1) * size},
                                 {3, 21 * size, size},
                                 {rows, 63 * size, 3 * size}}),
              0, 5 * size);
    }
    if (HasFailure()) FAIL() << size << " B";
  }
  // Boxes of one run, which is taken in pieces.
  for (const std::int64_t rows : {4200, 4301}) {
    compare(problem_of(1, {{4, rows, 1}, {rows, 1, 4}, {3, 4 * rows, 4 * rows + 1}}), 0, 1);
  }
}

// Calls visit(normal problem, configuration, what is launched) for candidates of the anywhere form,
// where arrays begin at multiples of so many bytes.
void for_each_anywhere(const Problem& problem, const auto& visit, std::int64_t alignment = 1) {
  const Plan plan =
      plan::make_plan(problem, some_device(), {1, "pack", {true, alignment, alignment}});
  for (const Candidate& candidate : plan.candidates) {
    const auto& config = candidate.config.as<plan::gpu::PackConfig>();
    if (!config.anywhere) continue;
    visit(plan.normal, config, plan::gpu::pack::Family::prepare(config, plan.normal));
  }
}

// The nearest that a box of bytes ends to where the source does, without reaching it.
std::int64_t nearest_end(const Problem& problem) {
  std::int64_t nearest = problem.bytes();
  for_each_anywhere(problem, [&](const Problem&, const plan::gpu::PackConfig&, const auto& ready) {
    for (unsigned n = 0; n < ready.launch.grid.x; ++n) {
      kernels::PackLimits limits;
      const std::int64_t from = kernels::pack_box(ready.args, n, limits).src;
      constexpr std::int64_t beyond = 15;  // what boxes are safe for
      const std::int64_t left = ready.args.safe_high - from + beyond;
      if (limits.all && left > 0) nearest = std::min(nearest, left);
    }
  });
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
  int found = 0;
  for_each_anywhere(problem, [&](const Problem& normal, const auto& config, const auto& ready) {
    const plan::gpu::Box box = plan::gpu::pack::Boxes(normal).of(config);
    found += ready.args.to.bytes < box.dst.run * ready.args.element_bytes ? 1 : 0;
  });
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
  int found = 0;
  for_each_anywhere(problem, [&](const Problem&, const plan::gpu::PackConfig&, const auto& ready) {
    const kernels::PackDigit& first = ready.args.of_run.digit[0];
    const bool padded = first.pad_shift != kernels::PackDigit::no_pads;
    found += padded && first.extent + 1 < 2 * ready.args.of_unit() - 1 ? 1 : 0;
  });
  return found;
}

// Candidates whose lanes take several short runs, with the gaps between them, as one, and those of
// them whose boxes cut the last mode of that.
std::pair<int, int> count_runs_with_gaps(const Problem& problem) {
  int found = 0, cut = 0;
  const auto count = [&](const Problem&, const plan::gpu::PackConfig&, const auto& ready) {
    if (!ready.args.single || ready.args.own <= ready.args.of_piece) return;
    ++found;
    cut += ready.args.to.cut >= 0 ? 1 : 0;
  };
  for_each_anywhere(problem, count, problem.dst_type.size());
  return {found, cut};
}

// Such runs, with gaps of one element and of many, also of sources that go backwards.
TEST(Engine, PackShortRunsWithGaps) {
  int cut = 0;
  for (const std::int64_t size : {1, 2, 4, 8}) {
    const auto of = [&](std::int64_t extent, std::int64_t src, std::int64_t dst) {
      return cornerturn::Mode{extent, src * size, dst * size};
    };
    const auto compare = [&](const Problem& problem) {
      const auto [all, parts] = count_runs_with_gaps(problem);
      EXPECT_GT(all, 0) << to_string(problem);
      cut += parts;
      run_and_compare(problem, 0, 0, "pack");
      run_and_compare(problem, size, 3 * size, "pack");
    };
    for (const std::int64_t gap : {1, 5, 40}) {
      const auto bytes = static_cast<int>(size);
      const std::int64_t pitch = 5 + gap;
      compare(problem_of(
          bytes, {of(6, 5, 30 * pitch + 7), of(9, 180, 3 * pitch), of(3, 30, pitch), of(5, 1, 1)}));
      compare(problem_of(bytes, {of(7, -1, 12 * pitch), of(12, 35, pitch), of(5, 7, 1)}));
      const std::int64_t step = std::min(gap, 80 / size) + 1;
      compare(problem_of(bytes, {of(8, 1, 120 * step), of(3, 960, 30 * step), of(30, 16, step)}));
      compare(problem_of(bytes, {of(500, 1, 41 * pitch), of(41, 2000, pitch), of(4, 500, 1)}));
      if (HasFailure()) FAIL() << size << " B, gaps of " << gap;
    }
  }
  EXPECT_GT(cut, 0);
}

// Runs that begin at multiples of 16 bytes and end within a vector, at each of its elements:
// shorter than a vector, longer, and cut by boxes.
TEST(Engine, PackEndsOfAlignedRuns) {
  for (const std::int64_t size : {1, 2, 4, 8}) {
    const std::int64_t V = 16 / size;
    for (const std::int64_t vectors : {0, 1, 12}) {
      for (std::int64_t rest = 1; rest < V; ++rest) {
        const std::int64_t extent = vectors * V + rest;
        const std::int64_t pitch = (vectors + 1) * 16;
        const Problem problem =
            problem_of(static_cast<int>(size), {{48, size, pitch}, {extent, 48 * size, size}});
        const Plan plan = plan::make_plan(problem, some_device(), {1, "pack", {true, 16, 16}});
        const auto is_aligned = [&](const Candidate& candidate) {
          return describe(candidate, plan.normal).find("anywhere") == std::string::npos;
        };
        if (vectors > 0) {
          EXPECT_TRUE(std::any_of(plan.candidates.begin(), plan.candidates.end(), is_aligned));
        }
        run_and_compare(problem, 0, 0, "pack");
        if (HasFailure()) FAIL() << size << " B, runs of " << extent;
      }
    }
  }
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
    // Both sides have the same rows, and the source's go on along the next mode.
    for (const std::int64_t row : {3, 5}) {
      run_and_compare(
          problem_of(static_cast<int>(size), {{9, 8 * 128 * row * size, 8 * 128 * row * size},
                                              {128, row * size, 8 * row * size},
                                              {8, 128 * row * size, row * size},
                                              {row, size, size}}),
          size, 0, "pack");
    }
    if (HasFailure()) FAIL() << size << " B";
  }
}

}  // namespace
}  // namespace cornerturn::simt
