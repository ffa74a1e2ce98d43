// How many elements a second the emulator moves, on one core: each rung of V x V and scalar tiles,
// in the fast mode and recording into a report.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "workshop/analyse/kernel_report.hpp"
#include "workshop/ladder/rung.hpp"

namespace {

using namespace cornerturn;

void emulate(benchmark::State& state, const char* name, int bytes, simt::Mode mode) {
  const ladder::Matrix matrix{1024, 1024, bytes};
  const std::vector<std::byte> src(static_cast<std::size_t>(matrix.size()));
  std::vector<std::byte> dst(src.size());
  simt::Emulator emulator;
  emulator.input("src", src.data(), src.size());
  emulator.output("dst", dst.data(), dst.size());
  const ladder::RungBody& body = *ladder::find_rung(name)->body(bytes);
  for (auto _ : state) {
    KernelReport report;
    body.run(emulator, mode, src.data(), dst.data(), matrix,
             [&](const simt::Request& request) { report.add(request); });
    if (!emulator.findings().empty()) state.SkipWithError("the emulator found something");
  }
  state.SetItemsProcessed(state.iterations() * matrix.rows * matrix.cols);
}

void fast(benchmark::State& state, const char* name, int bytes) {
  emulate(state, name, bytes, simt::Mode::fast);
}
void recording(benchmark::State& state, const char* name, int bytes) {
  emulate(state, name, bytes, simt::Mode::recording);
}

BENCHMARK_CAPTURE(fast, smem_chunk_xor_1B, "smem_chunk_xor", 1);
BENCHMARK_CAPTURE(fast, smem_chunk_xor_4B, "smem_chunk_xor", 4);
BENCHMARK_CAPTURE(fast, smem_4B, "smem", 4);
BENCHMARK_CAPTURE(fast, shuffle_4B, "shuffle", 4);
BENCHMARK_CAPTURE(fast, naive_read_4B, "naive_read", 4);
BENCHMARK_CAPTURE(recording, smem_chunk_xor_1B, "smem_chunk_xor", 1);
BENCHMARK_CAPTURE(recording, smem_chunk_xor_4B, "smem_chunk_xor", 4);
BENCHMARK_CAPTURE(recording, smem_4B, "smem", 4);
BENCHMARK_CAPTURE(recording, shuffle_4B, "shuffle", 4);
BENCHMARK_CAPTURE(recording, naive_read_4B, "naive_read", 4);

}  // namespace

BENCHMARK_MAIN();
