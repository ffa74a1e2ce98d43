#include "harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "harness/machine.hpp"
#include "harness/pattern.hpp"

namespace cornerturn::bench {
double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const char* to_string(Outcome outcome) {
  return outcome == Outcome::ok ? "ok" : outcome == Outcome::skipped ? "skipped" : "failed";
}

double Result::yardstick_seconds() const {
  if (!gpu) return memcpy_seconds;
  return std::min({memcpy_seconds, gpu->padded_memcpy_seconds, gpu->vector_copy_seconds});
}

double Result::share_of_best_copy() const {
  if (gpu) return share();
  return std::min(memcpy_seconds, non_temporal_seconds) / seconds;
}

// Caches stay cold because every call works on another slot, and all slots together are larger than
// the caches:
//   src_: | slot 0 | slot 1 | ... | slot count-1 |     dst_: the same
struct Runner::Slots {
  int count = 1;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
  std::byte* src_base = nullptr;
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

Runner::Runner(int threads, const StopRule& rule, const RunnerOptions& options)
    : team_(threads),
      solo_(1),
      rule_(rule),
      options_(options),
      cold_bytes_(4 * last_level_cache_bytes()) {}

template <class F>
double Runner::time_once(F&& f) const {
  const double start = options_.clock();
  f();
  return options_.clock() - start;
}

Runner::Slots Runner::make_slots(const Case& c) {
  Slots slots;
  slots.src_step = round_to_page(std::max(c.src_span_bytes(), c.payload_bytes()));
  slots.dst_step = round_to_page(c.dst_span_bytes());
  const std::int64_t pair = std::max<std::int64_t>(1, slots.src_step + slots.dst_step);
  if (!is_warm(c)) {
    slots.count =
        static_cast<int>(std::clamp<std::int64_t>((cold_bytes_ + pair - 1) / pair, 1, 4096));
  }
  src_.reserve(slots.count * slots.src_step);
  dst_.reserve(slots.count * slots.dst_step);
  slots.src_base = src_.data();
  slots.dst_base = dst_.data();
  for (int i = 0; i < slots.count; ++i) {
    fill_pattern(slots.src_base + i * slots.src_step, slots.src_step, c.element_bytes);
  }
  fill_poison(slots.dst_base, slots.count * slots.dst_step);
  return slots;
}

// The slot is in the caches then: all the others are next.
std::string Runner::verify(const Case& c, const Run& run, Slots& slots, int slot, double& seconds) {
  seconds = time_once([&] { run(slots.src(slot), slots.dst(slot)); });
  slots.next = (slot + 1) % slots.count;
  std::string complaint = check_elements(c, slots.dst(slot));
  const bool has_gaps = c.dst_span_bytes() > c.payload_bytes();
  if (complaint.empty() && has_gaps) complaint = check_gaps(c, slots.dst(slot), slots.dst_step);
  return complaint;
}

// Each candidate once in every round, so that a disturbance hits none of them alone, and in another
// order each time, since what one has left in the caches is a part of the next one's time. The
// fastest of a candidate's rounds counts, which is what a processor that others use as well
// disturbs least. The run that is verified does not count: it writes to what is in the caches. It
// takes the slot whose turn it is, so that what was timed last stays the last in turn. Those that
// are far behind `seconds`, the chosen one's time, in it and in one more run are not timed again,
// unless caches are warm: then the one that is verified tells little.
std::vector<CandidateResult> Runner::measure_candidates(const Case& c, Subject& subject,
                                                        Slots& slots, double seconds, int calls) {
  constexpr int rounds = 5;
  constexpr double far_behind = 8;
  std::vector<CandidateResult> results;
  std::vector<double> least;  // of all runs, the verified one with them
  const int verified = slots.next;
  for (const Candidate& candidate : subject.candidates()) {
    const std::size_t i = results.size();
    CandidateResult& r = results.emplace_back();
    r.kernel = candidate.kernel;
    r.description = candidate.description;
    r.predicted_seconds = candidate.predicted_seconds;
    fill_poison(slots.dst(verified), slots.dst_step);
    const Run run = [&subject, i](const std::byte* src, std::byte* dst) {
      subject.run_candidate(i, src, dst);
    };
    r.wrong = verify(c, run, slots, verified, least.emplace_back());
  }
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      CandidateResult& r = results[i];
      const bool is_far = !is_warm(c) && least[i] > far_behind * seconds;
      if (!r.wrong.empty() || (is_far && round > 0)) continue;
      const int times = is_far ? 1 : calls;
      const double all = time_once([&] {
        for (int k = 0; k < times; ++k) {
          const int slot = slots.advance();
          subject.run_candidate(i, slots.src(slot), slots.dst(slot));
        }
      });
      r.seconds = round == 0 ? all / times : std::min(r.seconds, all / times);
      least[i] = std::min(least[i], all / times);
    }
  }
  for (CandidateResult& r : results) {
    if (!r.wrong.empty()) r.seconds = 0;
  }
  return results;
}

Result Runner::measure(const Case& c, Subject& subject, const std::atomic<bool>& interrupted) {
  Result result;
  result.c = c;
  const std::int64_t needed = std::max(c.src_span_bytes(), c.payload_bytes()) + c.dst_span_bytes();
  const std::int64_t have = available_memory() / 10 * 9 + src_.size() + dst_.size();
  if (needed > have) {
    result.reason =
        fmt::format("needs {:.1f} GB of memory, {:.1f} GB are free",
                    1e-9 * static_cast<double>(needed), 1e-9 * static_cast<double>(have));
    return result;
  }
  Slots slots = make_slots(c);
  result.reason = subject.prepare(c, team_.size(), slots.src(0), slots.dst(0));
  if (!result.reason.empty()) return result;
  if (interrupted) {
    result.reason = "interrupted";
    return result;
  }
  double first_seconds = 0;
  const Run run = [&](const std::byte* src, std::byte* dst) { subject.run(src, dst); };
  for (int i = 0; i < subject.calls_to_settle() && !interrupted; ++i) {
    const int slot = slots.advance();
    run(slots.src(slot), slots.dst(slot));
  }
  const int verified = slots.next;
  fill_poison(slots.dst(verified), slots.dst_step);
  result.reason = verify(c, run, slots, verified, first_seconds);
  result.method = subject.method();
  if (!result.reason.empty()) {
    result.outcome = Outcome::failed;
    return result;
  }

  const Times times = time_in_rounds(c, subject, slots, first_seconds, interrupted);
  if (times.subject.empty()) {
    result.reason = "interrupted";
    return result;
  }
  result.outcome = Outcome::ok;
  result.warm = is_warm(c);
  result.runs = static_cast<int>(times.subject.size());
  result.seconds = median(times.subject);
  result.best_seconds = *std::min_element(times.subject.begin(), times.subject.end());
  result.noise = relative_mad(times.subject);
  result.memcpy_seconds = median(times.memcpy);
  result.non_temporal_seconds = median(times.stream);
  if (options_.all_candidates) {
    result.candidates = measure_candidates(c, subject, slots, result.seconds, times.calls);
  }
  return result;
}

Runner::Times Runner::time_in_rounds(const Case& c, Subject& subject, Slots& slots,
                                     double first_seconds, const std::atomic<bool>& interrupted) {
  Times times;
  // Warm cases are short: many calls are timed together.
  const auto time_calls = [&](auto&& f) {
    return time_once([&] {
             for (int i = 0; i < times.calls; ++i) f(slots.advance());
           }) /
           times.calls;
  };
  const std::int64_t bytes = c.payload_bytes();
  Team& team = c.warm() ? solo_ : team_;
  const auto run_memcpy = [&](int i) { copy_with_memcpy(team, slots.dst(i), slots.src(i), bytes); };
  const auto run_stream = [&](int i) {
    copy_non_temporal(team, slots.dst(i), slots.src(i), bytes);
  };
  const auto run_subject = [&](int i) { subject.run(slots.src(i), slots.dst(i)); };
  constexpr double shortest_measurement = 100e-6;
  while (is_warm(c) && times.calls < (1 << 20) &&
         time_calls(run_subject) * times.calls < shortest_measurement) {
    times.calls *= 2;
  }

  time_calls(run_memcpy);  // wakes the threads
  double elapsed = 0;
  if (!is_warm(c) && first_seconds > rule_.slow_budget / 4) {
    // A run this long hardly profits from a warm-up: the verified one counts.
    times.subject.push_back(first_seconds);
    elapsed = first_seconds;
  }
  const auto time_copies = [&] {
    times.memcpy.push_back(time_calls(run_memcpy));
    times.stream.push_back(time_calls(run_stream));
  };
  while (!interrupted && !rule_.enough(times.subject, elapsed)) {
    elapsed += time_once([&] {
      time_copies();
      if (is_warm(c)) run_subject(slots.advance());  // the last copy went around the caches
      times.subject.push_back(time_calls(run_subject));
    });
  }
  // Few runs of a slow subject are no reason to know the yardsticks badly.
  while (!times.subject.empty() && times.memcpy.size() < 5) time_copies();
  return times;
}

}  // namespace cornerturn::bench
