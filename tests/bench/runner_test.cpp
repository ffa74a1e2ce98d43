// The harness on subjects that are right, wrong, and too eager.
#include "harness/runner.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "harness/pattern.hpp"

namespace cornerturn::bench {
namespace {

// dst(5 x 3) = transposed src(3 x 5), with a gap of one element after each destination row.
Case small_case(int element_bytes) {
  Case c;
  c.suite = "own";
  c.name = "turn";
  c.group = "latency";
  c.element_bytes = element_bytes;
  c.shape = {5, 3};
  c.src_strides = {1, 5};
  c.dst_strides = {4, 1};
  c.dst_offset = 2;
  return c;
}

// Does what the case says, element by element, and then something wrong if asked to. It takes the
// time that it says: the machine and what else runs on it do not matter.
class NaiveSubject : public Subject {
 public:
  std::string name() const override { return "naive"; }
  std::string version() const override { return "1"; }

  std::string prepare(const Case& c, int, const std::byte*, std::byte*) override {
    case_ = c;
    return skip;
  }

  void run(const std::byte* src, std::byte* dst) override {
    ++runs;
    now += 1e-6;
    const auto size = static_cast<std::size_t>(case_.element_bytes);
    for (std::int64_t i = 0; i < case_.shape[0]; ++i) {
      for (std::int64_t j = 0; j < case_.shape[1]; ++j) {
        const std::int64_t from =
            case_.src_offset + i * case_.src_strides[0] + j * case_.src_strides[1];
        const std::int64_t to =
            case_.dst_offset + i * case_.dst_strides[0] + j * case_.dst_strides[1];
        std::memcpy(dst + to * case_.element_bytes, src + from * case_.element_bytes, size);
      }
    }
    if (broken_byte >= 0) dst[broken_byte] ^= std::byte{1};
  }

  int calls_to_settle() const override { return to_settle; }
  std::string method() const override { return fmt::format("after {} runs", runs); }

  std::string skip;
  std::int64_t broken_byte = -1;
  int runs = 0;
  int to_settle = 0;
  double now = 0;  // seconds

 private:
  Case case_;
};

StopRule short_rule() {
  return {.min_runs = 3, .max_runs = 4, .noise = 0, .budget = 0.01, .slow_budget = 1};
}

// By the subject's clock, whose reading takes a microsecond too.
Result measure(const Case& c, NaiveSubject& subject, RunnerOptions options = {},
               const StopRule& rule = short_rule(), bool interrupted = false) {
  options.clock = [&subject] { return subject.now += 1e-6; };
  const std::atomic<bool> stop{interrupted};
  return Runner(2, rule, options).measure(c, subject, stop);
}

TEST(Runner, TimesWhatASubjectHasSettledOn) {
  NaiveSubject subject;
  subject.to_settle = 7;
  const Result r = measure(small_case(4), subject);
  EXPECT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_EQ(r.method, "after 8 runs") << "the last one was verified";
  EXPECT_LE(r.runs, 4);
}

class RunnerOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ElementBytes, RunnerOfSize, testing::Values(1, 2, 3, 4, 8, 12, 16, 256));

TEST_P(RunnerOfSize, MeasuresARightSubject) {
  NaiveSubject subject;
  const Result r = measure(small_case(GetParam()), subject);
  EXPECT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_GE(r.runs, 3);
  EXPECT_LE(r.runs, 4);
  EXPECT_GT(r.seconds, 0);
  EXPECT_LE(r.best_seconds, r.seconds);
  EXPECT_GT(r.memcpy_seconds, 0);
  EXPECT_GT(r.non_temporal_seconds, 0);
}

// Two ways to do the case, of which the second spoils a byte.
class TwoWays : public NaiveSubject {
 public:
  std::vector<Candidate> candidates() override {
    return {{"naive", "as it should be", 1e-6}, {"naive", "with a flaw", 2e-6}};
  }
  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    run(src, dst);
    if (i == 1) dst[0] ^= std::byte{1};
  }
};

// Knows on how many sources it ran.
class CountsSources : public NaiveSubject {
 public:
  void run(const std::byte* src, std::byte* dst) override {
    NaiveSubject::run(src, dst);
    sources.insert(src);
  }
  std::set<const std::byte*> sources;
};

TEST(Runner, WarmCasesStayOnOnePairOfBuffers) {
  Case c = small_case(4);
  c.group = "matrix-odd";
  const auto sources = [&](const RunnerOptions& options, bool warm) {
    CountsSources subject;
    const Result r = measure(c, subject, options);
    EXPECT_EQ(r.outcome, Outcome::ok) << r.reason;
    EXPECT_EQ(r.warm, warm);
    return subject.sources.size();
  };
  EXPECT_EQ(sources({.warm = true}, true), 1U);
  EXPECT_GT(sources({}, false), 1U);
}

TEST(Runner, ChecksAndTimesAllCandidates) {
  TwoWays subject;
  const Result r = measure(small_case(4), subject, {.all_candidates = true});
  EXPECT_EQ(r.outcome, Outcome::ok) << r.reason;
  ASSERT_EQ(r.candidates.size(), 2U);
  EXPECT_EQ(r.candidates[0].kernel, "naive");
  EXPECT_EQ(r.candidates[0].description, "as it should be");
  EXPECT_EQ(r.candidates[0].wrong, "");
  EXPECT_GT(r.candidates[0].seconds, 0);
  EXPECT_NE(r.candidates[1].wrong, "");
  EXPECT_EQ(r.candidates[1].seconds, 0);
  EXPECT_TRUE(measure(small_case(4), subject).candidates.empty());
}

// Three ways: one that is always slow, one that was slow when it was verified, and a quick one.
class SlowStarts : public NaiveSubject {
 public:
  void run(const std::byte* src, std::byte* dst) override {
    now += 0.004;
    NaiveSubject::run(src, dst);
  }
  std::vector<Candidate> candidates() override {
    return {{"slow", "", 1e-6}, {"late", "", 1e-6}, {"quick", "", 1e-6}};
  }
  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    const bool first = runs_of[i]++ == 0;
    if (i == 0 || (i == 1 && first)) now += 0.2;
    NaiveSubject::run(src, dst);
  }
  int runs_of[3] = {};
};

// Two ways that are right, and so fast that neither is far behind the chosen one.
class EitherWay : public TwoWays {
 public:
  void run(const std::byte* src, std::byte* dst) override {
    now += 0.002;
    NaiveSubject::run(src, dst);
  }
  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    ran.push_back(i);
    NaiveSubject::run(src, dst);
  }
  std::vector<std::size_t> ran;
};

TEST(Runner, CandidatesTakeTurnsInAnotherOrderInEveryRound) {
  EitherWay subject;
  Case c = small_case(4);
  c.group = "rank3-odd";  // cold: one call at a time
  const Result r = measure(c, subject, {.all_candidates = true});
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  ASSERT_EQ(subject.ran.size(), 2U + 2 * 5) << "two verified, and five rounds";
  int first = 0;
  for (std::size_t i = 2; i < subject.ran.size(); i += 2) {
    EXPECT_NE(subject.ran[i], subject.ran[i + 1]) << "each of them once in a round";
    first += static_cast<int>(subject.ran[i] == 0);
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 5);
}

TEST(Runner, GivesSlowCandidatesASecondRun) {
  Case c = small_case(4);
  c.group = "cold";
  SlowStarts subject;
  const Result r = measure(c, subject, {.all_candidates = true});
  EXPECT_EQ(r.outcome, Outcome::ok) << r.reason;
  ASSERT_EQ(r.candidates.size(), 3U);
  EXPECT_EQ(subject.runs_of[0], 2);
  EXPECT_EQ(subject.runs_of[1], subject.runs_of[2]);
  EXPECT_GT(subject.runs_of[1], 2);
  EXPECT_NEAR(r.candidates[0].seconds, 0.2, 1e-4);
  EXPECT_LT(r.candidates[1].seconds, 1e-4);
}

// Where caches are warm, one that was slow when it was verified and once more is timed as often.
TEST(Runner, GivesWarmCandidatesAllTheirRuns) {
  class SlowTwice : public NaiveSubject {
   public:
    std::vector<Candidate> candidates() override { return {{"late", "", 1e-6}}; }
    void run_candidate(std::size_t, const std::byte* src, std::byte* dst) override {
      if (candidate_runs++ < 2) now += 0.1;
      NaiveSubject::run(src, dst);
    }
    int candidate_runs = 0;
  };
  SlowTwice subject;
  const RunnerOptions options{.all_candidates = true, .warm = true};
  const Result r = measure(small_case(4), subject, options);
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_GE(subject.candidate_runs, 1 + 5) << "verified, and five rounds";
}

// The call that is verified comes on cold caches, and no time of it counts where caches are warm.
TEST(Runner, TheFirstCallIsNoneOfTheWarmOnes) {
  class SlowFirst : public NaiveSubject {
   public:
    void run(const std::byte* src, std::byte* dst) override {
      if (runs == 0) now += 0.3;
      NaiveSubject::run(src, dst);
    }
  };
  SlowFirst subject;
  StopRule one_run = short_rule();
  one_run.min_runs = 1;
  const Result r = measure(small_case(4), subject, {}, one_run);
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  EXPECT_LT(r.seconds, 1e-4);
}

// What was just verified is in the caches: no run is timed on it before all other buffers have had
// their turn.
TEST(Runner, TheVerifiedBuffersAreTheLastToBeTimed) {
  class Recorder : public NaiveSubject {
   public:
    void run(const std::byte* src, std::byte* dst) override {
      destinations.push_back(dst);
      NaiveSubject::run(src, dst);
    }
    std::vector<Candidate> candidates() override { return {{"one", "", 1e-6}, {"two", "", 1e-6}}; }
    void run_candidate(std::size_t, const std::byte* src, std::byte* dst) override {
      run(src, dst);
    }
    std::vector<const std::byte*> destinations;
  };
  Case c = small_case(4);
  c.group = "cold";
  Recorder subject;
  const Result r = measure(c, subject, {.all_candidates = true});
  ASSERT_EQ(r.outcome, Outcome::ok) << r.reason;
  // Buffers follow each other: the first is verified, then come two copies and the subject in each
  // round, at last the candidates, verified in the same buffer and timed in those after it.
  const std::vector<const std::byte*>& at = subject.destinations;
  const auto rounds = static_cast<std::size_t>(r.runs);
  ASSERT_EQ(at.size(), 1 + rounds + 2 + 10);
  const auto step = at[rounds + 3] - at[rounds + 2];
  EXPECT_GT(step, 0);
  EXPECT_EQ(at[1] - at[0], 4 * step);  // the copies that wake the threads as well
  EXPECT_GT(at[rounds + 1], at[rounds]);
  EXPECT_EQ(at[rounds + 1], at[rounds + 2]);
  for (std::size_t i = rounds + 3; i < at.size(); ++i) EXPECT_EQ(at[i] - at[i - 1], step);
}

TEST_P(RunnerOfSize, FindsAnyWrongByte) {
  const Case c = small_case(GetParam());
  // Large elements: a sample, whose step meets every position within an element sooner or later.
  const std::int64_t step = GetParam() < 16 ? 1 : 61;
  for (std::int64_t byte = 0; byte < c.dst_span_bytes(); byte += step) {
    NaiveSubject subject;
    subject.broken_byte = byte;
    const Result r = measure(c, subject);
    EXPECT_EQ(r.outcome, Outcome::failed) << "byte " << byte;
    EXPECT_FALSE(r.reason.empty());
    EXPECT_EQ(subject.runs, 1) << "a failed case is not timed";
  }
}

TEST(Runner, SaysWhichElementIsWrong) {
  NaiveSubject subject;
  subject.broken_byte = 4 * (2 + 3 * 4 + 1);
  EXPECT_EQ(measure(small_case(4), subject).reason,
            "the element at index (3,1) is not source element 8");
  subject.broken_byte = 4 * (2 + 3);
  EXPECT_EQ(measure(small_case(4), subject).reason,
            "byte 20 of the destination belongs to no element and was written");
}

TEST(Runner, SkipsWithTheSubjectsReason) {
  NaiveSubject subject;
  subject.skip = "not today";
  const Result r = measure(small_case(4), subject);
  EXPECT_EQ(r.outcome, Outcome::skipped);
  EXPECT_EQ(r.reason, "not today");
  EXPECT_EQ(subject.runs, 0);
}

TEST(Runner, SkipsWhatDoesNotFitIntoMemory) {
  Case c = small_case(8);
  c.src_strides = {1, std::int64_t{1} << 50};
  NaiveSubject subject;
  const Result r = measure(c, subject);
  EXPECT_EQ(r.outcome, Outcome::skipped);
  EXPECT_EQ(r.reason.substr(0, 10), "needs 1801") << r.reason;
}

TEST(Runner, AnInterruptedCaseIsNoResult) {
  NaiveSubject subject;
  const Result r = measure(small_case(4), subject, {}, short_rule(), true);
  EXPECT_EQ(r.outcome, Outcome::skipped);
  EXPECT_EQ(r.reason, "interrupted");
}

TEST(Runner, ColdCasesRotateThroughBuffers) {
  // Every call gets other buffers, all filled alike.
  class Recorder : public NaiveSubject {
   public:
    void run(const std::byte* src, std::byte* dst) override {
      sources.insert(src);
      NaiveSubject::run(src, dst);
    }
    std::set<const std::byte*> sources;
  };
  Case c = small_case(4);
  c.group = "cold";
  Recorder subject;
  EXPECT_EQ(measure(c, subject).outcome, Outcome::ok);
  EXPECT_EQ(static_cast<int>(subject.sources.size()), subject.runs);
}

TEST(Pattern, NeighboursDiffer) {
  std::vector<std::uint8_t> bytes(4096);
  fill_pattern(bytes.data(), 4096, 1);
  std::vector<std::uint16_t> words(30000);
  fill_pattern(words.data(), 60000, 2);
  EXPECT_EQ(std::set(bytes.begin() + 100, bytes.begin() + 190).size(), 90u);
  EXPECT_EQ(std::set(words.begin(), words.begin() + 6000).size(), 6000u);
  // Strides that are powers of two meet different values as well.
  for (std::size_t stride = 1; stride <= 1024; stride *= 2) {
    EXPECT_NE(bytes[0], bytes[stride]) << stride;
  }
}

TEST(Pattern, IsMadeOfOrdinaryNumbers) {
  // Peers that multiply by 1 keep the bits of ordinary numbers, not those of every NaN.
  std::vector<float> singles(10000);
  fill_pattern(singles.data(), 40000, 4);
  std::vector<double> doubles(10000);
  fill_pattern(doubles.data(), 80000, 8);
  for (std::size_t i = 0; i < singles.size(); ++i) {
    EXPECT_TRUE(std::isnormal(singles[i])) << i;
    EXPECT_TRUE(std::isnormal(doubles[i])) << i;
  }
  EXPECT_EQ(std::set(singles.begin(), singles.end()).size(), singles.size());
}

TEST(Team, CopiesEveryByteOnAnyNumberOfThreads) {
  Buffer src;
  Buffer dst;
  const std::int64_t most = 100000;
  src.reserve(most);
  dst.reserve(most);
  fill_pattern(src.data(), most, 8);
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    for (const std::int64_t bytes :
         {std::int64_t{1}, std::int64_t{4095}, std::int64_t{65537}, most}) {
      for (const auto copy : {copy_with_memcpy, copy_non_temporal}) {
        fill_poison(dst.data(), most);
        copy(team, dst.data(), src.data(), bytes);
        EXPECT_EQ(std::memcmp(dst.data(), src.data(), static_cast<std::size_t>(bytes)), 0);
        if (bytes < most) {
          EXPECT_EQ(dst.data()[bytes], std::byte{0xA5});
        }
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::bench
