#include "io/recorded_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace cornerturn::calls {
namespace {

namespace fs = std::filesystem;

std::mutex recording_mutex;
std::vector<Call>* recorded = nullptr;

bool is_recorded() {
  const std::lock_guard lock(recording_mutex);
  return recorded != nullptr;
}

void write_down(Call call) {
  const std::lock_guard lock(recording_mutex);
  if (recorded != nullptr) recorded->push_back(std::move(call));
}

std::string name_of(const char* path) {
  return fs::path(path).filename();
}

std::uint64_t inode_of(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

bool is_folder(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

void put(Bytes& file, std::int64_t at, const std::byte* data, std::size_t count) {
  const auto end = static_cast<std::size_t>(at) + count;
  if (file.size() < end) file.resize(end);
  std::copy_n(data, count, file.begin() + at);
}

void apply(Disk& disk, const Call& call) {
  switch (call.kind) {
    case Call::Kind::write:
      put(disk.files[call.file], call.at, call.bytes.data(), call.bytes.size());
      break;
    case Call::Kind::resize:
      disk.files[call.file].resize(static_cast<std::size_t>(call.at));
      break;
    case Call::Kind::link:
      disk.files[call.file];
      disk.names[call.name] = call.file;
      break;
    case Call::Kind::unlink:
      disk.names.erase(call.name);
      break;
    default:
      break;
  }
}

bool is_of_folder(Call::Kind kind) {
  return kind == Call::Kind::link || kind == Call::Kind::unlink;
}

}  // namespace

Recording::Recording() {
  const std::lock_guard lock(recording_mutex);
  recorded = &calls_;
}

Recording::~Recording() {
  const std::lock_guard lock(recording_mutex);
  recorded = nullptr;
}

Disk Disk::of_folder(const std::string& folder) {
  Disk disk;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    struct stat status {};
    if (stat(entry.path().c_str(), &status) != 0) continue;
    disk.names[entry.path().filename()] = status.st_ino;
    Bytes& bytes = disk.files[status.st_ino];
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::ifstream(entry.path(), std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), status.st_size);
  }
  return disk;
}

void Disk::write_to(const std::string& folder) const {
  // New files: some file systems wait for the disk where one is cut and written again.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
  for (const auto& [name, file] : names) {
    const Bytes& bytes = files.at(file);
    std::ofstream(folder + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

Disk Disk::killed(const std::vector<Call>& calls, std::size_t stop, bool half) const {
  Disk disk = *this;
  for (std::size_t i = 0; i < stop; ++i) apply(disk, calls[i]);
  if (half && stop < calls.size() && calls[stop].kind == Call::Kind::write) {
    Call call = calls[stop];
    call.bytes.resize(call.bytes.size() / 2);
    apply(disk, call);
  }
  return disk;
}

std::vector<std::size_t> Disk::unsynced(const std::vector<Call>& calls, std::size_t stop) {
  std::map<std::uint64_t, std::size_t> synced;
  std::size_t folder_synced = 0;
  for (std::size_t i = 0; i < stop; ++i) {
    if (calls[i].kind == Call::Kind::sync) synced[calls[i].file] = i;
    if (calls[i].kind == Call::Kind::sync_folder) folder_synced = i;
  }
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < stop; ++i) {
    const Call& call = calls[i];
    if (call.kind == Call::Kind::sync || call.kind == Call::Kind::sync_folder) continue;
    const bool safe = is_of_folder(call.kind) ? i < folder_synced
                                              : synced.contains(call.file) && i < synced[call.file];
    if (!safe) all.push_back(i);
  }
  return all;
}

Disk Disk::without_call(const std::vector<Call>& calls, std::size_t stop, std::size_t lost) const {
  Disk disk = *this;
  for (std::size_t i = 0; i < stop; ++i) {
    if (i != lost) apply(disk, calls[i]);
  }
  return disk;
}

Disk Disk::without_power(const std::vector<Call>& calls, std::size_t stop,
                         std::mt19937& random) const {
  const std::vector<std::size_t> open = unsynced(calls, stop);
  // In some runs most is there, in others little.
  const auto share = static_cast<unsigned>(random() % 5);
  const auto is_there = [&] { return random() % 4 < share; };
  Disk disk = *this;
  for (std::size_t i = 0; i < stop; ++i) {
    const Call& call = calls[i];
    if (!std::binary_search(open.begin(), open.end(), i)) {
      apply(disk, call);
    } else if (call.kind == Call::Kind::write) {
      constexpr std::int64_t sector = 512;
      const auto size = static_cast<std::int64_t>(call.bytes.size());
      for (std::int64_t from = 0; from < size;) {
        const std::int64_t to =
            std::min(size, (call.at + from) / sector * sector + sector - call.at);
        if (is_there()) {
          put(disk.files[call.file], call.at + from, call.bytes.data() + from,
              static_cast<std::size_t>(to - from));
        }
        from = to;
      }
    } else if (is_there()) {
      apply(disk, call);
    }
  }
  for (const auto& [name, file] : disk.names) disk.files[file];
  return disk;
}

}  // namespace cornerturn::calls

// ---- the calls themselves ----

using cornerturn::calls::Call;

extern "C" {

ssize_t pwrite(int file, const void* data, size_t count, off_t at) {
  const ssize_t done = syscall(SYS_pwrite64, file, data, count, at);
  if (done > 0 && cornerturn::calls::is_recorded()) {
    const auto* bytes = static_cast<const std::byte*>(data);
    cornerturn::calls::write_down(
        {Call::Kind::write, cornerturn::calls::inode_of(file), at, {bytes, bytes + done}});
  }
  return done;
}
ssize_t pwrite64(int file, const void* data, size_t count, off64_t at) {
  return pwrite(file, data, count, at);
}

int fsync(int file) {
  if (!cornerturn::calls::is_recorded()) return static_cast<int>(syscall(SYS_fsync, file));
  const bool folder = cornerturn::calls::is_folder(file);
  cornerturn::calls::write_down(
      {folder ? Call::Kind::sync_folder : Call::Kind::sync, cornerturn::calls::inode_of(file)});
  return 0;
}

int ftruncate(int file, off_t size) noexcept {
  const auto result = static_cast<int>(syscall(SYS_ftruncate, file, size));
  cornerturn::calls::write_down({Call::Kind::resize, cornerturn::calls::inode_of(file), size});
  return result;
}
int ftruncate64(int file, off64_t size) noexcept {
  return ftruncate(file, size);
}

// As where a file system cannot reserve: the file is then given its size.
int fallocate(int file, int mode, off_t at, off_t size) {
  if (cornerturn::calls::is_recorded()) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fallocate, file, mode, at, size));
}
int fallocate64(int file, int mode, off64_t at, off64_t size) {
  return fallocate(file, mode, at, size);
}

int linkat(int from_folder, const char* from, int folder, const char* name, int flags) noexcept {
  const auto result = static_cast<int>(syscall(SYS_linkat, from_folder, from, folder, name, flags));
  struct stat status {};
  if (result == 0 && cornerturn::calls::is_recorded() && lstat(name, &status) == 0) {
    cornerturn::calls::write_down(
        {Call::Kind::link, status.st_ino, 0, {}, cornerturn::calls::name_of(name)});
  }
  return result;
}

int unlink(const char* name) noexcept {
  const auto result = static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, name, 0));
  if (result == 0) {
    cornerturn::calls::write_down({Call::Kind::unlink, 0, 0, {}, cornerturn::calls::name_of(name)});
  }
  return result;
}

}  // extern "C"
