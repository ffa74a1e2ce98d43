// What a CUDA source that runs on a CPU asks of the runtime library (../run). The headers beside
// this one make CUDA's words of it; they are compiled with ThreadSanitizer's hooks, the library is
// not. Nothing here needs another header of the project.
//
// The place of a call in the source is its return address. A header's function that calls one of
// these must therefore be always_inline: then the user's own line is found behind it.
#pragma once

#include <cstddef>
#include <cstdint>

// A function that the hooks do not see: what it touches is neither checked nor counted.
#define CT_GUEST_PLAIN __attribute__((no_sanitize("thread")))

extern "C" {
// CUDA's built-in variables, as three numbers each (x, y, z). The library sets them whenever a
// thread goes on; accesses to them are neither checked nor counted. A header declares, say,
//   extern __thread uint3 threadIdx __asm__("cornerturn_thread_idx");
extern __thread unsigned cornerturn_thread_idx[3];
extern __thread unsigned cornerturn_block_idx[3];
extern __thread unsigned cornerturn_block_dim[3];
extern __thread unsigned cornerturn_grid_dim[3];
extern __thread int cornerturn_warp_size;
// Dynamic shared memory begins here: `extern __shared__ T name[]` becomes a name of it. It has
// 227 KiB, of which a launch may touch what it asked for.
extern __thread unsigned char cornerturn_dynamic_shared[] __attribute__((aligned(1024)));
}

namespace cornerturn::guest {

/// A place that the front end or a header wrote down, where there is no return address to use.
struct Place {
  const char* file;
  unsigned line;
};

// Launches --------------------------------------------------------------------------------------

struct Launch {
  unsigned grid[3];
  unsigned block[3];
  std::size_t dynamic_shared;  ///< bytes
  const void* stream;
  bool cooperative;
};

/// Runs `thread(call)` for each thread, block after block. [call, call + bytes) holds the
/// arguments: threads may read them, and nothing is counted for it. A launch that the device would
/// refuse is not run, and its error is left for cudaGetLastError.
void launch(const char* kernel, Place place, const Launch& launch, void (*thread)(void* call),
            void* call, std::size_t bytes);

/// Is a thread of a kernel running? Functions that are __host__ and __device__ may ask.
bool in_kernel();
/// The running thread's number in its block, x fastest. Its lane is that modulo 32.
unsigned thread_rank();

// What threads of a kernel do -------------------------------------------------------------------

void block_barrier();
int block_barrier_count(int predicate);
int block_barrier_and(int predicate);
int block_barrier_or(int predicate);
/// Every block of a cooperative launch waits for all others.
void grid_barrier();
void warp_barrier(std::uint32_t mask);
/// Gives `mine` to the lanes of the mask and returns what they gave, 32 slots that stay valid until
/// the lane's next exchange. Slots of lanes outside the mask hold 0.
const std::uint64_t* warp_exchange(std::uint32_t mask, std::uint64_t mine);
/// The value of a lane, of what the exchange returned. A lane that the mask named and that has
/// ended gives none: a finding.
std::uint64_t lane_value(const std::uint64_t* slots, unsigned lane);
/// The lanes of the warp that have not ended.
std::uint32_t active_mask();

enum FenceScope { fence_block = 0, fence_device = 1, fence_system = 2 };
void fence(int scope);

/// Replaces the `width` bytes at `at` by update(old, a, b) and returns the old ones. Values of less
/// than 8 bytes are the low bytes.
std::uint64_t atomic(void* at, int width,
                     std::uint64_t (*update)(std::uint64_t old, std::uint64_t a, std::uint64_t b),
                     std::uint64_t a, std::uint64_t b);
std::uint64_t atomic_load(const void* at, int width);
void atomic_store(void* at, int width, std::uint64_t value);

/// cp.async of 4, 8 or 16 bytes: what the source does not have (source_bytes < bytes) is zero.
void copy_async(void* shared, const void* global, int bytes, int source_bytes, bool through_l1);
void commit_async();
void wait_async(int pending);

/// ldmatrix and stmatrix of `count` 8 x 8 matrices of 2 bytes: 1, 2 or 4. `row` is where the row
/// lies whose address this lane gives.
void load_matrices(std::uint32_t* out, int count, bool transposed, const void* row);
void store_matrices(const std::uint32_t* in, int count, bool transposed, void* row);

/// __cvta_generic_to_shared and its inverse.
std::uint64_t shared_address(const void* generic);
void* from_shared_address(std::uint64_t address);
/// Is it an address of shared memory, of global memory?
bool is_shared(const void* p);
bool is_global(const void* p);

/// A failed assert, __trap(): a finding, and the end of the launch.
[[noreturn]] void trap(const char* what);
/// Something that cannot be run on a CPU is reached: it is named with its place, and the program
/// ends.
[[noreturn]] void refuse(const char* what);

// Device memory ---------------------------------------------------------------------------------

enum MemoryKind { memory_device = 0, memory_managed = 1, memory_pinned = 2 };

/// Memory that is poisoned and bounded; nullptr where there is none left.
void* allocate(std::size_t bytes, int kind, Place place);

}  // namespace cornerturn::guest
