// Names of files that are not whole yet, which a signal removes.
#pragma once

#include <functional>
#include <string>

namespace cornerturn::files {

/// A name beside a destination, for a file that is to take its place; or none.
class TemporaryName {
 public:
  TemporaryName() = default;
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() { remove(); }

  /// Calls make(name) with names beside `destination` until one is free. False with errno.
  bool make(const std::string& destination, const std::function<bool(const char*)>& make);
  bool empty() const noexcept { return path_.empty(); }
  const std::string& path() const noexcept { return path_; }
  /// The file has another name now.
  void forget() noexcept;
  /// Removes the file.
  void remove() noexcept;

 private:
  std::string path_;
  int slot_ = -1;
};

/// An empty file in the folder of `destination`: without a name where the file system can do that,
/// else with a temporary one. -1 with errno.
int open_temporary(const std::string& destination, unsigned mode, TemporaryName& temporary);
/// Gives such a file a name. False with errno: EEXIST where something has it already.
bool give_free_name(int descriptor, TemporaryName& temporary, const std::string& name);
/// Gives a free name to a file that has no name at all.
bool give_free_name(int descriptor, const char* name);
/// An empty file in `directory` that has no name. -1 where the file system cannot do that.
int open_unnamed(const std::string& directory, unsigned mode);

/// Removes all temporary files of this process that have a name. Safe to call from a signal handler
/// that then ends the process.
void remove_temporary_files() noexcept;

}  // namespace cornerturn::files
