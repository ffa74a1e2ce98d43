#include "cpu/engine.hpp"
#include "link/lanes.hpp"
#include "plan/link/route.hpp"

namespace cornerturn::link {
namespace {

using plan::link::Piece;
using plan::link::Pieces;
using plan::link::Span;

class PiecesOnTheirWay {
 public:
  PiecesOnTheirWay(const Pieces& pieces, bool into_gpu, const Buffers& first, Lanes& lanes)
      : pieces_(pieces), into_gpu_(into_gpu), first_(first), lanes_(lanes) {
    const std::int64_t all = pieces.slots() * pieces.slot_bytes();
    if (pieces.gpu.is_there()) gpu_ = lanes.gpu_memory(all);
    if (pieces.cpu.is_there()) pinned_ = lanes.pinned_memory(all);
  }

  void run() {
    const std::int64_t count = pieces_.cut.count();
    if (has_engine()) {
      lanes_.record(Queue::caller, begun());
      lanes_.wait(Queue::engine, begun());
    }
    for (std::int64_t n = 0; n < count; ++n) {
      if (into_gpu_) {
        into(n);
      } else {
        out_of(n);
      }
    }
    if (into_gpu_) return;  // the caller's queue has waited for every piece
    for (std::int64_t n = std::max<std::int64_t>(0, count - slots()); n < count; ++n) unpack(n);
    if (has_engine()) lanes_.wait(Queue::caller, crossed(count - 1));
  }

 private:
  void into(std::int64_t n) {
    const Piece piece = pieces_.cut.at(n);
    const Span& wire = pieces_.wire_of(piece);
    const std::byte* from = src(piece) + wire.first;
    if (pieces_.cpu.is_there()) {
      if (n >= slots()) lanes_.wait_here(crossed(n));
      cpu::execute(pieces_.cpu.of(piece), {pinned(n), src(piece), first_.vectors});
      from = pinned(n);
    }
    if (!pieces_.gpu.is_there()) return cross(n, dst(piece), from, wire.bytes);
    if (has_engine() && n >= slots()) lanes_.wait(Queue::engine, emptied(n));
    std::byte* const slot = gpu(n) + phase_of(from);
    cross(n, slot, from, wire.bytes);
    if (has_engine()) lanes_.wait(Queue::caller, crossed(n));
    lanes_.run(pieces_.gpu.of(piece), {dst(piece), slot - wire.first, first_.vectors}, 0);
    if (has_engine()) lanes_.record(Queue::caller, emptied(n));
  }

  void out_of(std::int64_t n) {
    const Piece piece = pieces_.cut.at(n);
    const Span& wire = pieces_.wire_of(piece);
    const std::byte* from = src(piece) + wire.first;
    std::byte* const host = dst(piece) + wire.first;
    if (pieces_.gpu.is_there()) {
      // The piece that had this slot has to have crossed.
      if (has_engine() && n >= slots()) lanes_.wait(Queue::caller, crossed(n));
      std::byte* const slot = gpu(n) + (pieces_.cpu.is_there() ? 0 : phase_of(host));
      lanes_.run(pieces_.gpu.of(piece), {slot - wire.first, src(piece), first_.vectors}, 0);
      if (has_engine()) {
        lanes_.record(Queue::caller, emptied(n));
        lanes_.wait(Queue::engine, emptied(n));
      }
      from = slot;
    }
    if (n >= slots()) unpack(n - slots());
    cross(n, pieces_.cpu.is_there() ? pinned(n) : host, from, wire.bytes);
  }

  void unpack(std::int64_t n) {
    if (!pieces_.cpu.is_there()) return;
    const Piece piece = pieces_.cut.at(n);
    lanes_.wait_here(crossed(n));
    cpu::execute(pieces_.cpu.of(piece), {dst(piece), pinned(n), first_.vectors});
  }

  void cross(std::int64_t n, std::byte* to, const std::byte* from, std::int64_t bytes) {
    const Queue queue = has_engine() ? Queue::engine : Queue::caller;
    lanes_.copy(queue, to, from, bytes);
    if (has_engine() || pieces_.cpu.is_there()) lanes_.record(queue, crossed(n));
  }

  // One piece, or pieces without a stage of the GPU, have nothing to work beside.
  bool has_engine() const { return pieces_.gpu.is_there() && pieces_.cut.count() > 1; }

  std::int64_t slots() const { return pieces_.slots(); }
  int slot_of(std::int64_t n) const { return static_cast<int>(n % slots()); }
  int crossed(std::int64_t n) const { return slot_of(n); }
  /// Into the GPU: its slot was read. Out of it: its slot was written.
  int emptied(std::int64_t n) const { return static_cast<int>(slots()) + slot_of(n); }
  int begun() const { return 2 * static_cast<int>(slots()); }

  std::byte* gpu(std::int64_t n) const { return gpu_ + slot_of(n) * pieces_.slot_bytes(); }
  std::byte* pinned(std::int64_t n) const { return pinned_ + slot_of(n) * pieces_.slot_bytes(); }
  const std::byte* src(const Piece& piece) const {
    return static_cast<const std::byte*>(first_.src) + piece.src;
  }
  std::byte* dst(const Piece& piece) const {
    return static_cast<std::byte*>(first_.dst) + piece.dst;
  }
  static std::int64_t phase_of(const void* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % 16);
  }

  const Pieces& pieces_;
  bool into_gpu_;
  Buffers first_;
  Lanes& lanes_;
  std::byte* gpu_ = nullptr;
  std::byte* pinned_ = nullptr;
};

}  // namespace

void execute(const plan::Plan& plan, const Buffers& buffers, Lanes& lanes) {
  const Problem& normal = plan.normal;
  if (normal.elements() == 0) return;
  Buffers first = buffers;
  first.dst = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  first.src = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  const plan::link::Route& route = plan::link::route_of(plan);
  if (route.direct != nullptr) return lanes.run(*route.direct, first, route.blocks);
  PiecesOnTheirWay(*route.pieces, plan.machine.link()->into_gpu(), first, lanes).run();
}

}  // namespace cornerturn::link
