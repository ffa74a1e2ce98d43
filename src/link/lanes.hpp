// What a route across the link asks of a GPU: two queues, memory for what is on its way, events.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/buffers.hpp"
#include "plan/plan.hpp"

namespace cornerturn::link {

enum class Queue : std::uint8_t {
  caller,  ///< of whoever calls: the GPU's kernels, and copies that stand alone
  engine,  ///< copies beside them
};

/// Work on a queue is done in order. Events have numbers from 0 on; a wait is for the latest time
/// that an event was recorded.
class Lanes {
 public:
  virtual ~Lanes() = default;

  /// Memory of the GPU, ordered as work of the caller's queue. Asked for once at most.
  virtual std::byte* gpu_memory(std::int64_t bytes) = 0;
  /// Pinned memory of the host, with which nothing happens any more. Asked for once at most.
  virtual std::byte* pinned_memory(std::int64_t bytes) = 0;

  virtual void copy(Queue queue, void* dst, const void* src, std::int64_t bytes) = 0;
  /// A plan for the GPU, on the caller's queue. blocks > 0: on at most so many.
  virtual void run(const plan::Plan& plan, const Buffers& buffers, int blocks) = 0;

  virtual void record(Queue queue, int event) = 0;
  virtual void wait(Queue queue, int event) = 0;
  /// The calling thread waits.
  virtual void wait_here(int event) = 0;
};

/// Runs a plan for a link. The pointers are those that the problem's offsets count from. What the
/// CPU does on the host's side is done when this returns, and so is what it reads or writes there;
/// all else is enqueued, and done when the caller's queue has come so far.
void execute(const plan::Plan& plan, const Buffers& buffers, Lanes& lanes);

}  // namespace cornerturn::link
