// Measures copies across the link between host memory and the GPU that is here.
//
//   usage: bench_link [--suite A,B,...] [--case TEXT] [--routes] [--candidates] [--blocks]
//                     [--random N --seed S] [--large]
//                     [--json FILE]
//          bench_link --list
//
// 100 % is a dense copy of as many bytes by the copy engine, in pinned memory, in the same run.
// Every result is checked before it is timed, all elements and all bytes between them. A time is
// the median of calls, each from the call to the end of the stream's work, by the host's clock.
// --list prints the cases for those who measure them by other means; it needs no GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "cornerturn/version.hpp"
#include "files/output_file.hpp"
#include "harness/machine.hpp"
#include "link/measurement.hpp"

namespace cornerturn::bench::link {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> suites;
  std::string text;
  bool routes = false;
  bool candidates = false;
  bool blocks = false;
  bool large = false;
  bool list = false;
  std::int64_t random = 0;
  std::uint64_t seed = 1;
  std::string json;
};

std::vector<LinkCase> cases_of(const Arguments& arguments) {
  std::vector<LinkCase> cases;
  if (arguments.random > 0 && arguments.suites.empty()) return cases;
  for (LinkCase& c : all_cases(arguments.large)) {
    const auto& suites = arguments.suites;
    const bool is_asked_for =
        suites.empty() || std::find(suites.begin(), suites.end(), c.layout.suite) != suites.end();
    if (is_asked_for && to_string(c).find(arguments.text) != std::string::npos) {
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

ordered_json measure(const Sides& sides, const LinkCase& c, const Arguments& arguments,
                     bool is_random) {
  Measurement measurement(sides, c);
  measurement.add_own();
  measurement.add_dense_copies();
  measurement.add_dense_then_permute();
  if (arguments.routes && !is_random) measurement.add_routes();
  if (arguments.candidates) measurement.add_candidates();
  if (arguments.blocks && c.memory == Memory::pinned && !is_random) measurement.add_few_blocks();
  if (!is_random) measurement.add_copies_of_runs();
  measurement.run();
  ordered_json result = measurement.to_json();
  const double own = measurement.seconds_of("cornerturn");
  std::cerr << fmt::format(
      "{:64} {:10.1f} us {:6.1f} % of the dense copy {:6.2f} x permuted  {}{}\n", to_string(c),
      1e6 * own, own > 0 ? 100 * measurement.seconds_of("dense") / own : 0,
      own > 0 ? measurement.seconds_of("dense, then permuted") / own : 0,
      result["contestants"][0]["plan"].get<std::string>(), measurement.is_right() ? "" : "  WRONG");
  for (const ordered_json& one : result["contestants"]) {
    if (!one.contains("wrong")) continue;
    std::cerr << fmt::format("    {}: {}\n", one["name"].get<std::string>(),
                             one["wrong"].get<std::string>());
  }
  return result;
}

// What goes wrong in one case is its result, and what was measured before is kept.
ordered_json measured(const Sides& sides, const LinkCase& c, const Arguments& arguments,
                      bool is_random) {
  try {
    return measure(sides, c, arguments, is_random);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("{}: {}\n", to_string(c), error.what());
    ordered_json result = to_json(c);
    result["contestants"].push_back({{"name", "cornerturn"}, {"wrong", error.what()}});
    return result;
  }
}

// How often, and by how much at most, "dense, then permuted" is faster.
void judge_random(ordered_json& random) {
  int slower = 0, right_ones = 0;
  double worst = 0;
  std::string worst_case;
  for (const ordered_json& one : random["cases"]) {
    double own = 0, other = 0;
    for (const ordered_json& contestant : one["contestants"]) {
      const double seconds = contestant.value("seconds", 0.0);
      if (contestant["name"] == "cornerturn") own = seconds;
      if (contestant["name"] == "dense, then permuted" && !contestant.contains("overwrites")) {
        other = seconds;
      }
    }
    if (own == 0 || other == 0) continue;
    ++right_ones;
    if (own > other) ++slower;
    if (own / other > worst) {
      worst = own / other;
      worst_case = one["case"];
    }
  }
  random["compared"] = right_ones;
  random["slower"] = slower;
  random["worst"] = worst;
  random["worst_case"] = worst_case;
  std::cerr << fmt::format(
      "random: slower than a dense copy and a permutation in {} of {}, {:.3f} times as long at "
      "worst ({})\n",
      slower, right_ones, worst, worst_case);
}

bool is_wrong(const ordered_json& cases) {
  for (const ordered_json& one : cases) {
    for (const ordered_json& contestant : one["contestants"]) {
      if (contestant.contains("wrong")) return true;
    }
  }
  return false;
}

// One case a line, so that differences of results stay readable.
std::string text_of(const ordered_json& report) {
  std::string text = "{";
  const char* separator = "\n ";
  const auto lines_of = [](const ordered_json& cases) {
    std::string lines = "[";
    const char* between = "\n  ";
    for (const ordered_json& one : cases) {
      lines += between + one.dump();
      between = ",\n  ";
    }
    return lines + "\n ]";
  };
  for (const auto& [key, value] : report.items()) {
    text += fmt::format("{}\"{}\": {}", separator, key,
                        value.is_array() ? lines_of(value) : value.dump());
    separator = ",\n ";
  }
  return text + "\n}\n";
}

int run(const Arguments& arguments) {
  const std::vector<LinkCase> cases = cases_of(arguments);
  const std::vector<LinkCase> random = random_cases(arguments.random, arguments.seed);
  std::vector<LinkCase> all = cases;
  all.insert(all.end(), random.begin(), random.end());
  if (all.empty()) throw Error(Status::invalid_argument, "no case has this suite and this text");
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  const Sides sides(*gpu, all);
  ordered_json report = {{"kind", "cornerturn-link"}, {"schema", 1}, {"subject", "cornerturn"}};
  report["version"] = cornerturn::version();
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  report["cases"] = ordered_json::array();
  for (const LinkCase& c : cases) report["cases"].push_back(measured(sides, c, arguments, false));
  ordered_json drawn = {{"cases", ordered_json::array()}};
  for (const LinkCase& c : random) drawn["cases"].push_back(measured(sides, c, arguments, true));
  if (!random.empty()) {
    judge_random(drawn);
    report["random"] = {{"count", arguments.random}, {"seed", arguments.seed}};
    for (const char* key : {"compared", "slower", "worst", "worst_case"}) {
      report["random"][key] = drawn[key];
    }
    report["random_cases"] = drawn["cases"];
  }
  if (!arguments.json.empty()) files::write_text(arguments.json, text_of(report), "--json");
  return is_wrong(report["cases"]) || is_wrong(drawn["cases"]) ? 1 : 0;
}

int list(const Arguments& arguments) {
  ordered_json report = {{"kind", "cornerturn-link-cases"}, {"cases", ordered_json::array()}};
  for (const LinkCase& c : cases_of(arguments)) report["cases"].push_back(to_json(c));
  std::cout << text_of(report);
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench::link

int main(int argc, char** argv) {
  CLI::App app("Measures copies across the link between host memory and the GPU that is here");
  cornerturn::bench::link::Arguments arguments;
  app.add_option("--suite", arguments.suites,
                 "Only these: weights, windows, images, conversions, boxes, sizes")
      ->delimiter(',');
  app.add_option("--case", arguments.text, "Only cases in whose name, way or memory this stands");
  app.add_flag("--routes", arguments.routes, "Also time every route by its name");
  app.add_flag(
      "--candidates", arguments.candidates,
      "Also time every configuration of every route: what the model of costs is judged by");
  app.add_flag("--blocks", arguments.blocks, "Also time `direct` on 4, 8, 16 and 32 blocks");
  app.add_flag("--large", arguments.large, "Also cases of 8 GiB");
  app.add_option("--random", arguments.random,
                 "So many problems drawn at random; then suites only where --suite names them")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000}));
  app.add_option("--seed", arguments.seed, "What they are drawn by");
  app.add_flag("--list", arguments.list, "Print the cases as JSON and measure nothing");
  app.add_option("--json", arguments.json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return arguments.list ? list(arguments) : run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "bench_link: " << error.what() << "\n";
    return 2;
  }
}
