// The mark of a file that is being changed in place, and who may not take such a file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "files/file.hpp"

namespace cornerturn::files {

/// Stands behind the bytes of a file while these are in no order, whatever the names of the file
/// are, and goes with every copy of it. A file without a mark is whole.
///
/// The mark is there twice, in two sectors that begin at the first multiple of 512 behind the
/// file's own bytes. Records of the journal write them by turns, so one of them is whole at any
/// time.
struct Mark {
  std::array<char, 16> magic;
  std::uint64_t work;             ///< a random number: the journal has the same
  std::int64_t number;            ///< of the last record of which the file may have a part
  std::int64_t file_bytes;        ///< without the mark
  std::array<char, 256> journal;  ///< its name, in the folder of the file
  std::uint64_t check;

  std::string journal_name() const { return {journal.data()}; }
};

/// What a disk writes whole or not at all.
inline constexpr std::int64_t sector = 512;

/// Bytes of a file that has so many without its mark.
std::int64_t marked_bytes(std::int64_t file_bytes);

/// Writes one of the two sectors.
void write_mark(const File& file, std::uint64_t work, std::int64_t number, std::int64_t file_bytes,
                const std::string& journal);

/// The mark of the last record, where the file has one.
std::optional<Mark> read_mark(const File& file);

/// What a command says that does not take `file`, which lies at `path`, because it is being changed
/// in place; none where the file is whole. Beside a file without a mark there may also be a journal
/// that was made before files had marks.
std::optional<std::string> why_unfinished(const std::string& path, const File& file);

/// Asks of whatever is at `path`: none where that is no file, or cannot be read.
std::optional<std::string> why_unfinished(const std::string& path);

/// Is it a journal of the format that had no marks?
bool is_old_journal(const File& journal);

/// Opens a regular file of this user, and nothing else, without waiting. Not open, with errno:
/// there is no such file; ENOENT where there is nothing at all.
File open_own(const std::string& path, int flags, const std::string& argument);

}  // namespace cornerturn::files
