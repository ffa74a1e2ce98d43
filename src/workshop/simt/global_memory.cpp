#include "workshop/simt/global_memory.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace cornerturn::simt {

void Buffer::refine_to(std::uint64_t offset, std::uint64_t width) {
  if (((offset | width) & ((std::uint64_t{1} << shift_) - 1)) == 0) return;
  int shift = shift_;
  while (((offset | width) & ((std::uint64_t{1} << shift) - 1)) != 0) --shift;
  const std::size_t parts = std::size_t{1} << (shift_ - shift);
  const auto split = [&](auto& cells) {
    std::remove_reference_t<decltype(cells)> finer;
    finer.reserve(cells.size() * parts);
    for (const auto& cell : cells) finer.insert(finer.end(), parts, cell);
    cells = std::move(finer);
  };
  split(cells_);
  split(readers_);
  shift_ = shift;
}

std::optional<Buffer::WriteConflict> Buffer::write(std::uint64_t offset, std::uint64_t width,
                                                   const Toucher& who, const BlockOrder& order) {
  refine_to(offset, width);
  std::optional<WriteConflict> conflict;
  for (std::uint64_t i = offset >> shift_; i < (offset + width) >> shift_; ++i) {
    if (!conflict && !readers_.empty()) {
      for (const Toucher& reader : {readers_[i].first, readers_[i].other}) {
        if (reader.unordered_with(who) && !order.before(reader, who))
          conflict = {reader, true, i << shift_};
      }
    }
    if (cells_[i].block == 0) {
      cells_[i] = who;
    } else if (!conflict) {
      conflict = {cells_[i], false, i << shift_};
    }
  }
  return conflict;
}

std::optional<Buffer::ReadConflict> Buffer::read(std::uint64_t offset, std::uint64_t width,
                                                 const Toucher& who, const BlockOrder& order) {
  refine_to(offset, width);
  if (readers_.empty()) readers_.resize(cells_.size());
  std::optional<ReadConflict> conflict;
  for (std::uint64_t i = offset >> shift_; i < (offset + width) >> shift_; ++i) {
    Readers& readers = readers_[i];
    const bool known = readers.first.block == 0 || readers.first.same_thread(who);
    (known ? readers.first : readers.other) = who;
    if (conflict) continue;
    const bool unwritten = cells_[i].block == 0 && use == Use::output;
    if (unwritten || (cells_[i].unordered_with(who) && !order.before(cells_[i], who))) {
      conflict = {cells_[i], i << shift_};
    }
  }
  return conflict;
}

Buffer::Gap Buffer::unwritten() const {
  Gap gap;
  for (std::uint64_t i = 0; i < cells_.size() && i << shift_ < bytes; ++i) {
    if (cells_[i].block != 0) continue;
    const std::uint64_t first = i << shift_;
    if (gap.bytes == 0) gap.first = first;
    gap.bytes += std::min<std::uint64_t>(std::uint64_t{1} << shift_, bytes - first);
  }
  return gap;
}

void GlobalMemory::add(std::string name, const void* base, std::size_t bytes, Use use) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.base = const_cast<std::byte*>(static_cast<const std::byte*>(base));
  buffer.bytes = bytes;
  buffer.use = use;
  const std::uint64_t phase = reinterpret_cast<std::uintptr_t>(base) % 16;
  std::uint64_t end = 1 << 20;
  if (!buffers_.empty()) end = buffers_.back().device_address + buffers_.back().bytes;
  buffer.device_address = (end + 255) / 256 * 256 + phase;
  buffers_.push_back(std::move(buffer));
}

void GlobalMemory::begin_launch() {
  for (Buffer& buffer : buffers_) {
    if (buffer.use == Use::input) continue;
    const std::size_t cell = std::size_t{1} << buffer.shift_;
    buffer.cells_.assign((buffer.bytes + cell - 1) / cell, Toucher{});
    buffer.readers_.clear();
  }
}

const Buffer* GlobalMemory::nearest(const void* p) const {
  const Buffer* best = nullptr;
  std::uint64_t least = ~std::uint64_t{0};
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  for (const Buffer& buffer : buffers_) {
    const auto base = reinterpret_cast<std::uintptr_t>(buffer.base);
    const std::uint64_t distance = at < base                  ? base - at
                                   : at - base > buffer.bytes ? at - base - buffer.bytes
                                                              : 0;
    if (distance < least) {
      least = distance;
      best = &buffer;
    }
  }
  return best;
}

}  // namespace cornerturn::simt
