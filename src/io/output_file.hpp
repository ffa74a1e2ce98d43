// A file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "io/file.hpp"

namespace cornerturn::io {

/// Written under a temporary name (or none, where the file system can do that) beside its
/// destination; commit() gives it its name, anything else removes it. Its space is reserved before
/// the work, but for a file in memory, where that takes as long as writing: there it is only looked
/// whether there is room, and a write may still find none.
///
/// A destination that is a pipe or a device is written as it is, from the beginning to the end.
class OutputFile {
 public:
  /// `path` may be a symbolic link: what it points to is replaced. Throws Error when the
  /// destination cannot be written, is a directory, or has no room for `bytes`.
  OutputFile(const std::string& path, std::int64_t bytes, const std::string& argument = "OUT");
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  const File& file() const noexcept { return file_; }
  /// False for a pipe or a device: it takes bytes in order only.
  bool seekable() const noexcept { return seekable_; }
  /// Whether the file has a name while it is being written.
  bool has_temporary_name() const noexcept { return slot_ >= 0; }

  /// Does of commit() what can fail easily. Of several files, first prepare all.
  void prepare();
  /// Puts the file in its place, where it replaces an older one.
  void commit();

 private:
  void open_temporary(unsigned mode);
  void take_name();

  std::string path_;
  std::string directory_;
  std::string temporary_;
  File file_;
  bool seekable_ = true;
  int slot_ = -1;
};

/// An anonymous file of `bytes` in `directory`, gone when it is closed. Throws Error when there is
/// no room.
File temporary_file(const std::string& directory, std::int64_t bytes);

/// The folder in which `path` lies: "." for a bare name.
std::string directory_of(const std::string& path);

/// Removes all temporary files of this process that have a name. Safe to call from a signal handler
/// that then ends the process.
void remove_temporary_files() noexcept;

}  // namespace cornerturn::io
