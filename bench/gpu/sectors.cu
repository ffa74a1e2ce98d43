// Measures what the L2 cache and the memory take for sectors of 32 bytes that are written in whole
// or in part, on the GPU that is here.
//
//   usage: bench_sectors [--json FILE]
//
// Each way of writing covers an array that is larger than the L2 cache. Before it is timed, other
// bytes have taken the cache. Times are medians, divided by the sectors, or rows, that a way writes
// to.
#include <cuda_runtime.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "cuda/check.hpp"
#include "gpu/cold_time.hpp"
#include "harness/machine.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t array_bytes = cache_filling_bytes;
constexpr std::uint64_t sector = 32;  // bytes
constexpr int threads = 256;

using Kernel = void (*)(std::uint8_t* to, std::uint64_t sectors, std::uint64_t step);

__device__ std::uint64_t thread_number() {
  return std::uint64_t{blockIdx.x} * threads + threadIdx.x;
}

/// `lanes` neighbours store a V each, one after the other, to the beginning of every sector.
template <class V, int lanes>
__global__ void store_together(std::uint8_t* to, std::uint64_t sectors, std::uint64_t step) {
  constexpr int slots = lanes <= 1 ? 1 : lanes <= 2 ? 2 : 8;
  const std::uint64_t n = thread_number() / slots;
  const auto lane = static_cast<int>(thread_number() % slots);
  if (n < sectors && lane < lanes) reinterpret_cast<V*>(to + n * step)[lane] = V{};
}

/// A lane stores 28 bytes of a sector by 16, 8 and 4.
__global__ void store_in_pieces(std::uint8_t* to, std::uint64_t sectors, std::uint64_t step) {
  const std::uint64_t n = thread_number();
  if (n >= sectors) return;
  std::uint8_t* const at = to + n * step;
  *reinterpret_cast<uint4*>(at) = {};
  *reinterpret_cast<uint2*>(at + 16) = {};
  *reinterpret_cast<std::uint32_t*>(at + 24) = 0;
}

/// A lane stores seven bytes of a sector, one by one.
__global__ void store_bytes(std::uint8_t* to, std::uint64_t sectors, std::uint64_t step) {
  const std::uint64_t n = thread_number();
  if (n >= sectors) return;
  for (int i = 0; i < 7; ++i) *static_cast<volatile std::uint8_t*>(to + n * step + i) = 0;
}

constexpr std::uint64_t row = 224;  // bytes
constexpr std::uint64_t lanes_of_row = 16;

/// Lanes store a row of 4-byte elements: whole sectors in vectors, and what lies in cut ones an
/// element each, a request a sector. `prefetches`: the L2 has been asked for these before.
template <bool prefetches>
__global__ void store_rows(std::uint8_t* to, std::uint64_t rows, std::uint64_t step) {
  const std::uint64_t n = thread_number() / lanes_of_row;
  if (n >= rows) return;
  const std::uint64_t lane = thread_number() % lanes_of_row;
  const auto begin = reinterpret_cast<std::uintptr_t>(to + n * step), end = begin + row;
  const std::uintptr_t first = (begin + sector - 1) / sector * sector, last = end / sector * sector;
  if (prefetches && lane == 0 && begin < first) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin));
  }
  if (prefetches && lane == 1 && last < end) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(last));
  }
  const std::uintptr_t vector = first + lane * sizeof(uint4);
  if (vector < last) *reinterpret_cast<uint4*>(vector) = {};
  const std::uintptr_t head = first - sector + lane * 4, tail = last + lane * 4;
  if (lane < sector / 4 && head >= begin) *reinterpret_cast<std::uint32_t*>(head) = 0;
  if (lane < sector / 4 && tail < end) *reinterpret_cast<std::uint32_t*>(tail) = 0;
}

struct Way {
  const char* name;
  Kernel kernel;
  std::uint64_t threads_of_sector;
  std::uint64_t step;  // bytes from one sector, or row, that is written to the next
  const char* seconds_of = "seconds_of_sector";
};

constexpr Way ways[] = {
    {"whole sectors", store_together<uint4, 2>, 2, sector},
    {"whole sectors, every second", store_together<uint4, 2>, 2, 2 * sector},
    {"16 bytes of each", store_together<uint4, 1>, 1, sector},
    {"16 bytes of every second", store_together<uint4, 1>, 1, 2 * sector},
    {"4 bytes of each", store_together<std::uint32_t, 1>, 1, sector},
    {"28 bytes of each, by seven lanes at once", store_together<std::uint32_t, 7>, 8, sector},
    {"28 bytes of each, by one lane in 3 pieces", store_in_pieces, 1, sector},
    {"7 bytes of each, by one lane one by one", store_bytes, 1, sector},
    {"rows of 224 bytes, 28 apart", store_rows<false>, lanes_of_row, row + 28,
     "seconds_of_row"},
    {"rows of 224 bytes, 28 apart, cut ones prefetched", store_rows<true>, lanes_of_row, row + 28,
     "seconds_of_row"},
};

double median_seconds(const Way& way, Accelerator& gpu) {
  const std::uint64_t sectors = std::uint64_t{array_bytes} / way.step;
  const auto blocks =
      static_cast<unsigned>((sectors * way.threads_of_sector + threads - 1) / threads);
  auto* const stream = static_cast<cudaStream_t>(gpu.stream());
  const Work write = [&] {
    way.kernel<<<blocks, threads, 0, stream>>>(reinterpret_cast<std::uint8_t*>(gpu.dst()), sectors,
                                               way.step);
    cuda::check(cudaGetLastError(), way.name);
  };
  return cold_seconds(gpu, write);
}

int run_sectors(const std::string& json) {
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  gpu->reserve(2 * array_bytes, array_bytes);
  ordered_json report = {{"kind", "cornerturn-sectors"}, {"schema", 1}};
  report["provenance"] = provenance();
  report["provenance"].update(gpu->provenance());
  report["array_bytes"] = array_bytes;
  std::printf("%-50s%10s%22s\n", "written", "us", "ps a sector, or a row");
  for (const Way& way : ways) {
    const double seconds = median_seconds(way, *gpu);
    const double of_one =
        seconds * static_cast<double>(way.step) / static_cast<double>(array_bytes);
    std::printf("%-50s%10.1f%22.2f\n", way.name, seconds * 1e6, of_one * 1e12);
    report["ways"].push_back(
        {{"name", way.name}, {"seconds", seconds}, {way.seconds_of, of_one}});
  }
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  CLI::App app("Measures what sectors cost that are written in whole or in part");
  std::string json;
  app.add_option("--json", json, "Write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return cornerturn::bench::run_sectors(json);
  } catch (const std::exception& error) {
    std::cerr << "bench_sectors: " << error.what() << "\n";
    return 2;
  }
}
