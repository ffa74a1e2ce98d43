#include "gpu/gpu_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cornerturn/error.hpp"
#include "gpu/sectors.hpp"

namespace cornerturn::bench {
namespace {

constexpr int graph_calls = 100;
constexpr const char* holes = "holes";

}  // namespace

StopRule gpu_stop_rule() {
  return {.min_runs = 9, .max_runs = 100, .noise = 0.002, .budget = 0.06, .slow_budget = 0.3};
}

// src: | slot 0 | slot 1 | ... | slot count-1 |     dst: the same
struct GpuRunner::Slots {
  int count = 1;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
  const std::byte* src_base = nullptr;
  std::byte* dst_base = nullptr;
  int next = 0;

  const std::byte* src(int i) const { return src_base + i * src_step; }
  std::byte* dst(int i) const { return dst_base + i * dst_step; }
  int advance() {
    const int i = next;
    next = (next + 1) % count;
    return i;
  }
};

// Something that is timed in every round: work on the slot that is next, or a graph of it.
struct GpuRunner::Contender {
  std::function<void(const std::byte*, std::byte*)> run;
  Work graph;
  std::vector<double> seconds;
};

GpuRunner::GpuRunner(Accelerator& gpu, const GpuRunOptions& options)
    : gpu_(gpu), options_(options) {}

GpuRunner::Slots GpuRunner::make_slots(const Case& c, std::int64_t copy_bytes, bool warm) {
  Slots slots;
  slots.src_step = round_to_page(std::max({c.src_span_bytes(), copy_bytes, std::int64_t{1}}));
  slots.dst_step = round_to_page(std::max({c.dst_span_bytes(), copy_bytes, std::int64_t{1}}));
  const std::int64_t pair = slots.src_step + slots.dst_step;
  const std::int64_t fit = gpu_.available_bytes() / 10 * 9 / pair;
  if (fit == 0) {
    throw Error(Status::out_of_memory,
                fmt::format("needs {:.1f} GB of GPU memory, {:.1f} GB are free",
                            1e-9 * static_cast<double>(pair),
                            1e-9 * static_cast<double>(gpu_.available_bytes())));
  }
  if (!warm) {
    const std::int64_t cold = (8 * gpu_.cache_bytes() + pair - 1) / pair;
    slots.count = static_cast<int>(std::min(fit, std::clamp<std::int64_t>(cold, 2, 4096)));
  }
  gpu_.reserve(slots.count * slots.src_step, slots.count * slots.dst_step);
  slots.src_base = gpu_.src();
  slots.dst_base = gpu_.dst();
  gpu_.fill(gpu_.src(), slots.count * slots.src_step, c.element_bytes);
  return slots;
}

std::string GpuRunner::verify(const Case& c, const Slots& slots, const Work& work) {
  gpu_.poison(c, slots.dst(0), slots.dst_step);
  work();
  return gpu_.check(c, slots.dst(0), slots.dst_step);
}

double GpuRunner::host_seconds(const Work& work) {
  constexpr int calls = 50;  // far fewer than a stream holds
  std::vector<double> seconds;
  for (int i = 0; i < 15; ++i) {
    gpu_.synchronize();
    const auto from = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - from;
    seconds.push_back(elapsed.count() / calls);
  }
  gpu_.synchronize();
  return median(seconds);
}

Result GpuRunner::measure(const Case& c, GpuSubject& subject,
                          const std::atomic<bool>& interrupted) {
  Result result;
  result.c = c;
  if (interrupted) {
    result.reason = "interrupted";
    return result;
  }
  GpuResult gpu;
  gpu.sector_bytes = c.group == holes ? sector_bytes(c) : 0;
  gpu.copy_bytes = c.group == holes ? gpu.sector_bytes / 2 : c.payload_bytes();
  result.gpu = gpu;
  const bool warm = c.warm() || options_.warm;
  try {
    Slots slots = make_slots(c, gpu.copy_bytes, warm);
    result.reason = subject.prepare(c, 1, slots.src(0), slots.dst(0));
    if (!result.reason.empty()) return result;
    result.method = subject.method();
    return verified_and_timed(c, subject, slots, warm, interrupted, result);
  } catch (const Error& error) {
    result.outcome = error.status() == Status::out_of_memory ? Outcome::skipped : Outcome::failed;
    result.reason = error.what();
    return result;
  }
}

Result GpuRunner::verified_and_timed(const Case& c, GpuSubject& subject, Slots& slots, bool warm,
                                     const std::atomic<bool>& interrupted, Result result) {
  GpuResult& gpu = *result.gpu;
  const auto on_first = [&](auto&& run) { return [&, run] { run(slots.src(0), slots.dst(0)); }; };
  const auto run_subject = [&](const std::byte* src, std::byte* dst) { subject.run(src, dst); };
  result.reason = verify(c, slots, on_first(run_subject));
  if (!result.reason.empty()) {
    result.outcome = Outcome::failed;
    return result;
  }

  const std::int64_t bytes = gpu.copy_bytes;
  std::vector<Contender> contenders(4);
  contenders[0].run = run_subject;
  contenders[1].run = [&](const std::byte* s, std::byte* d) { gpu_.copy_by_driver(d, s, bytes); };
  contenders[2].run = [&](const std::byte* s, std::byte* d) {
    gpu_.copy_by_driver(d, s, round_to_page(bytes));
  };
  contenders[3].run = [&](const std::byte* s, std::byte* d) { gpu_.copy_by_kernel(d, s, bytes); };

  if (options_.all_candidates) {
    for (const Candidate& candidate : subject.candidates()) {
      CandidateResult& r = result.candidates.emplace_back();
      r.kernel = candidate.kernel;
      r.description = candidate.description;
      r.predicted_seconds = candidate.predicted_seconds;
      const std::size_t i = result.candidates.size() - 1;
      const auto run = [&subject, i](const std::byte* src, std::byte* dst) {
        subject.run_candidate(i, src, dst);
      };
      r.wrong = verify(c, slots, on_first(run));
      if (r.wrong.empty()) contenders.push_back({run, {}, {}});
    }
  }

  std::vector<Work> works;
  for (Contender& contender : contenders) {
    if (warm && !(subject.times_itself() && &contender == contenders.data())) {
      contender.graph = gpu_.capture(on_first(contender.run), graph_calls);
    }
    works.push_back([&slots, &contender] {
      if (contender.graph) return contender.graph();
      const int slot = slots.advance();
      contender.run(slots.src(slot), slots.dst(slot));
    });
  }
  if (warm) gpu.graph_calls = graph_calls;
  const int calls = warm ? graph_calls : 1;
  const std::size_t first = subject.times_itself() ? 1 : 0;
  const std::vector<Work> streamed(works.begin() + static_cast<std::ptrdiff_t>(first), works.end());

  gpu_.time(streamed);  // warms up, and shows how far the host must be ahead
  double elapsed = 0;
  while (!interrupted && !options_.rule.enough(contenders[0].seconds, elapsed)) {
    if (first == 1) {
      contenders[0].seconds.push_back(subject.own_seconds());
      elapsed += contenders[0].seconds.back();
    }
    const std::vector<double> seconds = gpu_.time(streamed);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      contenders[first + i].seconds.push_back(seconds[i] / calls);
      elapsed += seconds[i];
    }
  }
  if (contenders[0].seconds.empty()) {
    result.reason = "interrupted";
    return result;
  }

  const std::vector<double>& own = contenders[0].seconds;
  result.outcome = Outcome::ok;
  result.runs = static_cast<int>(own.size());
  result.seconds = median(own);
  result.best_seconds = *std::min_element(own.begin(), own.end());
  result.noise = relative_mad(own);
  result.memcpy_seconds = median(contenders[1].seconds);
  gpu.padded_memcpy_seconds = median(contenders[2].seconds);
  gpu.vector_copy_seconds = median(contenders[3].seconds);
  gpu.predicted_seconds = subject.predicted_seconds();
  std::size_t timed = 4;
  for (CandidateResult& r : result.candidates) {
    if (r.wrong.empty()) r.seconds = median(contenders[timed++].seconds);
  }
  if (warm && subject.times_on_host()) {
    gpu.execute_seconds = host_seconds(on_first(run_subject));
    if (const auto plan = subject.plan_times()) {
      gpu.first_plan_seconds = plan->first_seconds;
      gpu.cached_plan_seconds = plan->cached_seconds;
    }
  }
  return result;
}

}  // namespace cornerturn::bench
