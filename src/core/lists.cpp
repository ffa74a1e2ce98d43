#include "core/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"

namespace cornerturn {
namespace {

std::string text_of(const Steps& steps) {
  switch (steps.places) {
    case Places::i32:
      return fmt::format("i32*{}", steps.stride);
    case Places::i64:
      return fmt::format("i64*{}", steps.stride);
    case Places::pointers:
      return "pointers";
    case Places::strides:
      break;
  }
  return fmt::format("{:+}", steps.stride);
}

// One side of a problem with a list: its table, and what is at each of its places.
struct ListedSide {
  std::string_view name;  ///< "src" or "dst"
  const void* data;
  const void* table;
  std::int64_t count;
  Steps ListMode::*steps;
  Reach reach;  ///< of one step of every list

  std::int64_t address(const Steps& of, std::int64_t k) const {
    const std::int64_t entry = entry_of(of.places, table, k);
    return of.places == Places::pointers
               ? entry
               : static_cast<std::int64_t>(address_of(data, entry * of.stride));
  }
};

// Throws unless every entry is in range.
void check_range(const ListedSide& side, const ListMode& mode) {
  const Steps& steps = mode.*side.steps;
  if (steps.places == Places::pointers) {
    if (side.name == "src") return;
    for (std::int64_t k = 0; k < mode.extent; ++k) {
      if (entry_of(steps.places, side.table, k) != 0) continue;
      refuse(fmt::format("dst.list: pointer {} is null", k));
    }
    return;
  }
  for (std::int64_t k = 0; k < mode.extent; ++k) {
    const std::int64_t index = entry_of(steps.places, side.table, k);
    if (index >= -1 && index < side.count) continue;
    refuse(fmt::format("{}.list: index {} is {}, but it has to be less than {}, and -1 at least",
                       side.name, k, index, side.count));
  }
}

// Throws where two entries of a destination are equal, which are not skipped.
void check_all_differ(const ListedSide& side, const ListMode& mode) {
  const Steps& steps = mode.*side.steps;
  std::vector<std::int64_t> entries;
  const auto refuse_equal = [&](std::int64_t entry) {
    std::vector<std::int64_t> where;
    for (std::int64_t k = 0; k < mode.extent && where.size() < 2; ++k) {
      if (entry_of(steps.places, side.table, k) == entry) where.push_back(k);
    }
    refuse(fmt::format("dst.list: entries {} and {} are equal: a place is written once at most",
                       where[0], where[1]));
  };
  if (steps.places != Places::pointers && side.count <= 64 * mode.extent) {
    std::vector<bool> seen(static_cast<std::size_t>(side.count));
    for (std::int64_t k = 0; k < mode.extent; ++k) {
      const std::int64_t index = entry_of(steps.places, side.table, k);
      if (index < 0) continue;
      if (seen[static_cast<std::size_t>(index)]) refuse_equal(index);
      seen[static_cast<std::size_t>(index)] = true;
    }
    return;
  }
  for (std::int64_t k = 0; k < mode.extent; ++k) {
    const std::int64_t entry = entry_of(steps.places, side.table, k);
    if (steps.places == Places::pointers || entry >= 0) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end());
  const auto twice = std::adjacent_find(entries.begin(), entries.end());
  if (twice != entries.end()) refuse_equal(*twice);
}

struct Range {
  std::uint64_t low, high;
};

// What a side reaches, step by step of its table.
std::vector<Range> ranges_of(const ListedSide& side, const Lists& lists) {
  std::vector<Range> ranges;
  // A second mode goes in steps on this side: all of them belong to each place.
  Reach reach = side.reach;
  const ListMode* listed = nullptr;
  for (const ListMode& mode : lists.modes) {
    const Steps& steps = mode.*side.steps;
    if (steps.from_table()) {
      listed = &mode;
    } else {
      const std::int64_t last = (mode.extent - 1) * steps.stride;
      (last < 0 ? reach.low : reach.high) += last;
    }
  }
  if (listed == nullptr) {
    return {{address_of(side.data, reach.low), address_of(side.data, reach.high)}};
  }
  const Steps& steps = listed->*side.steps;
  for (std::int64_t k = 0; k < listed->extent; ++k) {
    const std::int64_t entry = entry_of(steps.places, side.table, k);
    if (steps.places == Places::pointers ? entry == 0 : entry < 0) continue;
    const auto at = static_cast<std::uint64_t>(side.address(steps, k));
    ranges.push_back(
        {at + static_cast<std::uint64_t>(reach.low), at + static_cast<std::uint64_t>(reach.high)});
  }
  return ranges;
}

Range hull_of(const std::vector<Range>& ranges) {
  Range hull{~std::uint64_t{0}, 0};
  for (const Range& range : ranges) {
    hull = {std::min(hull.low, range.low), std::max(hull.high, range.high)};
  }
  return hull;
}

bool meet(const Range& a, const Range& b) {
  return a.low < b.high && b.low < a.high;
}

// Throws where a range of the source meets one of the destination.
void check_apart(const ListedSide& dst, const ListedSide& src, const Lists& lists) {
  std::vector<Range> written = ranges_of(dst, lists);
  std::vector<Range> read = ranges_of(src, lists);
  if (written.empty() || read.empty() || !meet(hull_of(written), hull_of(read))) return;
  const auto by_low = [](const Range& a, const Range& b) { return a.low < b.low; };
  std::sort(written.begin(), written.end(), by_low);
  std::sort(read.begin(), read.end(), by_low);
  // Ranges of a side may overlap each other: what was passed reaches as far as its farthest.
  std::size_t i = 0;
  std::size_t k = 0;
  std::uint64_t written_to = 0;
  std::uint64_t read_to = 0;
  while (i < written.size() || k < read.size()) {
    const bool next_written =
        k == read.size() || (i < written.size() && written[i].low < read[k].low);
    const Range& next = next_written ? written[i++] : read[k++];
    if (next.low < (next_written ? read_to : written_to)) {
      refuse(fmt::format("dst overlaps src at the address {:#x}: a copy works out of place",
                         next.low));
    }
    std::uint64_t& to = next_written ? written_to : read_to;
    to = std::max(to, next.high);
  }
}

}  // namespace

std::int64_t Lists::steps() const {
  // Unsigned, as elements of a problem are counted.
  std::uint64_t product = 1;
  for (const ListMode& mode : modes) product *= static_cast<std::uint64_t>(mode.extent);
  return static_cast<std::int64_t>(product);
}

std::int64_t entry_of(Places places, const void* table, std::int64_t k) {
  if (places == Places::i32) return static_cast<const std::int32_t*>(table)[k];
  return static_cast<const std::int64_t*>(table)[k];  // a pointer is as wide
}

std::int64_t alignment_of(const Lists& lists) {
  std::int64_t common = 16;
  for (const ListMode& mode : lists.modes) {
    for (const Steps* steps : {&mode.src, &mode.dst}) {
      common =
          std::gcd(common, steps->places == Places::pointers ? steps->alignment : steps->stride);
    }
  }
  return common;
}

std::string to_string(const Lists& lists) {
  std::string text;
  for (const ListMode& mode : lists.modes) {
    text += fmt::format(" listed ({}):{}->{}", mode.extent, text_of(mode.src), text_of(mode.dst));
  }
  if (lists.missing == Missing::left) text += " missing left";
  return text;
}

void check_tables(const Problem& problem, const Buffers& buffers, bool entries) {
  if (problem.elements() == 0) return;
  const ListedSide dst{
      "dst",          buffers.dst,       buffers.lists.dst, buffers.lists.dst_count,
      &ListMode::dst, dst_reach(problem)};
  const ListedSide src{
      "src",          buffers.src,       buffers.lists.src, buffers.lists.src_count,
      &ListMode::src, src_reach(problem)};
  for (const ListedSide* side : {&dst, &src}) {
    bool needs_data = true;
    for (const ListMode& mode : problem.lists->modes) {
      const Steps& steps = mode.*side->steps;
      if (!steps.from_table()) continue;
      needs_data = steps.places != Places::pointers;
      if (side->table == nullptr) {
        refuse(fmt::format("{}.list.table = null, but it has {} entries", side->name, mode.extent));
      }
      if (entries) check_range(*side, mode);
      if (entries && side == &dst) check_all_differ(*side, mode);
    }
    if (needs_data && side->data == nullptr) {
      refuse(fmt::format("{} = null, but the problem has elements", side->name));
    }
  }
  if (entries) check_apart(dst, src, *problem.lists);
}

}  // namespace cornerturn
