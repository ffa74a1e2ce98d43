#include "gpu/gpu_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "cornerturn/error.hpp"
#include "harness/footprint.hpp"

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

// One case: the subject and the plain copies, in this order, and by themselves the right
// candidates. What one leaves in the caches is a part of the next one's time, and every subject, a
// peer as well, is to have the plain copies beside it and nothing else.
struct GpuRunner::Round {
  enum : std::size_t { own, by_driver, by_driver_padded, by_kernel, copies_end };

  const Case& c;
  GpuSubject& subject;
  Slots& slots;
  bool warm;
  std::vector<Contender> contenders;
  std::vector<Contender> candidates;

  Work on_first(const Contender& contender) {
    return [this, run = contender.run] { run(slots.src(0), slots.dst(0)); };
  }
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
  gpu.sector_bytes = c.group == holes ? footprint_of(c, sector_of_gpu).bytes() : 0;
  gpu.copy_bytes = c.group == holes ? gpu.sector_bytes / 2 : c.payload_bytes();
  result.gpu = gpu;
  const bool warm = c.warm() || options_.warm;
  try {
    Slots slots = make_slots(c, gpu.copy_bytes, warm);
    result.reason = subject.prepare(c, 1, slots.src(0), slots.dst(0));
    if (!result.reason.empty()) return result;
    result.method = subject.method();
    Round round{c, subject, slots, warm, {}, {}};
    return verified_and_timed(round, interrupted, result);
  } catch (const Error& error) {
    result.outcome = error.status() == Status::out_of_memory ? Outcome::skipped : Outcome::failed;
    result.reason = error.what();
    return result;
  }
}

Result GpuRunner::verified_and_timed(Round& round, const std::atomic<bool>& interrupted,
                                     Result result) {
  GpuResult& gpu = *result.gpu;
  GpuSubject& subject = round.subject;
  const std::int64_t bytes = gpu.copy_bytes;
  round.contenders.resize(Round::copies_end);
  const auto runs = [&](std::size_t which, auto run) { round.contenders[which].run = run; };
  runs(Round::own, [&](const std::byte* s, std::byte* d) { subject.run(s, d); });
  runs(Round::by_driver,
       [&](const std::byte* s, std::byte* d) { gpu_.copy_by_driver(d, s, bytes); });
  runs(Round::by_driver_padded,
       [&](const std::byte* s, std::byte* d) { gpu_.copy_by_driver(d, s, round_to_page(bytes)); });
  runs(Round::by_kernel,
       [&](const std::byte* s, std::byte* d) { gpu_.copy_by_kernel(d, s, bytes); });
  const Work once = round.on_first(round.contenders[Round::own]);
  settle(round);
  result.method = subject.method();
  result.reason = verify(round.c, round.slots, once);
  if (!result.reason.empty()) {
    result.outcome = Outcome::failed;
    return result;
  }
  time_in_rounds(round, round.contenders, interrupted);
  if (round.warm) gpu.graph_calls = graph_calls;
  const std::vector<double>& own = round.contenders[Round::own].seconds;
  if (own.empty()) {
    result.reason = "interrupted";
    return result;
  }

  if (options_.all_candidates) time_candidates(round, interrupted, result.candidates);

  const auto median_of = [&](std::size_t which) { return median(round.contenders[which].seconds); };
  result.outcome = Outcome::ok;
  result.runs = static_cast<int>(own.size());
  result.seconds = median(own);
  result.best_seconds = *std::min_element(own.begin(), own.end());
  result.noise = relative_mad(own);
  result.memcpy_seconds = median_of(Round::by_driver);
  gpu.padded_memcpy_seconds = median_of(Round::by_driver_padded);
  gpu.vector_copy_seconds = median_of(Round::by_kernel);
  gpu.predicted_seconds = subject.predicted_seconds();
  if (round.warm && subject.times_on_host()) {
    gpu.execute_seconds = host_seconds(once);
    if (const auto plan = subject.plan_times()) {
      gpu.first_plan_seconds = plan->first_seconds;
      gpu.cached_plan_seconds = plan->cached_seconds;
    }
  }
  return result;
}

// In memory that is in no cache where those that are timed are not either, and one right after the
// other like those.
void GpuRunner::settle(Round& round) {
  const int batches = round.subject.batches_to_settle();
  const std::vector<Work> calls(GpuSubject::runs_of_batch, [&] {
    const int slot = round.slots.advance();
    round.subject.run(round.slots.src(slot), round.slots.dst(slot));
  });
  for (int i = 0; i < batches && !(i > 0 && round.subject.is_settled()); ++i) gpu_.time(calls);
  if (batches > 0) round.subject.settled();
}

void GpuRunner::time_candidates(Round& round, const std::atomic<bool>& interrupted,
                                std::vector<CandidateResult>& results) {
  for (const Candidate& candidate : round.subject.candidates()) {
    const std::size_t i = results.size();
    CandidateResult& r = results.emplace_back();
    r.kernel = candidate.kernel;
    r.description = candidate.description;
    r.predicted_seconds = candidate.predicted_seconds;
    Contender contender;
    contender.run = [&subject = round.subject, i](const std::byte* src, std::byte* dst) {
      subject.run_candidate(i, src, dst);
    };
    r.wrong = verify(round.c, round.slots, round.on_first(contender));
    if (r.wrong.empty()) round.candidates.push_back(contender);
  }
  time_in_rounds(round, round.candidates, interrupted);
  auto timed = round.candidates.begin();
  for (CandidateResult& r : results) {
    if (!r.wrong.empty()) continue;
    if (!timed->seconds.empty()) r.seconds = median(timed->seconds);
    ++timed;
  }
}

// What runs before a contender, and where its memory lies, has a part in its time: their order is
// another one in every round. Nothing is timed right after a pause, where the caches have written
// what was stored last: a copy that does not count comes first.
void GpuRunner::time_in_rounds(Round& round, std::vector<Contender>& contenders,
                               const std::atomic<bool>& interrupted) {
  if (contenders.empty()) return;
  const auto run = [&slots = round.slots](const Contender& contender) {
    if (contender.graph) return contender.graph();
    const int slot = slots.advance();
    contender.run(slots.src(slot), slots.dst(slot));
  };
  // A subject that times itself is not put on the stream.
  const bool times_itself = &contenders == &round.contenders && round.subject.times_itself();
  std::vector<Contender*> order;
  for (std::size_t i = times_itself ? 1 : 0; i < contenders.size(); ++i) {
    Contender& contender = contenders[i];
    if (round.warm) contender.graph = gpu_.capture(round.on_first(contender), graph_calls);
    order.push_back(&contender);
  }
  std::mt19937 random(1);
  const auto time = [&] {
    if (!round.warm) std::shuffle(order.begin(), order.end(), random);
    std::vector<Work> works = {[&] { run(round.contenders[Round::by_kernel]); }};
    for (const Contender* contender : order)
      works.push_back([&run, contender] { run(*contender); });
    std::vector<double> seconds = gpu_.time(works);
    seconds.erase(seconds.begin());
    return seconds;
  };
  const int calls = round.warm ? graph_calls : 1;
  std::vector<double>& first = contenders.front().seconds;
  time();  // warms up, and shows how far the host must be ahead
  double elapsed = 0;
  while (!interrupted && !options_.rule.enough(first, elapsed)) {
    if (times_itself) {
      first.push_back(round.subject.own_seconds());
      elapsed += first.back();
    }
    const std::vector<double> seconds = time();
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      order[i]->seconds.push_back(seconds[i] / calls);
      elapsed += seconds[i];
    }
  }
}

}  // namespace cornerturn::bench
