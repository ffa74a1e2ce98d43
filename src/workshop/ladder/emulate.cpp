#include "workshop/ladder/emulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "cornerturn/error.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::byte poison{0xa5};

void check_blocks(const Dim3& grid, const Matrix& matrix, std::uint64_t blocks) {
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;
  if (plane <= blocks && (grid.z == 0 || plane <= blocks / grid.z)) return;
  throw Error(Status::invalid_argument,
              fmt::format("{} x {}: the launch has {} x {} x {} blocks, and --blocks allows {}",
                          matrix.rows, matrix.cols, grid.x, grid.y, grid.z, blocks));
}

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Storage = std::unique_ptr<std::byte[], Free>;

// Aligned as a device's allocations are, with as much room behind, which is never touched: there a
// stray access is seen as such, and is not taken for one of the next matrix.
Storage storage(std::int64_t bytes) {
  const auto size = (2 * static_cast<std::size_t>(bytes) + 65536) / 256 * 256;
  auto* p = static_cast<std::byte*>(std::aligned_alloc(256, size));
  if (p == nullptr) throw std::bad_alloc();
  return Storage(p);
}

// No period that a tile could hide.
void number(std::byte* data, std::int64_t bytes) {
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < bytes; i += 8) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t mixed = (state ^ state >> 29) * 0xbf58476d1ce4e5b9ULL;
    std::memcpy(data + i, &mixed, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

std::string first_mismatch(const Rung& rung, const Matrix& m, const std::byte* src,
                           const std::byte* dst) {
  const auto width = static_cast<std::size_t>(m.bytes);
  for (std::int64_t k = 0; k < m.batch; ++k) {
    for (std::int64_t row = 0; row < m.rows; ++row) {
      for (std::int64_t col = 0; col < m.cols; ++col) {
        const std::int64_t to =
            rung.transposes ? (k * m.cols + col) * m.rows + row : (k * m.rows + row) * m.cols + col;
        if (std::memcmp(src + m.src_at(k, row, col) * m.bytes, dst + to * m.bytes, width) == 0) {
          continue;
        }
        return fmt::format(
            "element ({}, {}) of the source{} is not at element {} of the destination", row, col,
            m.batch == 1 ? "" : fmt::format("'s matrix {}", k), to);
      }
    }
  }
  return {};
}

// Bytes that global loads or stores of the legs took, by lanes and all.
std::int64_t bytes_through_context(const KernelReport& report, bool stores) {
  std::int64_t bytes = 0;
  for (const Leg& leg : report.legs) {
    if (!leg.is_global() || leg.op == simt::Op::prefetch) continue;
    if ((leg.op == simt::Op::global_store) == stores) {
      bytes += static_cast<std::int64_t>(leg.bytes_used);
    }
  }
  return bytes;
}

// Elements that are no longer as they were made.
std::int64_t changed_elements(const std::byte* data, const std::byte* made, const Matrix& m) {
  const auto width = static_cast<std::size_t>(m.bytes);
  std::int64_t changed = 0;
  for (std::int64_t at = 0; at < m.size(); at += m.bytes) {
    changed += std::memcmp(data + at, made + at, width) != 0;
  }
  return changed;
}

// What a raw pointer did, which the detectors cannot see: an access without the context.
void find_raw_accesses(Emulation& run, const std::byte* src, const std::byte* dst) {
  const Matrix& m = run.matrix;
  const Storage made = storage(m.size());
  const auto note = [&](const std::string& what) {
    run.findings.insert(run.findings.begin(),
                        fmt::format("{}: raw pointer: {}", run.report.kernel, what));
  };
  std::memset(made.get(), static_cast<int>(poison), static_cast<std::size_t>(m.size()));
  const std::int64_t stored =
      changed_elements(dst, made.get(), m) * m.bytes - bytes_through_context(run.report, true);
  if (stored > 0) {
    std::erase_if(run.findings, [](const std::string& finding) {
      return finding.find("never written in dst") != std::string::npos;
    });
    note(
        fmt::format("{} B of dst were stored without the context: ctx.store() is what the emulator "
                    "sees",
                    stored));
  }
  number(made.get(), m.size());
  if (const std::int64_t lost = changed_elements(src, made.get(), m) * m.bytes; lost > 0) {
    note(fmt::format("{} B of src, an input, were overwritten without the context", lost));
  }
  const std::int64_t loaded = bytes_through_context(run.report, false);
  if (run.findings.empty() && run.mismatch.empty() && loaded < m.size()) {
    note(
        fmt::format("{} of {} B of src were loaded without the context: ctx.load() is what the "
                    "emulator sees",
                    m.size() - loaded, m.size()));
  }
}

const RungBody& emulated_body(const Rung& rung, const Matrix& matrix) {
  if (rung.family != Family::kernel_form) {
    throw Error(Status::unsupported, fmt::format("{}: it runs on a GPU only", rung.name));
  }
  if (const auto reason = refused(rung, matrix)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung.name, *reason));
  }
  return *rung.body(matrix.bytes);
}

}  // namespace

TileKind kind_of(const std::optional<TileMap>& tile) {
  if (!tile) return TileKind::unknown;
  for (int row = 0; row < tile->rows; ++row) {
    for (int column = 0; column < tile->columns; ++column) {
      if (tile->at(row, column) != std::int64_t{row} * tile->columns + column) {
        return TileKind::arranged;
      }
    }
  }
  return TileKind::plain;
}

std::int64_t emulation_bytes(const Matrix& matrix) {
  // Both sides, one more that they are compared with, and who wrote each element: 16 bytes.
  return matrix.batch * matrix.rows * matrix.cols * (3 * matrix.bytes + 16);
}

void check_findings(const Rung& rung, const simt::Emulator& emulator) {
  if (emulator.findings().empty()) return;
  throw Error(Status::internal,
              fmt::format("{}: {}", rung.name, emulator.findings().front().message()));
}

Matrix representative(const Matrix& matrix) {
  // Every tile's sides divide the period, and so do the elements of a sector.
  constexpr std::int64_t period = 256;
  const auto shrink = [](std::int64_t n) { return n < 2 * period ? n : period + n % period; };
  // Matrices go eight a block, and the last block has the rest.
  const std::int64_t batch = matrix.batch <= 16 ? matrix.batch : 8 + matrix.batch % 8;
  return {shrink(matrix.rows), shrink(matrix.cols), matrix.bytes, batch, matrix.fused};
}

Emulation emulate(const Rung& rung, const Matrix& matrix, std::atomic<std::int64_t>* stored,
                  const simt::Visitor& visitor, const Limits& limits) {
  const RungBody& body = emulated_body(rung, matrix);
  const Storage src = storage(matrix.size());
  const Storage dst = storage(matrix.size());
  number(src.get(), matrix.size());
  std::memset(dst.get(), static_cast<int>(poison), static_cast<std::size_t>(matrix.size()));

  Emulation result;
  result.matrix = matrix;
  result.launch = body.launch(src.get(), dst.get(), matrix);
  check_blocks(result.launch.grid, matrix, limits.blocks);
  result.report.kernel = rung.name;
  result.report.tile = kind_of(body.tile);
  simt::Emulator emulator;
  emulator.limit_steps(limits.steps);
  emulator.input("src", src.get(), static_cast<std::size_t>(matrix.size()));
  emulator.output("dst", dst.get(), static_cast<std::size_t>(matrix.size()));
  const auto visit = [&](const simt::Request& request) {
    result.report.add(request);
    if (visitor) visitor(request);
    if (result.report.legs.size() > result.first.size()) result.first.push_back(request);
    if (stored != nullptr && request.op == simt::Op::global_store) {
      *stored += std::popcount(request.lanes.active) * request.lanes.width;
    }
  };
  const auto start = std::chrono::steady_clock::now();
  body.run(emulator, simt::Mode::recording, src.get(), dst.get(), matrix, visit);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.shared_bytes = emulator.shared_bytes();
  std::ptrdiff_t causes = 0;
  for (simt::Request& request : result.first) {
    if (!simt::is_global(request.op)) continue;
    const bool loads = request.op == simt::Op::global_load;
    const std::uint64_t base = emulator.device_address(loads ? src.get() : dst.get());
    for (std::uint64_t& address : request.lanes.address) address -= base;
  }
  for (simt::Finding finding : emulator.findings()) {
    finding.kernel = rung.name;
    // A race, or a thread that never ends, explains what is unwritten or wrong besides.
    const bool cause =
        finding.kind == simt::FindingKind::race || finding.kind == simt::FindingKind::never_ends;
    result.findings.insert(cause ? result.findings.begin() + causes++ : result.findings.end(),
                           finding.message());
  }
  result.mismatch = first_mismatch(rung, matrix, src.get(), dst.get());
  find_raw_accesses(result, src.get(), dst.get());
  return result;
}

void emulate(const Rung& rung, const Matrix& matrix, const void* src, void* dst) {
  const RungBody& body = emulated_body(rung, matrix);
  if (matrix.size() == 0) return;
  simt::Emulator emulator;
  emulator.input("src", src, static_cast<std::size_t>(matrix.size()));
  emulator.output("dst", dst, static_cast<std::size_t>(matrix.size()));
  body.run(emulator, simt::Mode::recording, src, dst, matrix, [](const simt::Request&) {});
  check_findings(rung, emulator);
}

}  // namespace cornerturn::ladder
