// listed: looks up where a step of a list lies and calls the kernel of the step. Steps that are
// nothing but a run are copied here, and their lines are fetched ahead.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/listed.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/box_copy.hpp"
#include "cpu/engine.hpp"
#include "cpu/kernel.hpp"
#include "cpu/list_places.hpp"
#include "cpu/stream-inl.hpp"
#include "plan/cpu/listed.hpp"
#include "plan/cpu/planned_steps.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

// Whole lines of a run, of which it has one at least, go around the caches.
void stream_run(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  const std::int64_t head = (line - line_phase(dst)) % line;
  const std::int64_t end = (bytes - head) % line;
  move_few(dst, src, head);
  store_lines<true>(dst + head, src + head, (bytes - head) / line);
  move_few(dst + bytes - end, src + bytes - end, end);
}

using StreamRun = void (*)(std::byte* dst, const std::byte* src, std::int64_t bytes);
StreamRun stream_function() {
  return &stream_run;
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(stream_function);

namespace {

using plan::ListedConfig;
using plan::PlannedSteps;

// A source of zeros, for any element.
alignas(16) constexpr std::byte zero[16] = {};

/// The steps of all lists, counted with the last list fastest.
class ListSteps {
 public:
  ListSteps(const Problem& normal, const Buffers& buffers)
      : lists_(*normal.lists), places_(normal, buffers), buffers_(buffers) {}

  struct Step {
    std::byte* dst = nullptr;        ///< null: it is skipped
    const std::byte* src = nullptr;  ///< null: there is nothing
  };

  Step at(std::int64_t number) const {
    std::int64_t src = 0;  // bytes, of which a side without any entry has none
    std::int64_t dst = 0;
    bool there = true;
    bool skipped = false;
    const auto first = lists_.modes.rend() - 1;
    for (auto mode = lists_.modes.rbegin(); mode <= first; ++mode) {
      std::int64_t k = number;  // a division takes longer than all else here
      if (mode != first) {
        k = number % mode->extent;
        number /= mode->extent;
      }
      if (mode->src.from_table()) {
        there = !places_.src.is_missing(k);
        if (there) src += places_.src.offset(k);
      } else {
        src += k * mode->src.stride;
      }
      if (mode->dst.from_table()) {
        skipped = places_.dst.is_missing(k);
        if (!skipped) dst += places_.dst.offset(k);
      } else {
        dst += k * mode->dst.stride;
      }
    }
    Step step;
    if (there) step.src = src_of(buffers_) + src;
    const bool left = !there && lists_.missing == Missing::left;
    if (!skipped && !left) step.dst = dst_of(buffers_) + dst;
    return step;
  }

 private:
  const Lists& lists_;
  ListsOf places_;
  Buffers buffers_;
};

// How the steps are shared: several to a piece, or several pieces of the kernel to a step.
struct Sharing {
  std::int64_t steps;
  std::int64_t pieces_a_step;

  Sharing(const PlannedSteps& planned, const Problem& normal)
      : steps(normal.lists->steps()), pieces_a_step(1) {
    const Kernel& kernel = kernel_of(*planned.step.chosen.row);
    if (planned.steps_a_piece > 1 || planned.run_bytes > 0 || kernel.pieces == nullptr) return;
    pieces_a_step = kernel.pieces(planned.step.chosen.config, planned.step.normal);
  }
};

std::int64_t pieces(const ListedConfig& config, const Problem& normal) {
  const Sharing sharing(*config.planned, normal);
  return ceil_div(sharing.steps, config.planned->steps_a_piece) * sharing.pieces_a_step;
}

// Is the run written around the caches? Not if it has no whole line, wherever it begins.
bool is_streamed(const PlannedSteps& planned, const std::byte* dst) {
  const bool begins_a_line = reinterpret_cast<std::uintptr_t>(dst) % memory_line == 0;
  return planned.past_caches && planned.run_bytes >= (begins_a_line ? 1 : 2) * memory_line;
}

// Steps [first, last) that are runs.
void copy_runs(const PlannedSteps& planned, const ListSteps& steps, std::int64_t first,
               std::int64_t last) {
  const std::int64_t bytes = planned.run_bytes;
  constexpr std::int64_t bytes_ahead = 4 << 10;
  constexpr std::int64_t most_ahead = 32;
  constexpr std::int64_t longest_ahead = 512;  // the processor fetches the rest of a run by itself
  const std::int64_t ahead = std::clamp<std::int64_t>(bytes_ahead / bytes, 1, most_ahead);
  const std::int64_t fetched = std::min(bytes, longest_ahead);
  // Those that were fetched are not looked up again.
  ListSteps::Step known[2 * most_ahead];
  const auto fetch = [&](std::int64_t number) {
    if (number >= last) return;
    const ListSteps::Step step = steps.at(number);
    known[number % (2 * most_ahead)] = step;
    if (step.dst == nullptr) return;
    for (std::int64_t b = 0; step.src != nullptr && b < fetched; b += memory_line) {
      __builtin_prefetch(step.src + b, 0, 2);
    }
    if (is_streamed(planned, step.dst)) return;
    for (std::int64_t b = 0; b < fetched; b += memory_line) fetch_to_write(step.dst + b);
  };
  const auto stream = HWY_DYNAMIC_DISPATCH(stream_function)();
  for (std::int64_t i = first; i < std::min(first + ahead, last); ++i) fetch(i);
  const auto each = [&](const auto& copy) {
    for (std::int64_t i = first; i < last; ++i) {
      fetch(i + ahead);
      const ListSteps::Step step = known[i % (2 * most_ahead)];
      if (step.dst == nullptr) continue;
      if (step.src == nullptr) {
        std::memset(step.dst, 0, static_cast<std::size_t>(bytes));
      } else if (is_streamed(planned, step.dst)) {
        stream(step.dst, step.src, bytes);
      } else {
        copy(step.dst, step.src);
      }
    }
  };
  if (bytes <= 512) {
    with_copy(bytes, each);
  } else {
    each([bytes](std::byte* dst, const std::byte* src) {
      std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    });
  }
  if (planned.past_caches) hwy::FlushStream();
}

void run(const ListedConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  const PlannedSteps& planned = *config.planned;
  const Sharing sharing(planned, normal);
  const ListSteps steps(normal, buffers);
  if (sharing.pieces_a_step == 1) {
    first *= planned.steps_a_piece;
    last = std::min(last * planned.steps_a_piece, sharing.steps);
  }
  if (planned.run_bytes > 0) return copy_runs(planned, steps, first, last);
  Buffers of_step = buffers;
  of_step.lists = {};
  for (std::int64_t i = first; i < last;) {
    const std::int64_t number = i / sharing.pieces_a_step;
    const std::int64_t from = i % sharing.pieces_a_step;
    const std::int64_t to = std::min(sharing.pieces_a_step, from + last - i);
    i += to - from;
    const ListSteps::Step step = steps.at(number);
    if (step.dst == nullptr) continue;
    of_step.dst = step.dst;
    of_step.src = step.src == nullptr ? zero : step.src;
    if (sharing.pieces_a_step == 1 || step.src == nullptr) {
      if (from == 0) run_move(step.src == nullptr ? planned.zeros : planned.step, of_step);
    } else {
      run_pieces_of(planned.step, of_step, from, to);
    }
  }
}

}  // namespace

extern const Kernel listed_kernel = kernel_in_pieces<ListedConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
