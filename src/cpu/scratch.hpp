// Memory that a thread works in, kept from call to call so that running a plan allocates nothing
// once it has run before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "core/per_thread.hpp"

namespace cornerturn::cpu {

/// Who works in a thread's scratch. A converting kernel holds a box in its own while a moving
/// kernel moves that box, and the blocks kernel one that a converting kernel works on, so each has
/// its own; two kernels of the same kind never run inside each other.
enum class Scratch : std::uint8_t { moving, converting, blocks };

/// Scratch begins with a page, so that where it begins in a line, or in the sets of a cache, is the
/// same in every run.
inline constexpr std::size_t scratch_alignment = 4096;

/// At least `bytes` bytes of this thread's own, with any contents. They stay where they are until
/// the next call for the same use. Throws std::bad_alloc.
std::byte* thread_scratch(Scratch use, std::size_t bytes);

/// Scratch that holds an object, made anew by its default initialisation.
template <class T>
T& thread_scratch(Scratch use) {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= scratch_alignment);
  return *new (thread_scratch(use, sizeof(T))) T;
}

/// This thread's own T as its last user left it: what a kernel works out once for many calls.
template <class T>
T& thread_memo() {
  return PerThread<T>::get();
}

}  // namespace cornerturn::cpu
