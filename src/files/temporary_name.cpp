#include "files/temporary_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "files/place.hpp"

namespace cornerturn::files {
namespace {

// Names to remove when a signal ends the process: plain memory that a handler may read. A slot is
// filled before its file is made and emptied after the file is gone.
struct NameSlot {
  std::atomic<bool> taken{false};
  std::atomic<bool> filled{false};
  std::array<char, PATH_MAX> path{};
};
std::array<NameSlot, 8> name_slots;

int fill_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < name_slots.size(); ++i) {
    if (name_slots[i].taken.exchange(true)) continue;
    std::memcpy(name_slots[i].path.data(), path.c_str(), path.size() + 1);
    name_slots[i].filled.store(true);
    return static_cast<int>(i);
  }
  return -1;
}

void empty_slot(int& slot) noexcept {
  if (slot < 0) return;
  name_slots[static_cast<std::size_t>(slot)].filled.store(false);
  name_slots[static_cast<std::size_t>(slot)].taken.store(false);
  slot = -1;
}

std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

std::string random_suffix() {
  static std::atomic<unsigned> count{0};
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}.{:x}.{}", getpid(), now.tv_nsec, count++);
}

}  // namespace

bool TemporaryName::make(const std::string& destination,
                         const std::function<bool(const char*)>& make) {
  const std::string name = destination.substr(destination.rfind('/') + 1);
  for (int tries = 0; tries < 100; ++tries) {
    // A name may have 255 bytes.
    path_ = fmt::format("{}/.{}.{}.tmp", directory_of(destination), name.substr(0, 180),
                        random_suffix());
    slot_ = fill_slot(path_);
    if (make(path_.c_str())) return true;
    const int error = errno;
    forget();
    errno = error;
    if (error != EEXIST) return false;
  }
  return false;
}

void TemporaryName::forget() noexcept {
  empty_slot(slot_);
  path_.clear();
}

void TemporaryName::remove() noexcept {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  forget();
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

int open_temporary(const std::string& destination, unsigned mode, TemporaryName& temporary) {
  int descriptor = open_unnamed(directory_of(destination), mode);
  if (descriptor >= 0) return descriptor;
  temporary.make(destination, [&](const char* name) {
    descriptor = ::open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
    return descriptor >= 0;
  });
  return descriptor;
}

bool give_free_name(int descriptor, const char* name) {
  return ::linkat(AT_FDCWD, descriptor_path(descriptor).c_str(), AT_FDCWD, name,
                  AT_SYMLINK_FOLLOW) == 0;
}

// Some file systems have no second names; others cannot rename without replacing.
bool give_free_name(int descriptor, TemporaryName& temporary, const std::string& name) {
  if (temporary.empty()) return give_free_name(descriptor, name.c_str());
  const char* old = temporary.path().c_str();
  if (::linkat(AT_FDCWD, old, AT_FDCWD, name.c_str(), 0) == 0) {
    temporary.remove();
    return true;
  }
  if (errno == EEXIST) return false;
  if (::renameat2(AT_FDCWD, old, AT_FDCWD, name.c_str(), RENAME_NOREPLACE) != 0) return false;
  temporary.forget();
  return true;
}

void remove_temporary_files() noexcept {
  for (NameSlot& slot : name_slots) {
    if (slot.filled.load()) ::unlink(slot.path.data());
  }
}

}  // namespace cornerturn::files
