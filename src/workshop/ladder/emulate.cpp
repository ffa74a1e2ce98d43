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
#include "workshop/analyse/cute_legs.hpp"
#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {
namespace {

constexpr std::byte poison{0xa5};

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Storage = std::unique_ptr<std::byte[], Free>;

// Aligned as a device's allocations are, with room behind, where a stray access is seen as such.
Storage storage(std::int64_t bytes) {
  const auto size = (static_cast<std::size_t>(bytes) + 1024) / 256 * 256;
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
  for (std::int64_t row = 0; row < m.rows; ++row) {
    for (std::int64_t col = 0; col < m.cols; ++col) {
      const std::int64_t to = rung.transposes ? col * m.rows + row : row * m.cols + col;
      if (std::memcmp(src + (row * m.cols + col) * m.bytes, dst + to * m.bytes, width) != 0) {
        return fmt::format("element ({}, {}) of the source is not at element {} of the destination",
                           row, col, to);
      }
    }
  }
  return {};
}

void check_findings(const Rung& rung, const simt::Emulator& emulator) {
  if (emulator.findings().empty()) return;
  throw Error(Status::internal,
              fmt::format("{}: {}", rung.name, emulator.findings().front().message()));
}

const RungBody& emulated_body(const Rung& rung, const Matrix& matrix) {
  if (const auto reason = why_not(rung, matrix)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung.name, *reason));
  }
  if (rung.family != Family::kernel_form) {
    throw Error(Status::unsupported, fmt::format("{}: it runs on a GPU only", rung.name));
  }
  return *rung.body(matrix.bytes);
}

}  // namespace

std::int64_t emulation_bytes(const Matrix& matrix) {
  // Both sides, and who wrote each element: 8 bytes.
  return matrix.rows * matrix.cols * (2 * matrix.bytes + 8);
}

Matrix representative(const Matrix& matrix) {
  // Every tile's sides divide the period, and so do the elements of a sector.
  constexpr std::int64_t period = 256;
  const auto shrink = [](std::int64_t n) { return n < 2 * period ? n : period + n % period; };
  return {shrink(matrix.rows), shrink(matrix.cols), matrix.bytes};
}

Prediction predict(const Rung& rung, const Matrix& matrix) {
  if (rung.family == Family::kernel_form) return emulate(rung, matrix);
  const CuteInfo& info = *find_cute(rung.name);
  Prediction result;
  result.matrix = matrix;
  result.report = cute_report(rung.name, matrix.rows, matrix.cols, matrix.bytes);
  result.shared_bytes = info.shared_bytes;
  const std::int64_t blocks =
      info.tile_rows == 1
          ? tiles_of(matrix.rows * matrix.cols, info.tile_cols)
          : tiles_of(matrix.rows, info.tile_rows) * tiles_of(matrix.cols, info.tile_cols);
  result.launch.grid.x = static_cast<unsigned>(blocks);
  result.launch.block.x = static_cast<unsigned>(info.threads);
  return result;
}

Emulation emulate(const Rung& rung, const Matrix& matrix, std::atomic<std::int64_t>* stored,
                  const simt::Visitor& visitor) {
  const RungBody& body = emulated_body(rung, matrix);
  const Storage src = storage(matrix.size());
  const Storage dst = storage(matrix.size());
  number(src.get(), matrix.size());
  std::memset(dst.get(), static_cast<int>(poison), static_cast<std::size_t>(matrix.size()));

  Emulation result;
  result.matrix = matrix;
  result.launch = body.launch(src.get(), dst.get(), matrix);
  result.report.kernel = rung.name;
  simt::Emulator emulator;
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
  for (simt::Request& request : result.first) {
    if (!simt::is_global(request.op)) continue;
    const bool loads = request.op == simt::Op::global_load;
    const std::uint64_t base = emulator.device_address(loads ? src.get() : dst.get());
    for (std::uint64_t& address : request.lanes.address) address -= base;
  }
  for (const simt::Finding& finding : emulator.findings()) {
    result.findings.push_back(finding.message());
  }
  result.mismatch = first_mismatch(rung, matrix, src.get(), dst.get());
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

void emulate(const Rung& rung, std::int64_t rows, std::int64_t cols, const Conversion& types,
             const void* src, void* dst) {
  if (const auto reason = why_not(rung, types)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung.name, *reason));
  }
  const Matrix from = make_matrix(rows, cols, types.src.size());
  const Matrix to = make_matrix(rows, cols, types.dst.size());
  if (from.size() == 0) return;
  simt::Emulator emulator;
  emulator.input("src", src, static_cast<std::size_t>(from.size()));
  emulator.output("dst", dst, static_cast<std::size_t>(to.size()));
  rung.convert(emulator, src, dst, rows, cols, types);
  check_findings(rung, emulator);
}

}  // namespace cornerturn::ladder
