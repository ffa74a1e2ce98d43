// Modes whose places come from a table, as a part of a problem. Strides are in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/lists.hpp"

namespace cornerturn {

struct Problem;
struct Buffers;

/// Where the steps of a mode lie on one side.
struct Steps {
  Places places = Places::strides;
  std::int64_t stride = 0;     ///< bytes a step, or times an index; of pointers 0
  std::int64_t alignment = 1;  ///< of pointers: each is a multiple of so many bytes

  bool from_table() const { return places != Places::strides; }
  friend bool operator==(const Steps&, const Steps&) = default;
};

struct ListMode {
  std::int64_t extent = 0;
  Steps src;
  Steps dst;

  friend bool operator==(const ListMode&, const ListMode&) = default;
};

/// The modes of a problem that lie in tables on a side: one, or two of which one has the source's
/// table and the other one the destination's. They are no modes of Problem::modes, which say what
/// is done at each of their steps.
struct Lists {
  std::vector<ListMode> modes;
  Missing missing = Missing::zeros;

  std::int64_t steps() const;
  friend bool operator==(const Lists&, const Lists&) = default;
};

/// The tables, at run time: at most one a side.
struct ListTables {
  const void* src = nullptr;
  const void* dst = nullptr;
  std::int64_t src_count = 0;  ///< indices are less than that
  std::int64_t dst_count = 0;
};

/// Entry `k` of a table: an index, or an address.
std::int64_t entry_of(Places places, const void* table, std::int64_t k);

/// What the addresses of all steps are a multiple of, as far as the steps decide, at most 16.
std::int64_t alignment_of(const Lists& lists);

/// " listed (100):i32*4096->+64": extents, then both sides of each mode.
std::string to_string(const Lists& lists);

/// Throws unless the tables are there. Where `entries` is set, also unless every entry is in range,
/// those of a destination differ, and what is read lies apart from what is written: the tables and
/// the pointers in them lie in host memory then.
void check_tables(const Problem& problem, const Buffers& buffers, bool entries);

}  // namespace cornerturn
