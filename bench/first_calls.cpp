// Measures what the first calls of new problems take when they learn, beside the plan of the
// estimate alone.
//
//   usage: first_calls [--gpu] [--seed N] [--count N] [--least BYTES] [--most BYTES]
//                      [--threads N] [--calls N] [--repeats N] [--busy]
//                      [--json FILE]
//
// For each random problem the first 10, 30, 100 and 300 calls with Effort::automatic and with
// Effort::estimate are timed in turn, by the clock of the host and with everything in them:
// planning, loading of kernels, turns. Before both, plans are forgotten; a few calls with
// Effort::estimate have loaded that plan's kernel, so that it counts for neither. Who comes first
// alternates. With repeats, a time is the median of its repeats. The second pass solves the same
// problems again in the same process, where the kernels of a GPU are loaded. On a machine that
// others use as well, --busy counts the processor time of this process in the place of the clock's.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "files/output_file.hpp"
#include "gpu/accelerator.hpp"
#include "harness/buffer.hpp"
#include "harness/machine.hpp"
#include "harness/random_suite.hpp"
#include "harness/statistics.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::array<int, 4> all_marks{10, 30, 100, 300};
constexpr std::array<Effort, 2> efforts{Effort::estimate, Effort::automatic};

/// Seconds of the first calls, to each mark.
using Times = std::vector<double>;

struct Arguments {
  RandomSpec spec{Drawn::any, 60, 6501, {}, 100'000, 20'000'000};
  bool gpu = false;
  int threads = 1;
  int calls = 300;
  int repeats = 1;
  bool busy = false;
  std::string json;

  std::vector<int> marks() const {
    std::vector<int> some;
    for (const int mark : all_marks) {
      if (mark <= calls) some.push_back(mark);
    }
    return some;
  }
};

// Where the arrays lie. On a GPU calls walk through memory that no cache holds; on a CPU the arrays
// stay where they are, as in a loop.
class Place {
 public:
  explicit Place(bool gpu) {
    if (gpu) gpu_ = open_gpu();
  }

  void reserve(const Case& c) {
    src_step_ = round_to_page(c.src_span_bytes());
    dst_step_ = round_to_page(c.dst_span_bytes());
    constexpr std::int64_t pool = std::int64_t{6} << 30;
    const std::int64_t fit = pool / std::max(src_step_, dst_step_);
    slots_ = gpu_ ? std::clamp<std::int64_t>(fit, 1, 16) : 1;
    if (gpu_) return gpu_->reserve(slots_ * src_step_, slots_ * dst_step_);
    src_.reserve(src_step_);
    dst_.reserve(dst_step_);
    std::memset(src_.data(), 1, static_cast<std::size_t>(src_step_));
  }

  std::byte* src(int call) const {
    return (gpu_ ? gpu_->src() : src_.data()) + call % slots_ * src_step_;
  }
  std::byte* dst(int call) const {
    return (gpu_ ? gpu_->dst() : dst_.data()) + call % slots_ * dst_step_;
  }
  void* stream() const { return gpu_ ? gpu_->stream() : nullptr; }
  void wait() const {
    if (gpu_) gpu_->synchronize();
  }
  ordered_json provenance() const {
    ordered_json all = bench::provenance();
    if (gpu_) all.update(gpu_->provenance());
    return all;
  }

 private:
  std::unique_ptr<Accelerator> gpu_;
  Buffer src_, dst_;
  std::int64_t src_step_ = 0, dst_step_ = 0, slots_ = 1;
};

class Problems {
 public:
  Problems(const Arguments& arguments, Place& place)
      : arguments_(arguments), marks_(arguments.marks()), place_(place) {}

  // Both efforts' times of a problem, the medians of the repeats.
  std::array<Times, 2> timed(const Case& c, std::size_t number) {
    place_.reserve(c);
    calls(c, Effort::estimate, 0, 3);
    std::array<std::vector<Times>, 2> all;
    for (int repeat = 0; repeat < arguments_.repeats; ++repeat) {
      for (std::size_t turn = 0; turn < efforts.size(); ++turn) {
        const std::size_t which = (number + static_cast<std::size_t>(repeat) + turn) % 2;
        all[which].push_back(first_calls(c, efforts[which]));
      }
    }
    return {medians(all[0]), medians(all[1])};
  }

 private:
  Times first_calls(const Case& c, Effort effort) {
    forget_plans();
    calls(c, Effort::estimate, 0, 1);  // what is in the caches is the same for both
    forget_plans();
    Times times;
    int done = 0;
    const double start = now();
    for (const int mark : marks_) {
      calls(c, effort, done, mark);
      done = mark;
      times.push_back(now() - start);
    }
    return times;
  }

  double now() const {
    timespec time{};
    clock_gettime(arguments_.busy ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // To each mark.
  Times medians(const std::vector<Times>& repeats) const {
    Times middle;
    for (std::size_t m = 0; m < marks_.size(); ++m) {
      std::vector<double> to_mark;
      for (const Times& one : repeats) to_mark.push_back(one[m]);
      middle.push_back(median(to_mark));
    }
    return middle;
  }

  void calls(const Case& c, Effort effort, int from, int to) {
    const ElementType type = ElementType::bytes(c.element_bytes);
    const auto in_bytes = [&](Extents strides) {
      for (std::int64_t& stride : strides) stride *= c.element_bytes;
      return strides;
    };
    ConstView src(nullptr, type, c.shape, in_bytes(c.src_strides));
    View dst(nullptr, type, c.shape, in_bytes(c.dst_strides));
    Options options;
    options.threads = arguments_.threads;
    options.effort = effort;
    options.stream = place_.stream();
    for (int call = from; call < to; ++call) {
      src.data = place_.src(call) + c.src_offset * c.element_bytes;
      dst.data = place_.dst(call) + c.dst_offset * c.element_bytes;
      copy(dst, src, options);
    }
    place_.wait();
  }

  const Arguments& arguments_;
  const std::vector<int> marks_;
  Place& place_;
};

// How many times as long the first calls take with learning, of all problems.
ordered_json summary_of(const std::vector<std::array<Times, 2>>& problems,
                        const std::vector<int>& marks) {
  ordered_json all = ordered_json::array();
  for (std::size_t m = 0; m < marks.size(); ++m) {
    std::vector<double> ratios;
    for (const auto& [estimate, automatic] : problems) ratios.push_back(automatic[m] / estimate[m]);
    std::sort(ratios.begin(), ratios.end());
    const double mean = geometric_mean(ratios), middle = median(ratios);
    const double p90 = ratios[ratios.size() * 9 / 10];
    std::cout << fmt::format(
        "  first {:3} calls: {:.3f} times as long in the mean, {:.3f} in the middle, 90 % at most "
        "{:.3f}, worst {:.2f}\n",
        marks[m], mean, middle, p90, ratios.back());
    all.push_back({{"calls", marks[m]},
                   {"mean", mean},
                   {"median", middle},
                   {"p90", p90},
                   {"worst", ratios.back()}});
  }
  return all;
}

ordered_json pass_of(const char* name, const std::vector<Case>& cases, Problems& problems,
                     const std::vector<int>& marks) {
  std::vector<std::array<Times, 2>> times;
  ordered_json list = ordered_json::array();
  for (const Case& c : cases) {
    const auto& [estimate, automatic] = times.emplace_back(problems.timed(c, times.size()));
    list.push_back({{"case", c.name},
                    {"payload_bytes", c.payload_bytes()},
                    {"estimate_seconds", estimate},
                    {"automatic_seconds", automatic}});
  }
  std::cout << fmt::format("{}, {} problems:\n", name, times.size());
  return {{"pass", name}, {"first_calls", summary_of(times, marks)}, {"cases", std::move(list)}};
}

int run_first_calls(const Arguments& arguments) {
  Place place(arguments.gpu);
  Problems problems(arguments, place);
  const Suite suite = random_suite(arguments.spec);
  ordered_json report = {{"kind", "cornerturn-first-calls"},
                         {"schema", 1},
                         {"suite", suite.name},
                         {"device", arguments.gpu ? "gpu" : "cpu"},
                         {"threads", arguments.threads},
                         {"repeats", arguments.repeats},
                         {"marks", arguments.marks()},
                         {"provenance", place.provenance()}};
  for (const char* pass : {"a new process", "plans forgotten, kernels loaded"}) {
    report["passes"].push_back(pass_of(pass, suite.cases, problems, arguments.marks()));
  }
  if (!arguments.json.empty()) files::write_text(arguments.json, report.dump(1) + "\n", "--json");
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures what the first calls of new problems take when they learn");
  cornerturn::bench::Arguments arguments;
  app.add_flag("--gpu", arguments.gpu, "On the GPU that is here");
  app.add_option("--seed", arguments.spec.seed, "Of the problems");
  app.add_option("--count", arguments.spec.count, "So many problems");
  app.add_option("--least", arguments.spec.min_bytes, "Bytes of a problem, at least");
  app.add_option("--most", arguments.spec.max_bytes, "Bytes of a problem, at most");
  app.add_option("--threads", arguments.threads, "Of the CPU");
  app.add_option("--calls", arguments.calls, "Of each problem, at most")
      ->check(CLI::Range(10, 300));
  app.add_option("--repeats", arguments.repeats, "So often each problem is new");
  app.add_flag("--busy", arguments.busy, "Count processor time: others use the machine as well")
      ->excludes("--gpu");
  app.add_option("--json", arguments.json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run_first_calls(arguments);
  } catch (const std::exception& error) {
    std::cerr << "first_calls: " << error.what() << "\n";
    return 2;
  }
}
