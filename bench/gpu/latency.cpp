// Measures what calls cost the host, on the GPU that is here: those whose plan is known, beside the
// launch of a kernel that does nothing, and the making of plans.
//
//   usage: bench_latency [--json FILE]
//
// Calls transpose 64 x 64 elements of f32 on a stream. The stream is empty when a batch of calls
// begins, and is waited for after the clock has stopped. Batches of all calls take turns. Plans are
// made once for each of many problems drawn at random, each of which was forgotten before.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <utility>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "cuda/some_kernel.hpp"
#include "gpu/accelerator.hpp"
#include "harness/machine.hpp"
#include "harness/random_suite.hpp"
#include "harness/statistics.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t side = 64;
constexpr int calls_of_batch = 100;
constexpr int batches = 61;
constexpr int first_batches = 10;  // not counted

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

struct Call {
  std::string name;
  Work work;
  std::vector<double> seconds;
};

std::vector<Call> calls_on(Accelerator& gpu) {
  const ElementType f32(Kind::f32);
  Options options;
  options.stream = gpu.stream();
  ct_options c_options = CT_OPTIONS_INIT;
  c_options.stream = gpu.stream();
  void* const dst = gpu.dst();
  const void* const src = gpu.src();
  const ConstView turned = ConstView(src, f32, {side, side}).permuted({1, 0});
  const View to(dst, f32, turned.shape);
  const auto nothing = [stream = static_cast<cudaStream_t>(gpu.stream())] {
    cuda::check(cudaLaunchKernel(cuda::some_kernel(), dim3(1), dim3(1), nullptr, 0, stream),
                "an empty kernel");
  };
  const auto in_c = [=] {
    if (ct_transpose(dst, src, side, side, "f32", &c_options) != CT_OK) {
      throw Error(Status::internal, ct_last_error());
    }
  };
  return {
      {"a kernel that does nothing, by cudaLaunchKernel", nothing, {}},
      {"cornerturn::execute of a plan",
       [=, plan = make_plan(to, turned, options)] { execute(plan, dst, src, options.stream); },
       {}},
      {"cornerturn::copy of views", [=] { copy(to, turned, options); }, {}},
      {"cornerturn::transpose", [=] { transpose(dst, src, side, side, f32, options); }, {}},
      {"ct_transpose", in_c, {}},
  };
}

ordered_json timed_calls(Accelerator& gpu) {
  std::vector<Call> calls = calls_on(gpu);
  for (int batch = 0; batch < first_batches + batches; ++batch) {
    for (Call& call : calls) {
      gpu.synchronize();
      const auto from = std::chrono::steady_clock::now();
      for (int i = 0; i < calls_of_batch; ++i) call.work();
      const double seconds = seconds_since(from) / calls_of_batch;
      if (batch >= first_batches) call.seconds.push_back(seconds);
    }
  }
  gpu.synchronize();
  ordered_json all = ordered_json::array();
  for (const Call& call : calls) {
    const double best = *std::min_element(call.seconds.begin(), call.seconds.end());
    std::cout << fmt::format("{:50} {:6.2f} us, at best {:.2f}\n", call.name,
                             1e6 * median(call.seconds), 1e6 * best);
    all.push_back({{"call", call.name}, {"seconds", median(call.seconds)}, {"best_seconds", best}});
  }
  return all;
}

ordered_json timed_plans(Accelerator& gpu) {
  RandomSpec spec;
  spec.count = 300;
  spec.seed = 4001;
  Options options;
  options.device = "gpu";
  options.effort = Effort::estimate;
  std::vector<double> seconds;
  for (const Case& c : random_suite(spec).cases) {
    const auto in_bytes = [&](Extents strides) {
      for (std::int64_t& stride : strides) stride *= c.element_bytes;
      return strides;
    };
    const ElementType type = ElementType::bytes(c.element_bytes);
    // Plans depend on how addresses are aligned, and not on what lies there.
    const ConstView src(gpu.src() + c.src_offset % 16 * c.element_bytes, type, c.shape,
                        in_bytes(c.src_strides));
    const View dst(gpu.dst() + c.dst_offset % 16 * c.element_bytes, type, c.shape,
                   in_bytes(c.dst_strides));
    forget_plans();
    const auto from = std::chrono::steady_clock::now();
    make_plan(dst, src, options);
    seconds.push_back(seconds_since(from));
  }
  const double first = seconds.front();
  std::sort(seconds.begin(), seconds.end());
  const double p90 = seconds[seconds.size() * 9 / 10];
  std::cout << fmt::format(
      "{:50} {:6.2f} us, of 90 % at most {:.2f}, the first of the process {:.0f}\n", "a new plan",
      1e6 * median(seconds), 1e6 * p90, 1e6 * first);
  return {{"suite", name_of(spec)},
          {"plans", seconds.size()},
          {"median_seconds", median(seconds)},
          {"p90_seconds", p90},
          {"first_seconds", first}};
}

int run_latency(const std::string& json) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  gpu->reserve(1 << 20, 1 << 20);
  ordered_json report = {{"kind", "cornerturn-latency"}, {"schema", 1}};
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  report["planning"] = timed_plans(*gpu);  // before any other plan of the process
  report["calls"] = timed_calls(*gpu);
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures what calls cost the host, on the GPU that is here");
  std::string json;
  app.add_option("--json", json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run_latency(json);
  } catch (const std::exception& error) {
    std::cerr << "bench_latency: " << error.what() << "\n";
    return 2;
  }
}
