// Inside the setup of pack: where a box's elements lie in shared memory, and the kernel's arguments
// for that. pack/setup.hpp is what others see.
#pragma once

#include <array>
#include <cstdint>

#include "core/divide.hpp"
#include "core/problem.hpp"
#include "kernels/pack.hpp"
#include "plan/gpu/pack/box.hpp"
#include "plan/gpu/pack/setup.hpp"

namespace cornerturn::plan::gpu::pack {

inline constexpr std::int64_t line = 128;  // bytes: all banks once
inline constexpr int no_pads = kernels::PackDigit::no_pads;

struct Layout {
  std::array<int, ModeList::capacity> shared{};  // bytes for each index of a mode
  std::array<int, ModeList::capacity> pad_shift{};
  std::int64_t pitch = 0;  // of a run of the source, there
  std::int64_t bytes = 0;
  std::int64_t src_runs = 1;
  bool lines = false;  // 16 bytes stay free after each line of a run
};

inline std::int64_t with_lines(std::int64_t bytes) {
  return bytes + bytes / line * vector;
}

/// Whether the source's runs go backwards along the mode.
inline bool is_flipped(const Box& box, const Problem& normal, int which) {
  return box.src.runs_along(which) && normal.modes[which].src_stride < 0 &&
         box.extent[static_cast<std::size_t>(which)] > 1;
}

/// Runs of the source that begin anywhere, so far apart that no two touch the same vector, whatever
/// their phases.
Layout layout_with(const Box& box, const Problem& normal, const Pads& pads);

/// Modes beside the source's run of which a box has several indices.
std::size_t modes_beside_run(const Box& box);

/// The modes of which a box takes a part, in the order in which blocks go along them.
struct BoxOrder {
  std::array<std::uint8_t, ModeList::capacity> modes{};
  int count = 0;

  BoxOrder(const Box& box, const Problem& normal, bool anywhere);

  /// Which of them a mode is, or -1.
  int of(int which) const;
};

/// All arguments but how threads are laid over the runs, and how these are cut into pieces. `to`:
/// the runs of the destination as threads take them.
kernels::PackArgs args_of(const PackConfig& config, const Box& box, const Box::Side& to,
                          const Layout& layout, const Problem& normal);

/// Shared memory after the box: the lists of runs, and what follows them.
void place_lists(kernels::PackArgs& args);

/// setup_of() where runs begin anywhere.
Setup setup_anywhere(const PackConfig& config, const Box& box, const Problem& normal);

}  // namespace cornerturn::plan::gpu::pack
