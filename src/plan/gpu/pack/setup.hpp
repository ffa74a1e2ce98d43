// How the kernel of pack is set up for a box: where its elements lie in shared memory, how its runs
// are cut into pieces, and how threads are laid over them.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"
#include "kernels/pack.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/pack/box.hpp"

namespace cornerturn::plan::gpu::pack {

inline constexpr std::int64_t vector = 16;             // bytes
inline constexpr std::int64_t most_bytes = 48 << 10;   // of a box whose runs end with sectors
inline constexpr std::int64_t most_shared = 60 << 10;  // of any box, and of what it takes

/// Threads of a block, and for how many of an SM registers are sure to suffice
/// (kernels/pack_anywhere.hpp), where values are only moved.
inline constexpr int least_threads_aligned = 128;
inline constexpr int most_threads_aligned = 1024;
inline constexpr int least_threads_anywhere = 64;
inline constexpr int most_threads_anywhere = 1536;

/// Whether all runs of all boxes begin at multiples of 16 bytes if the first does: the steps from
/// box to box and from run to run are whole vectors.
bool has_aligned_runs(const Box& box, const Problem& normal);

/// What the threads of a block write at once of a run of the destination, in the aligned form: the
/// run, or as many whole periods of it as there are threads. Each thread has the same place in all
/// pieces.
struct Piece {
  std::int64_t vectors = 0;  ///< 0: runs have no such pieces
  std::int64_t threads = 0;
};
Piece piece_of(const Box& box, const Problem& normal, const PackConfig& config);

/// The threads of a block.
std::int64_t threads_of(const PackConfig& config, const Box& box, const Problem& normal);

/// Elements of a vector of the destination.
int vector_elements(const Problem& normal);

/// Whether gaps lie between whole runs of the destination.
bool leaves_gaps(const Box& box, const Problem& normal);

std::int64_t count_boxes(const Box& box, const Problem& normal);

/// Whether the arguments, shared memory and the table have room for the box.
bool fits(const Box& box, const Problem& normal, const DeviceInfo& device, bool anywhere);

/// Vectors of shared memory that stay free, so that lanes read from other banks.
struct Pads {
  std::array<int, 2> stride{};  ///< after each index of the first two modes beside the source's run
  bool unit = false;  ///< one after as many indices of the destination's first mode as a unit holds

  friend bool operator==(const Pads&, const Pads&) = default;
};

/// All of a configuration that its box decides.
struct Setup {
  kernels::PackArgs args;
  double wavefronts = 1;  ///< of a gathering request
  Pads pads = {};         ///< where runs begin anywhere

  std::int64_t table_bytes() const {
    if (args.anywhere) return std::int64_t{args.places} * args.planes * args.of_unit() * 2;
    return (args.period.divisor + std::int64_t{16} / args.element_bytes) * 2;
  }
  unsigned shared_bytes() const { return static_cast<unsigned>(args.table_at + table_bytes()); }
};
Setup setup_of(const PackConfig& config, const Box& box, const Problem& normal);

/// Where runs begin anywhere and a request takes many wavefronts: pads, and the element with which
/// lanes begin to gather a unit, so that requests from all over a block take fewer. No estimate
/// knows of it.
void choose_banks(Setup& setup, const PackConfig& config, const Box& box, const Problem& normal);

}  // namespace cornerturn::plan::gpu::pack
