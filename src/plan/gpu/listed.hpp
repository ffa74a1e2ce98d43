// What the families of kernels for lists have in common.
#pragma once

#include "core/buffers.hpp"
#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "core/validate.hpp"
#include "kernels/lists.hpp"
#include "plan/gpu/bind.hpp"

namespace cornerturn::plan::gpu {

/// Null, or the rule that a problem's lists break.
const char* why_no_list(const Problem& normal);

/// What is done at one step, between its first elements.
Problem step_of_list(const Problem& normal);

/// The problem with its list as an ordinary mode, whose steps lie one behind the other: what its
/// kernels move, and about as fast.
Problem in_order(const Problem& normal);

/// A problem with blocks as one without a list: the list's mode is its last, as lists of strides
/// have it.
Problem with_list_last(const Problem& normal);

/// The alignment of the first elements of all steps.
Alignment of_steps(const Problem& normal, const Alignment& start);

/// Both sides of the list, without the tables.
kernels::ListSide from_of(const Problem& normal);
kernels::ListSide to_of(const Problem& normal);

/// Puts the addresses into the arguments `src`, `dst`, `from` and `to` of a launch, and what
/// bind_values() knows of.
template <class Args, class Sides>
void bind_list(Args& args, Sides& sides, const Problem& normal, const Buffers& buffers) {
  bind_values(sides, buffers);
  const ListMode& list = normal.lists->modes.front();
  args.from.table = buffers.lists.src;
  args.to.table = buffers.lists.dst;
  // Pointers are counted from any address, which their table has.
  const auto first_of = [](const Steps& steps, const void* side, kernels::ListSide& of) {
    if (steps.places != Places::pointers) return static_cast<const std::byte*>(side);
    of.base = static_cast<std::int64_t>(address_of(of.table, 0));
    return static_cast<const std::byte*>(of.table);
  };
  const std::byte* const src = first_of(list.src, buffers.src, args.from);
  const std::byte* const dst = first_of(list.dst, buffers.dst, args.to);
  sides.src = src + normal.src_offset;
  sides.dst = const_cast<std::byte*>(dst) + normal.dst_offset;
}

}  // namespace cornerturn::plan::gpu
