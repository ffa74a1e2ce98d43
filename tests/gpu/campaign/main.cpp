// A campaign against the GPU that is here: random problems through every kernel, large ones,
// threads and graphs, and hardship. Prints what was run by kernel, and what was found.
//   gpu_campaign [--problems N] [--seed N] [--seconds N] [--parts a,b,...] [--json FILE]
//                [--commit TEXT]
// --seconds is the limit of the random moves and, again, of the random conversions.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "campaign/report.hpp"

namespace cornerturn::campaign {
namespace {

struct Part {
  const char* name;
  Report (*run)(const Settings&);
};
constexpr Part parts[] = {
    {"moves", moves},
    {"conversions", conversions},
    {"large", large_moves},
    {"large-conversions", large_conversions},
    {"graphs", graphs},
    {"captures", captures},
    {"exhausted", exhausted},
    {"managed", managed},
    {"gpus", several_gpus},
    {"reset", reset_contexts},
    {"contexts", other_contexts},
    {"sticky", sticky_error},
};

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::ordered_json json;
  json["part"] = report.part;
  json["problems"] = report.problems;
  json["runs"] = report.runs;
  json["refused"] = report.refused;
  json["wrong"] = report.wrong;
  if (!report.skipped.empty()) json["skipped"] = report.skipped;
  json["seconds"] = report.seconds;
  return json;
}

Report run_here(const Part& part, const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  Report report;
  try {
    report = part.run(settings);
  } catch (const std::exception& error) {
    report.part = part.name;
    report.wrong.push_back(std::string("ended by: ") + error.what());
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

nlohmann::ordered_json the_gpu() {
  nlohmann::ordered_json gpu;
  cudaDeviceProp properties{};
  int driver = 0, runtime = 0, gpus = 0;
  cudaGetDeviceCount(&gpus);
  cudaGetDeviceProperties(&properties, 0);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  gpu["name"] = properties.name;
  gpu["count"] = gpus;
  gpu["sms"] = properties.multiProcessorCount;
  gpu["memory"] = properties.totalGlobalMem;
  gpu["driver"] = driver;
  gpu["runtime"] = runtime;
  return gpu;
}

// A process of its own for each part: some of them leave a GPU that is of no use to it.
nlohmann::ordered_json run_apart(const char* part, const Settings& settings) {
  const std::string path = fmt::format("/proc/{}/exe", getpid());
  std::vector<std::string> words = {path,         "--parts",
                                    part,         "--within",
                                    "--problems", std::to_string(settings.problems),
                                    "--seed",     std::to_string(settings.seed),
                                    "--seconds",  std::to_string(settings.seconds)};
  std::string command;
  for (const std::string& word : words) command += word + " ";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  const int status = pipe == nullptr ? -1 : pclose(pipe);
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (status == 0 && !json.is_discarded()) return json;
  Report report;
  report.part = part;
  report.wrong.push_back(fmt::format("the process ended with status {}", status));
  return to_json(report);
}

void print(const nlohmann::ordered_json& report) {
  const auto& wrong = report["wrong"];
  fmt::print(
      "{:<42} {:>8} problems {:>6} refused {:>4} wrong {:>8.1f} s{}\n",
      report["part"].get<std::string>(), report["problems"].get<std::int64_t>(),
      report["refused"].get<std::int64_t>(), wrong.size(), report["seconds"].get<double>(),
      report.contains("skipped") ? "  skipped: " + report["skipped"].get<std::string>() : "");
  for (const auto& [name, count] : report["runs"].items()) {
    fmt::print("    {:<38} {:>8} runs\n", name, count.get<std::int64_t>());
  }
  for (const auto& what : wrong) fmt::print("    WRONG: {}\n", what.get<std::string>());
  std::fflush(stdout);
}

std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int run(int argc, char** argv) {
  CLI::App app("A campaign against the GPU that is here");
  Settings settings;
  std::string json_path, commit;
  std::vector<std::string> chosen;
  bool within = false;
  app.add_option("--problems", settings.problems);
  app.add_option("--seed", settings.seed);
  app.add_option("--seconds", settings.seconds);
  app.add_option("--parts", chosen)->delimiter(',');
  app.add_option("--json", json_path);
  app.add_option("--commit", commit);
  app.add_flag("--within", within);
  CLI11_PARSE(app, argc, argv);

  nlohmann::ordered_json all;
  all["what"] = "gpu campaign";
  all["date"] = today();
  all["commit"] = commit;
  all["problems"] = settings.problems;
  all["seed"] = settings.seed;
  bool found = false;
  for (const Part& part : parts) {
    const auto is_chosen = [&](const std::string& name) { return name == part.name; };
    if (!chosen.empty() && std::none_of(chosen.begin(), chosen.end(), is_chosen)) continue;
    if (within) {
      fmt::print("{}\n", to_json(run_here(part, settings)).dump());
      return 0;
    }
    all["parts"].push_back(chosen.size() == 1 ? to_json(run_here(part, settings))
                                              : run_apart(part.name, settings));
    print(all["parts"].back());
    found = found || !all["parts"].back()["wrong"].empty();
  }
  all["gpu"] = the_gpu();
  if (!json_path.empty()) std::ofstream(json_path) << all.dump(1) << "\n";
  return found ? 1 : 0;
}

}  // namespace
}  // namespace cornerturn::campaign

int main(int argc, char** argv) {
  return cornerturn::campaign::run(argc, argv);
}
