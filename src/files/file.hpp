// Open files, with errors that name the file and the reason.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cornerturn::files {

/// An open file descriptor. `label` is what errors call it: "IN = 'a.npy'".
class File {
 public:
  File() = default;
  File(int descriptor, std::string label, bool owned = true)
      : descriptor_(descriptor), owned_(owned), label_(std::move(label)) {}
  File(File&& other) noexcept { *this = std::move(other); }
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  int descriptor() const noexcept { return descriptor_; }
  const std::string& label() const noexcept { return label_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }
  void close() noexcept;
  /// close() that says what went wrong: some file systems report failed writes only then.
  void finish();

  /// A regular file has a size and can be read and written at any place; a pipe cannot.
  bool is_regular() const;
  std::int64_t size() const;

  /// Reads up to `bytes` from the current place; fewer only at the end.
  std::int64_t read_some(void* data, std::int64_t bytes) const;
  /// Reads all of it at `offset`; an earlier end of the file is an Error.
  void read_at(void* data, std::int64_t bytes, std::int64_t offset) const;
  void write(const void* data, std::int64_t bytes) const;
  void write_at(const void* data, std::int64_t bytes, std::int64_t offset) const;
  /// Cuts off what is behind so many bytes, or adds zeros.
  void resize(std::int64_t bytes) const;
  /// Returns when what was written is on the disk. Does nothing for what lies on none: a pipe.
  void sync() const;

  /// Throws an Error with the reason that errno gives.
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws if the file has become shorter than `bytes`.
  void require_size(std::int64_t bytes) const;

 private:
  int descriptor_ = -1;
  bool owned_ = true;
  std::string label_;
};

/// Opens `path` for reading. Throws Error; `label` names the argument: "IN".
File open_input(const std::string& path, const std::string& argument);

/// Opens a regular file for reading and writing, and locks it until it is closed. Throws Error:
/// also when another process has locked it.
File open_to_change(const std::string& path, const std::string& argument);

/// Writes "ARGUMENT = 'path'", with control characters made visible.
std::string label_of(const std::string& argument, const std::string& path);

/// All of a file that holds text, of at most `most_text` bytes; `argument` is what errors call it.
/// Throws Error. Devices and pipes are read to their end.
std::string read_text(const std::string& path, const std::string& argument);
inline constexpr std::int64_t most_text = std::int64_t{256} << 20;

}  // namespace cornerturn::files
