#include "files/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/visible.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::files {
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

void File::finish() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0 || !owned_) return;
  // After EINTR the descriptor is closed all the same.
  if (::close(descriptor) != 0 && errno != EINTR) fail("cannot be written");
}

void File::sync() const {
  while (::fsync(descriptor_) != 0) {
    if (errno == EINVAL || errno == EROFS || errno == ENOTSUP) return;  // it lies on no disk
    if (errno != EINTR) fail("cannot be brought to the disk");
  }
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

void File::resize(std::int64_t bytes) const {
  while (::ftruncate(descriptor_, bytes) != 0) {
    if (errno != EINTR) fail(fmt::format("cannot be given {} bytes", bytes));
  }
}

std::string label_of(const std::string& argument, const std::string& path) {
  return fmt::format("{} = '{}'", argument, visible(path));
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

File open_to_change(const std::string& path, const std::string& argument) {
  File file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK), label_of(argument, path));
  if (!file.is_open()) file.fail("cannot be opened for writing");
  if (!file.is_regular()) {
    throw Error(Status::invalid_argument,
                file.label() + " is not a regular file: only such a file is changed in place");
  }
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) file.fail("cannot be locked");
  throw Error(
      Status::invalid_argument,
      file.label() + " is being changed by another process: only one may do that at a time");
}

std::string read_text(const std::string& path, const std::string& argument) {
  const File file = open_input(path, argument);
  std::string text;
  constexpr std::size_t step = 1 << 16;
  for (std::size_t have = 0;;) {
    text.resize(have + step);
    const auto got = static_cast<std::size_t>(file.read_some(text.data() + have, step));
    have += got;
    text.resize(have);
    if (got < step) return text;
    if (static_cast<std::int64_t>(have) > most_text) {
      throw Error(Status::invalid_argument,
                  fmt::format("{} has more than {} bytes, the most that is read of a text",
                              file.label(), most_text));
    }
  }
}

}  // namespace cornerturn::files
