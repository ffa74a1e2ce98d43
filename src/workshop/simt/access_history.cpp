#include "workshop/simt/access_history.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace cornerturn::simt {

void WrittenBytes::Free::operator()(std::uint64_t* p) const {
  std::free(p);
}

WrittenBytes::WrittenBytes(std::size_t bytes)
    : words_(static_cast<std::uint64_t*>(std::calloc(bytes / 64 + 1, sizeof(std::uint64_t)))) {
  if (!words_) throw std::bad_alloc();
}

void WrittenBytes::mark(std::uint64_t offset, std::uint64_t count) {
  while (count > 0) {
    const std::uint64_t part = std::min(count, 64 - offset % 64);
    words_[offset / 64] |= bits(offset % 64, part);
    offset += part;
    count -= part;
  }
}

std::uint64_t WrittenBytes::first_unwritten(std::uint64_t offset, std::uint64_t count) const {
  const std::uint64_t end = offset + count;
  while (offset < end) {
    const std::uint64_t part = std::min(end - offset, 64 - offset % 64);
    const std::uint64_t missing = ~words_[offset / 64] & bits(offset % 64, part);
    if (missing != 0) {
      return offset / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(missing));
    }
    offset += part;
  }
  return end;
}

void AccessHistory::forget() {
  for (Page& page : pages_) page = Page();
}

// Makes the page's cells so small that `at`, an offset or a width, is a multiple of them.
void AccessHistory::refine(Page& page, std::uint64_t at) {
  const int fits = std::min(std::countr_zero(at | (std::uint64_t{1} << widest)), widest);
  if (page.shift < 0) {
    page.shift = fits;
    page.writers.resize(page_bytes >> fits);
    return;
  }
  const std::size_t parts = std::size_t{1} << (page.shift - fits);
  const auto split = [&](auto& cells) {
    std::remove_reference_t<decltype(cells)> finer;
    finer.reserve(cells.size() * parts);
    for (const auto& cell : cells) finer.insert(finer.end(), parts, cell);
    cells = std::move(finer);
  };
  split(page.writers);
  split(page.readers);
  page.shift = fits;
}

template <class Visit>
void AccessHistory::for_each_page(std::uint64_t offset, std::uint64_t width, const Visit& visit) {
  const std::uint64_t end = offset + width;
  while (offset < end) {
    Page& page = pages_[offset / page_bytes];
    const std::uint64_t first = offset % page_bytes;
    const std::uint64_t last = std::min(end - offset, page_bytes - first) + first;
    if (page.shift < 0 || ((first | last) & ((std::uint64_t{1} << page.shift) - 1)) != 0) {
      refine(page, first | last);
    }
    visit(page, offset - first, Cells{first >> page.shift, last >> page.shift});
    offset += last - first;
  }
}

bool AccessHistory::collide(const Toucher& other, const Toucher& who, std::uint32_t before,
                            const BlockOrder& order) {
  if (other.block <= before || !other.unordered_with(who)) return false;
  const auto plain = static_cast<std::uint16_t>(How::plain);
  const auto atomic = static_cast<std::uint16_t>(How::atomic);
  if (other.how == atomic && who.how == atomic) return false;
  // Atomic or volatile on both sides is how blocks and warps hand flags to each other.
  if (other.how != plain && who.how != plain && !other.same_warp(who)) return false;
  return !order.before(other, who);
}

std::optional<AccessHistory::Conflict> AccessHistory::read(std::uint64_t offset,
                                                           std::uint64_t width, const Toucher& who,
                                                           std::uint32_t before,
                                                           const BlockOrder& order) {
  std::optional<Conflict> conflict;
  for_each_page(offset, width, [&](Page& page, std::uint64_t base, Cells cells) {
    if (page.readers.empty()) page.readers.resize(page.writers.size());
    const bool written = page.last_writer > before;
    for (std::uint64_t i = cells.first; i < cells.end; ++i) {
      Readers& readers = page.readers[i];
      if (!readers.enough(before)) {
        const bool over = readers.first.block <= before || !readers.first.unordered_with(who);
        (over ? readers.first : readers.other) = who;
      }
      if (written && !conflict && collide(page.writers[i], who, before, order)) {
        conflict = {page.writers[i], false, base + (i << page.shift)};
      }
    }
  });
  return conflict;
}

std::optional<AccessHistory::Conflict> AccessHistory::write(std::uint64_t offset,
                                                            std::uint64_t width, const Toucher& who,
                                                            std::uint32_t before,
                                                            const BlockOrder& order) {
  std::optional<Conflict> conflict;
  for_each_page(offset, width, [&](Page& page, std::uint64_t base, Cells cells) {
    page.last_writer = who.block;
    for (std::uint64_t i = cells.first; i < cells.end; ++i) {
      const std::uint64_t at = base + (i << page.shift);
      if (!conflict && !page.readers.empty()) {
        for (const Toucher& reader : {page.readers[i].first, page.readers[i].other}) {
          if (!conflict && collide(reader, who, before, order)) conflict = {reader, true, at};
        }
      }
      if (!conflict && collide(page.writers[i], who, before, order)) {
        conflict = {page.writers[i], false, at};
      }
      page.writers[i] = who;
    }
  });
  return conflict;
}

}  // namespace cornerturn::simt
