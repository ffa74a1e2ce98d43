// A file that is changed where it lies, in steps that survive a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/file.hpp"
#include "files/mark.hpp"
#include "files/output_file.hpp"

namespace cornerturn::files {

/// Bytes of the file that a record replaces.
struct Extent {
  std::int64_t offset;
  std::int64_t bytes;

  friend bool operator==(const Extent&, const Extent&) = default;
};

/// The journal of a file that is changed in place. It lies beside the file, as
/// ".NAME.cornerturn-journal", until the work is done. Where something that is no journal of this
/// user has that name, the journal takes another, which nobody can foresee.
///
/// The work is a sequence of records. A record says what some bytes of the file become, and how far
/// the work is then: its state. commit() brings it to the disk before the file is changed, and the
/// change to the disk before the next record is written. Whoever opens the journal again after a
/// crash gets the last whole record, whose changes are made once more.
///
/// From the first record to the end the file has a mark (files/mark.hpp) with the name of the
/// journal, its random number, and the number of the last record. So a journal is never followed
/// for another file, nor for the same file at another stage; and everything that is in the journal
/// has a checksum.
///
///   heading     whose journal this is, and the sizes of the parts below
///   task        a text that says what is done
///   rest        bytes that the work keeps until it is done
///   two slots   the last record and the one before: a heading, the extents, the state, the bytes
///
/// A journal gets its name when it is whole, with a first record that changes nothing but the mark.
class Journal {
 public:
  /// Its usual name. Long names are cut, and have a checksum of the whole name instead.
  static std::string path_of(const std::string& path);

  struct Sizes {
    std::int64_t rest = 0;
    std::int64_t extents = 0;  ///< of a record, at most
    std::int64_t state = 0;    ///< bytes of a record's state, at most
    std::int64_t data = 0;     ///< new bytes of a record, at most

    std::int64_t slot() const;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };

  /// Bytes of a journal.
  static std::int64_t bytes(const Sizes& sizes, std::int64_t task_bytes);

  /// Whether a record is the last one of the work.
  enum class Last : bool { no, yes };

  /// Opens the journal that waits for `file`, which lies at `path` and is locked by this process,
  /// and makes its last change again. None waits where the file has no mark and no journal beside
  /// it, or one of which nothing has been done, which is removed. Throws Error when the journal is
  /// not there, is damaged, follows another process, or belongs to another file; when the file is
  /// not as the journal left it. `file` has to live longer.
  static std::optional<Journal> waiting(const std::string& path, const File& file, Sync sync);

  /// Makes the journal of a file for which none waits, with all its room. Throws Error when there
  /// is none: the file is then as it was.
  static Journal begin(const std::string& path, const File& file, const std::string& task,
                       const Sizes& sizes, Sync sync);

  const std::string& path() const { return path_; }
  const std::string& task() const { return task_; }
  const Sizes& sizes() const { return sizes_; }
  /// After the last record. Empty: there is none but the first.
  const std::string& state() const { return state_; }

  void write_rest(std::span<const std::byte> data, std::int64_t offset);
  void read_rest(std::span<std::byte> data, std::int64_t offset) const;

  /// The extents get the bytes of `data`, one after the other. What was written to the rest before
  /// is on the disk first.
  void commit(std::string state, std::span<const Extent> extents, std::span<const std::byte> data,
              Last last = Last::no);

  /// After the last record: removes the mark and the journal.
  void finish();

 private:
  struct Heading;
  struct RecordHeading;
  struct Record;

  Journal(std::string path, const File& file, Sync sync);

  void fill_new(const std::string& task, const Sizes& sizes);
  void take_name(TemporaryName& temporary);
  void read_heading(const std::optional<Mark>& mark);
  Record last_record(const std::optional<Mark>& mark) const;
  std::optional<Record> read_record(int number) const;
  bool agrees(const Record& record) const;
  RecordHeading heading_of(std::int64_t number, const std::string& state,
                           std::span<const Extent> extents, std::span<const std::byte> data,
                           Last last) const;
  void write_record(const RecordHeading& heading, const std::string& state,
                    std::span<const Extent> extents, std::span<const std::byte> data);
  void apply(std::int64_t number, std::span<const Extent> extents,
             std::span<const std::byte> data) const;
  void remove();
  void sync(const File& file) const;
  std::int64_t rest_offset() const;
  std::int64_t slot_offset(std::int64_t number) const;
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_changed() const;

  std::string path_;
  std::string directory_;
  const File* file_;
  File journal_;
  std::string task_;
  Sizes sizes_;
  Sync sync_;
  std::uint64_t work_ = 0;
  std::int64_t file_bytes_ = 0;
  std::int64_t number_ = 0;  // of the last record
  std::string state_;
  bool done_ = false;
  bool rest_written_ = false;  // and not on the disk yet
};

}  // namespace cornerturn::files
