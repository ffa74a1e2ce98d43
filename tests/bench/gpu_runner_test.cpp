// The rules of a measurement on a GPU, on a GPU made of host memory: what is timed on which
// buffers, what is checked, and what becomes of subjects that are wrong.
#include "gpu/gpu_runner.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "cornerturn/error.hpp"
#include "harness/pattern.hpp"
#include "harness/report.hpp"

namespace cornerturn::bench {
namespace {

// Time goes by as the works say: `clock` is moved on by what they run.
class FakeGpu : public Accelerator {
 public:
  std::string name() const override { return "Fake"; }
  nlohmann::ordered_json provenance() const override { return {{"gpu", "Fake"}}; }
  std::int64_t cache_bytes() const override { return 64 << 10; }
  std::int64_t available_bytes() const override { return memory; }

  void reserve(std::int64_t src_bytes, std::int64_t dst_bytes) override {
    src_.resize(static_cast<std::size_t>(src_bytes));
    dst_.resize(static_cast<std::size_t>(dst_bytes));
  }
  std::byte* src() const override { return const_cast<std::byte*>(src_.data()); }
  std::byte* dst() const override { return const_cast<std::byte*>(dst_.data()); }
  void* stream() const override { return nullptr; }
  void synchronize() override {}

  void fill(std::byte* src, std::int64_t bytes, int element_bytes) override {
    fill_pattern(src, bytes, element_bytes);
  }
  void poison(const Case&, std::byte* dst, std::int64_t bytes) override { fill_poison(dst, bytes); }
  std::string check(const Case& c, std::byte* dst, std::int64_t bytes) override {
    ++checks;
    const std::string complaint = check_elements(c, dst);
    return complaint.empty() ? check_gaps(c, dst, bytes) : complaint;
  }

  void copy_by_driver(std::byte* dst, const std::byte* src, std::int64_t bytes) override {
    copy(dst, src, bytes, bytes % 4096 == 0 ? 3e-6 : 5e-6);
  }
  void copy_by_kernel(std::byte* dst, const std::byte* src, std::int64_t bytes) override {
    copy(dst, src, bytes, 4e-6);
  }

  std::vector<double> time(const std::vector<Work>& works) override {
    std::vector<double> seconds;
    copied = false;  // the stream was held
    for (const Work& work : works) {
      const double from = clock;
      copied_before = copied;
      copied = false;
      work();
      seconds.push_back(clock - from);
    }
    return seconds;
  }
  Work capture(const Work& work, int calls) override {
    ++captures;
    return [work, calls] {
      for (int i = 0; i < calls; ++i) work();
    };
  }

  double clock = 0;
  int checks = 0;
  int captures = 0;
  bool copied = false;         // by what runs, if that is timed
  bool copied_before = false;  // by what was timed before it, in the same round
  std::int64_t memory = 1 << 30;
  std::int64_t longest_copy = 0;

 private:
  void copy(std::byte* dst, const std::byte* src, std::int64_t bytes, double seconds) {
    longest_copy = std::max(longest_copy, bytes);
    copied = true;
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    clock += seconds;
  }

  std::vector<std::byte> src_;
  std::vector<std::byte> dst_;
};

// dst(5 x 3) = transposed src(3 x 5), with a gap of one element after each destination row.
Case small_case(const std::string& group) {
  Case c;
  c.suite = "own";
  c.name = "turn";
  c.group = group;
  c.element_bytes = 4;
  c.shape = {5, 3};
  c.src_strides = {1, 5};
  c.dst_strides = {4, 1};
  c.dst_offset = 2;
  return c;
}

class NaiveKernel : public GpuSubject {
 public:
  explicit NaiveKernel(FakeGpu& gpu) : gpu_(gpu) {}

  std::string name() const override { return "naive"; }
  std::string version() const override { return "1"; }
  void use_stream(void*) override {}
  std::string prepare(const Case& c, int, const std::byte*, std::byte*) override {
    case_ = c;
    return skip;
  }
  void run(const std::byte* src, std::byte* dst) override {
    copy(src, dst, 6e-6);
    runs_with_candidates += candidates_run.empty() ? 0 : 1;
  }
  double predicted_seconds() const override { return 5e-6; }
  std::optional<PlanTimes> plan_times() override { return PlanTimes{2e-5, 1e-6}; }
  int batches_to_settle() const override { return to_settle; }
  void settled() override { runs_when_settled = runs; }
  std::string method() const override { return runs_when_settled > 0 ? "settled" : "as it was"; }
  std::vector<Candidate> candidates() override {
    return {{"a", "a fast one", 1e-6}, {"b", "a wrong one", 2e-6}, {"c", "a slow one", 3e-6}};
  }
  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    copy(src, dst, i == 0 ? 3e-6 : 12e-6);
    candidates_run.push_back(i);
    if (i == 1) dst[4 * 2] ^= std::byte{1};
  }

  std::string skip;
  std::int64_t broken_byte = -1;
  bool throws = false;
  int runs = 0;
  int to_settle = 0;
  int runs_when_settled = 0;
  int runs_after_copies = 0;
  int runs_with_candidates = 0;
  std::vector<std::size_t> candidates_run;
  std::set<const std::byte*> sources;

 private:
  void copy(const std::byte* src, std::byte* dst, double seconds) {
    if (throws) throw Error(Status::internal, "launch: too many threads");
    ++runs;
    runs_after_copies += static_cast<int>(gpu_.copied_before);
    sources.insert(src);
    for (std::int64_t i = 0; i < case_.shape[0]; ++i) {
      for (std::int64_t j = 0; j < case_.shape[1]; ++j) {
        const std::int64_t from = i * case_.src_strides[0] + j * case_.src_strides[1];
        const std::int64_t to =
            case_.dst_offset + i * case_.dst_strides[0] + j * case_.dst_strides[1];
        std::memcpy(dst + to * 4, src + from * 4, 4);
      }
    }
    if (broken_byte >= 0) dst[broken_byte] ^= std::byte{1};
    gpu_.clock += seconds;
  }

  FakeGpu& gpu_;
  Case case_;
};

struct Outcomes {
  FakeGpu gpu;
  NaiveKernel subject{gpu};
  GpuRunOptions options;

  Outcomes() {
    options.rule = {.min_runs = 3, .max_runs = 3, .noise = 0, .budget = 1, .slow_budget = 1};
  }
  Result measure(const Case& c, bool interrupted = false) {
    GpuRunner runner(gpu, options);
    const std::atomic<bool> stop{interrupted};
    return runner.measure(c, subject, stop);
  }
};

TEST(GpuRunner, TimesColdCasesOnOtherBuffersEachTime) {
  Outcomes o;
  const Result r = o.measure(small_case("matrix-odd"));
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(r.runs, 3);
  EXPECT_NEAR(r.seconds, 6e-6, 1e-12);
  EXPECT_NEAR(r.memcpy_seconds, 5e-6, 1e-12);
  ASSERT_TRUE(r.gpu);
  EXPECT_NEAR(r.gpu->padded_memcpy_seconds, 3e-6, 1e-12);
  EXPECT_NEAR(r.gpu->vector_copy_seconds, 4e-6, 1e-12);
  EXPECT_NEAR(r.share(), 0.5, 1e-9) << "of the fastest of the three copies";
  EXPECT_DOUBLE_EQ(r.gpu->predicted_seconds, 5e-6);
  EXPECT_EQ(r.gpu->graph_calls, 0);
  EXPECT_EQ(r.gpu->sector_bytes, 0);
  // Verified on the first pair of buffers; warmed up and timed on four others.
  EXPECT_EQ(o.subject.runs, 1 + 1 + 3);
  EXPECT_EQ(o.subject.sources.size(), 5u);
  EXPECT_EQ(o.subject.runs_after_copies, 4) << "as the copies themselves";
  EXPECT_EQ(o.gpu.longest_copy, 4096);
}

TEST(GpuRunner, TimesWhatASubjectHasSettledOn) {
  Outcomes o;
  o.subject.to_settle = 2;
  const Result r = o.measure(small_case("matrix-odd"));
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(o.subject.runs_when_settled, 2 * 16);
  EXPECT_EQ(o.subject.runs, 2 * 16 + 1 + 1 + 3) << "verified, warmed up and timed when it had";
  EXPECT_EQ(r.method, "settled");
}

TEST(GpuRunner, TimesWarmCasesInGraphsAndOnTheHost) {
  Outcomes o;
  const Result r = o.measure(small_case("latency"));
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(o.gpu.captures, 4);
  EXPECT_EQ(r.gpu->graph_calls, 100);
  EXPECT_NEAR(r.seconds, 6e-6, 1e-12);
  EXPECT_NEAR(r.share(), 0.5, 1e-9);
  EXPECT_EQ(o.subject.sources.size(), 1u) << "warm: always the same buffers";
  EXPECT_GT(r.gpu->execute_seconds, 0);
  EXPECT_DOUBLE_EQ(r.gpu->first_plan_seconds, 2e-5);
  EXPECT_DOUBLE_EQ(r.gpu->cached_plan_seconds, 1e-6);

  Outcomes warm;
  warm.options.warm = true;
  EXPECT_EQ(warm.measure(small_case("matrix-odd")).gpu->graph_calls, 100);
}

TEST(GpuRunner, FindsAnyWrongByteAndTimesNothing) {
  const Case c = small_case("matrix-odd");
  for (std::int64_t byte = 0; byte < c.dst_span_bytes() + 4; ++byte) {
    Outcomes o;
    o.subject.broken_byte = byte;
    const Result r = o.measure(c);
    EXPECT_EQ(r.outcome, Outcome::failed) << "byte " << byte;
    EXPECT_FALSE(r.reason.empty());
    EXPECT_EQ(o.subject.runs, 1);
  }
}

TEST(GpuRunner, ChecksEveryCandidateAndTimesTheRightOnes) {
  Outcomes o;
  o.options.all_candidates = true;
  const Result r = o.measure(small_case("matrix-odd"));
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(o.gpu.checks, 4);
  ASSERT_EQ(r.candidates.size(), 3u);
  EXPECT_NEAR(r.candidates[0].seconds, 3e-6, 1e-12);
  EXPECT_EQ(r.candidates[0].description, "a fast one");
  EXPECT_NE(r.candidates[1].wrong, "");
  EXPECT_NEAR(r.candidates[1].seconds, 0, 1e-12);
  EXPECT_NEAR(r.candidates[2].seconds, 12e-6, 1e-12);
  const ChoiceScore score = score_choices({r});
  EXPECT_EQ(score.cases, 1);
  EXPECT_EQ(score.good, 0) << "6 us were chosen, 3 us were to be had";
}

TEST(GpuRunner, TheOrderIsAnotherOneInEveryRound) {
  Outcomes o;
  o.options.all_candidates = true;
  o.options.rule.min_runs = o.options.rule.max_runs = 20;
  ASSERT_EQ(o.measure(small_case("matrix-odd")).outcome, Outcome::ok);
  const auto& ran = o.subject.candidates_run;
  ASSERT_EQ(ran.size(), 3U + 2 * 21)
      << "three verified; two right ones in each round, one to warm up";
  int first = 0;
  for (std::size_t i = 3; i < ran.size(); i += 2) {
    EXPECT_NE(ran[i], ran[i + 1]) << "each of them once in a round";
    first += static_cast<int>(ran[i] == 0);
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 21);
  EXPECT_EQ(o.subject.runs_with_candidates, 0) << "they leave other things in the caches";
}

TEST(GpuRunner, SkipsAndFailsWithReasons) {
  Outcomes skipped;
  skipped.subject.skip = "not today";
  EXPECT_EQ(skipped.measure(small_case("rows")).reason, "not today");

  Outcomes failed;
  failed.subject.throws = true;
  const Result r = failed.measure(small_case("rows"));
  EXPECT_EQ(r.outcome, Outcome::failed);
  EXPECT_EQ(r.reason, "launch: too many threads");

  Outcomes full;
  full.gpu.memory = 4096;
  const Result too_large = full.measure(small_case("rows"));
  EXPECT_EQ(too_large.outcome, Outcome::skipped);
  EXPECT_NE(too_large.reason.find("GB of GPU memory"), std::string::npos) << too_large.reason;

  Outcomes stopped;
  EXPECT_EQ(stopped.measure(small_case("rows"), true).reason, "interrupted");
}

TEST(GpuRunner, HolesAreComparedWithACopyOfTheirSectors) {
  Case c = small_case("holes");
  c.shape = {64, 64};
  c.src_strides = {128, 2};
  c.dst_strides = {64, 1};
  c.dst_offset = 0;
  Outcomes o;
  const Result r = o.measure(c);
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(r.gpu->sector_bytes, 64 * 64 * 4 * 3);
  EXPECT_EQ(r.gpu->copy_bytes, 64 * 64 * 4 * 3 / 2);
  EXPECT_EQ(o.gpu.longest_copy, 64 * 64 * 4 * 3 / 2) << "a multiple of 4 KiB already";
}

TEST(GpuReport, RoundTrips) {
  Outcomes o;
  o.options.all_candidates = true;
  Report report;
  report.subject = "naive";
  report.device = "gpu";
  report.provenance = {{"gpu", "Fake"}};
  report.results = {o.measure(small_case("latency"))};
  const auto written = to_json(report);
  const Report again = report_from_json(written, "here");
  EXPECT_EQ(to_json(again)["cases"][0]["candidates"], written["cases"][0]["candidates"]);
  EXPECT_EQ(again.device, "gpu");
  ASSERT_TRUE(again.results[0].gpu);
  EXPECT_NEAR(again.results[0].share(), 0.5, 1e-3);
  EXPECT_EQ(written["cases"][0]["copy_by"], "cudaMemcpyAsync in whole 4 KiB");
  EXPECT_NE(table_line(again.results[0]).find("WRONG a wrong one"), std::string::npos);
  EXPECT_NE(summary(again.results).find("% of plain copy"), std::string::npos);
  EXPECT_NE(summary(again.results).find("fastest candidate: 0 of 1 cases"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::bench
