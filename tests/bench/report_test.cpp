// Results as files, tables and comparisons.
#include "harness/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cornerturn/error.hpp"
#include "harness/machine.hpp"

namespace cornerturn::bench {
namespace {

// A case that took `share` of memcpy's speed.
Result result_of(const std::string& name, const std::string& group, double share,
                 double noise = 0.01) {
  Result r;
  r.c.suite = "own";
  r.c.name = name;
  r.c.group = group;
  r.c.element_bytes = 4;
  r.c.shape = {1000};
  r.outcome = Outcome::ok;
  r.method = "tile";
  r.runs = 5;
  r.memcpy_seconds = 1e-3;
  r.non_temporal_seconds = 0.8e-3;
  r.seconds = 1e-3 / share;
  r.best_seconds = r.seconds;
  r.noise = noise;
  return r;
}

Report report_of(std::vector<Result> results) {
  Report report;
  report.subject = "own";
  report.version = "1.2";
  report.details = {{"effort", "estimate"}};
  report.threads = 1;
  report.provenance = {{"cpu", "any"}};
  report.results = std::move(results);
  return report;
}

class ReportFile : public testing::Test {
 protected:
  ReportFile() { std::filesystem::create_directory(folder_); }
  ~ReportFile() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("cornerturn-report-test-" + std::to_string(getpid()));
};

// The chosen one counts as a candidate, as what it is compared with does.
TEST(Report, TheChoiceIsJudgedByItsTimeAsACandidate) {
  Result r = result_of("a", "x", 0.5);
  r.method = "tile: large";
  r.candidates = {{"tile", "large", "", 1e-3, 5e-4}, {"tile", "small", "", 1e-3, 4e-4}};
  EXPECT_EQ(chosen_seconds(r), 5e-4);
  EXPECT_EQ(score_choices({r}).good, 0);
  r.candidates[1].seconds = 4.9e-4;
  EXPECT_EQ(score_choices({r}).good, 1);
  r.method = "gather: another";
  EXPECT_EQ(chosen_seconds(r), r.best_seconds);
}

TEST_F(ReportFile, RoundTrips) {
  Result skipped = result_of("c", "y", 1);
  skipped.outcome = Outcome::skipped;
  skipped.reason = "too large";
  Report before = report_of({result_of("a", "x", 0.5), skipped, result_of("w", "x", 1)});
  before.results[2].warm = true;
  const std::string path = folder_ / "r.json";
  save_report(before, path);
  const Report after = load_report(path);
  EXPECT_EQ(to_json(after)["subject"], "own");
  EXPECT_EQ(after.details, before.details);
  ASSERT_EQ(after.results.size(), 3u);
  EXPECT_EQ(after.results[0].c.name, "a");
  EXPECT_DOUBLE_EQ(after.results[0].seconds, 2e-3);
  EXPECT_DOUBLE_EQ(after.results[0].share(), 0.5);
  EXPECT_DOUBLE_EQ(after.results[0].share_of_best_copy(), 0.4);
  EXPECT_EQ(after.results[1].outcome, Outcome::skipped);
  EXPECT_EQ(after.results[1].reason, "too large");
  EXPECT_FALSE(after.results[0].warm);
  EXPECT_TRUE(after.results[2].warm);
}

TEST_F(ReportFile, AppearsWholeOrNotAtAll) {
  const std::string path = folder_ / "no-such-folder" / "r.json";
  EXPECT_THROW(save_report(report_of({}), path), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  save_report(report_of({result_of("a", "x", 0.5)}), folder_ / "r.json");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(ReportFile, BadFilesAreRefusedByName) {
  const auto refusal = [&](const std::string& text) -> std::string {
    const std::string path = folder_ / "bad.json";
    std::ofstream(path) << text;
    try {
      load_report(path);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("bad.json"), std::string::npos);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("{").find("is not JSON"), std::string::npos);
  EXPECT_NE(refusal("{}").find("is not a result of the benchmark"), std::string::npos);
  nlohmann::json written = to_json(report_of({result_of("a", "x", 0.5)}));
  EXPECT_EQ(refusal(written.dump()), "accepted");
  written["cases"][0]["seconds"] = 0;
  EXPECT_NE(refusal(written.dump()).find("seconds = 0 must be positive"), std::string::npos);
  written["cases"][0].erase("seconds");
  EXPECT_NE(refusal(written.dump()).find("seconds"), std::string::npos);
  written["cases"][0]["outcome"] = "great";
  EXPECT_NE(refusal(written.dump()).find("outcome = great is none of"), std::string::npos);
  EXPECT_THROW(load_report(folder_ / "missing.json"), Error);
}

TEST(Summary, HasGeometricMeansAndTheSlowestCase) {
  Result failed = result_of("bad", "x", 1);
  failed.outcome = Outcome::failed;
  const std::string text = summary(
      {result_of("a", "x", 0.4), result_of("b", "x", 0.9), result_of("c", "y", 1.2), failed});
  EXPECT_NE(text.find("x                                60      60      40     2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("slowest: own/a 4 B with 40 %"), std::string::npos) << text;
  EXPECT_NE(text.find("1 FAILED"), std::string::npos) << text;
  EXPECT_EQ(summary({}), "");
}

TEST(Compare, TellsChangesFromNoise) {
  const Report a = report_of({result_of("up", "x", 0.5), result_of("down", "x", 0.5),
                              result_of("noisy", "y", 0.5, 0.2), result_of("gone", "y", 0.5)});
  const Report b = report_of({result_of("up", "x", 1.0), result_of("down", "x", 0.25),
                              result_of("noisy", "y", 0.6, 0.2), result_of("new", "y", 0.5)});
  const std::string text = compare(a, b);
  EXPECT_NE(text.find("3 cases in both: 1 faster, 1 slower, 1 the same"), std::string::npos)
      << text;
  EXPECT_NE(text.find("only in a: 1, only in b: 1"), std::string::npos) << text;
  const std::string again = compare(a, a);
  EXPECT_NE(again.find("4 cases in both: 0 faster, 0 slower, 4 the same"), std::string::npos)
      << again;
}

TEST(Provenance, SaysWhatWasUsedAndWhere) {
  const auto p = provenance();
  for (const char* key : {"commit", "dirty", "date", "cpu", "processors", "caches", "governor",
                          "kernel", "page_bytes", "compiler", "flags", "libraries"}) {
    EXPECT_TRUE(p.contains(key)) << key;
  }
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  if (std::string(host).size() > 4) {
    EXPECT_EQ(p.dump().find(host), std::string::npos) << "results name no hosts";
  }
}

}  // namespace
}  // namespace cornerturn::bench
