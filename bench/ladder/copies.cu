// ladder_copies [ROWS COLS]: is a copy by TMA on par with one through registers, when both are tuned?
// TMA over a grid of boxes, the plain copy over a grid of threads a block and vectors a thread; each
// is checked, then all are timed in turns, and written as JSON. The matrix has float32.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/device_buffer.hpp"
#include "workshop/cuda/cute/tma.cuh"
#include "workshop/cuda/timing.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::Stream;
using with_cute::Element;

struct Matrices {
  const Element* src = nullptr;
  Element* dst = nullptr;
  int rows = 0;
  int cols = 0;
};

struct Way {
  const char* kind;
  int first;   // rows of a box, or threads of a block
  int second;  // columns of a box, or vectors of a thread
  void (*launch)(const Matrices& m, Stream stream);
};

template <class Tile, class Load, class Store, class Extents>
__global__ void __launch_bounds__(32)
    box_kernel(const __grid_constant__ Load load, const __grid_constant__ Store store,
               Extents extents) {
  using namespace cute;
  extern __shared__ __align__(128) unsigned char shared[];
  Tensor tile = make_tensor(make_smem_ptr(reinterpret_cast<Element*>(shared)), Tile{});
  const auto block = shape(Tile{});
  const auto at = with_cute::tile_coord(block, extents);
  with_cute::tma_fill(load, local_tile(load.get_tma_tensor(extents), block, at), tile);
  with_cute::tma_drain(store, tile, local_tile(store.get_tma_tensor(extents), block, at));
}

template <int rows, int cols>
void launch_boxes(const Matrices& m, Stream stream) {
  using namespace cute;
  using Tile = Layout<Shape<Int<rows>, Int<cols>>, Stride<Int<cols>, _1>>;
  Tensor source = with_cute::row_major(m.src, m.rows, m.cols);
  Tensor destination = with_cute::row_major(m.dst, m.rows, m.cols);
  const auto load = make_tma_copy(SM90_TMA_LOAD{}, source, Tile{});
  const auto store = make_tma_copy(SM90_TMA_STORE{}, destination, Tile{});
  const auto extents = shape(source);
  constexpr int bytes = rows * cols * static_cast<int>(sizeof(Element));
  const auto kernel = box_kernel<Tile, decltype(load), decltype(store), decltype(extents)>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "shared memory of a box");
  const int blocks = ((m.rows + rows - 1) / rows) * ((m.cols + cols - 1) / cols);
  kernel<<<blocks, 32, bytes, stream>>>(load, store, extents);
}

template <int threads, int vectors>
__global__ void __launch_bounds__(threads)
    vector_kernel(const uint4* src, uint4* dst, std::int64_t count) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (threads * vectors) + threadIdx.x;
  uint4 v[vectors];
#pragma unroll
  for (int i = 0; i < vectors; ++i) {
    if (first + i * threads < count) v[i] = src[first + i * threads];
  }
#pragma unroll
  for (int i = 0; i < vectors; ++i) {
    if (first + i * threads < count) dst[first + i * threads] = v[i];
  }
}

template <int threads, int vectors>
void launch_vectors(const Matrices& m, Stream stream) {
  const std::int64_t count = std::int64_t{m.rows} * m.cols / 4;
  const std::int64_t blocks = (count + threads * vectors - 1) / (threads * vectors);
  vector_kernel<threads, vectors><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
      reinterpret_cast<const uint4*>(m.src), reinterpret_cast<uint4*>(m.dst), count);
}

template <int rows, int... cols>
void add_boxes(std::vector<Way>& ways) {
  (ways.push_back({"tma", rows, cols, &launch_boxes<rows, cols>}), ...);
}

template <int threads, int... vectors>
void add_vectors(std::vector<Way>& ways) {
  (ways.push_back({"registers", threads, vectors, &launch_vectors<threads, vectors>}), ...);
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  add_boxes<8, 32, 64, 128, 256>(ways);
  add_boxes<16, 32, 64, 128, 256>(ways);
  add_boxes<32, 32, 64, 128, 256>(ways);
  add_boxes<64, 32, 64, 128, 256>(ways);
  add_vectors<128, 1, 2, 4, 8>(ways);
  add_vectors<256, 1, 2, 4, 8>(ways);
  add_vectors<512, 1, 2, 4, 8>(ways);
  add_vectors<1024, 1, 2, 4>(ways);
  return ways;
}

Matrices matrices_in(const cuda::DeviceBuffer& src, const cuda::DeviceBuffer& dst, int rows,
                     int cols) {
  return {reinterpret_cast<const Element*>(src.get()), reinterpret_cast<Element*>(dst.get()), rows,
          cols};
}

// On a matrix that no box divides.
void verify(const std::vector<Way>& ways) {
  constexpr int rows = 1003;
  constexpr int cols = 996;
  std::vector<Element> numbers(std::size_t{rows} * cols);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Element>(i + 1);
  const std::size_t bytes = numbers.size() * sizeof(Element);
  const cuda::DeviceBuffer src(static_cast<std::int64_t>(bytes));
  const cuda::DeviceBuffer dst(static_cast<std::int64_t>(bytes));
  check(cudaMemcpy(src.get(), numbers.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  std::vector<Element> found(numbers.size());
  for (const Way& way : ways) {
    check(cudaMemset(dst.get(), 0, bytes), "cudaMemset");
    way.launch(matrices_in(src, dst, rows, cols), nullptr);
    check(cudaGetLastError(), way.kind);
    check(cudaMemcpy(found.data(), dst.get(), bytes, cudaMemcpyDeviceToHost), way.kind);
    if (found == numbers) continue;
    throw std::runtime_error(std::string(way.kind) + " " + std::to_string(way.first) + " x " +
                             std::to_string(way.second) + ": the copy is wrong");
  }
}

void measure(const std::vector<Way>& ways, int rows, int cols) {
  const std::int64_t bytes = std::int64_t{rows} * cols * static_cast<int>(sizeof(Element));
  const cuda::DeviceBuffer src(bytes);
  const cuda::DeviceBuffer dst(bytes);
  check(cudaMemset(src.get(), 1, static_cast<std::size_t>(bytes)), "cudaMemset");
  const Matrices m = matrices_in(src, dst, rows, cols);
  std::vector<cuda::Subject> subjects;
  for (const Way& way : ways) subjects.push_back([&](Stream on) { way.launch(m, on); });
  const cuda::OwnStream stream;
  const cuda::CacheFlush flush;
  const std::vector<cuda::Timing> timings =
      cuda::time_cold(subjects, flush, cuda::MeasureOptions{}, stream);
  check(cudaStreamSynchronize(stream), "timing");
  std::printf("{\"shape\": [%d, %d], \"dtype\": \"f32\", \"copies\": [", rows, cols);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const bool box = std::strcmp(ways[i].kind, "tma") == 0;
    std::printf("%s\n {\"kind\": \"%s\", \"%s\": %d, \"%s\": %d, \"seconds\": %.9f, "
                "\"noise\": %.5f, \"runs\": %d}",
                i == 0 ? "" : ",", ways[i].kind, box ? "box_rows" : "threads", ways[i].first,
                box ? "box_cols" : "vectors", ways[i].second, timings[i].seconds,
                timings[i].noise, timings[i].runs);
  }
  std::printf("]}\n");
}

int run(int argc, char** argv) {
  const int rows = argc == 3 ? std::atoi(argv[1]) : 16384;
  const int cols = argc == 3 ? std::atoi(argv[2]) : 16384;
  if ((argc != 1 && argc != 3) || rows < 1 || cols < 4 || cols % 4 != 0) {
    std::fprintf(stderr, "usage: ladder_copies [ROWS COLS], COLS a multiple of 4\n");
    return 2;
  }
  const std::vector<Way> ways = all_ways();
  verify(ways);
  measure(ways, rows, cols);
  return 0;
}

}  // namespace
}  // namespace cornerturn

int main(int argc, char** argv) {
  try {
    return cornerturn::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ladder_copies: %s\n", error.what());
    return 1;
  }
}
