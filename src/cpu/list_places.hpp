// Tables of places, as kernels of the CPU read them.
#pragma once

#include <cstdint>

#include "core/buffers.hpp"
#include "core/lists.hpp"
#include "core/problem.hpp"
#include "cpu/kernel.hpp"

namespace cornerturn::cpu {

/// Where the entries of one side's table lie, in bytes from the buffer of that side.
class ListPlaces {
 public:
  ListPlaces() = default;
  ListPlaces(const Steps& steps, const void* table, const void* base)
      : steps_(steps), table_(table), base_(reinterpret_cast<std::intptr_t>(base)) {}

  bool is_missing(std::int64_t k) const {
    const std::int64_t entry = entry_of(steps_.places, table_, k);
    return steps_.places == cornerturn::Places::pointers ? entry == 0 : entry < 0;
  }
  std::int64_t offset(std::int64_t k) const {
    const std::int64_t entry = entry_of(steps_.places, table_, k);
    return steps_.places == cornerturn::Places::pointers ? entry - base_ : entry * steps_.stride;
  }

 private:
  Steps steps_;
  const void* table_ = nullptr;
  std::intptr_t base_ = 0;
};

/// The tables of both sides of a problem with lists. The buffers are those that a kernel gets, and
/// begin as first_of_lists() says.
struct ListsOf {
  ListPlaces src;
  ListPlaces dst;

  ListsOf(const Problem& normal, const Buffers& buffers) {
    for (const ListMode& mode : normal.lists->modes) {
      if (mode.src.from_table()) {
        src = {mode.src, buffers.lists.src, src_of(buffers) - normal.src_offset};
      }
      if (mode.dst.from_table()) {
        dst = {mode.dst, buffers.lists.dst, dst_of(buffers) - normal.dst_offset};
      }
    }
  }
};

/// The buffers, in which a side whose table holds pointers begins at the first of them: offsets
/// count from there. The tables have no null pointer that is read through.
inline Buffers first_of_lists(const Problem& normal, Buffers buffers) {
  const auto first = [](const ListMode& mode, const void* table) {
    auto* const* const pointers = static_cast<void* const*>(table);
    std::int64_t k = 0;
    while (k + 1 < mode.extent && pointers[k] == nullptr) ++k;
    return pointers[k];
  };
  for (const ListMode& mode : normal.lists->modes) {
    if (mode.src.places == cornerturn::Places::pointers)
      buffers.src = first(mode, buffers.lists.src);
    if (mode.dst.places == cornerturn::Places::pointers)
      buffers.dst = first(mode, buffers.lists.dst);
  }
  return buffers;
}

}  // namespace cornerturn::cpu
