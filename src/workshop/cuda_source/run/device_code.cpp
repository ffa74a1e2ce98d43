// What threads of a kernel ask for: barriers, exchanges, atomics, asynchronous copies, matrices.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/launch_error.hpp"
#include "workshop/cuda_source/run/report.hpp"
#include "workshop/cuda_source/run/running.hpp"

namespace cornerturn::cuda_source {
void touch_atomic(const void* p, int width, bool loads, bool stores, const void* code);
}  // namespace cornerturn::cuda_source

namespace cornerturn::guest {

using cuda_source::engine;
using cuda_source::running;
using cuda_source::show_indices;
using simt::Op;

#define CT_CODE __builtin_extract_return_addr(__builtin_return_address(0))

namespace {

simt::Site site(const void* code) {
  return cuda_source::site_of(reinterpret_cast<std::uintptr_t>(code));
}

simt::Engine::Votes meet(bool yes, const void* code) {
  const simt::Engine::Votes votes = engine().vote(yes, site(code));
  show_indices();
  return votes;
}

std::uint64_t read_value(const void* at, int width) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, static_cast<std::size_t>(width));
  return value;
}

void write_value(void* at, int width, std::uint64_t value) {
  std::memcpy(at, &value, static_cast<std::size_t>(width));
}

// Generic addresses and those of shared memory differ by this much.
std::uintptr_t shared_begin() {
  constexpr std::uintptr_t room = 1 << 24;  // for static arrays, which lie before
  return reinterpret_cast<std::uintptr_t>(&cornerturn_dynamic_shared) - room;
}

}  // namespace

void block_barrier() {
  meet(false, CT_CODE);
}

int block_barrier_count(int predicate) {
  return meet(predicate != 0, CT_CODE).yes;
}

int block_barrier_and(int predicate) {
  const simt::Engine::Votes votes = meet(predicate != 0, CT_CODE);
  return votes.yes == votes.all ? 1 : 0;
}

int block_barrier_or(int predicate) {
  return meet(predicate != 0, CT_CODE).yes > 0 ? 1 : 0;
}

void grid_barrier() {
  const void* code = CT_CODE;
  if (!running.cooperative) {
    cuda_source::note_thread("launch", "", 0,
                             "a barrier of the whole grid needs a cooperative launch "
                             "(cudaLaunchCooperativeKernel)",
                             "waits", 0, code);
    cuda_source::set_launch_error(cuda_source::launch_failure);
    engine().stop();
  }
  engine().grid_barrier(site(code));
  show_indices();
}

void warp_barrier(std::uint32_t mask) {
  engine().warp_barrier(mask, site(CT_CODE));
  show_indices();
}

const std::uint64_t* warp_exchange(std::uint32_t mask, std::uint64_t mine) {
  const std::uint64_t* slots = engine().exchange(mask, mine, site(CT_CODE));
  show_indices();
  return slots;
}

std::uint64_t lane_value(const std::uint64_t* slots, unsigned lane) {
  lane %= 32;
  const simt::Engine::Meeting met = engine().last_meeting();
  if (((met.mask & ~met.lanes) >> lane & 1U) != 0) {
    const bool there = thread_rank() / 32 * 32 + lane < engine().launch().block.count();
    cuda_source::note_thread(
        "divergent_barrier", "", 0,
        fmt::format("the mask {:#010x} names lane {}, which {}: nobody gives the value", met.mask,
                    lane, there ? "has ended" : "the block does not have"),
        "reads", 0, CT_CODE, true);
  }
  return slots[lane];
}

std::uint32_t active_mask() {
  const std::uint32_t mask = engine().converge(site(CT_CODE));
  show_indices();
  return mask;
}

void fence(int) {
  if (running.in_kernel) engine().fence();
}

std::uint64_t atomic(void* at, int width,
                     std::uint64_t (*update)(std::uint64_t old, std::uint64_t a, std::uint64_t b),
                     std::uint64_t a, std::uint64_t b) {
  cuda_source::touch_atomic(at, width, true, true, CT_CODE);
  const std::uint64_t old = read_value(at, width);
  write_value(at, width, update(old, a, b));
  return old;
}

std::uint64_t atomic_load(const void* at, int width) {
  cuda_source::touch_atomic(at, width, true, false, CT_CODE);
  return read_value(at, width);
}

void atomic_store(void* at, int width, std::uint64_t value) {
  cuda_source::touch_atomic(at, width, false, true, CT_CODE);
  write_value(at, width, value);
}

// Asynchronous copies
// ---------------------------------------------------------------------------------

void copy_async(void* shared, const void* global, int bytes, int source_bytes, bool through_l1) {
  const void* code = CT_CODE;
  const cuda_source::SharedArray* array =
      running.locals.has(shared) ? cuda_source::shared_array_at(shared, bytes, Op::async_copy, code)
                                 : nullptr;
  if (array == nullptr) {
    if (!running.locals.has(shared)) {
      cuda_source::note_thread("out_of_bounds", "shared memory", 0,
                               "an asynchronous copy goes to shared memory", "copies", bytes, code);
    }
    return;
  }
  cuda_source::Allocation* memory = nullptr;
  const int from_bytes = source_bytes < 0 ? 0 : source_bytes < bytes ? source_bytes : bytes;
  if (from_bytes > 0) {
    // An aligned copy of fewer bytes reads only those.
    memory = cuda_source::global_memory_at(global, 1, Op::async_copy, code);
    if (memory != nullptr) {
      const bool whole = memory->bytes_from(global) >= static_cast<std::size_t>(from_bytes);
      const bool aligned =
          reinterpret_cast<std::uintptr_t>(global) % static_cast<unsigned>(bytes) == 0;
      if (!whole || !aligned) {
        memory = cuda_source::global_memory_at(global, bytes, Op::async_copy, code);
      }
    }
    if (memory == nullptr) return;
  }
  const auto to = static_cast<std::uint32_t>(
      array->address + (reinterpret_cast<std::uintptr_t>(shared) - array->first));
  engine().touch_copy(to, static_cast<std::byte*>(shared),
                      memory == nullptr ? nullptr : &memory->watched,
                      memory == nullptr ? 0 : memory->offset_of(global), global, bytes, from_bytes,
                      through_l1, site(code));
}

void commit_async() {
  engine().commit_async();
}

void wait_async(int pending) {
  engine().wait_async(pending, site(CT_CODE));
}

// Matrices
// ----------------------------------------------------------------------------------------------

namespace {

// The 8 rows of 16 bytes of each matrix, whose addresses lanes 8 m to 8 m + 7 have given.
const std::uint64_t* rows(Op op, int count, const void* row, const void* code) {
  const unsigned lane = thread_rank() % 32;
  if (lane < 8 * static_cast<unsigned>(count)) {
    if (running.locals.has(row)) {
      cuda_source::touch_shared(row, 16, op, simt::How::plain, code);
    } else {
      cuda_source::note_thread("out_of_bounds", "shared memory", 0,
                               "the rows of ldmatrix and stmatrix lie in shared memory", "loads",
                               16, code);
      cuda_source::set_launch_error(cuda_source::illegal_address);
      engine().stop();
    }
  }
  const std::uint64_t* all =
      engine().exchange(0xffffffffU, reinterpret_cast<std::uintptr_t>(row), site(code));
  show_indices();
  return all;
}

// Half `half` of this lane's part of matrix m: row and column of it, or transposed.
std::byte* element(const std::uint64_t* rows, int m, int half, bool transposed) {
  const unsigned lane = thread_rank() % 32;
  unsigned row = lane / 4;
  unsigned column = 2 * (lane % 4) + static_cast<unsigned>(half);
  if (transposed) std::swap(row, column);
  auto* begin = reinterpret_cast<std::byte*>(rows[8 * static_cast<unsigned>(m) + row]);
  return begin + 2 * column;
}

}  // namespace

void load_matrices(std::uint32_t* out, int count, bool transposed, const void* row) {
  const std::uint64_t* all = rows(Op::ldmatrix, count, row, CT_CODE);
  for (int m = 0; m < count; ++m) {
    std::uint16_t halves[2];
    for (int half = 0; half < 2; ++half) {
      std::memcpy(&halves[half], element(all, m, half, transposed), 2);
    }
    std::memcpy(&out[m], halves, 4);
  }
}

void store_matrices(const std::uint32_t* in, int count, bool transposed, void* row) {
  const std::uint64_t* all = rows(Op::stmatrix, count, row, CT_CODE);
  for (int m = 0; m < count; ++m) {
    std::uint16_t halves[2];
    std::memcpy(halves, &in[m], 4);
    for (int half = 0; half < 2; ++half) {
      std::memcpy(element(all, m, half, transposed), &halves[half], 2);
    }
  }
}

// Addresses
// ---------------------------------------------------------------------------------------------

std::uint64_t shared_address(const void* generic) {
  return reinterpret_cast<std::uintptr_t>(generic) - shared_begin();
}

void* from_shared_address(std::uint64_t address) {
  return reinterpret_cast<void*>(shared_begin() + static_cast<std::uint32_t>(address));
}

bool is_shared(const void* p) {
  return running.locals.has(p);
}

bool is_global(const void* p) {
  return cuda_source::is_device_address(p);
}

// Ends
// --------------------------------------------------------------------------------------------------

void trap(const char* what) {
  if (!running.in_kernel) {
    cuda_source::add_host_finding("trap", false, what, cuda_source::at_code(CT_CODE));
    std::abort();
  }
  cuda_source::note_thread("trap", "", 0, what, "stops", 0, CT_CODE);
  cuda_source::set_launch_error(cuda_source::assert_failed);
  engine().stop();
}

void refuse(const char* what) {
  if (running.in_kernel) {
    cuda_source::note_thread("refused", "", 0, what, "asks", 0, CT_CODE);
  } else {
    cuda_source::add_host_finding("refused", false, what, cuda_source::at_code(CT_CODE));
  }
  cuda_source::write_report(true);
  std::fflush(nullptr);
  std::_Exit(2);
}

}  // namespace cornerturn::guest
