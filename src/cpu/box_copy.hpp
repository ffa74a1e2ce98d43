// What the kernels that copy boxes from tables of places share: what boxes are made of, what is
// fetched of the source, and how stretches of a few bytes are copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/problem.hpp"
#include "cpu/kernel.hpp"
#include "plan/cpu/box_grid.hpp"

namespace cornerturn::cpu {

constexpr std::int64_t memory_line = 64;

/// Where something lies on both sides.
struct Places {
  std::int64_t src;
  std::int64_t dst;
};

/// The lines of a whole box on one side.
struct BoxLines {
  static constexpr int most = 4096;

  int count;
  std::int64_t at[most];
};

/// Modes of a box of `shape`, with its extents, by the strides of a side: smallest first.
template <class Config>
struct BoxModes {
  std::array<Mode, Config::most_parts> modes;
  int rank = 0;

  BoxModes(const Config& config, const Problem& normal, const plan::BoxGrid& grid, int shape,
           std::int64_t Mode::*stride) {
    for (int k = 0; k < config.part_count; ++k) {
      const int i = config.parts[slot(k)].mode;
      Mode mode = normal.modes[i];
      mode.extent = grid.count_of(shape, i, normal.modes[i]);
      if (mode.extent == 1) continue;
      int place = rank++;
      for (; place > 0 && std::abs(modes[slot(place - 1)].*stride) > std::abs(mode.*stride);
           --place) {
        modes[slot(place)] = modes[slot(place - 1)];
      }
      modes[slot(place)] = mode;
    }
  }
};

/// The lines of the side that `stride` tells. What lies together anyway has `bytes` bytes.
template <class Config>
void make_lines(const Config& config, std::int64_t bytes, const Problem& normal,
                const plan::BoxGrid& grid, std::int64_t Mode::*stride, BoxLines& lines) {
  const BoxModes<Config> box(config, normal, grid, 0, stride);
  std::int64_t low = 0;
  lines.count = 0;
  int i = 0;
  for (; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    if (std::abs(mode.*stride) > bytes + memory_line) break;
    const std::int64_t more = (mode.extent - 1) * (mode.*stride);
    bytes += std::abs(more);
    low += std::min<std::int64_t>(more, 0);
  }
  const auto put = [&](std::int64_t at) {
    if (lines.count < BoxLines::most) lines.at[lines.count++] = at;
  };
  for (std::int64_t at = 0; at < bytes; at += memory_line) put(low + at);
  put(low + bytes - 1);
  for (; i < box.rank; ++i) {
    const Mode& mode = box.modes[slot(i)];
    const int filled = lines.count;
    for (std::int64_t k = 1; k < mode.extent; ++k) {
      for (int n = 0; n < filled; ++n) put(lines.at[n] + k * (mode.*stride));
    }
  }
}

/// Fetches a line that is going to be written.
inline void fetch_to_write(const std::byte* at) {
#if defined(__x86_64__)
  // GCC's builtin gives this only where the processor is named; others take it as a no-op.
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1, 2);
#endif
}

/// Fetches the lines of the next box on one side, some in each of `turns` turns, unless they are
/// there.
class BoxFetcher {
 public:
  BoxFetcher(const BoxLines& lines, const std::byte* base, std::int64_t turns, bool there = false)
      : lines_(lines),
        base_(base),
        step_(static_cast<int>((lines.count + turns - 1) / turns)),
        next_(there ? lines.count : 0) {}

  void to_read() {
    each([](const std::byte* at) { __builtin_prefetch(at, 0, 2); });
  }
  void to_write() { each(fetch_to_write); }

 private:
  template <class Fetch>
  void each(const Fetch& fetch) {
    const int last = std::min(next_ + step_, lines_.count);
    for (; next_ < last; ++next_) fetch(base_ + lines_.at[next_]);
  }

  const BoxLines& lines_;
  const std::byte* base_;
  int step_;
  int next_;
};

/// Copies atoms of `bytes` bytes: `least` of them at a time, twice, which may overlap, is exact.
template <int least, bool exact>
struct CopyAtom {
  std::int64_t bytes;

  void operator()(std::byte* dst, const std::byte* src) const {
    std::byte first[least];
    std::memcpy(first, src, least);
    if constexpr (exact) {
      std::memcpy(dst, first, least);
    } else {
      std::byte last[least];
      std::memcpy(last, src + bytes - least, least);
      std::memcpy(dst, first, least);
      std::memcpy(dst + bytes - least, last, least);
    }
  }
};

struct CopyLongAtom {
  std::int64_t bytes;

  void operator()(std::byte* dst, const std::byte* src) const {
    for (std::int64_t k = 0; k + memory_line <= bytes; k += memory_line) {
      std::memcpy(dst + k, src + k, memory_line);
    }
    std::memcpy(dst + bytes - memory_line, src + bytes - memory_line, memory_line);
  }
};

/// Calls use(copy) with what copies atoms of this length.
template <class Use>
void with_copy(std::int64_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(CopyAtom<1, true>{bytes});
    case 2:
      return use(CopyAtom<2, true>{bytes});
    case 4:
      return use(CopyAtom<4, true>{bytes});
    case 8:
      return use(CopyAtom<8, true>{bytes});
    case 16:
      return use(CopyAtom<16, true>{bytes});
    default:
      break;
  }
  if (bytes < 4) return use(CopyAtom<2, false>{bytes});
  if (bytes < 8) return use(CopyAtom<4, false>{bytes});
  if (bytes < 16) return use(CopyAtom<8, false>{bytes});
  if (bytes < 32) return use(CopyAtom<16, false>{bytes});
  if (bytes <= 64) return use(CopyAtom<32, false>{bytes});
  if (bytes <= 128) return use(CopyAtom<64, false>{bytes});
  use(CopyLongAtom{bytes});
}

}  // namespace cornerturn::cpu
