#include "harness/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "cornerturn/error.hpp"
#include "harness/machine.hpp"
#include "harness/random_suite.hpp"
#include "harness/report.hpp"
#include "harness/runner.hpp"
#include "io/print.hpp"
#include "io/size.hpp"

namespace cornerturn::bench {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

// While it lives, Ctrl-C ends the measurement after the run in progress; a second one kills.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = false;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~InterruptGuard() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

// One line on the terminal that is overwritten; nothing when standard error is a file.
class ProgressLine {
 public:
  void show(std::size_t i, std::size_t n, const Case& c) {
    if (shown_) io::show_progress(fmt::format("[{}/{}] {}", i + 1, n, to_string(c)));
  }
  void clear() {
    if (shown_) io::show_progress("");
  }

 private:
  bool shown_ = io::shows_progress();
};

std::vector<std::string> suites_of(const SessionOptions& options) {
  if (options.random == 0) return options.suites;
  RandomSpec spec;
  spec.count = options.random;
  if (options.fields) spec.drawn = Drawn::fields;
  spec.seed = options.seed;
  spec.element_bytes = options.filter.element_bytes;
  if (options.min_bytes > 0) spec.min_bytes = options.min_bytes;
  if (options.filter.max_payload_bytes > 0) spec.max_bytes = options.filter.max_payload_bytes;
  return {name_of(spec)};
}

std::vector<Case> chosen_cases(const SessionOptions& options) {
  std::vector<Case> cases;
  for (const std::string& name : suites_of(options)) {
    for (Case& c : load_suite(name).cases) {
      if (options.filter.accepts(c)) cases.push_back(std::move(c));
    }
  }
  if (cases.empty()) {
    throw Error(Status::invalid_argument,
                "no case of the suites passes --bytes, --case, --class "
                "and --max-bytes: loosen one of them");
  }
  return cases;
}

void list_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    io::print("{:<10} {:<30} {:>3} B {:>9.1f} MB  {}\n", c.suite, c.name, c.element_bytes,
              1e-6 * static_cast<double>(c.payload_bytes()), c.group);
  }
}

// Measures the cases one after the other, until Ctrl-C; prints each.
std::vector<Result> measured(const std::vector<Case>& cases, const SessionOptions& options,
                             const Place& place) {
  std::vector<Result> results;
  ProgressLine progress;
  std::string suite;
  const auto started = std::chrono::steady_clock::now();
  const auto time_is_up = [&] {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    return options.max_seconds > 0 && elapsed.count() > options.max_seconds;
  };
  for (std::size_t i = 0; i < cases.size() && !interrupted; ++i) {
    progress.show(i, cases.size(), cases[i]);
    Result result;
    if (time_is_up()) {
      result.c = cases[i];
      result.reason = "time is up";
    } else {
      result = place.measure(cases[i], interrupted);
    }
    progress.clear();
    if (suite != cases[i].suite) {
      suite = cases[i].suite;
      io::print("\n{}\n{}\n", suite, table_header(place.device));
    }
    io::print("{}\n", table_line(result));
    std::fflush(stdout);
    results.push_back(result);
  }
  return results;
}

void add_size(CLI::App& app, const std::string& name, std::int64_t& bytes,
              const std::string& description) {
  app.add_option_function<std::string>(
         name, [name, &bytes](const std::string& text) { bytes = io::parse_size(name, text); },
         description)
      ->type_name("SIZE");
}

}  // namespace

void add_session_options(CLI::App& app, SessionOptions& options) {
  std::string names;
  for (const EmbeddedSuite& s : embedded_suites())
    names += (names.empty() ? "" : ", ") + std::string(s.name);
  options.suites = {"everyday"};
  app.add_option("--suite", options.suites, "Measure these suites: " + names + " or a JSON file")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--random", options.random,
                 "Measure so many problems drawn at random instead of suites, of the sizes of "
                 "--bytes, --min-bytes and --max-bytes")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--fields", options.fields, "Draw problems that move some fields of structures")
      ->needs("--random");
  app.add_option("--seed", options.seed, "Of the random problems: the same seed draws the same")
      ->capture_default_str();
  add_size(app, "--min-bytes", options.min_bytes,
           "Draw random problems that move at least so much (default: 1 MiB)");
  app.add_option("--bytes", options.filter.element_bytes, "Measure only elements of these sizes")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  app.add_option("--case", options.filter.name_globs,
                 "Measure only cases whose name matches, e.g. 'matrix_*'")
      ->delimiter(',');
  app.add_option("--class", options.filter.groups, "Measure only cases of these classes")
      ->delimiter(',');
  add_size(app, "--max-bytes", options.filter.max_payload_bytes,
           "Measure only cases that move at most so much, e.g. 800MB");
  app.add_option("--threads", options.threads,
                 "Use so many threads (default: all that the process may use)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--budget", options.budget, "Accept the noise of a case after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--slow-budget", options.slow_budget,
                 "Repeat not even a slow case after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--min-runs", options.min_runs, "Run a case at least so often")
      ->check(CLI::Range(1, 1000));
  app.add_option("--max-seconds", options.max_seconds, "Begin no case after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json, "Write the results to this file");
  app.add_option("--compare", options.compare, "Compare two result files instead of measuring")
      ->expected(2);
  app.add_flag("--list", options.list, "List the cases instead of measuring");
  app.add_flag("--warm", options.warm,
               "Time every case back to back, with warm caches; on a GPU in a graph");
}

void add_candidates_option(CLI::App& app, SessionOptions& options) {
  app.add_flag("--all-candidates", options.all_candidates,
               "Time every candidate of the planner, not only the chosen one");
}

StopRule SessionOptions::stop_rule(StopRule base) const {
  base.budget = budget.value_or(base.budget);
  base.slow_budget = std::max(base.budget, slow_budget.value_or(base.slow_budget));
  base.min_runs = min_runs.value_or(base.min_runs);
  return base;
}

int run_session(const SessionOptions& options, Subject& subject, const StopRule& rule) {
  std::optional<Runner> runner;
  Place place;
  place.device = "cpu";
  place.name = cpu_model();
  place.threads = options.threads > 0 ? options.threads : usable_processors();
  place.measure = [&](const Case& c, const std::atomic<bool>& stop) {
    if (!runner) {
      runner.emplace(place.threads, options.stop_rule(rule),
                     RunnerOptions{.all_candidates = options.all_candidates, .warm = options.warm});
    }
    return runner->measure(c, subject, stop);
  };
  place.provenance = provenance;
  return run_session_at(options, subject, place);
}

int run_session_at(const SessionOptions& options, const Subject& subject, const Place& place) {
  if (!options.compare.empty()) {
    const Report before = load_report(options.compare[0]);
    const Report after = load_report(options.compare[1]);
    io::print("{}", compare(before, after));
    return 0;
  }
  const std::vector<Case> cases = chosen_cases(options);
  if (options.list) {
    list_cases(cases);
    return 0;
  }

  Report report;
  report.subject = subject.name();
  report.version = subject.version();
  report.details = subject.details();
  report.device = place.device;
  report.threads = place.threads;
  io::print("{} {} on {}{}; GB/s = bytes read + written\n", report.subject, report.version,
            place.name,
            place.device == "gpu"
                ? ""
                : fmt::format(", {} thread{}", place.threads, place.threads == 1 ? "" : "s"));

  InterruptGuard guard;
  report.results = measured(cases, options, place);
  report.provenance = place.provenance();
  io::print("\n{}", summary(report.results));
  if (interrupted) {
    io::print("interrupted after {} of {} cases\n", report.results.size(), cases.size());
    return 130;
  }
  if (!options.json.empty()) {
    std::fflush(stdout);  // the file may be standard output
    save_report(report, options.json);
  }
  for (const Result& r : report.results) {
    if (r.outcome == Outcome::failed) return 1;
  }
  return 0;
}

}  // namespace cornerturn::bench
