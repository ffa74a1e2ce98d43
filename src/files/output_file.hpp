// A file that appears whole or not at all: the one way in which files are written here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "files/file.hpp"
#include "files/place.hpp"
#include "files/temporary_name.hpp"

namespace cornerturn::files {

/// Whether a file is on the disk, with its name, before it counts as written.
enum class Sync : bool { no, yes };

/// Written under a temporary name (or none, where the file system can do that) beside its
/// destination; commit() gives it its name, anything else removes it. Its space is reserved before
/// the work, but for a file in memory, where that takes as long as writing: there it is only looked
/// whether there is room, and a write may still find none.
///
/// It gets the owner, the group and the mode of the file that it replaces, as far as the process
/// may give them, but never a set-user-ID or set-group-ID bit: the bytes are new.
///
/// A file that is being changed in place is not replaced (files/mark.hpp): finishing it, or
/// removing it, comes first.
///
/// Symbolic links are followed. Only regular files are replaced: a pipe, a device or an open file
/// of this process (/dev/stdout) is written as it is, from the beginning to the end.
class OutputFile {
 public:
  /// Throws Error when the destination cannot be written, is a directory, or has no room for
  /// `bytes`. `argument` is what errors call it.
  OutputFile(const std::string& path, std::int64_t bytes, const std::string& argument = "OUT",
             Sync sync = Sync::yes);
  /// Begins a file in a place that is known.
  OutputFile(const Place& place, const std::string& label, std::int64_t bytes, Sync sync);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const File& file() const noexcept { return file_; }
  /// False for a pipe, a device or an open file: it takes bytes in order only.
  bool seekable() const noexcept { return seekable_; }

  /// Is it on a disk when commit() returns?
  bool syncs() const noexcept { return seekable_ && sync_ == Sync::yes; }

  /// Puts the file in its place, where it replaces an older one. With Sync::yes its bytes are on
  /// the disk before it has its name, and its name is on the disk when this returns.
  void commit();
  /// Commits several files, which all replace what stood in their places, or none does. (Where
  /// the file system cannot exchange two names, those before the one that fails have been
  /// replaced.)
  static void commit(std::span<OutputFile* const> files);

 private:
  void refuse_unfinished() const;
  void open_in_order(int descriptor);
  void open_temporary(unsigned mode);
  void inherit(unsigned owner, unsigned group, unsigned mode);

  void prepare();
  void take_place(bool keep_old);
  void give_back() noexcept;

  std::string path_;
  std::string directory_;
  TemporaryName temporary_;
  File file_;
  Sync sync_;
  bool seekable_ = true;
  bool replaces_ = false;
  bool exchanged_ = false;  // the temporary name is that of the older file
  bool placed_ = false;
};

/// Writes `text` to `path`: what is there is replaced, or written into, as by OutputFile.
void write_text(const std::string& path, const std::string& text, const std::string& argument);

/// Takes room for `bytes` in a file that is to have so many. Throws Error when there is none.
void reserve(const File& file, std::int64_t bytes);

/// Returns when the names in a folder are on the disk. `label` is what errors call the file.
void sync_directory(const std::string& path, const std::string& label);

/// An anonymous file of `bytes` in `directory`, gone when it is closed. Throws Error when there is
/// no room.
File temporary_file(const std::string& directory, std::int64_t bytes);

}  // namespace cornerturn::files
