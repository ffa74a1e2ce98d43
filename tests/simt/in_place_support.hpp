// Plans in place, run in the emulator over an array between guards, with all detectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/in_place.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/parts.hpp"
#include "plan/planner.hpp"
#include "support.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::simt {

/// An array in the emulator's memory: its first byte lies `phase` bytes past a multiple of 16, and
/// gaps and guards have contents that must stay.
class InPlaceArray {
 public:
  InPlaceArray(int element, Extents shape, Extents strides = {}, std::int64_t phase = 0)
      : type_(ElementType::bytes(element)), shape_(std::move(shape)), strides_(std::move(strides)) {
    if (strides_.empty()) {
      strides_.resize(shape_.size());
      std::int64_t step = element;
      for (std::size_t i = shape_.size(); i-- > 0; step *= shape_[i]) strides_[i] = step;
    }
    bytes_ = element;
    for (std::size_t i = 0; i < shape_.size(); ++i) bytes_ += (shape_[i] - 1) * strides_[i];
    storage_ = numbered<std::uint8_t>(bytes_ + 64 + 2 * static_cast<std::int64_t>(guard));
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    first_ = static_cast<std::size_t>((16 - address % 16) % 16) + guard +
             static_cast<std::size_t>(phase);
  }

  View view() { return View(data(), type_, shape_, strides_); }
  std::byte* data() { return reinterpret_cast<std::byte*>(storage_.data() + first_); }
  std::int64_t bytes() const { return bytes_; }
  std::vector<std::uint8_t> contents() const { return storage_; }

  /// What all of the memory holds after the permutation, by an obvious loop.
  std::vector<std::uint8_t> permuted(const in_place::InPlaceProblem& asked) const {
    std::vector<std::uint8_t> expected = storage_;
    const Problem& p = asked.problem;
    std::vector<std::int64_t> index(static_cast<std::size_t>(p.rank()), 0);
    for (std::int64_t n = 0; n < p.elements(); ++n) {
      std::int64_t from = 0, to = 0;
      for (int i = 0; i < p.rank(); ++i) {
        from += index[static_cast<std::size_t>(i)] * p.modes[i].src_stride;
        to += index[static_cast<std::size_t>(i)] * p.modes[i].dst_stride;
      }
      std::memcpy(expected.data() + first_ + to, storage_.data() + first_ + from,
                  static_cast<std::size_t>(p.src_type.size()));
      for (int i = p.rank(); i-- > 0;) {
        if (++index[static_cast<std::size_t>(i)] < p.modes[i].extent) break;
        index[static_cast<std::size_t>(i)] = 0;
      }
    }
    return expected;
  }

 private:
  static constexpr std::size_t guard = 256;
  ElementType type_;
  Extents shape_, strides_;
  std::int64_t bytes_ = 0;
  std::size_t first_ = 0;
  std::vector<std::uint8_t> storage_;
};

inline plan::Plan plan_in_place_for(const Problem& problem, const void* data,
                                    const std::string& kernel = {}) {
  const std::int64_t aligned = alignment_of(data);
  return plan::make_plan(problem, plan::gpu::device_named("h200"),
                         {1, kernel, {true, aligned, aligned}});
}

/// Runs the plan, and reports what each of its parts did wrong.
inline void run_parts(Emulator& emulator, const plan::Plan& plan, const Buffers& buffers,
                      Mode mode) {
  plan::gpu::for_each_part(plan, buffers, [&](const plan::Plan& part, const Buffers& its) {
    execute(emulator, part, its, mode);
    expect_clean(emulator);
  });
}

/// Permutes the array in the emulator and compares all of its memory. Returns the kernel's name.
inline std::string expect_permuted_in_place(InPlaceArray& array, const std::vector<int>& perm,
                                            const std::string& kernel = {},
                                            Mode mode = Mode::recording) {
  const in_place::InPlaceProblem asked = in_place::problem_in_place(array.view(), perm);
  const plan::Plan plan = plan_in_place_for(asked.problem, array.data(), kernel);
  const auto expected = array.permuted(asked);
  Emulator emulator;
  std::vector<std::byte> workspace(static_cast<std::size_t>(plan.workspace() + 16),
                                   std::byte{0xA5});
  std::byte* const workspace_at =
      workspace.data() + (16 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 16) % 16;
  EXPECT_LE(plan.workspace(), in_place::usual_workspace(array.bytes()));
  if (plan.workspace() > 0) {
    emulator.update("workspace", workspace_at, static_cast<std::size_t>(plan.workspace()));
  }
  emulator.update("array", array.data(), static_cast<std::size_t>(array.bytes()));
  Buffers buffers{array.data(), array.data()};
  buffers.workspace = workspace_at;
  run_parts(emulator, plan, buffers, mode);
  EXPECT_EQ(expected == array.contents(), true)
      << to_string(asked.problem) << " by " << plan::to_string(plan);
  return std::string(plan.kernel());
}

}  // namespace cornerturn::simt
