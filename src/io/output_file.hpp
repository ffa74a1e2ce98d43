// A file that appears whole or not at all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "io/file.hpp"

namespace cornerturn::io {

/// Space for a file, had before it is needed. Most file systems give it at once; tmpfs has to find
/// every page, which goes on in the background while the first pieces are worked on.
class Reservation {
 public:
  Reservation() = default;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  /// Throws Error when there is no room for `bytes`. `file` has to stay open.
  void start(const File& file, std::int64_t bytes);
  /// Returns when the first `bytes` are there. Throws Error if they cannot be had after all.
  void wait_for(std::int64_t bytes) const;

 private:
  void reserve_in_pieces(const File& file, std::int64_t bytes);

  std::thread thread_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::atomic<std::int64_t> reserved_{0};
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;
};

/// Written under a temporary name (or none, where the file system can do that) beside its
/// destination, with its space reserved before the work; commit() gives it its name, anything else
/// removes it.
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
  const Reservation& space() const noexcept { return space_; }
  /// False for a pipe or a device: it takes bytes in order only.
  bool seekable() const noexcept { return seekable_; }
  /// Whether the file has a name while it is being written.
  bool has_temporary_name() const noexcept { return slot_ >= 0; }

  /// Puts the file in its place, where it replaces an older one.
  void commit();

 private:
  void open_temporary(unsigned mode);
  void take_name();

  std::string path_;
  std::string directory_;
  std::string temporary_;
  File file_;
  Reservation space_;  // ends before its file is closed
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
