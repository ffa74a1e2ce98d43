// passes: the steps of a permutation in place, one pass over the array after the other.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/divide.hpp"
#include "cpu/engine.hpp"
#include "cpu/kernel.hpp"
#include "cpu/parallel.hpp"
#include "plan/planned_passes.hpp"

namespace cornerturn::cpu {
namespace {

using plan::PlannedPass;
using plan::PlannedPasses;

constexpr std::int64_t workspace_alignment = 4096;
// Runs whose way is known ahead, so that their lines are on their way to the cache.
constexpr int runs_ahead = 8;
// Of a longer run the processor fetches the rest by itself.
constexpr std::int64_t prefetched_bytes = 512;

/// The memory beside the array, taken before anything is written.
class Workspace {
 public:
  explicit Workspace(std::int64_t bytes) {
    if (bytes == 0) return;
    // What is saved may end anywhere, the marks begin at a word.
    const std::int64_t whole = ceil_div(bytes + 8, workspace_alignment) * workspace_alignment;
    memory_.reset(static_cast<std::byte*>(
        std::aligned_alloc(workspace_alignment, static_cast<std::size_t>(whole))));
    if (!memory_) throw std::bad_alloc();
  }
  std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// Parts of the workspace, one for each range that is in work.
class Places {
 public:
  Places(std::byte* first, std::int64_t bytes, int count)
      : first_(first), bytes_(bytes), taken_(static_cast<std::size_t>(count)) {}

  int take() {
    while (true) {
      for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (!taken_[i].test_and_set(std::memory_order_acquire)) return static_cast<int>(i);
      }
    }
  }
  void give_back(int place) { taken_[slot(place)].clear(std::memory_order_release); }
  std::byte* data(int place) const { return first_ + place * bytes_; }

 private:
  std::byte* first_;
  std::int64_t bytes_;
  std::vector<std::atomic_flag> taken_;
};

// At most so many workers as the plan has memory for.
template <class Body>
void for_ranges(int threads, std::int64_t count, const Body& body) {
  if (threads <= 1 || count <= 1) return body(0, count);
  const std::int64_t grain = std::max<std::int64_t>(1, count / (threads * 16L));
  parallel_ranges(threads, count, grain, std::cref(body));
}

void copy_run(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// One pass of runs: the segments between the cuts at once, then the cycles that have no cut.
class RunCycles {
 public:
  RunCycles(const in_place::RunPass& pass, const in_place::Limits& limits, std::int64_t saved,
            std::byte* array, std::byte* workspace)
      : map_(pass.rows, pass.columns),
        run_(pass.run),
        array_(array),
        cuts_(in_place::cuts_of(pass, limits, saved)),
        words_(reinterpret_cast<std::uint64_t*>(workspace),
               static_cast<std::size_t>(in_place::Marks::words_for(map_.count()))),
        marks_(words_),
        at_cuts_(workspace + words_.size_bytes()),
        spare_(at_cuts_ + cuts_.size() * run_) {}

  void run(int threads) {
    std::fill(words_.begin(), words_.end(), 0);
    for_ranges(threads, cuts_.size(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        copy_run(at_cuts_ + i * run_, place(cuts_.run(i)), run_);
      }
    });
    for_ranges(threads, cuts_.size(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) segment(i);
    });
    cycles();
  }

 private:
  std::byte* place(std::int64_t k) const { return array_ + k * run_; }

  void fetch(std::int64_t k) const {
    const std::byte* const at = place(k);
    for (std::int64_t b = 0; b < std::min(run_, prefetched_bytes); b += 64) {
      __builtin_prefetch(at + b, 1, 3);
    }
  }

  // Fills the hole at `hole` and those that follow, up to the run that is saved at `saved(k)`.
  template <class Saved>
  void follow(std::int64_t hole, const Saved& saved) const {
    std::int64_t ahead[runs_ahead];
    int known = 0;
    std::int64_t next = hole;
    const auto look_ahead = [&] {
      next = map_.source(next);
      if (saved(next) == nullptr) fetch(next);
      ahead[known++ % runs_ahead] = next;
    };
    look_ahead();
    for (int done = 0;; ++done) {
      while (known - done < runs_ahead && saved(next) == nullptr) look_ahead();
      const std::int64_t from = ahead[done % runs_ahead];
      marks_.mark(hole);
      const std::byte* const kept = saved(from);
      copy_run(place(hole), kept != nullptr ? kept : place(from), run_);
      if (kept != nullptr) return;
      hole = from;
      if (done == runs_ahead) {  // the numbers stay small
        done -= runs_ahead;
        known -= runs_ahead;
      }
    }
  }

  void segment(std::int64_t cut) const {
    follow(cuts_.run(cut), [&](std::int64_t k) -> const std::byte* {
      return cuts_.at(k) ? at_cuts_ + cuts_.number(k) * run_ : nullptr;
    });
  }

  void cycles() const {
    for (std::int64_t k = 1; k + 1 < map_.count(); ++k) {
      if (marks_.has(k) || map_.source(k) == k) continue;
      copy_run(spare_, place(k), run_);
      follow(k, [&](std::int64_t at) -> const std::byte* { return at == k ? spare_ : nullptr; });
    }
  }

  const in_place::RunMap map_;
  const std::int64_t run_;
  std::byte* const array_;
  const in_place::Cuts cuts_;
  const std::span<std::uint64_t> words_;
  const in_place::Marks marks_;
  std::byte* const at_cuts_;
  std::byte* const spare_;
};

/// The passes of one matrix of a batch, or of all of it.
class Matrix {
 public:
  Matrix(const PlannedPasses& planned, int threads, std::byte* array, std::byte* workspace)
      : planned_(planned),
        threads_(static_cast<int>(std::min<std::int64_t>(threads, planned.limits.workers))),
        all_threads_(threads),
        array_(array),
        workspace_(workspace) {}

  void run(const PlannedPass& pass) {
    std::visit([&](const auto& some) { run(some, pass); }, pass.pass);
  }

 private:
  void run(const in_place::SwapPass&, const PlannedPass& pass) const {
    const plan::BoxMove& swap = pass.moves.of_shape.front();
    const auto& config = swap.chosen.config.as<plan::SwapConfig>();
    const Buffers buffers{array_, array_};
    for_ranges(all_threads_, pieces(config, swap.normal),
               [&](std::int64_t first, std::int64_t last) {
                 cpu::run(config, swap.normal, buffers, first, last);
               });
  }

  void run(const in_place::SavePass& p, const PlannedPass&) {
    for (std::int64_t row = 0; row < p.rows; ++row) {
      copy_run(workspace_ + saved_ + row * p.run, array_ + p.offset + row * p.pitch, p.run);
    }
    saved_ += p.bytes();
  }

  void run(const in_place::PanelPass& p, const PlannedPass& pass) const {
    const std::int64_t panel = p.rows * p.columns * p.element;
    const std::int64_t groups = ceil_div(p.panels, pass.group);
    Places places(workspace_ + saved_, pass.group * panel, threads_);
    for_ranges(threads_, groups, [&](std::int64_t first, std::int64_t last) {
      const int place = places.take();
      for (std::int64_t i = first; i < last; ++i) {
        const bool is_last = i + 1 == groups;
        std::byte* const from = array_ + i * pass.group * panel;
        run_move(pass.moves.of_shape[is_last ? 1 : 0], places.data(place), from);
        const std::int64_t panels = is_last ? p.panels - i * pass.group : pass.group;
        copy_run(from, places.data(place), panels * panel);
      }
      places.give_back(place);
    });
  }

  void run(const in_place::RunPass& p, const PlannedPass&) const {
    const std::int64_t start = ceil_div(saved_, 8) * 8;
    RunCycles(p, planned_.limits, saved_, array_, workspace_ + start).run(threads_);
  }

  void run(const in_place::MovePass& p, const PlannedPass&) const {
    in_place::for_each_row(p, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      std::memmove(array_ + to, array_ + from, static_cast<std::size_t>(bytes));
    });
  }

  void run(const in_place::RestorePass& p, const PlannedPass& pass) const {
    run_move(pass.moves.of_shape.front(), array_ + p.offset, workspace_);
  }

  const PlannedPasses& planned_;
  const int threads_;
  const int all_threads_;
  std::byte* const array_;
  std::byte* const workspace_;
  std::int64_t saved_ = 0;
};

}  // namespace

void run_whole(const plan::PassesConfig& config, int threads, const Buffers& buffers) {
  const PlannedPasses& planned = *config.planned;
  const Workspace workspace(planned.workspace);
  for (const plan::PlannedStep& step : planned.steps) {
    for (std::int64_t i = 0; i < step.batch; ++i) {
      Matrix matrix(planned, threads, dst_of(buffers) + i * step.matrix_bytes, workspace.data());
      for (const PlannedPass& pass : step.passes) matrix.run(pass);
    }
  }
}

}  // namespace cornerturn::cpu
