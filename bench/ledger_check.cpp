// ledger_check judge|fit RESULT.json [--cases] [--steps N] [--seed N]: how near the ladder's ledger
// comes to the shares of a copy that a GPU measured (bench/results/ladder), and a search for better
// numbers of its model (workshop/analyse/access_costs.hpp).
//
// A triple is a rung, a matrix or a stack of at least 4096 x 4096 elements, and their size. `fit`
// sees those of elements of 1 and 4 bytes, but for the largest matrix; all others are held out.
// Rungs whose code has changed since they were measured, which their registers tell, are left out.
#include <fmt/format.h>
#include <limits>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "planning/fit.hpp"
#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/ledger.hpp"

namespace cornerturn::bench {
namespace {

using Json = nlohmann::json;

constexpr double close_by = 0.05;  // of a copy's speed
constexpr std::int64_t largest_side = 32768;

struct Triple {
  std::string rung;
  ladder::Matrix matrix;
  ladder::Prediction run;  ///< of a small matrix that stands for it
  double measured = 0;     ///< share of the copy

  bool held_out() const {
    return matrix.bytes == 2 || matrix.bytes == 8 || matrix.rows >= largest_side;
  }
};

// Does the compiled code still have the registers that the driver reported?
bool changed(const std::string& rung, const ladder::Matrix& matrix, const Json& measured) {
  const ladder::CompiledRung* code = ladder::find_compiled(rung, matrix);
  return code != nullptr && code->registers[0] != measured.at("occupancy").at("registers");
}

std::vector<Triple> triples_of(const Json& result) {
  std::vector<Triple> list;
  std::map<std::pair<std::string, std::string>, ladder::Prediction> known;
  for (const Json& run : result.at("runs")) {
    ladder::Matrix matrix;
    matrix.rows = run.at("shape").at(0);
    matrix.cols = run.at("shape").at(1);
    matrix.batch = run.value("batch", std::int64_t{1});
    matrix.fused = run.value("fused", false);
    const std::int64_t elements = matrix.rows * matrix.cols * matrix.batch;
    if (elements < ladder::least_predicted) continue;
    matrix.bytes = static_cast<int>(run.at("bytes").get<std::int64_t>() / elements);
    const ladder::Matrix small = ladder::representative(matrix);
    const std::string shape = fmt::format("{} {} {} {} {}", small.rows, small.cols, small.bytes,
                                          small.batch, small.fused);
    for (const Json& entry : run.at("rungs")) {
      const std::string name = entry.at("name");
      const ladder::Rung* rung = ladder::find_rung(name);
      if (rung == nullptr || !entry.contains("measured")) continue;
      if (changed(name, matrix, entry.at("measured"))) continue;
      const auto key = std::pair(name, shape);
      if (!known.contains(key)) known[key] = ladder::predict(*rung, small);
      list.push_back({name, matrix, known[key], entry.at("measured").at("share_of_copy")});
    }
  }
  return list;
}

double predicted(const Triple& triple, const plan::gpu::DeviceInfo& device,
                 const AccessCosts& costs) {
  return ladder::ledger_of(triple.run, triple.matrix, device, costs).share_of_copy();
}

// Less is better: triples that are not near, and how far all are off.
double badness_of(const std::vector<Triple>& triples, const plan::gpu::DeviceInfo& device,
                  const AccessCosts& costs) {
  double far = 0, off = 0;
  for (const Triple& triple : triples) {
    const double points = std::abs(predicted(triple, device, costs) - triple.measured);
    far += 1 / (1 + std::exp((close_by - points) / 0.006));
    off += std::min(points, 0.5);
  }
  const auto n = static_cast<double>(std::max<std::size_t>(triples.size(), 1));
  return far / n + 3 * off / n;
}

AccessCosts fitted_costs(const std::vector<Triple>& triples, const plan::gpu::DeviceInfo& device,
                         int steps, unsigned seed) {
  AccessCosts costs;
  constexpr double any = std::numeric_limits<double>::infinity();
  std::vector<FreeCost> free;
  for (const auto& [name, value] : fitted_numbers(costs)) free.push_back({*value, any});
  const auto costs_of = [](const std::vector<double>& values) {
    AccessCosts trial;
    std::size_t i = 0;
    for (const auto& [name, value] : fitted_numbers(trial)) *value = values[i++];
    return trial;
  };
  const auto badness = [&](const std::vector<double>& values) {
    return badness_of(triples, device, costs_of(values));
  };
  return costs_of(fitted(free, badness, steps, seed));
}

void judge(const std::string& label, const std::vector<Triple>& triples,
           const plan::gpu::DeviceInfo& device, const AccessCosts& costs, bool list) {
  int close = 0;
  double off = 0, worst = 0;
  for (const Triple& triple : triples) {
    const double share = predicted(triple, device, costs);
    const double points = std::abs(share - triple.measured);
    close += points <= close_by ? 1 : 0;
    off += points;
    worst = std::max(worst, points);
    if (!list || points <= close_by) continue;
    const ladder::Matrix& m = triple.matrix;
    fmt::print("{:<24} {}{} x {} of {} B{}: {:.0f} % predicted, {:.0f} % measured\n", triple.rung,
               m.batch == 1 ? "" : fmt::format("{} x ", m.batch), m.rows, m.cols, m.bytes,
               m.fused ? ", fused" : "", 100 * share, 100 * triple.measured);
  }
  const auto n = static_cast<double>(std::max<std::size_t>(triples.size(), 1));
  fmt::print(
      "{:<9} {:4} triples, {:5.1f} % within 5 points, {:4.1f} points off, {:4.1f} at worst\n",
      label, triples.size(), 100 * close / n, 100 * off / n, 100 * worst);
}

int run(const std::vector<std::string>& words) {
  std::string command, file;
  bool list = false;
  int steps = 20000;
  unsigned seed = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--cases") {
      list = true;
    } else if (words[i] == "--steps" && i + 1 < words.size()) {
      steps = std::stoi(words[++i]);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = static_cast<unsigned>(std::stoi(words[++i]));
    } else {
      (command.empty() ? command : file) = words[i];
    }
  }
  std::ifstream in(file);
  if ((command != "fit" && command != "judge") || !in) {
    fmt::print(stderr,
               "usage: ledger_check judge|fit RESULT.json [--cases] [--steps N] [--seed N]\n");
    return 2;
  }
  std::vector<Triple> all = triples_of(Json::parse(in));
  const auto middle =
      std::stable_partition(all.begin(), all.end(), [](const Triple& t) { return !t.held_out(); });
  const std::vector<Triple> seen(all.begin(), middle);
  const std::vector<Triple> held_out(middle, all.end());
  const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  AccessCosts costs;
  if (command == "fit") {
    costs = fitted_costs(seen, device, steps, seed);
    for (const auto& [name, value] : fitted_numbers(costs))
      fmt::print("{} = {:.3g}\n", name, *value);
  }
  judge("fitted to", seen, device, costs, list);
  judge("held out", held_out, device, costs, list);
  judge("all", all, device, costs, false);
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  try {
    return cornerturn::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "ledger_check: {}\n", error.what());
    return 2;
  }
}
