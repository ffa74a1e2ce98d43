// Runs plans for the CPU.
#pragma once

#include <cstddef>

#include "core/buffers.hpp"
#include "plan/cpu/box_moves.hpp"
#include "plan/plan.hpp"

namespace cornerturn::cpu {

/// Runs the plan on its threads; returns when all is done. The pointers are those that the
/// problem's offsets count from. Nothing is allocated beyond each thread's scratch. A reduction
/// raises the std::uint64_t at the destination to its result: whoever calls sets it to 0.
void execute(const plan::Plan& plan, const Buffers& buffers);

/// Runs a move on this thread: all of it, or pieces [first, last) of a kernel that has pieces.
void run_move(const plan::BoxMove& move, const Buffers& buffers);
void run_pieces_of(const plan::BoxMove& move, const Buffers& buffers, std::int64_t first,
                   std::int64_t last);

/// Moves a box to `dst` from `src`, on this thread: what a kernel runs that moves boxes by others.
void run_move(const plan::BoxMove& move, std::byte* dst, const std::byte* src);

}  // namespace cornerturn::cpu
