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
#include "cpu/panels.hpp"
#include "cpu/parallel.hpp"
#include "plan/cpu/passes.hpp"
#include "plan/cpu/planned_passes.hpp"

namespace cornerturn::cpu {
namespace {

using plan::PlannedPass;
using plan::PlannedPasses;

constexpr std::int64_t workspace_alignment = 4096;
// So many bytes whose way is known ahead are on their way to the cache, in so many runs at most.
constexpr std::int64_t bytes_ahead = 8 << 10;
constexpr std::int64_t most_ahead = 32;
// The C library's copy begins slowly.
constexpr std::int64_t longest_by_lines = 4 << 10;
// So much of a run is fetched ahead: the processor fetches the rest by itself.
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

/// Runs that move one after the other, in the order in which they are given, but a while later:
/// their lines are fetched meanwhile, those of the next cycles too where cycles are short.
class Moves {
 public:
  explicit Moves(std::int64_t run)
      : run_(run), depth_(std::clamp<std::int64_t>(bytes_ahead / run, 2, most_ahead)) {}
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;
  ~Moves() {
    for (std::int64_t i = std::max<std::int64_t>(0, given_ - depth_); i < given_; ++i) move(i);
  }

  void add(std::byte* to, const std::byte* from) {
    for (std::int64_t b = 0; b < std::min(run_, prefetched_bytes); b += 64) {
      __builtin_prefetch(from + b, 1, 3);
    }
    if (run_ <= prefetched_bytes) __builtin_prefetch(from + run_ - 1, 1, 3);
    if (given_ >= depth_) move(given_);
    ahead_[given_++ % depth_] = {to, from};
  }

 private:
  void move(std::int64_t number) const {
    const Move& some = ahead_[number % depth_];
    if (run_ > longest_by_lines) return copy_run(some.to, some.from, run_);
    std::int64_t at = 0;
    for (; at + 64 <= run_; at += 64) std::memcpy(some.to + at, some.from + at, 64);
    if (at < run_) copy_run(some.to + at, some.from + at, run_ - at);
  }

  struct Move {
    std::byte* to;
    const std::byte* from;
  };

  const std::int64_t run_;
  const std::int64_t depth_;
  std::int64_t given_ = 0;
  Move ahead_[most_ahead];
};

/// One pass over a part of all runs: the segments between the cuts at once, then the cycles that
/// have no cut.
class RunCycles {
 public:
  /// The part is `bytes` long, in runs that are `pitch` apart, the first one at `array`.
  RunCycles(const in_place::RunMap& map, const in_place::Cuts& cuts, std::int64_t pitch,
            std::int64_t bytes, std::byte* array, std::byte* workspace)
      : map_(map),
        pitch_(pitch),
        run_(bytes),
        array_(array),
        cuts_(cuts),
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
      Moves moves(run_);
      for (std::int64_t i = first; i < last; ++i) segment(moves, i);
    });
    if (threads > 1) return cycles_by_leaders(threads);
    Moves moves(run_);
    for (std::int64_t k = 1; k + 1 < map_.count(); ++k) {
      if (!marks_.has(k)) cycle(moves, k, spare_);
    }
  }

 private:
  std::byte* place(std::int64_t k) const { return array_ + k * pitch_; }

  void segment(Moves& moves, std::int64_t cut) const {
    const auto saved = [&](std::int64_t k) { return cuts_.at(k); };
    in_place::walk(map_, cuts_.run(cut), saved, [&](std::int64_t from, std::int64_t hole) {
      marks_.mark(hole);
      moves.add(place(hole), cuts_.at(from) ? at_cuts_ + cuts_.number(from) * run_ : place(from));
    });
  }

  // The cycle of `k`, which is not marked: all of it is then, before it has moved.
  void cycle(Moves& moves, std::int64_t k, std::byte* spare) const {
    if (map_.source(k) == k) return;
    moves.add(spare, place(k));
    const auto saved = [&](std::int64_t at) { return at == k; };
    in_place::walk(map_, k, saved, [&](std::int64_t from, std::int64_t hole) {
      marks_.mark(hole);
      moves.add(place(hole), from == k ? spare : place(from));
    });
  }

  // Every thread finds the leaders of its range by itself.
  void cycles_by_leaders(int threads) const {
    Places spares(spare_, run_, threads);
    for_ranges(threads, map_.count() - 1, [&](std::int64_t first, std::int64_t last) {
      const int spare = spares.take();
      {
        Moves moves(run_);
        in_place::for_each_leader(map_, marks_, first, last,
                                  [&](std::int64_t k) { cycle(moves, k, spares.data(spare)); });
      }
      spares.give_back(spare);
    });
  }

  const in_place::RunMap& map_;
  const std::int64_t pitch_;
  const std::int64_t run_;
  std::byte* const array_;
  const in_place::Cuts& cuts_;
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
    const plan::AnyConfig& config = swap.chosen.config;
    const Kernel& kernel = kernel_of(*swap.chosen.row);
    const Buffers buffers{array_, array_};
    for_ranges(all_threads_, kernel.pieces(config, swap.normal),
               [&](std::int64_t first, std::int64_t last) {
                 kernel.run(config, swap.normal, buffers, first, last);
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
    const std::int64_t copy = p.rows * std::max(p.columns * p.element, pass.pitch);
    const std::int64_t groups = ceil_div(p.panels, pass.group);
    Places places(workspace_ + saved_, pass.group * copy, threads_);
    for_ranges(threads_, groups, [&](std::int64_t first, std::int64_t last) {
      const int place = places.take();
      for (std::int64_t i = first; i < last; ++i) {
        const bool is_last = i + 1 == groups;
        const std::int64_t panels = is_last ? p.panels - i * pass.group : pass.group;
        std::byte* const at = array_ + i * pass.group * panel;
        if (pass.pitch != 0) {
          transpose_panels({p.rows, p.columns, p.element, pass.pitch}, panels, at,
                           places.data(place));
        } else {
          copy_run(places.data(place), at, panels * panel);
          run_move(pass.moves.of_shape[is_last ? 1 : 0], at, places.data(place));
        }
      }
      places.give_back(place);
    });
  }

  static void transpose_panels(const PanelCopy& panels_shape, std::int64_t panels, std::byte* at,
                               std::byte* copies) {
    const std::int64_t panel = panels_shape.rows * panels_shape.columns * panels_shape.element;
    const std::int64_t copy = panels_shape.rows * panels_shape.pitch;
    for (std::int64_t i = 0; i < panels; ++i) {
      copy_aside(panels_shape, copies + i * copy, at + i * panel);
    }
    for (std::int64_t i = 0; i < panels; ++i) {
      transpose_back(panels_shape, at + i * panel, copies + i * copy, at + (panels + i) * panel);
    }
  }

  void run(const in_place::RunPass& p, const PlannedPass&) const {
    const in_place::RunMap map(p.rows, p.columns);
    const in_place::Cuts cuts = in_place::cuts_of(p, planned_.limits, saved_);
    const std::int64_t part = in_place::part_of(p, planned_.limits, saved_);
    std::byte* const workspace = workspace_ + ceil_div(saved_, 8) * 8;
    for (std::int64_t at = 0; at < p.run; at += part) {
      RunCycles(map, cuts, p.run, std::min(part, p.run - at), array_ + at, workspace).run(threads_);
    }
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

void run_whole(const plan::AnyConfig& config, int threads, const Buffers& buffers) {
  const PlannedPasses& planned = *config.as<plan::PassesConfig>().planned;
  const Workspace workspace(planned.workspace);
  for (const plan::PlannedStep& step : planned.steps) {
    for (std::int64_t i = 0; i < step.batch; ++i) {
      Matrix matrix(planned, threads, dst_of(buffers) + i * step.matrix_bytes, workspace.data());
      for (const PlannedPass& pass : step.passes) matrix.run(pass);
    }
  }
}

}  // namespace

/// Passes follow one another, so this kernel takes its threads itself.
extern const Kernel passes_kernel{nullptr, nullptr, run_whole};

}  // namespace cornerturn::cpu
