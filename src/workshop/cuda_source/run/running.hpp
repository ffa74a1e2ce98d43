// The state of the program while a kernel runs: what the hooks look at first, and what a launch
// shares with the functions that its threads call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workshop/cuda_source/guest/cornerturn_guest_abi.hpp"
#include "workshop/cuda_source/run/counts.hpp"
#include "workshop/cuda_source/run/device_memory.hpp"
#include "workshop/cuda_source/run/elf_symbols.hpp"
#include "workshop/cuda_source/run/where.hpp"
#include "workshop/simt/engine.hpp"

namespace cornerturn::cuda_source {

/// An array in shared memory: thread-local storage of the program.
struct SharedArray {
  std::string name;
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
  std::uint32_t address =
      unplaced;        ///< for the engine; the launch has not touched it yet: unplaced
  bool clean = false;  ///< poisoned, and nobody has touched it since

  static constexpr std::uint32_t unplaced = 0xffffffffU;
  void poison();
  bool has(std::uintptr_t p, std::size_t width) const {
    return p - first < bytes && bytes - (p - first) >= width;
  }
};

struct Running {
  bool in_kernel = false;
  Range locals;     ///< thread-local storage of the thread that launches
  Range stacks;     ///< of the kernel's threads
  Range arguments;  ///< of the launch
  std::uintptr_t load_address = 0;

  const char* kernel = "";
  KernelCounts* counts = nullptr;
  std::vector<SharedArray> arrays;  ///< by address; the first is dynamic shared memory
  SharedArray* last_array = nullptr;
  std::vector<Range> plain_locals;  ///< that are no shared arrays: what the library itself has
  void (*thread)(void*) = nullptr;
  void* call = nullptr;
  bool cooperative = false;
  std::uint64_t begun_blocks = 0;
  Dim3 block;
  // A thread that looks at one flag again and again waits for another thread.
  const void* last_flag = nullptr;
  int looks = 0;
};
extern constinit Running running;  // hooks are called before constructors run

simt::Engine& engine();
const ProgramSymbols& program();
/// Reads the program's symbols and makes its variables known, once.
void start_up();

/// Where the engine says that a place of the program is, and back.
simt::Site site_of(std::uintptr_t code);
Where where_of(const simt::Site& site);
bool is_code_site(const simt::Site& site);

// What the hooks have not answered at once (access.cpp). `code` is the return address.
void touch_global(const void* p, int width, simt::Op op, simt::How how, const void* code);
void touch_shared(const void* p, int width, simt::Op op, simt::How how, const void* code);
void touch_other(const void* p, int width, simt::Op op, simt::How how, const void* code);
void touch_on_host(const void* p, std::size_t width, bool store, const void* code);

/// The shared array that contains all the bytes, placed for the launch; nullptr, after a finding,
/// if there is none.
SharedArray* shared_array_at(const void* p, int width, simt::Op op, const void* code);
/// The allocation that contains all the bytes and may be used so; nullptr, after a finding.
Allocation* global_memory_at(const void* p, int width, simt::Op op, const void* code);
/// Which array, or what else, the engine's address is in.
const SharedArray* array_of_address(std::uint64_t address);

/// A finding of the running thread.
void note_thread(const char* kind, std::string memory, std::uint64_t byte, std::string message,
                 const char* action, int bytes, const void* code, bool warning = false);

/// The running thread's numbers become CUDA's variables: after each wait.
void show_indices();

}  // namespace cornerturn::cuda_source
