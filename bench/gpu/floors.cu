// Measures what moving the tiles of a transposition takes, on the GPU that is here: tiles of a
// matrix go through shared memory, from rows of the source to rows of the destination. Nothing is
// turned: what is written are bytes of the tile, in any order. Other tiles may be faster: this is
// no bound, but what such a kernel can be compared with.
//
//   usage: bench_floors [--json FILE]
//
// Rows begin at multiples of 512 bytes, or anywhere: then each row of a tile is read as the aligned
// vectors around it, and written as whole sectors, from the first one that begins in it. Each size
// is measured with tiles of several shapes, in several orders; the fastest counts. Shares are of
// the faster one of the two plain copies of as many bytes. The caches hold other bytes.
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <utility>

#include "cuda/check.hpp"
#include "gpu/cold_time.hpp"
#include "harness/machine.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t sector = 32;  // bytes
constexpr std::int64_t vector = 16;
constexpr int threads = 256;

/// A matrix of single bytes; rows of the destination are its columns.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t src_pitch;  ///< bytes from a row to the next
  std::int64_t dst_pitch;
  /// Tiles are taken in bands of so many of every column, column by column.
  std::uint32_t band;
};

__device__ std::int64_t to_next(const std::uint8_t* p, std::int64_t granule) {
  return static_cast<std::int64_t>((0 - reinterpret_cast<std::uintptr_t>(p)) % granule);
}

/// `down` rows of the source by `across` bytes.
template <int down, int across, bool anywhere>
__global__ void __launch_bounds__(threads)
    move_tile(std::uint8_t* dst, const std::uint8_t* src, Matrix matrix) {
  constexpr int pitch = across + vector;  // of a row in shared memory
  extern __shared__ __align__(16) std::uint8_t tile[];
  const auto tiles_across = static_cast<std::uint32_t>(matrix.columns / across);
  const std::uint32_t in_band = matrix.band * tiles_across;
  const std::uint32_t number = blockIdx.x % in_band;
  const std::int64_t column = std::int64_t{number / matrix.band} * across;
  const std::int64_t row =
      (std::int64_t{blockIdx.x / in_band} * matrix.band + number % matrix.band) * down;

  constexpr int read = across / vector;  // vectors of a row
  const auto v = static_cast<int>(threadIdx.x % read);
  for (auto n = static_cast<int>(threadIdx.x / read); n < down; n += threads / read) {
    const std::uint8_t* from = src + (row + n) * matrix.src_pitch + column;
    if (anywhere) from -= (vector - to_next(from, vector)) % vector;
    const auto copy = [&](int i) {
      const auto to = static_cast<unsigned>(__cvta_generic_to_shared(tile + n * pitch + i * vector));
      // The L2 shall fetch whole lines.
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to),
                   "l"(from + i * vector));
    };
    copy(v);
    if (anywhere && v == 0) copy(read);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();

  constexpr int written = down / vector;
  const auto w = static_cast<int>(threadIdx.x % written);
  for (auto m = static_cast<int>(threadIdx.x / written); m < across; m += threads / written) {
    std::uint8_t* to = dst + (column + m) * matrix.dst_pitch + row;
    if (anywhere) to += to_next(to, sector);
    const int any = m * written + w;
    *reinterpret_cast<uint4*>(to + w * vector) =
        *reinterpret_cast<const uint4*>(tile + any / read * pitch + any % read * vector);
  }
}

struct Shape {
  int down;
  int across;
  void (*aligned)(std::uint8_t*, const std::uint8_t*, Matrix);
  void (*anywhere)(std::uint8_t*, const std::uint8_t*, Matrix);

  unsigned shared_bytes() const { return static_cast<unsigned>(down * (across + vector)); }
};

template <int down, int across>
constexpr Shape shape_of = {down, across, move_tile<down, across, false>,
                            move_tile<down, across, true>};

constexpr Shape shapes[] = {shape_of<64, 128>,  shape_of<128, 64>,  shape_of<128, 128>,
                            shape_of<256, 128>, shape_of<128, 256>, shape_of<256, 256>,
                            shape_of<512, 256>, shape_of<256, 512>};
constexpr std::uint32_t all_down = 0;
constexpr std::uint32_t bands[] = {1, 2, 4, 8, 16, all_down};

ordered_json fastest(Accelerator& gpu, Matrix matrix, bool anywhere) {
  ordered_json best;
  double least = std::numeric_limits<double>::infinity();
  for (const Shape& shape : shapes) {
    auto* const kernel = anywhere ? shape.anywhere : shape.aligned;
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shape.shared_bytes())),
                "shared memory of a tile");
    const auto tiles_down = static_cast<std::uint32_t>(matrix.rows / shape.down);
    const auto tiles_across = static_cast<std::uint32_t>(matrix.columns / shape.across);
    for (const std::uint32_t band : bands) {
      matrix.band = band == all_down ? tiles_down : band;
      if (tiles_down % matrix.band != 0) continue;
      const double seconds = cold_seconds(gpu, [&] {
        kernel<<<tiles_down * tiles_across, threads, shape.shared_bytes(),
                 static_cast<cudaStream_t>(gpu.stream())>>>(
            reinterpret_cast<std::uint8_t*>(gpu.dst()),
            reinterpret_cast<const std::uint8_t*>(gpu.src()), matrix);
        cuda::check(cudaGetLastError(), "tiles");
      });
      if (seconds >= least) continue;
      least = seconds;
      best = {{"seconds", seconds},
              {"tile_rows", shape.down},
              {"tile_row_bytes", shape.across},
              {"band", matrix.band}};
    }
  }
  return best;
}

int run_floors(const std::string& json) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  constexpr std::int64_t most_bytes = std::int64_t{1536} << 20;
  constexpr std::int64_t beyond = std::int64_t{1} << 20;  // what pitches and sectors add
  gpu->reserve(most_bytes + beyond, most_bytes + beyond);
  ordered_json report = {{"kind", "cornerturn-floors"}, {"schema", 1}};
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  std::printf("%9s%12s%14s%10s%16s%10s\n", "MiB", "copy, us", "aligned, us", "% copy",
              "anywhere, us", "% copy");
  std::int64_t rows = 1024, columns = 1536;
  for (int step = 0; rows * columns <= most_bytes; ++step) {
    const std::int64_t bytes = rows * columns;
    const double copied = std::min(
        cold_seconds(*gpu, [&] { gpu->copy_by_driver(gpu->dst(), gpu->src(), bytes); }),
        cold_seconds(*gpu, [&] { gpu->copy_by_kernel(gpu->dst(), gpu->src(), bytes); }));
    ordered_json one = {{"bytes", bytes}, {"copy_seconds", copied}};
    one["aligned"] = fastest(*gpu, {rows, columns, columns, rows, 1}, false);
    one["anywhere"] = fastest(*gpu, {rows, columns, columns + 1, rows + 1, 1}, true);
    const double aligned = one["aligned"]["seconds"], anywhere = one["anywhere"]["seconds"];
    std::printf("%9.1f%12.2f%14.2f%10.0f%16.2f%10.0f\n", static_cast<double>(bytes) / (1 << 20),
                copied * 1e6, aligned * 1e6, 100 * copied / aligned, anywhere * 1e6,
                100 * copied / anywhere);
    report["sizes"].push_back(std::move(one));
    (step % 2 == 0 ? rows : columns) *= 2;
  }
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures what moving the tiles of a transposition takes");
  std::string json;
  app.add_option("--json", json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run_floors(json);
  } catch (const std::exception& error) {
    std::cerr << "bench_floors: " << error.what() << "\n";
    return 2;
  }
}
