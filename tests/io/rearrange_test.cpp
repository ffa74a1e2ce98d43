// Schedules of every kind on random arrays against one obvious loop.
#include "io/rearrange.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "core/normalise.hpp"
#include "core/validate.hpp"
#include "cornerturn/error.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "files/output_file.hpp"
#include "io/rearrange_gpu.hpp"
#include "io/rearrange_staged.hpp"
#include "io/workers.hpp"
#include "plan/planner.hpp"
#include "support/draws.hpp"
#include "support/file_conversions.hpp"
#include "support/random_array.hpp"

namespace cornerturn::io {
namespace {

using test::Bytes;
using test::random_array;
using test::RandomArray;
using test::reference;

File scratch_file() {
  return files::temporary_file(::testing::TempDir(), 0);
}

// A schedule with boxes so small that there are many of them.
Schedule small_schedule(const Problem& problem, Route route, bool in_order, std::int64_t budget) {
  Schedule schedule;
  schedule.problem = normalise(problem);
  schedule.route = route;
  schedule.in_order = in_order;
  schedule.workers = 2;
  const Problem& normal = schedule.problem;
  if (route == Route::two_pass) {
    schedule.boxes = contiguous_grid(normal, budget, Side::source);
    schedule.panels = contiguous_grid(normal, budget, Side::destination);
  } else {
    schedule.boxes = in_order ? contiguous_grid(normal, budget, Side::destination)
                              : balanced_grid(normal, budget, 1, 2);
  }
  return schedule;
}

// Boxes of a schedule for the GPU, far smaller than its own.
Grid small_boxes(const Schedule& schedule, std::int64_t budget) {
  return schedule.in_order ? contiguous_grid(schedule.problem, budget, Side::destination)
                           : balanced_grid(schedule.problem, budget, 1, 1);
}

TEST(Rearrange, EveryRouteGivesWhatTheReferenceGives) {
  std::mt19937 random(11);
  constexpr std::int64_t shift = 37;  // arrays start anywhere in their files
  for (int i = 0; i < ::cornerturn::test::draws(600); ++i) {
    const RandomArray array = random_array(random, 20000);
    const Bytes expected = reference(array.problem, array.source);
    const auto bytes = static_cast<std::int64_t>(array.source.size());
    const File in = scratch_file();
    in.write_at(array.source.data(), bytes, shift);
    for (const Route route : {Route::mapped, Route::one_pass, Route::two_pass}) {
      for (const bool in_order : {false, true}) {
        const auto budget = static_cast<std::int64_t>(1 + random() % 3000);
        const Schedule schedule = small_schedule(array.problem, route, in_order, budget);
        Source source{nullptr, &in, shift};
        if (route == Route::mapped) source.memory = array.source.data();
        const File out = scratch_file();
        const File temporary = scratch_file();
        const Sink sink{&out, in_order ? 0 : shift};
        const Sink scratch = in_order ? Sink{&temporary, 0} : sink;
        Progress progress;
        rearrange(schedule, source, sink, scratch, {}, progress);
        Bytes result(array.source.size());
        out.read_at(result.data(), bytes, sink.offset);
        ASSERT_EQ(result, expected) << to_string(array.problem) << "\n" << to_string(schedule);
        EXPECT_EQ(progress.bytes_written, schedule.bytes_written());
        EXPECT_EQ(progress.bytes_read, route == Route::mapped ? 0 : schedule.bytes_read());
        if (in_order) continue;
        verify(array.problem, source, {nullptr, &out, sink.offset}, 2, 0, progress);
      }
    }
  }
}

// Does what a GPU does with a box.
class CpuStage : public Stage {
 public:
  CpuStage(std::int64_t bytes_in, std::int64_t bytes_out) : in_(bytes_in), out_(bytes_out) {}
  std::byte* in() const override { return in_.data(); }
  const std::byte* out() const override { return out_.data(); }

  void run(const BoxMove& move) const override {
    EXPECT_EQ(move.from.data, in());
    EXPECT_LE(move.bytes_in(), in_.size());
    EXPECT_LE(move.bytes_out(), out_.size());
    Problem problem =
        make_problem(View(nullptr, move.to, move.from.shape), move.from, move.epilogue);
    problem.values.place = move.place;
    cpu::execute(plan::make_plan(problem, cpu::machine()),
                 {out_.data(), in(), {nullptr, move.epilogue.bias}});
  }

 private:
  Buffer in_;
  Buffer out_;
};

TEST(Rearrange, StagesGiveWhatTheReferenceGives) {
  std::mt19937 random(13);
  constexpr std::int64_t shift = 37;
  for (int i = 0; i < ::cornerturn::test::draws(150); ++i) {
    const test::ConvertedArray array(random, 6000);
    const auto bytes = static_cast<std::int64_t>(array.source.size());
    const File in = scratch_file();
    in.write_at(array.source.data(), bytes, shift);
    for (const bool in_order : {false, true}) {
      Schedule schedule = make_gpu_schedule(array.problem, 0, in_order, array.conversion);
      EXPECT_EQ(schedule.in_order, in_order || array.conversion.is_stochastic());
      schedule.boxes = small_boxes(schedule, static_cast<std::int64_t>(16 + random() % 3000));
      const std::int64_t box = schedule.boxes.tile_elements() * schedule.problem.dst_type.size();
      std::vector<std::unique_ptr<Stage>> stages;
      for (int k = 0; k < schedule.workers; ++k) {
        stages.push_back(std::make_unique<CpuStage>(box, array.conversion.result_bytes(box)));
      }
      const Source source =
          i % 2 == 0 ? Source{array.source.data(), nullptr, 0} : Source{nullptr, &in, shift};
      const File out = scratch_file();
      const Sink sink{&out, schedule.in_order ? 0 : shift};
      Progress progress;
      int firsts = 0;
      rearrange_staged(schedule, source, sink, stages, progress, array.conversion,
                       [&](const Stage& stage, const BoxMove& move) {
                         EXPECT_EQ(&stage, stages[0].get());
                         EXPECT_EQ(move.place, 0);
                         ++firsts;
                       });
      EXPECT_EQ(firsts, 1);
      Bytes result(array.expected.size());
      out.read_at(result.data(), static_cast<std::int64_t>(result.size()), sink.offset);
      ASSERT_EQ(result, array.expected) << to_string(array.problem) << "\n"
                                        << to_string(schedule) << "\n"
                                        << array.text;
      EXPECT_EQ(progress.bytes_written, static_cast<std::int64_t>(result.size()));
    }
  }
}

TEST(Rearrange, VerifyFindsEveryChangedByte) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    const RandomArray array = random_array(random, 3000);
    Bytes result = reference(array.problem, array.source);
    Progress progress;
    const Source source{array.source.data(), nullptr, 0};
    EXPECT_NO_THROW(verify(array.problem, source, {result.data(), nullptr, 0}, 1, 0, progress));
    result[random() % result.size()] ^= std::byte{1};
    EXPECT_THROW(verify(array.problem, source, {result.data(), nullptr, 0}, 1, 0, progress), Error);
  }
}

TEST(Rearrange, VerifyFindsEveryChangedValue) {
  std::mt19937 random(6);
  for (int i = 0; i < 60; ++i) {
    const test::ConvertedArray array(random, 3000);
    if (array.expected.empty()) continue;
    Bytes result = array.expected;
    Progress progress;
    const Source source{array.source.data(), nullptr, 0};
    const auto check = [&] {
      verify(array.problem, source, {result.data(), nullptr, 0}, 1, 0, progress, array.conversion);
    };
    EXPECT_NO_THROW(check()) << array.text;
    result[random() % result.size()] ^= std::byte{1};
    EXPECT_THROW(check(), Error) << array.text;
  }
}

TEST(Schedule, ForAGpuMovesEachByteOnceAndStaysWithinItsMemory) {
  const std::int64_t mib = 1 << 20;
  const Problem turned = file_problem({100'000, 30'000}, 4, false, {1, 0});
  const Problem reversed = file_problem({31, 31, 31, 31, 31}, 8, false, {4, 3, 2, 1, 0});
  for (const Problem& problem : {turned, reversed}) {
    for (const std::int64_t memory : {std::int64_t{0}, least_memory, 100 * mib}) {
      for (const bool in_order : {false, true}) {
        const Schedule schedule = make_gpu_schedule(problem, memory, in_order);
        EXPECT_EQ(schedule.route, Route::one_pass);
        EXPECT_EQ(schedule.workers, gpu_lanes);
        EXPECT_LE(schedule.buffer_bytes(), memory == 0 ? 400 * mib : memory);
        EXPECT_EQ(schedule.bytes_written(), problem.bytes());
      }
    }
  }
  EXPECT_THROW(make_gpu_schedule(turned, mib, false), Error);
}

TEST(Schedule, ForAGpuCountsWhatBecomesWider) {
  const std::int64_t mib = 1 << 20;
  const Problem turned = file_problem({100'000, 30'000}, 1, false, {1, 0});
  const FileConversion wider(ElementType(Kind::u8), ElementType(Kind::f64), {});
  for (const std::int64_t memory : {100 * mib, 1000 * mib}) {
    const Schedule schedule = make_gpu_schedule(turned, memory, false, wider);
    const std::int64_t box = schedule.boxes.tile_elements() * schedule.problem.dst_type.size();
    EXPECT_LE(schedule.workers * (box + wider.result_bytes(box)), memory);
    EXPECT_GE(schedule.workers * (box + wider.result_bytes(box)), memory / 4);
  }
}

TEST(Schedule, StaysWithinTheMemoryItIsGiven) {
  std::mt19937 random(17);
  for (int i = 0; i < ::cornerturn::test::draws(500); ++i) {
    Extents shape;
    for (auto k = 1 + random() % 5; k > 0; --k) {
      shape.push_back(static_cast<std::int64_t>(1 + random() % 3000));
    }
    std::vector<int> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    const Problem problem = file_problem(shape, 1 + random() % 40, false, permutation);
    const std::int64_t memory = least_memory << (random() % 5);
    for (const bool in_order : {false, true}) {
      const Schedule schedule = make_schedule(problem, {2, memory, in_order});
      EXPECT_LE(schedule.buffer_bytes(), memory) << to_string(schedule);
      EXPECT_LE(schedule.bytes_read(), 2 * problem.bytes());
      EXPECT_LE(make_schedule(problem, {64, 0, in_order}).buffer_bytes(), 64 << 20);
    }
  }
  EXPECT_THROW(make_schedule(file_problem({9, 9}, 4, false, {1, 0}), {2, least_memory - 1, false}),
               Error);
}

TEST(Schedule, SaysWhatItWillDo) {
  const Problem problem = normalise(file_problem({40, 30}, 4, false, {1, 0}));
  const Schedule schedule = small_schedule(problem, Route::mapped, false, 480);
  const ScheduleSummary summary = summary_of(schedule);
  EXPECT_EQ(summary.boxes, schedule.boxes.size());
  EXPECT_EQ(summary.box_bytes, schedule.boxes.tile_elements() * 4);
  EXPECT_EQ(summary.read_run, schedule.read_run());
  EXPECT_EQ(summary.write_run, schedule.write_run());
  EXPECT_EQ(summary.buffer_bytes, schedule.buffer_bytes());
  EXPECT_EQ(summary.bytes_written, 4800);
}

TEST(Schedule, TakesTwoPassesOnlyWhenRunsWouldBeShort) {
  const std::int64_t gib = std::int64_t{1} << 30;
  const Problem matrix = file_problem({32768, 81920}, 4, false, {1, 0});  // 10 GiB
  EXPECT_EQ(make_schedule(matrix, {2, 2 * gib, false}).route, Route::one_pass);
  EXPECT_EQ(make_schedule(matrix, {2, gib / 16, false}).route, Route::two_pass);
  // Long rows that keep their order are moved in one pass, whatever the memory.
  const Problem rows = file_problem({64, 512, 81920}, 4, false, {1, 0, 2});
  EXPECT_EQ(make_schedule(rows, {2, gib / 16, false}).route, Route::one_pass);
}

TEST(Schedule, HasWordsForEveryRoute) {
  ScheduleSummary summary;
  summary.threads = 2;
  summary.boxes = 1;
  summary.box_bytes = 2048;
  summary.panels = 3;
  summary.read_run = 64;
  summary.write_run = 128;
  summary.buffer_bytes = 5;
  summary.bytes_read = 6;
  summary.bytes_written = 7;
  const std::string rest = "2 threads, runs of 64 B read, 128 B written";
  summary.route = Route::mapped;
  EXPECT_EQ(to_string(summary), "mapped: 1 box of 2 KiB, " + rest);
  summary.route = Route::one_pass;
  EXPECT_EQ(to_string(summary),
            "one pass: each byte is read and written once; 1 box of 2 KiB, " + rest);
  summary.route = Route::two_pass;
  EXPECT_EQ(
      to_string(summary),
      "two passes: each byte is read and written twice; 1 box of 2 KiB, then 3 panels, " + rest);
  EXPECT_EQ(to_json(summary),
            R"({"boxes":1,"buffer_bytes":5,"bytes_read":6,"bytes_written":7,"panels":3,"passes":2,)"
            R"("read_run":64,"route":"two_pass","threads":2,"write_run":128})");
}

TEST(Schedule, LargeItemsTakeAnAxis) {
  const Problem items = file_problem({3, 4}, 300, false, {1, 0});
  EXPECT_EQ(items.rank(), 3);
  EXPECT_EQ(items.bytes(), 3600);
  std::vector<int> order(64);
  std::iota(order.begin(), order.end(), 0);
  EXPECT_THROW(file_problem(Extents(64, 1), 300, false, order), Error);
  EXPECT_NO_THROW(file_problem(Extents(64, 1), 256, false, order));
}

TEST(InOrder, AbandonedWorkIsNotDone) {
  InOrder in_order;
  bool done = false;
  std::thread waiting([&] { in_order.take(1, [&] { done = true; }); });
  in_order.abandon();
  waiting.join();
  EXPECT_FALSE(done);
  in_order.take(0, [&] { done = true; });
  EXPECT_FALSE(done);
}

TEST(Grid, BoxesCoverEveryElementOnce) {
  std::mt19937 random(23);
  for (int i = 0; i < ::cornerturn::test::draws(300); ++i) {
    const Problem problem = normalise(random_array(random, 3000).problem);
    const auto budget = static_cast<std::int64_t>(1 + random() % 2000);
    for (const Grid& grid :
         {balanced_grid(problem, budget, 1, 4), contiguous_grid(problem, budget, Side::source),
          contiguous_grid(problem, budget, Side::destination)}) {
      EXPECT_LE(grid.tile_elements() * problem.dst_type.size(),
                std::max<std::int64_t>(budget, problem.dst_type.size()));
      std::vector<int> times(static_cast<std::size_t>(problem.bytes()), 0);
      for (std::int64_t b = 0; b < grid.size(); ++b) {
        const Box box = grid.box(b);
        const std::int64_t run = run_bytes(problem, box.extent, Side::source);
        for_each_run(problem, box, Side::source, [&](std::int64_t offset) {
          for (std::int64_t k = 0; k < run; ++k) ++times[static_cast<std::size_t>(offset + k)];
        });
      }
      EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
    }
  }
}

TEST(Grid, ContiguousBoxesAreOneRun) {
  std::mt19937 random(29);
  for (int i = 0; i < ::cornerturn::test::draws(300); ++i) {
    const Problem problem = normalise(random_array(random, 5000).problem);
    for (const Side side : {Side::source, Side::destination}) {
      const Grid grid = contiguous_grid(problem, 700, side);
      for (std::int64_t b = 0; b < grid.size(); ++b) {
        const Box box = grid.box(b);
        EXPECT_EQ(run_bytes(problem, box.extent, side), box.elements() * problem.dst_type.size());
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::io
