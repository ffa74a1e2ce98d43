// A file that is changed where it lies, in steps that survive a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/file.hpp"
#include "files/output_file.hpp"

namespace cornerturn::files {

/// Bytes of the file that a record replaces.
struct Extent {
  std::int64_t offset;
  std::int64_t bytes;

  friend bool operator==(const Extent&, const Extent&) = default;
};

/// The journal of a file that is changed in place. It lies beside the file, as
/// ".NAME.cornerturn-journal", until the work is done.
///
/// The work is a sequence of records. A record says what some bytes of the file become, and how far
/// the work is then: its state. commit() brings it to the disk before the file is changed, and the
/// change to the disk before the next record is written. Whoever opens the journal again after a
/// crash gets the last whole record, whose changes are made once more.
///
///   offset 0    the task: a text that says what is done, and the sizes of the parts below
///   rest        bytes that the work keeps until it is done
///   two slots   the last record and the one before: a block that says what the slot holds, the
///               extents, the state, the new bytes
class Journal {
 public:
  static std::string path_of(const std::string& path);

  /// What the journal beside `path` says of its task, if there is one that is whole. A journal that
  /// a crash has cut short before the first record was written counts as none.
  static std::optional<std::string> task_of(const std::string& path);

  struct Sizes {
    std::int64_t rest = 0;
    std::int64_t extents = 0;  ///< of a record, at most
    std::int64_t state = 0;    ///< bytes of a record's state, at most
    std::int64_t data = 0;     ///< new bytes of a record, at most

    std::int64_t slot() const;
    std::int64_t total() const;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };

  /// Makes the journal of `file`, which lies at `path`, with all its room, or opens the one that is
  /// there and makes its last change again. Throws Error: when there is no room, when the task of
  /// the journal is another, or when the file is not as the journal left it. `file` has to live
  /// longer.
  Journal(const std::string& path, const File& file, const std::string& task, const Sizes& sizes,
          Sync sync);

  /// After the last record. Empty: there is none.
  const std::string& state() const { return state_; }

  void write_rest(std::span<const std::byte> data, std::int64_t offset) const;
  void read_rest(std::span<std::byte> data, std::int64_t offset) const;

  /// The extents get the bytes of `data`, one after the other. What was written to the rest before
  /// is on the disk first.
  void commit(std::string state, std::span<const Extent> extents, std::span<const std::byte> data);

  /// Removes it: the work is done.
  void finish();

 private:
  struct Slot;

  void create(const std::string& task);
  void recover();
  void require_unchanged(const Slot& last, std::span<const Extent> extents) const;
  std::optional<Slot> read_slot(int number) const;
  void apply(std::span<const Extent> extents, std::span<const std::byte> data) const;
  void sync(const File& file) const;
  std::int64_t slot_offset(int number) const;

  std::string path_;
  std::string directory_;
  const File& file_;
  File journal_;
  Sizes sizes_;
  Sync sync_;
  std::int64_t number_ = 0;  // of the last record
  std::string state_;
};

}  // namespace cornerturn::files
