#include "core/normalise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

#include "core/checked.hpp"

namespace cornerturn {
namespace {

class Normaliser {
 public:
  Normaliser(const Problem& problem, std::vector<std::string>* steps)
      : problem_(problem), steps_(steps) {}

  bool empty() {
    if (problem_.elements() != 0) return false;
    note([] { return "an extent is 0: nothing to move"; });
    problem_.modes = {{0, 1, 1}};
    problem_.lists = nullptr;
    problem_.src_offset = 0;
    problem_.dst_offset = 0;
    problem_.scale = {};
    problem_.bias = {};
    if (problem_.operation() == Operation::move) set_element(1);
    return true;
  }

  // What a reduction reads repeatedly counts once, in the order of the memory.
  void read_in_order() {
    for (int i = problem_.rank(); i-- > 0;) {
      Mode& mode = problem_.modes[i];
      mode.dst_stride = mode.src_stride;
      if (mode.src_stride != 0) continue;
      note([&] { return fmt::format("drop mode {}: it repeats the same elements", i); });
      problem_.modes.erase(i);
    }
    drop_ones();
    flip();
    sort();
    fuse();
    for (Mode& mode : problem_.modes) mode.dst_stride = 0;
    problem_.dst_offset = 0;
  }

  void drop_ones() {
    for (int i = problem_.rank(); i-- > 0;) {
      if (problem_.modes[i].extent != 1) continue;
      note([&] { return fmt::format("drop mode {}: its extent is 1", i); });
      problem_.modes.erase(i);
      for (ModeVector* vector : vectors()) {
        if (vector->mode == i) {
          vector->mode = -1;
          vector->step = 1;
        }
        if (vector->mode > i) --vector->mode;
      }
    }
  }

  void flip() {
    for (int i = 0; i < problem_.rank(); ++i) {
      const Mode& mode = problem_.modes[i];
      if (mode.dst_stride >= 0) continue;
      note([&] {
        return fmt::format("flip the mode of extent {}: destination stride {} becomes {}",
                           mode.extent, mode.dst_stride, -mode.dst_stride);
      });
      flip_mode(i);
    }
  }

  // The modes along which the source runs on, from its fastest, go forwards there rather than in
  // the destination, unless the destination's runs would be short without them.
  void read_forwards() {
    constexpr std::int64_t long_run = 128;  // bytes
    std::int64_t run = problem_.src_type.size();
    for (bool found = true; found;) {
      found = false;
      for (int i = 0; i < problem_.rank() && !found; ++i) {
        const Mode& mode = problem_.modes[i];
        if (std::abs(mode.src_stride) != run) continue;
        if (mode.src_stride < 0 && mode.dst_stride < long_run) return;
        run *= mode.extent;
        found = true;
        if (mode.src_stride > 0) continue;
        note([&] {
          return fmt::format("flip the mode of extent {}: source stride {} becomes {}", mode.extent,
                             mode.src_stride, -mode.src_stride);
        });
        flip_mode(i);
      }
    }
  }

  // An element is a run of bytes: as a mode of its own it sorts, fuses and widens like any other.
  void open_element() {
    const int size = problem_.src_type.size();
    if (size > 1) problem_.modes.push_back({size, 1, 1});
    set_element(1);
  }

  void sort() {
    // Insertion sort: stable, few modes, no allocation.
    bool moved = false;
    for (int i = 1; i < problem_.rank(); ++i) {
      for (int k = i; k > 0 && problem_.modes[k - 1].dst_stride < problem_.modes[k].dst_stride;
           --k) {
        std::swap(problem_.modes[k - 1], problem_.modes[k]);
        for (ModeVector* vector : vectors()) {
          if (vector->mode == k - 1 || vector->mode == k) {
            vector->mode = 2 * k - 1 - vector->mode;
          }
        }
        moved = true;
      }
    }
    if (moved) note([&] { return "sort by destination stride: " + to_string(problem_); });
  }

  void fuse() {
    for (int i = problem_.rank() - 1; i > 0; --i) {
      Mode& outer = problem_.modes[i - 1];
      const Mode& inner = problem_.modes[i];
      if (!is_product(outer.src_stride, inner.src_stride, inner.extent) ||
          !is_product(outer.dst_stride, inner.dst_stride, inner.extent)) {
        continue;
      }
      if (has_vector(i - 1) || has_vector(i)) continue;
      const bool of_element = inner.src_stride == 1 && inner.dst_stride == 1;
      if (!of_element) {
        note([&] {
          return fmt::format("fuse the modes of extent {} and {}: contiguous on both sides",
                             outer.extent, inner.extent);
        });
      }
      outer = {outer.extent * inner.extent, inner.src_stride, inner.dst_stride};
      problem_.modes.erase(i);
      for (ModeVector* vector : vectors()) {
        if (vector->mode > i) --vector->mode;
      }
    }
  }

  void widen(const Alignment& alignment, int original_size) {
    if (problem_.modes.empty()) return;
    Mode& run = problem_.modes.back();
    if (run.src_stride != 1 || run.dst_stride != 1) return;
    std::int64_t common = std::gcd<std::int64_t>(run.extent, 16);
    if (alignment.required) {
      common = std::gcd(std::gcd(common, alignment.src), alignment.dst);
      common = std::gcd(std::gcd(common, problem_.src_offset), problem_.dst_offset);
      for (int i = 0; i + 1 < problem_.rank(); ++i) {
        common = std::gcd(common, problem_.modes[i].src_stride);
        common = std::gcd(common, problem_.modes[i].dst_stride);
      }
      if (problem_.lists != nullptr) common = std::gcd(common, alignment_of(*problem_.lists));
    }
    const int width = static_cast<int>(common & -common);
    if (width != original_size) {
      note([&] {
        return fmt::format("take {} bytes at a time instead of {}: both sides share runs of {} B",
                           width, original_size, run.extent);
      });
    }
    set_element(width);
    run = {run.extent / width, width, width};
    if (run.extent == 1) problem_.modes.pop_back();
  }

  const Problem& result() const { return problem_; }

 private:
  std::array<ModeVector*, 2> vectors() { return {&problem_.scale, &problem_.bias}; }
  // A mode with a value for each index stays as it is.
  bool has_vector(int mode) const {
    return problem_.scale.mode == mode || problem_.bias.mode == mode;
  }

  void set_element(int size) {
    problem_.src_type = ElementType::bytes(size);
    problem_.dst_type = problem_.src_type;
  }

  // Goes through a mode from its other end.
  void flip_mode(int i) {
    Mode& mode = problem_.modes[i];
    problem_.src_offset += (mode.extent - 1) * mode.src_stride;
    problem_.dst_offset += (mode.extent - 1) * mode.dst_stride;
    mode.src_stride = -mode.src_stride;
    mode.dst_stride = -mode.dst_stride;
    for (ModeVector* vector : vectors()) {
      if (vector->mode != i) continue;
      vector->first += (mode.extent - 1) * vector->step;
      vector->step = -vector->step;
    }
  }

  template <class Text>
  void note(const Text& text) {
    if (steps_ != nullptr) steps_->push_back(text());
  }

  Problem problem_;
  std::vector<std::string>* steps_;
};

// The modes of a problem with blocks, each with its strides in all arrays.
class BlockNormaliser {
 public:
  BlockNormaliser(const Problem& problem, std::vector<std::string>* steps)
      : problem_(problem), blocks_(*problem.blocks), steps_(steps) {}

  Problem run() {
    drop_ones();
    sort();
    fuse();
    problem_.blocks = std::make_shared<const Blocks>(std::move(blocks_));
    return problem_;
  }

 private:
  bool has_blocks(int mode) const {
    const auto in = [mode](const BlockLayout& layout) {
      return mode == layout.axis || mode == layout.across;
    };
    return in(blocks_.first) || (blocks_.second && in(*blocks_.second));
  }

  // Calls use(layout) for the arrays of blocks that there are.
  template <class Use>
  void for_layouts(const Use& use) {
    use(blocks_.first);
    if (blocks_.second) use(*blocks_.second);
  }
  // Calls use(strides) for all lists with a stride a mode.
  template <class Use>
  void for_strides(const Use& use) {
    for_layouts([&](BlockLayout& layout) {
      use(layout.value_strides);
      if (!layout.scale_strides.empty()) use(layout.scale_strides);
    });
  }

  void erase(int mode) {
    problem_.modes.erase(mode);
    for_strides([&](Extents& strides) { strides.erase(strides.begin() + mode); });
    for_layouts([&](BlockLayout& layout) {
      if (layout.axis > mode) --layout.axis;
      if (layout.across > mode) --layout.across;
    });
  }

  void swap(int a, int b) {
    std::swap(problem_.modes[a], problem_.modes[b]);
    for_strides([&](Extents& strides) {
      std::swap(strides[static_cast<std::size_t>(a)], strides[static_cast<std::size_t>(b)]);
    });
    for_layouts([&](BlockLayout& layout) {
      for (int* of_layout : {&layout.axis, &layout.across}) {
        if (*of_layout == a || *of_layout == b) *of_layout = a + b - *of_layout;
      }
    });
  }

  void drop_ones() {
    for (int i = problem_.rank(); i-- > 0;) {
      if (problem_.modes[i].extent != 1 || has_blocks(i)) continue;
      note(fmt::format("drop mode {}: its extent is 1", i));
      erase(i);
    }
  }

  void sort() {
    bool moved = false;
    const auto stride = [&](int i) { return std::abs(problem_.modes[i].dst_stride); };
    for (int i = 1; i < problem_.rank(); ++i) {
      for (int k = i; k > 0 && stride(k - 1) < stride(k); --k) {
        swap(k - 1, k);
        moved = true;
      }
    }
    if (moved) note("sort by destination stride");
  }

  void fuse() {
    for (int i = problem_.rank() - 1; i > 0; --i) {
      Mode& outer = problem_.modes[i - 1];
      const Mode& inner = problem_.modes[i];
      const auto inside = static_cast<std::size_t>(i);
      if (has_blocks(i - 1) || has_blocks(i)) continue;
      bool one = is_product(outer.src_stride, inner.src_stride, inner.extent) &&
                 is_product(outer.dst_stride, inner.dst_stride, inner.extent);
      for_strides([&](const Extents& strides) {
        one = one && is_product(strides[inside - 1], strides[inside], inner.extent);
      });
      if (!one) continue;
      note(fmt::format("fuse the modes of extent {} and {}: all arrays go through both in one step",
                       outer.extent, inner.extent));
      const std::int64_t extent = outer.extent * inner.extent;
      erase(i - 1);
      problem_.modes[i - 1].extent = extent;
    }
  }

  void note(std::string text) {
    if (steps_ != nullptr) steps_->push_back(std::move(text));
  }

  Problem problem_;
  Blocks blocks_;
  std::vector<std::string>* steps_;
};

}  // namespace

Problem normalise(const Problem& problem, const Alignment& alignment,
                  std::vector<std::string>* steps) {
  if (problem.blocks != nullptr) return BlockNormaliser(problem, steps).run();
  Normaliser work(problem, steps);
  if (work.empty()) return work.result();
  if (problem.reduces) {
    work.read_in_order();
    return work.result();
  }
  const bool moves_bytes = !problem.converts();
  work.drop_ones();
  work.flip();
  if (moves_bytes) work.open_element();
  work.sort();
  work.fuse();
  if (moves_bytes) work.widen(alignment, problem.src_type.size());
  if (moves_bytes && alignment.required) work.read_forwards();
  return work.result();
}

}  // namespace cornerturn
