#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

// Names to remove when a signal ends the process: plain memory that a handler may read. A slot is
// filled before its file is made and emptied after the file is gone.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<bool> filled{false};
  std::array<char, PATH_MAX> path{};
};
std::array<Slot, 8> slots;

int fill_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].taken.exchange(true)) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].filled.store(true);
    return static_cast<int>(i);
  }
  return -1;
}

void empty_slot(int& slot) noexcept {
  if (slot < 0) return;
  slots[static_cast<std::size_t>(slot)].filled.store(false);
  slots[static_cast<std::size_t>(slot)].taken.store(false);
  slot = -1;
}

std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

// A file without a name can later be given one through /proc.
int open_unnamed(const std::string& directory, unsigned mode) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (descriptor >= 0 && ::access(descriptor_path(descriptor).c_str(), F_OK) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

[[noreturn]] void fail_for_room(const File& file, std::int64_t bytes) {
  file.fail(fmt::format("has no room for {} bytes", bytes));
}

bool has_room(const File& file, std::int64_t bytes) {
  struct statvfs space {};
  if (fstatvfs(file.descriptor(), &space) != 0 || space.f_blocks == 0) return true;  // unlimited
  return static_cast<std::uint64_t>(bytes) / space.f_frsize < space.f_bavail;
}

bool lies_in_memory(const File& file) {
  struct statfs system {};
  return fstatfs(file.descriptor(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

// False when the file system cannot.
bool allocate(const File& file, std::int64_t bytes) {
  while (::fallocate(file.descriptor(), 0, 0, bytes) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
    if (errno != EINTR) fail_for_room(file, bytes);
  }
  return true;
}

// Where reserving is impossible, or takes as long as writing, all that can be done is to look
// whether there is room now.
void reserve(const File& file, std::int64_t bytes) {
  if (bytes == 0 || (!lies_in_memory(file) && allocate(file, bytes))) return;
  errno = ENOSPC;
  if (!has_room(file, bytes) || ::ftruncate(file.descriptor(), bytes) != 0) {
    fail_for_room(file, bytes);
  }
}

std::string random_suffix() {
  static std::atomic<unsigned> count{0};
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}.{:x}.{}", getpid(), now.tv_nsec, count++);
}

}  // namespace

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

OutputFile::OutputFile(const std::string& path, std::int64_t bytes, const std::string& argument)
    : path_(path) {
  // An unopened File lends its label to errors.
  file_ = File(-1, label_of(argument, path));
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) file_.fail("cannot be written");
  if (path.empty() || path.back() == '/' || (exists && S_ISDIR(status.st_mode))) {
    errno = path.empty() ? ENOENT : EISDIR;
    file_.fail("cannot be written");
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) file_.fail("cannot be written");
  if (exists && !S_ISREG(status.st_mode)) {
    seekable_ = false;
    file_ = File(::open(path.c_str(), O_WRONLY | O_CLOEXEC), file_.label());
    if (!file_.is_open()) file_.fail("cannot be written");
    return;
  }
  if (exists) {
    std::array<char, PATH_MAX> resolved{};
    if (::realpath(path.c_str(), resolved.data()) != nullptr) path_ = resolved.data();
  }
  directory_ = directory_of(path_);
  open_temporary(exists ? status.st_mode & 07777 : 0666);
  try {
    if (exists && ::fchmod(file_.descriptor(), status.st_mode & 07777) != 0) {
      file_.fail("cannot be given the mode of the file it replaces");
    }
    reserve(file_, bytes);
  } catch (...) {
    if (slot_ >= 0) ::unlink(temporary_.c_str());
    empty_slot(slot_);
    throw;
  }
}

void OutputFile::take_name() {
  const std::size_t slash = path_.rfind('/');
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  // A name may have 255 bytes.
  temporary_ = fmt::format("{}/.{}.{}.tmp", directory_, name.substr(0, 180), random_suffix());
  slot_ = fill_slot(temporary_);
  if (slot_ < 0) {
    errno = ENAMETOOLONG;
    file_.fail("cannot be written");
  }
}

void OutputFile::open_temporary(unsigned mode) {
  const std::string label = file_.label();
  int descriptor = open_unnamed(directory_, mode);
  if (descriptor < 0) {
    take_name();
    descriptor = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
  }
  if (descriptor < 0) {
    empty_slot(slot_);
    file_.fail("cannot be written");
  }
  file_ = File(descriptor, label);
}

void OutputFile::prepare() {
  if (!seekable_ || slot_ >= 0) return;
  take_name();
  if (::linkat(AT_FDCWD, descriptor_path(file_.descriptor()).c_str(), AT_FDCWD, temporary_.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    empty_slot(slot_);
    file_.fail("cannot be given its name");
  }
}

void OutputFile::commit() {
  if (!seekable_) return;
  prepare();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) file_.fail("cannot be given its name");
  empty_slot(slot_);
  const std::string label = file_.label();
  file_ = File(-1, label);
}

OutputFile::~OutputFile() {
  if (slot_ < 0) return;
  ::unlink(temporary_.c_str());
  empty_slot(slot_);
}

File temporary_file(const std::string& directory, std::int64_t bytes) {
  File file(open_unnamed(directory, 0600), label_of("temporary file in", directory));
  if (!file.is_open()) {
    std::string name = fmt::format("{}/.cornerturn.XXXXXX", directory);
    file = File(::mkostemp(name.data(), O_CLOEXEC), file.label());
    if (!file.is_open()) file.fail("cannot be made");
    ::unlink(name.c_str());
  }
  reserve(file, bytes);
  return file;
}

void remove_temporary_files() noexcept {
  for (Slot& slot : slots) {
    if (slot.filled.load()) ::unlink(slot.path.data());
  }
}

}  // namespace cornerturn::io
