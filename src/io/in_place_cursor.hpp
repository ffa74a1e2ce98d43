// How far the work on a file in place is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "io/in_place.hpp"

namespace cornerturn::io {

/// How far the work is: everything before this is on the disk.
struct Cursor {
  std::int64_t way = 0;    // beyond the last one: the header; then its version; then nothing
  std::int64_t begun = 0;  // is the header's version that of an unfinished file?
  std::int64_t matrix = 0;
  std::int64_t pass = 0;
  std::int64_t index = 0;  // of the pass: panels, rows, units, or where the next cycle is sought;
                           // bytes of the header
  std::int64_t part = 0;   // bytes of a row that have moved
  std::int64_t in_cycle = 0;
  std::int64_t leader = 0;  // of the cycle, whose run is kept
  std::int64_t hole = 0;    // the place of the cycle that is filled next
  std::int64_t rest = 0;    // bytes that the journal keeps now
  std::uint64_t rest_check = 0;

  std::string to_state(std::span<const std::byte> kept) const {
    std::string state(sizeof *this, '\0');
    std::memcpy(state.data(), this, sizeof *this);
    return state.append(reinterpret_cast<const char*>(kept.data()), kept.size());
  }
};

/// Can work by this schedule be so far, with so many bytes of a run kept? What a journal says is
/// not trusted.
bool is_possible(const Cursor& at, std::int64_t kept, const InPlaceSchedule& schedule);

}  // namespace cornerturn::io
