// ladder_blocks [SIDE]: what blocks cost, as JSON, a line for each part. Within a part one thing
// differs at a time.
//
// starts: grids of small blocks. How many a second does a GPU start, empty or with an element each?
//
// waits: a copy of floats, with other numbers of elements a thread, loaded together or one by one,
// with a barrier or without.
//
// resident: rungs with so many blocks on an SM at a time. Shared memory that nobody uses keeps the
// others away.
//
// numbering: rungs whose blocks follow each other along the rows of the destination, or of the
// source.
//
// tiles: accesses of 4 bytes a lane through tiles of 32 x 32 and 64 x 64, plain, padded and xor-ed.
//
// The matrices have SIDE x SIDE floats (16384). What transposes is checked before it is timed.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/check.hpp"
#include "kernels/gpu_context.cuh"
#include "workshop/cuda/reference.hpp"
#include "workshop/cuda/timing.hpp"
#include "workshop/rungs/registry.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using cuda::Stream;
using Element = std::uint32_t;
using Args = ladder::MatrixArgs<Element>;

// One line of a part: the names of its figures, as JSON, and what is timed.
struct Row {
  std::string about;
  std::int64_t blocks = 0;
  cuda::Subject run;
};

struct Matrices {
  explicit Matrices(std::int64_t side)
      : src(side * side * 4, 4096, 0, 0), dst(side * side * 4, 4096, 0, 0) {
    matrix = {src.data(), dst.data(), side, side, 4};
    args = ladder::matrix_args(reinterpret_cast<const Element*>(src.data()),
                               reinterpret_cast<Element*>(dst.data()), side, side);
    cuda::fill_source(src, 4, stream);
    check(cudaStreamSynchronize(stream), "filling the source");
  }

  std::int64_t size() const { return args.rows * args.cols; }

  void verify(const std::string& what, const cuda::Subject& run) const {
    cuda::poison(dst, matrix, true, stream);
    run(stream);
    check(cudaStreamSynchronize(stream), what);
    const std::string wrong = cuda::difference(src, dst, matrix, true, stream);
    if (!wrong.empty()) throw std::runtime_error(what + ": " + wrong);
  }

  cuda::OwnStream stream;
  cuda::GuardedMatrix src;
  cuda::GuardedMatrix dst;
  cuda::DeviceMatrix matrix;
  Args args;
};

// The last row is a plain copy, which the others are compared with.
void print(const char* part, const Matrices& m, std::vector<Row> rows) {
  rows.push_back({"\"kernel\": \"plain copy\"", 0, [&](Stream on) {
                    cuda::vector_copy(m.src.data(), m.dst.data(), m.src.payload(), on);
                  }});
  std::vector<cuda::Subject> subjects;
  for (const Row& row : rows) subjects.push_back(row.run);
  cuda::MeasureOptions options;
  options.min_runs = 7;
  options.max_runs = 15;
  options.budget = 0.02;
  const std::vector<cuda::Timing> timings =
      cuda::time_cold(subjects, cuda::CacheFlush{}, options, m.stream);
  check(cudaStreamSynchronize(m.stream), part);
  const double copy = timings.back().seconds;
  std::printf("{\"shape\": [%lld, %lld], \"dtype\": \"f32\", \"%s\": [",
              static_cast<long long>(m.args.rows), static_cast<long long>(m.args.cols), part);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double seconds = timings[i].seconds;
    std::printf("%s{%s, \"seconds\": %.9f, \"noise\": %.5f, \"runs\": %d, ", i == 0 ? "" : ", ",
                rows[i].about.c_str(), seconds, timings[i].noise, timings[i].runs);
    if (rows[i].blocks > 0) {
      std::printf("\"blocks\": %lld, \"blocks_a_second\": %.4g, ",
                  static_cast<long long>(rows[i].blocks),
                  static_cast<double>(rows[i].blocks) / seconds);
    }
    std::printf("\"share_of_copy\": %.5f}", copy / seconds);
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

std::string named(const std::string& kernel) {
  return "\"kernel\": \"" + kernel + "\"";
}
std::string with(const std::string& name, std::int64_t value) {
  return ", \"" + name + "\": " + std::to_string(value);
}

// starts

__global__ void empty_kernel() {}

__global__ void element_kernel(const Element* src, Element* dst) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  dst[i] = src[i];
}

void starts(const Matrices& m) {
  std::vector<Row> rows;
  for (const unsigned shared : {0U, 4096U}) {
    for (const unsigned threads : {32U, 64U, 128U, 256U, 512U, 1024U}) {
      const auto about = [&](const char* kernel) {
        return named(kernel) + with("threads", threads) + with("shared_bytes", shared);
      };
      constexpr std::int64_t many = 1 << 22;
      rows.push_back({about("empty"), many,
                      [=](Stream on) { empty_kernel<<<many, threads, shared, on>>>(); }});
      const std::int64_t blocks = m.size() / threads;
      rows.push_back({about("an element a thread"), blocks, [=, &m](Stream on) {
                        element_kernel<<<static_cast<unsigned>(blocks), threads, shared, on>>>(
                            m.args.src, m.args.dst);
                      }});
    }
  }
  print("starts", m, rows);
}

// waits

enum class Loads { together, one_by_one };

// A block copies threads x elements neighbours. One by one: where an element is loaded from depends
// on the one before; `nothing` is 0, which the compiler cannot know.
template <int threads, int elements, Loads loads, bool barrier>
__global__ void __launch_bounds__(threads)
    copy_kernel(const Element* src, Element* dst, int nothing) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (threads * elements) + threadIdx.x;
  Element v[elements];
  const Element* from = src + first;
#pragma unroll
  for (int i = 0; i < elements; ++i) {
    v[i] = from[i * threads];
    if (loads == Loads::one_by_one && v[i] == 1) from += nothing;
  }
  if (barrier) __syncthreads();
#pragma unroll
  for (int i = 0; i < elements; ++i) dst[first + i * threads] = v[i];
}

template <int threads, int elements, Loads loads, bool barrier>
void add_copy(std::vector<Row>& rows, const Matrices& m) {
  const std::int64_t blocks = m.size() / (threads * elements);
  rows.push_back({named("copy of floats") + with("threads", threads) + with("elements", elements) +
                      ", \"loads\": \"" + (loads == Loads::together ? "together" : "one by one") +
                      "\"" + ", \"barrier\": " + (barrier ? "true" : "false"),
                  blocks, [=, &m](Stream on) {
                    copy_kernel<threads, elements, loads, barrier>
                        <<<static_cast<unsigned>(blocks), threads, 0, on>>>(m.args.src, m.args.dst,
                                                                            0);
                  }});
}

template <int threads, bool barrier>
void add_copies(std::vector<Row>& rows, const Matrices& m) {
  add_copy<threads, 1, Loads::together, barrier>(rows, m);
  add_copy<threads, 2, Loads::together, barrier>(rows, m);
  add_copy<threads, 4, Loads::together, barrier>(rows, m);
  add_copy<threads, 8, Loads::together, barrier>(rows, m);
  add_copy<threads, 2, Loads::one_by_one, barrier>(rows, m);
  add_copy<threads, 4, Loads::one_by_one, barrier>(rows, m);
}

void waits(const Matrices& m) {
  std::vector<Row> rows;
  add_copies<256, false>(rows, m);
  add_copies<256, true>(rows, m);
  add_copies<1024, false>(rows, m);
  add_copies<1024, true>(rows, m);
  print("waits", m, rows);
}

// resident and numbering

/// Blocks that follow each other read the same rows of the source.
struct AlongSource : GpuContext {
  std::uint32_t down = 1;
  std::uint32_t across = 1;

  CT_DEVICE Dim3 block_id() const {
    return {blockIdx.x / across + blockIdx.x % across * down, 0, 0};
  }
};

template <class Rung>
inline constexpr int threads_of = static_cast<int>(Rung::launch(Args{}).block.count());

template <class Rung, bool along_source>
__global__ void __launch_bounds__(threads_of<Rung>)
    rung_kernel(const __grid_constant__ Args args, std::uint32_t down, std::uint32_t across) {
  if constexpr (along_source) {
    AlongSource ctx;
    ctx.down = down;
    ctx.across = across;
    Rung::run(ctx, args);
  } else {
    GpuContext ctx;
    Rung::run(ctx, args);
  }
}

template <class Rung, bool along_source = false>
cuda::Subject launcher(const Matrices& m, int more_shared = 0) {
  const Launch launch = Rung::launch(m.args);
  // Square tiles: as many down as across.
  std::uint32_t sides = 1;
  while (std::int64_t{sides} * sides < static_cast<std::int64_t>(launch.grid.x)) ++sides;
  const std::size_t shared = launch.dynamic_shared + static_cast<std::size_t>(more_shared);
  return [=, &m](Stream on) {
    rung_kernel<Rung, along_source>
        <<<launch.grid.x, dim3(launch.block.x, launch.block.y, 1), shared, on>>>(m.args, sides,
                                                                                 sides);
    check(cudaGetLastError(), Rung::name);
  };
}

template <class Rung>
void add_resident(std::vector<Row>& rows, const Matrices& m) {
  const auto kernel = rung_kernel<Rung, false>;
  const Launch launch = Rung::launch(m.args);
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  int of_sm = 0, most = 0, reserved = 0;
  check(cudaDeviceGetAttribute(&of_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0), "device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "device");
  check(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0), "device");
  const int fixed = static_cast<int>(attributes.sharedSizeBytes + launch.dynamic_shared);
  const int room = most - static_cast<int>(attributes.sharedSizeBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room), "room");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100), "room");
  const auto resident = [&](int more) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &blocks, kernel, threads_of<Rung>,
              launch.dynamic_shared + static_cast<std::size_t>(more)),
          Rung::name);
    return blocks;
  };
  for (int wanted = resident(0); wanted >= 1; --wanted) {
    int more = wanted == resident(0) ? 0 : (of_sm / wanted - reserved - fixed) / 128 * 128;
    more = std::min(std::max(more, 0), room - static_cast<int>(launch.dynamic_shared));
    if (resident(more) != wanted) continue;
    rows.push_back({named(Rung::name) + with("threads", threads_of<Rung>) +
                        with("registers", attributes.numRegs) + with("blocks_an_sm", wanted),
                    static_cast<std::int64_t>(launch.grid.x), launcher<Rung>(m, more)});
  }
}

void resident(const Matrices& m) {
  std::vector<Row> rows;
  add_resident<ladder::Copy>(rows, m);
  add_resident<ladder::NaiveRead<16>>(rows, m);
  add_resident<ladder::NaiveRead<32>>(rows, m);
  add_resident<ladder::NaiveWrite>(rows, m);
  add_resident<ladder::SmemPad>(rows, m);
  add_resident<ladder::SmemPadVec>(rows, m);
  add_resident<ladder::SmemChunkXor>(rows, m);
  add_resident<ladder::CpyOneElement>(rows, m);
  add_resident<ladder::CpyRows>(rows, m);
  add_resident<ladder::CpyTranspose>(rows, m);
  add_resident<ladder::CpyByHand>(rows, m);
  print("resident", m, rows);
}

template <class Rung>
void add_numbering(std::vector<Row>& rows, const Matrices& m) {
  const auto blocks = static_cast<std::int64_t>(Rung::launch(m.args).grid.x);
  const cuda::Subject along_source = launcher<Rung, true>(m);
  m.verify(Rung::name, along_source);
  const std::string name = named(Rung::name) + ", \"blocks_along\": ";
  rows.push_back({name + "\"destination\"", blocks, launcher<Rung>(m)});
  rows.push_back({name + "\"source\"", blocks, along_source});
}

void numbering(const Matrices& m) {
  std::vector<Row> rows;
  add_numbering<ladder::NaiveRead<8>>(rows, m);
  add_numbering<ladder::NaiveRead<16>>(rows, m);
  add_numbering<ladder::NaiveRead<32>>(rows, m);
  add_numbering<ladder::NaiveWrite>(rows, m);
  add_numbering<ladder::SmemPad>(rows, m);
  print("numbering", m, rows);
}

// tiles

/// 32 x 8 threads move a square tile of any side, a scalar at a time: all of a thread's loads, then
/// its stores into the tile. Whole tiles alone.
template <class Map>
struct AnyTile {
  static constexpr int side = Map::rows;
  static constexpr int span = static_cast<int>(Map::required_span_size());

  CT_DEVICE static void run(GpuContext& ctx, const Args& a) {
    const auto buffer = ctx.shared<Element, span>();
    const ladder::Tile tile = ladder::tile_of(a, ctx.block_id().x, side, side);
    const int x = static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(threadIdx.y);
    Element v[side / 8][side / 32];
    const Element* src = a.src + a.src_at(tile.row + y, tile.col + x);
    CT_UNROLL
    for (int j = 0; j < side / 8; ++j) {
      CT_UNROLL
      for (int i = 0; i < side / 32; ++i) v[j][i] = ctx.load(src + 8 * j * a.cols + 32 * i);
    }
    CT_UNROLL
    for (int j = 0; j < side / 8; ++j) {
      CT_UNROLL
      for (int i = 0; i < side / 32; ++i) {
        ctx.store(buffer + Map::at(y + 8 * j, x + 32 * i), v[j][i]);
      }
    }
    ctx.barrier();
    Element* dst = a.dst + a.dst_at(tile.row + x, tile.col + y);
    CT_UNROLL
    for (int j = 0; j < side / 8; ++j) {
      CT_UNROLL
      for (int i = 0; i < side / 32; ++i) {
        ctx.store(dst + 8 * j * a.rows + 32 * i, ctx.load(buffer + Map::at(x + 32 * i, y + 8 * j)));
      }
    }
  }
};

template <class Tile>
__global__ void __launch_bounds__(256) tile_kernel(const __grid_constant__ Args args) {
  GpuContext ctx;
  Tile::run(ctx, args);
}

template <class Map>
void add_tile(std::vector<Row>& rows, const Matrices& m, const char* kind) {
  using Tile = AnyTile<Map>;
  const std::int64_t blocks = m.size() / (Tile::side * Tile::side);
  const cuda::Subject run = [=, &m](Stream on) {
    tile_kernel<Tile><<<static_cast<unsigned>(blocks), dim3(32, 8), 0, on>>>(m.args);
  };
  m.verify(kind, run);
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, tile_kernel<Tile>, 256, 0), kind);
  rows.push_back(
      {named(kind) + with("side", Tile::side) + with("blocks_an_sm", resident), blocks, run});
}

void tiles(const Matrices& m) {
  std::vector<Row> rows;
  add_tile<RowMajor<32, 32>>(rows, m, "plain");
  add_tile<Padded<32, 32, 1>>(rows, m, "padded");
  add_tile<ChunkXor<32, 32, 1>>(rows, m, "xor");
  add_tile<RowMajor<64, 64>>(rows, m, "plain");
  add_tile<Padded<64, 64, 1>>(rows, m, "padded");
  add_tile<ChunkXor<64, 64, 1>>(rows, m, "xor");
  print("tiles", m, rows);
}

int run(int argc, char** argv) {
  const std::int64_t side = argc == 2 ? std::atoll(argv[1]) : 16384;
  if (argc > 2 || side < 1024 || side > 32768 || side % 1024 != 0) {
    std::fprintf(stderr, "usage: ladder_blocks [SIDE], a multiple of 1024 up to 32768\n");
    return 2;
  }
  const Matrices m(side);
  starts(m);
  waits(m);
  resident(m);
  numbering(m);
  tiles(m);
  return 0;
}

}  // namespace
}  // namespace cornerturn

int main(int argc, char** argv) {
  try {
    return cornerturn::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ladder_blocks: %s\n", error.what());
    return 1;
  }
}
