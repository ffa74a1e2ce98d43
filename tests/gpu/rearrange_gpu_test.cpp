// Files through the GPU: boxes of every size, on all lanes, in any order and in that of a pipe.
#include <gtest/gtest.h>

#include "core/normalise.hpp"
#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "io/rearrange_gpu.hpp"
#include "support/file_conversions.hpp"

namespace cornerturn::io {
namespace {

using test::Bytes;

TEST(RearrangeOnGpu, GivesWhatTheReferenceGives) {
  std::mt19937 random(12);
  constexpr std::int64_t shift = 37;  // arrays start anywhere in their files
  for (int i = 0; i < 60; ++i) {
    const test::RandomArray array = test::random_array(random, 20000);
    const Bytes expected = test::reference(array.problem, array.source);
    const auto bytes = static_cast<std::int64_t>(array.source.size());
    const File in = files::temporary_file(::testing::TempDir(), 0);
    in.write_at(array.source.data(), bytes, shift);
    for (const bool in_order : {false, true}) {
      Schedule schedule = make_gpu_schedule(array.problem, 0, in_order);
      const auto budget = static_cast<std::int64_t>(500 + random() % 5000);
      schedule.boxes = in_order ? contiguous_grid(schedule.problem, budget, Side::destination)
                                : balanced_grid(schedule.problem, budget, 1, 1);
      const bool in_memory = i % 2 == 0;
      const Source source =
          in_memory ? Source{array.source.data(), nullptr, 0} : Source{nullptr, &in, shift};
      const File out = files::temporary_file(::testing::TempDir(), 0);
      const Sink sink{&out, in_order ? 0 : shift};
      Options options;
      if (i % 10 == 0) options.effort = Effort::measure;
      Progress progress;
      rearrange_on_gpu(schedule, source, sink, options, progress);
      Bytes result(array.source.size());
      out.read_at(result.data(), bytes, sink.offset);
      ASSERT_EQ(result, expected) << to_string(array.problem) << "\n" << to_string(schedule);
      EXPECT_EQ(progress.bytes_written, bytes);
      EXPECT_NE(gpu_box_plan(schedule, options).device(), "cpu");
    }
  }
}

TEST(RearrangeOnGpu, ConvertsAsTheReferenceDoes) {
  std::mt19937 random(14);
  constexpr std::int64_t shift = 37;
  for (int i = 0; i < 120; ++i) {
    const test::ConvertedArray array(random, 20000);
    for (const bool in_order : {false, true}) {
      Schedule schedule = make_gpu_schedule(array.problem, 0, in_order, array.conversion);
      const auto budget = static_cast<std::int64_t>(500 + random() % 5000);
      schedule.boxes = schedule.in_order
                           ? contiguous_grid(schedule.problem, budget, Side::destination)
                           : balanced_grid(schedule.problem, budget, 1, 1);
      const File out = files::temporary_file(::testing::TempDir(), 0);
      const Sink sink{&out, schedule.in_order ? 0 : shift};
      Options options;
      if (i % 10 == 0) options.effort = Effort::measure;
      Progress progress;
      rearrange_on_gpu(schedule, {array.source.data(), nullptr, 0}, sink, options, progress,
                       array.conversion);
      Bytes result(array.expected.size());
      out.read_at(result.data(), static_cast<std::int64_t>(result.size()), sink.offset);
      ASSERT_EQ(result, array.expected) << to_string(array.problem) << "\n"
                                        << to_string(schedule) << "\n"
                                        << array.text;
      EXPECT_EQ(progress.bytes_written, static_cast<std::int64_t>(result.size()));
      EXPECT_NE(gpu_box_plan(schedule, options, array.conversion).device(), "cpu");
    }
  }
}

TEST(RearrangeOnGpu, AForcedKernelThatRefusesABoxIsReplaced) {
  const Problem problem = file_problem({500, 700}, 4, false, {1, 0});
  const Bytes source(500 * 700 * 4);
  for (const bool stochastic : {false, true}) {
    Epilogue epilogue;
    if (stochastic) epilogue.rounding = Rounding::stochastic;
    const FileConversion conversion(ElementType(Kind::f32), ElementType(Kind::bf16), epilogue);
    const Schedule schedule = make_gpu_schedule(problem, 0, false, conversion);
    Options options;
    options.kernel = "copy";
    const File out = files::temporary_file(::testing::TempDir(), 0);
    Progress progress;
    rearrange_on_gpu(schedule, {source.data(), nullptr, 0}, {&out, 0}, options, progress,
                     conversion);
    EXPECT_EQ(progress.bytes_written, 500 * 700 * 2);
  }
}

TEST(RearrangeOnGpu, AnErrorStopsAllLanes) {
  const Problem problem = file_problem({500, 700}, 4, false, {1, 0});
  Schedule schedule = make_gpu_schedule(problem, 0, true);
  schedule.boxes = contiguous_grid(schedule.problem, 10'000, Side::destination);
  const File in = files::temporary_file(::testing::TempDir(), 1000);  // too short
  const File out = files::temporary_file(::testing::TempDir(), 0);
  Progress progress;
  EXPECT_THROW(rearrange_on_gpu(schedule, {nullptr, &in, 0}, {&out, 0}, {}, progress), Error);
}

}  // namespace
}  // namespace cornerturn::io
