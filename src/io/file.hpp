// Open files, memory mappings and buffers that close themselves, with errors that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cornerturn::io {

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

  /// A regular file has a size and can be read and written at any place; a pipe cannot.
  bool is_regular() const;
  std::int64_t size() const;

  /// Reads up to `bytes` from the current place; fewer only at the end.
  std::int64_t read_some(void* data, std::int64_t bytes) const;
  /// Reads all of it at `offset`; an earlier end of the file is an Error.
  void read_at(void* data, std::int64_t bytes, std::int64_t offset) const;
  void write(const void* data, std::int64_t bytes) const;
  void write_at(const void* data, std::int64_t bytes, std::int64_t offset) const;

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

/// Writes "ARGUMENT = 'path'", with control characters made visible.
std::string label_of(const std::string& argument, const std::string& path);

/// Anonymous memory that starts at a page and asks for huge pages.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes);
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// A whole file, read-only. Its pages are entered into the page tables, and taken out, by `threads`
/// threads: for a file in memory either takes a tenth of the time of copying it. If the file
/// shrinks, touching what was lost raises SIGBUS.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const File& file, int threads);
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  const std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  void advise(int advice) const noexcept;

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int threads_ = 1;
};

}  // namespace cornerturn::io
