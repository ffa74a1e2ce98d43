// From two views to a checked problem: after this no offset can overflow and no element of the
// destination is written twice.
#pragma once

#include "core/problem.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/lists.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// The problem of copying `src` to `dst`, index by index, with `epilogue`. Throws an Error that
/// names the argument, its value and the rule when: ranks or shapes differ, rank > 64, an extent is
/// negative, values of one type cannot become those of the other, the epilogue names no axis, an
/// offset does not fit in 64 bits, or two destination elements share a byte. The views' pointers
/// are not looked at, those of the epilogue only for whether they are null.
Problem make_problem(const View& dst, const ConstView& src, const Epilogue& epilogue = {});

/// Does the same for views of which an axis may come from a table, which is not looked at. Throws
/// also when a list names no axis, when the two sides have lists of the same axis but other
/// extents, and when an epilogue asks for what depends on the place of a list's step.
Problem make_problem(const ListedView& dst, const ConstListedView& src, const Epilogue& epilogue);

/// Bytes before and after the first element that a side of the problem reaches: [low, high). Of
/// lists it is one step that is looked at.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
Reach src_reach(const Problem& problem);
Reach dst_reach(const Problem& problem);

/// So many bytes behind a pointer, which may be null.
inline std::uintptr_t address_of(const void* base, std::int64_t offset) {
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
}

/// Throws unless the pointers are set (for a problem that is not empty) and the address ranges of
/// the two sides are apart.
void check_pointers(const Problem& problem, const void* dst, const void* src);

/// Throws unless every vector of the problem is there and lies outside the destination.
void check_vectors(const Problem& problem, const void* dst, const Vectors& vectors);

}  // namespace cornerturn
