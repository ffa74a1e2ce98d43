#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cornerturn/error.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

// The kernel moves at most 2 GiB less a page in one call.
constexpr std::int64_t most_per_call = std::int64_t{1} << 30;

Status status_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      return Status::out_of_memory;
    default:
      return Status::io_error;
  }
}

constexpr std::int64_t huge_page = std::int64_t{2} << 20;

// What a thread enters into the page tables at a time, or takes out: a millisecond or two.
constexpr std::int64_t mapping_piece = std::int64_t{16} << 20;

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    owned_ = other.owned_;
    label_ = std::move(other.label_);
  }
  return *this;
}

void File::close() noexcept {
  if (descriptor_ >= 0 && owned_) ::close(descriptor_);
  descriptor_ = -1;
}

void File::fail(const std::string& what) const {
  const int error = errno;
  throw Error(status_of(error), fmt::format("{} {}: {}", label_, what, std::strerror(error)));
}

bool File::is_regular() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("cannot be examined");
  return S_ISREG(status.st_mode);
}

std::int64_t File::size() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("cannot be examined");
  return status.st_size;
}

void File::require_size(std::int64_t bytes) const {
  const std::int64_t now = size();
  if (now < bytes) {
    throw Error(Status::io_error, fmt::format("{} shrank while it was read: it has {} bytes, {} "
                                              "are needed",
                                              label_, now, bytes));
  }
}

std::int64_t File::read_some(void* data, std::int64_t bytes) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto piece = static_cast<std::size_t>(std::min(bytes - done, most_per_call));
    const ssize_t got = ::read(descriptor_, static_cast<std::byte*>(data) + done, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot be read");
    if (got == 0) break;
    done += got;
  }
  return done;
}

void File::read_at(void* data, std::int64_t bytes, std::int64_t offset) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto piece = static_cast<std::size_t>(std::min(bytes - done, most_per_call));
    const ssize_t got =
        ::pread(descriptor_, static_cast<std::byte*>(data) + done, piece, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot be read");
    if (got == 0) require_size(offset + bytes);
    done += got;
  }
}

void File::write(const void* data, std::int64_t bytes) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto piece = static_cast<std::size_t>(std::min(bytes - done, most_per_call));
    const ssize_t put = ::write(descriptor_, static_cast<const std::byte*>(data) + done, piece);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot be written");
    done += put;
  }
}

void File::write_at(const void* data, std::int64_t bytes, std::int64_t offset) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto piece = static_cast<std::size_t>(std::min(bytes - done, most_per_call));
    const ssize_t put =
        ::pwrite(descriptor_, static_cast<const std::byte*>(data) + done, piece, offset + done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot be written");
    done += put;
  }
}

std::string label_of(const std::string& argument, const std::string& path) {
  std::string visible;
  for (const char c : path) {
    const auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 0x7f) {
      visible += fmt::format("\\x{:02x}", code);
    } else {
      visible += c;
    }
  }
  return fmt::format("{} = '{}'", argument, visible);
}

File open_input(const std::string& path, const std::string& argument) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), label_of(argument, path));
  if (!file.is_open()) file.fail("cannot be opened");
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) file.fail("cannot be examined");
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    file.fail("cannot be read");
  }
  return file;
}

Buffer::Buffer(std::int64_t bytes) {
  size_ = (std::max<std::int64_t>(bytes, 1) + huge_page - 1) / huge_page * huge_page;
  void* address = mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(Status::out_of_memory,
                fmt::format("a buffer of {} bytes cannot be had: {}", size_, std::strerror(errno)));
  }
  madvise(address, static_cast<std::size_t>(size_), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(address);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
}

Mapping::Mapping(const File& file, int threads) : size_(file.size()), threads_(threads) {
  if (size_ == 0) return;
  void* address =
      mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) file.fail("cannot be mapped into memory");
  data_ = static_cast<std::byte*>(address);
#ifdef MADV_POPULATE_READ
  // A transposition touches pages far apart: one by one they would be faulted in, and read from a
  // disk, at several times the cost. Older kernels refuse, and nothing is lost.
  advise(MADV_POPULATE_READ);
#endif
}

void Mapping::advise(int advice) const noexcept {
  const std::int64_t pieces = (size_ + mapping_piece - 1) / mapping_piece;
  run_workers(threads_, pieces, [&](int, std::int64_t index) {
    const std::int64_t start = index * mapping_piece;
    madvise(data_ + start, static_cast<std::size_t>(std::min(mapping_piece, size_ - start)),
            advice);
  });
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(threads_, other.threads_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ == nullptr) return;
  advise(MADV_DONTNEED);
  munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace cornerturn::io
