// Which memory an access of the program goes to, and whether it may.
#include <fmt/format.h>

#include <algorithm>

#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/launch_error.hpp"
#include "workshop/cuda_source/run/running.hpp"

namespace cornerturn::cuda_source {

namespace {

using simt::How;
using simt::Op;

constexpr bool stores(Op op) {
  return op == Op::global_store || op == Op::shared_store || op == Op::stmatrix;
}

const char* action(Op op) {
  switch (op) {
    case Op::global_store:
    case Op::shared_store:
    case Op::stmatrix:
      return "stores";
    case Op::global_atomic:
    case Op::shared_atomic:
      return "updates";
    case Op::async_copy:
      return "copies";
    default:
      return "loads";
  }
}

std::uintptr_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

// The last allocation that each place in the code has touched.
constexpr std::size_t remembered = 256;
Allocation* recent[remembered];

Allocation*& recent_of(const void* code) {
  return recent[(address(code) ^ address(code) >> 8) % remembered];
}

bool misaligned(const void* p, int width) {
  return address(p) % static_cast<unsigned>(width) != 0;
}

std::string must_be_multiple(int width) {
  return fmt::format("the address must be a multiple of {}", width);
}

// An access that a GPU answers by ending the launch.
[[noreturn]] void end_launch(int error = illegal_address) {
  set_launch_error(error);
  engine().stop();
}

void explain_stray(const void* p, int width, Op op, const void* code) {
  const Allocation* near = nearest_memory(p);
  if (near == nullptr) {
    note_thread("out_of_bounds", "", 0, "there is no allocation at this address", action(op), width,
                code);
    return;
  }
  const auto offset = static_cast<std::int64_t>(address(p) - address(near->base));
  const std::string where = offset < 0 ? fmt::format("{} B before {}", -offset, describe(*near))
                                       : fmt::format("at byte {} of {}", offset, describe(*near));
  note_thread("out_of_bounds", describe(*near), offset < 0 ? 0 : static_cast<std::uint64_t>(offset),
              where, action(op), width, code);
}

}  // namespace

void forget_recent() {
  std::fill(std::begin(recent), std::end(recent), nullptr);
}

Allocation* global_memory_at(const void* p, int width, Op op, const void* code) {
  const auto size = static_cast<std::size_t>(width);
  Allocation*& last = recent_of(code);
  Allocation* memory = last;
  if (memory == nullptr || memory->bytes_from(p) < size) {
    memory = find_memory(p);
    if (memory == nullptr || memory->bytes_from(p) < size) {
      explain_stray(p, width, op, code);
      if (reserved_range.has(p)) lend_page(p);
      return nullptr;
    }
    if (!memory->alive) {
      note_thread("use_after_free", describe(*memory), memory->offset_of(p), "it was freed before",
                  action(op), width, code);
      return nullptr;
    }
    if (memory->kind != MemoryKind::constant) last = memory;
  }
  if (memory->kind == MemoryKind::constant && op != Op::global_load) {
    note_thread("out_of_bounds", describe(*memory), memory->offset_of(p),
                "a kernel may only read constant memory", action(op), width, code);
    return nullptr;
  }
  if (misaligned(p, width)) {
    note_thread("misaligned", describe(*memory), memory->offset_of(p), must_be_multiple(width),
                action(op), width, code);
    end_launch(misaligned_address);
  }
  return memory;
}

void touch_global(const void* p, int width, Op op, How how, const void* code) {
  Allocation* memory = global_memory_at(p, width, op, code);
  if (memory == nullptr) return;
  engine().touch(memory->watched, memory->offset_of(p), width, op, how, site_of(address(code)));
}

// Shared memory -----------------------------------------------------------------------------------

namespace {

void explain_stray_shared(const void* p, int width, Op op, const void* code) {
  const SharedArray* before = nullptr;
  for (const SharedArray& array : running.arrays) {
    if (array.first <= address(p)) before = &array;
  }
  if (before == nullptr) {
    note_thread("out_of_bounds", "shared memory", 0, "there is no shared array at this address",
                action(op), width, code);
    return;
  }
  const std::uint64_t byte = address(p) - before->first;
  note_thread("out_of_bounds", before->name, byte,
              before->bytes == 0 ? std::string("the launch asked for no dynamic shared memory")
                                 : fmt::format("at byte {} of {}, which has {} B", byte,
                                               before->name, before->bytes),
              action(op), width, code);
}

// Thread-local storage that no kernel touches may be the host's: it is left alone.
void place(SharedArray& array, const void* code) {
  array.poison();
  try {
    array.address = engine().static_shared(&array, array.bytes);
  } catch (const std::exception& error) {
    note_thread("launch", array.name, 0, error.what(), "touches", 0, code);
    engine().stop();
  }
}

}  // namespace

void SharedArray::poison() {
  if (clean) return;
  std::fill_n(reinterpret_cast<std::byte*>(first), bytes, std::byte{0xff});
  clean = true;
}

SharedArray* shared_array_at(const void* p, int width, Op op, const void* code) {
  const auto size = static_cast<std::size_t>(width);
  SharedArray* array = running.last_array;
  if (array == nullptr || !array->has(address(p), size)) {
    auto& all = running.arrays;
    const auto after =
        std::upper_bound(all.begin(), all.end(), address(p),
                         [](std::uintptr_t at, const SharedArray& one) { return at < one.first; });
    array = after == all.begin() ? nullptr : &*std::prev(after);
    if (array == nullptr || !array->has(address(p), size)) {
      for (const Range& plain : running.plain_locals) {
        if (plain.has(p)) return nullptr;
      }
      explain_stray_shared(p, width, op, code);
      return nullptr;
    }
    running.last_array = array;
  }
  if (array->address == SharedArray::unplaced) place(*array, code);
  array->clean = false;
  if (misaligned(p, width)) {
    note_thread("misaligned", array->name, address(p) - array->first, must_be_multiple(width),
                action(op), width, code);
    end_launch(misaligned_address);
  }
  return array;
}

void touch_shared(const void* p, int width, Op op, How how, const void* code) {
  const SharedArray* array = shared_array_at(p, width, op, code);
  if (array == nullptr) return;
  const auto offset = static_cast<std::uint32_t>(address(p) - array->first);
  engine().touch_shared(array->address + offset, width, op, how, site_of(address(code)), p);
}

const SharedArray* array_of_address(std::uint64_t at) {
  for (const SharedArray& array : running.arrays) {
    if (array.address != SharedArray::unplaced && at - array.address < array.bytes) return &array;
  }
  return nullptr;
}

// Everything else
// -----------------------------------------------------------------------------------

void touch_other(const void* p, int width, Op op, How how, const void* code) {
  if (find_memory(p) != nullptr) {
    touch_global(p, width, op, how, code);
    return;
  }
  if (!stores(op)) {
    for (const ProgramSymbols::Span& span : program().constants) {
      if (address(p) - span.first < span.bytes) return;
    }
  }
  constexpr std::uintptr_t null_page = 1 << 16;
  if (address(p) < null_page) {
    note_thread("out_of_bounds", "", address(p), "it is a null pointer", action(op), width, code);
  } else if (const Allocation* near = nearest_memory(p); near != nullptr) {
    explain_stray(p, width, op, code);
    if (!reserved_range.has(near->base)) return;
  } else {
    note_thread("host_memory", "", 0, "it is memory of the host, which a kernel cannot reach",
                action(op), width, code);
  }
  end_launch();
}

void touch_on_host(const void* p, std::size_t width, bool store, const void* code) {
  const Allocation* memory = find_memory(p);
  if (memory == nullptr) {
    lend_page(p);
    add_host_finding("out_of_bounds", false,
                     "host code touches device memory where there is no allocation", at_code(code));
    return;
  }
  if (memory->alive && memory->bytes_from(p) >= width && memory->kind != MemoryKind::device) return;
  const char* verb = store ? "writes to" : "reads";
  if (!memory->alive) {
    add_host_finding(
        "use_after_free", false,
        fmt::format("host code {} {}, which was freed before", verb, describe(*memory)),
        at_code(code));
  } else if (memory->kind == MemoryKind::device) {
    add_host_finding("host_access", false,
                     fmt::format("host code {} device {}: a host's pointer cannot reach it", verb,
                                 describe(*memory)),
                     at_code(code));
  } else {
    add_host_finding("out_of_bounds", false,
                     fmt::format("host code {} {} B at byte {} of {}", verb, width,
                                 memory->offset_of(p), describe(*memory)),
                     at_code(code));
  }
}

}  // namespace cornerturn::cuda_source
