// What stands for a GPU's memory: one reserved range of addresses, in which allocations have gaps
// between them, begin poisoned, and are kept unusable for a while after they were freed. Of each
// byte it is known whether anyone has written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workshop/cuda_source/run/where.hpp"
#include "workshop/simt/access_history.hpp"

namespace cornerturn::cuda_source {

enum class MemoryKind {
  device,    ///< the host must not touch it
  managed,   ///< cudaMallocManaged: both may
  pinned,    ///< cudaMallocHost, cudaHostRegister: both may
  variable,  ///< __device__
  constant,  ///< __constant__: kernels may only read it
};

struct Allocation {
  Allocation(std::string name, std::byte* at, std::size_t size, MemoryKind its_kind, Where where)
      : base(at),
        bytes(size),
        kind(its_kind),
        allocated(where),
        watched(std::move(name), reinterpret_cast<std::uintptr_t>(at), size) {}

  std::byte* base;
  std::size_t bytes;
  MemoryKind kind;
  bool alive = true;
  Where allocated;
  Where freed;
  simt::Watched watched;  ///< its name is a variable's, or says how large it is

  /// The bytes from `p` to the end; 0 when `p` lies outside.
  std::size_t bytes_from(const void* p) const {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base);
    return offset < bytes ? bytes - offset : 0;
  }
  std::uint64_t offset_of(const void* p) const {
    return reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base);
  }
};

/// nullptr: the device has not that much left. Memory of 0 bytes has an address too.
void* allocate_memory(std::size_t bytes, MemoryKind kind, Where where);

enum class Freed {
  done,
  twice,    ///< it was freed before
  inside,   ///< the address is not where an allocation begins
  unknown,  ///< no such memory
};
Freed free_memory(void* p, Where where);

/// Host memory that kernels may use from now on (cudaHostRegister), and no more.
void register_host_memory(void* p, std::size_t bytes, Where where);
bool unregister_host_memory(void* p);

/// The memory that contains `p`, freed memory too; nullptr if there is none.
Allocation* find_memory(const void* p);
/// The one that ends or begins nearest to `p`, within 64 KiB.
Allocation* nearest_memory(const void* p);
/// The reserved range contains `p`, or it is a device variable.
bool is_device_address(const void* p);

/// Why the device's bytes [p, p + bytes) cannot be copied or set, as a clause: `it has 2048 B from
/// there`, `it was freed`, `it is host memory`. Empty when they can.
std::string why_unusable(const void* p, std::size_t bytes);

/// Somebody other than a kernel has written these bytes. Addresses outside device memory are
/// ignored.
void mark_written(const void* p, std::size_t bytes);
/// Bytes were copied: those that nobody had written are still unwritten, where both are the
/// device's; else they are written.
void copy_written(void* to, const void* from, std::size_t bytes);

/// All that is alive and was allocated by the program.
std::vector<const Allocation*> memory_in_use();
std::size_t device_bytes_total();
std::size_t device_bytes_free();
/// How many allocations there have been.
std::size_t allocation_count();

/// Device variables and constants: found in the program's own symbol table.
void add_variable(std::string name, void* p, std::size_t bytes, MemoryKind kind);

/// How messages call it: by a variable's name, or `memory of 4096 B (allocated at a.cu:12)`.
std::string describe(const Allocation& memory);

/// The reserved range, for the hooks.
struct Range {
  std::uintptr_t first = 0;
  std::uintptr_t bytes = 0;
  bool has(const void* p) const { return reinterpret_cast<std::uintptr_t>(p) - first < bytes; }
};
extern Range reserved_range;
/// Makes the page of a stray address in the reserved range exist, so that the program goes on.
void lend_page(const void* p);
/// Numbers of blocks have begun again: who touched what is forgotten.
void forget_touchers();

}  // namespace cornerturn::cuda_source
