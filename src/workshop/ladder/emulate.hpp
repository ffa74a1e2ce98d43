// What a rung does to memory, without a GPU; and in the emulator, whether it is right.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "workshop/analyse/kernel_report.hpp"
#include "workshop/ladder/rung.hpp"

namespace cornerturn::ladder {

struct Prediction {
  Matrix matrix;
  Launch launch;
  std::int64_t shared_bytes = 0;  ///< of a block
  KernelReport report;
  /// The first request of each leg of the report; sources and destinations count from 0.
  std::vector<simt::Request> first;
};

struct Emulation : Prediction {
  std::vector<std::string> findings;  ///< what the detectors found, the first 32
  std::string mismatch;               ///< the first element that is wrong; empty if none is
  double seconds = 0;

  /// Every element right, bit by bit, and nothing found.
  bool verified() const { return findings.empty() && mismatch.empty(); }
};

struct Limits {
  std::uint64_t steps = 0;  ///< a thread that takes more is stopped; 0: none is
  std::uint64_t blocks = ~std::uint64_t{0};
};

/// Runs the rung on numbered elements into a poisoned destination, all detectors on, and compares
/// every element. `stored` grows by the bytes that are written, `visitor` sees each request. Throws
/// Error where why_not() says so, for a rung that is not of the kernel form, and for a launch of
/// more blocks than `limits` allow.
Emulation emulate(const Rung& rung, const Matrix& matrix,
                  std::atomic<std::int64_t>* stored = nullptr, const simt::Visitor& visitor = {},
                  const Limits& limits = {});

/// Runs the rung in the emulator, all detectors on, from `src` to `dst`, which hold the matrix and
/// what becomes of it, apart from each other. Throws Error: unsupported as above, internal when a
/// detector finds something.
void emulate(const Rung& rung, const Matrix& matrix, const void* src, void* dst);

/// The same for a rows x cols matrix whose elements change their type. Throws Error as above.
void emulate(const Rung& rung, std::int64_t rows, std::int64_t cols, const Conversion& types,
             const void* src, void* dst);

/// From the emulator, or from the layouts of a CuTe rung. Throws Error where why_not() says so.
Prediction predict(const Rung& rung, const Matrix& matrix);

/// How the rows of a tile lie.
TileKind kind_of(const std::optional<TileMap>& tile);

/// Throws Error(internal) with the first finding, if there is one.
void check_findings(const Rung& rung, const simt::Emulator& emulator);

/// The elements of the largest matrix that is worth emulating: about half a minute a rung.
inline constexpr std::int64_t most_emulated = std::int64_t{1} << 26;

/// Bytes of memory that emulate() takes.
std::int64_t emulation_bytes(const Matrix& matrix);

/// A small matrix whose accesses are those of `matrix`: the same edges, the same alignment of rows.
Matrix representative(const Matrix& matrix);

}  // namespace cornerturn::ladder
