// What a kernel does to memory, leg by leg: from the requests that the emulator saw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maps/banks.hpp"
#include "workshop/simt/warp_log.hpp"

namespace cornerturn {

/// All requests of one access in the source. An async copy has both the global and the shared part.
struct Leg {
  simt::Site site;
  simt::Op op = simt::Op::global_load;
  int width = 4;  ///< bytes a lane
  std::uint64_t requests = 0;

  // Global memory.
  std::uint64_t sectors = 0;
  std::uint64_t sectors_ideal = 0;  ///< if each request's bytes lay together, aligned
  int sectors_min = 0;              ///< of one request
  int sectors_max = 0;
  std::uint64_t sectors_again = 0;  ///< that the same warp touched in its request before
  std::uint64_t bytes_used = 0;     ///< of the 32 bytes a sector that were moved

  // Shared memory.
  std::uint64_t wavefronts = 0;
  std::uint64_t wavefronts_ideal = 0;  ///< if each request's bytes lay together
  std::uint64_t conflicts = 0;         ///< wavefronts due to different words in one bank
  int wavefronts_max = 0;              ///< of one request
  Collision collision;                 ///< of that request, if it has conflicts

  /// Are there too many sectors only because neighbouring lanes begin within one?
  bool only_cut() const { return sectors <= sectors_ideal + requests; }
  bool is_global() const { return simt::is_global(op) || op == simt::Op::async_copy; }
  bool is_shared() const { return !simt::is_global(op); }
  std::uint64_t bytes_moved() const { return sectors * 32; }
  bool conflict_free() const { return conflicts == 0; }
};

/// `global load`, `shared store`, ...
const char* name(simt::Op op);

/// How the rows of a kernel's tile lie in shared memory.
enum class TileKind {
  unknown,
  plain,    ///< one after the other
  arranged  ///< padded or swizzled
};

struct KernelReport {
  std::string kernel;
  TileKind tile = TileKind::unknown;
  std::vector<Leg> legs;  ///< in the order in which they were first met

  /// Takes in one request, the emulator's visitor; returns the number of its leg.
  std::size_t add(const simt::Request& request);

  /// A table, one line a leg.
  std::string text() const;
  std::string json() const;

  /// All legs of one kind as one, its place that of the first; no requests if there is none.
  Leg total(simt::Op op) const;

 private:
  Leg& leg_of(const simt::Request& request);
  void count_again(Leg& leg, const simt::Request& request, int sectors);

  struct LastRequest {
    bool known = false;
    WarpRequest lanes;
  };
  std::vector<LastRequest> last_;  // of each leg, by the warp that is being told
};

}  // namespace cornerturn
