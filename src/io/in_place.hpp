// A file whose array is put into another order where it lies, with little memory and a journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/in_place.hpp"
#include "cornerturn/plan.hpp"
#include "files/journal.hpp"
#include "io/file.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// What is done to the array in a file, and with how much memory.
struct InPlaceSchedule {
  Extents shape;             ///< as the bytes lie: the last axis is the fastest
  std::vector<int> perm;     ///< axis i of the result is axis perm[i]
  std::int64_t element = 1;  ///< bytes
  std::int64_t piece = 0;    ///< new bytes of a record, at most
  in_place::Decomposition ways;

  std::int64_t bytes() const;
  /// That a record replaces, at most.
  std::int64_t extents() const;
  /// Written to the file; as many are written to the journal, and read.
  std::int64_t bytes_written() const;
  files::Journal::Sizes journal_sizes() const;
};

/// A piece has at least so many bytes, however small the array is.
inline constexpr std::int64_t least_piece = 4096;

/// The piece that the least memory gives.
std::int64_t smallest_piece();

/// `memory` bounds all buffers and the journal; a record has at most as many bytes as the array.
/// Throws Error when no way fits: it says which memory would do.
InPlaceSchedule make_in_place_schedule(const Extents& shape, const std::vector<int>& perm,
                                       std::int64_t element, std::int64_t memory);

/// A schedule with records of `piece` bytes, which is what tests give.
InPlaceSchedule schedule_in_pieces(const Extents& shape, const std::vector<int>& perm,
                                   std::int64_t element, std::int64_t piece);

/// Several lines for people: the steps, what they write, the journal.
std::string to_string(const InPlaceSchedule& schedule);

/// The array begins at byte `offset` of `file`. At the end the first bytes of the file become
/// `header`, and the last record says that all is done; until then the version in the header, where
/// there is one, is that of an unfinished file. Goes on where the journal says that the work
/// stands. Throws Error; the journal then stays, and the same call finishes the work.
void rearrange_in_place(const InPlaceSchedule& schedule, const File& file, std::int64_t offset,
                        const std::string& header, files::Journal& journal, const Options& options,
                        Progress& progress);

/// Is there no more to do but to finish the journal?
bool is_done(const InPlaceSchedule& schedule, const files::Journal& journal);

}  // namespace cornerturn::io
