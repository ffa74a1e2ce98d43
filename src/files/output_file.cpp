#include "files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cornerturn/error.hpp"
#include "files/mark.hpp"

namespace cornerturn::files {
namespace {

[[noreturn]] void fail_for_room(const File& file, std::int64_t bytes) {
  file.fail(fmt::format("has no room for {} bytes", bytes));
}

bool has_room(const File& file, std::int64_t bytes) {
  struct statvfs space {};
  if (fstatvfs(file.descriptor(), &space) != 0 || space.f_blocks == 0) return true;  // unlimited
  const auto free = ::geteuid() == 0 ? space.f_bfree : space.f_bavail;
  return static_cast<std::uint64_t>(bytes) / space.f_frsize < free;
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

// Two names of one file system change places. False with errno: older systems cannot.
bool exchange_names(const std::string& a, const std::string& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace

// First it is looked whether there is room: some file systems would otherwise give away all that
// they have, and take it from everybody else, before they find that it is not enough. Where
// reserving is impossible, or takes as long as writing, that is all that can be done.
void reserve(const File& file, std::int64_t bytes) {
  if (bytes == 0) return;
  errno = ENOSPC;
  if (!has_room(file, bytes)) fail_for_room(file, bytes);
  if (!lies_in_memory(file) && allocate(file, bytes)) return;
  if (::ftruncate(file.descriptor(), bytes) != 0) fail_for_room(file, bytes);
}

void sync_directory(const std::string& path, const std::string& label) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Who may write in a folder but not read it cannot ask for this.
  if (descriptor < 0 && errno == EACCES) return;
  const File directory(descriptor, label);
  constexpr const char* what = "is in its place, but its folder cannot be brought to the disk";
  if (!directory.is_open()) directory.fail(what);
  while (::fsync(descriptor) != 0) {
    if (errno == EINVAL || errno == EROFS || errno == ENOTSUP) return;
    if (errno != EINTR) directory.fail(what);
  }
}

OutputFile::OutputFile(const std::string& path, std::int64_t bytes, const std::string& argument,
                       Sync sync)
    : OutputFile(place_of(path), label_of(argument, path), bytes, sync) {}

OutputFile::OutputFile(const Place& place, const std::string& label, std::int64_t bytes, Sync sync)
    : path_(place.path), file_(-1, label), sync_(sync) {
  // An unopened File lends its label to errors.
  if (place.descriptor >= 0) {
    open_in_order(place.descriptor);
    return;
  }
  struct stat status {};
  replaces_ = ::stat(path_.c_str(), &status) == 0;
  if (!replaces_ && errno != ENOENT) file_.fail("cannot be written");
  if (path_.empty() || path_.back() == '/' || (replaces_ && S_ISDIR(status.st_mode))) {
    errno = path_.empty() ? ENOENT : EISDIR;
    file_.fail("cannot be written");
  }
  if (replaces_ && ::access(path_.c_str(), W_OK) != 0) file_.fail("cannot be written");
  if (replaces_ && !S_ISREG(status.st_mode)) {
    open_in_order(-1);
    return;
  }
  if (replaces_) refuse_unfinished();
  directory_ = directory_of(path_);
  open_temporary(replaces_ ? status.st_mode & 0777 : 0666);
  if (replaces_) inherit(status.st_uid, status.st_gid, status.st_mode);
  reserve(file_, bytes);
}

// Its bytes are in no order, but those of the older array all the same, and its journal would be
// left behind.
void OutputFile::refuse_unfinished() const {
  if (const auto why = why_unfinished(path_)) {
    throw Error(
        Status::invalid_argument,
        fmt::format("{} {}; or remove both first to write another file here", file_.label(), *why));
  }
}

void OutputFile::open_in_order(int descriptor) {
  seekable_ = false;
  const std::string label = file_.label();
  if (descriptor >= 0) {
    file_ = File(descriptor, label, false);
    return;
  }
  file_ = File(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY), label);
  if (!file_.is_open()) file_.fail("cannot be written");
}

// As if the older file had been written into, which keeps its owner and its mode, but for the bits
// that would let the new bytes run with another user's rights.
void OutputFile::inherit(unsigned owner, unsigned group, unsigned mode) {
  const int file = file_.descriptor();
  mode &= 01777;
  const bool owned = ::fchown(file, owner, group) == 0;
  if (!owned && ::fchown(file, static_cast<uid_t>(-1), group) != 0) {
    // What was allowed to the group is not meant for another.
    mode &= ~070U | (mode & 07) << 3;
  }
  if (::fchmod(file, mode) != 0) file_.fail("cannot be given the mode of the file it replaces");
}

void OutputFile::open_temporary(unsigned mode) {
  const std::string label = file_.label();
  const int descriptor = files::open_temporary(path_, mode, temporary_);
  if (descriptor < 0) file_.fail("cannot be written");
  file_ = File(descriptor, label);
}

// All that can fail before the name is taken.
void OutputFile::prepare() {
  if (sync_ == Sync::yes) file_.sync();
  if (seekable_ && temporary_.empty()) {
    const int unnamed = file_.descriptor();
    const bool named =
        temporary_.make(path_, [&](const char* name) { return give_free_name(unnamed, name); });
    if (!named) file_.fail("cannot be given its name");
  }
  file_.finish();
}

void OutputFile::take_place(bool keep_old) {
  if (!seekable_) return;
  if (keep_old && replaces_) {
    exchanged_ = exchange_names(temporary_.path(), path_);
    const bool cannot = errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == ENOENT;
    if (!exchanged_ && !cannot) file_.fail("cannot be given its name");
  }
  if (!exchanged_ && ::rename(temporary_.path().c_str(), path_.c_str()) != 0) {
    file_.fail("cannot be given its name");
  }
  if (!exchanged_) temporary_.forget();
  placed_ = true;
}

void OutputFile::give_back() noexcept {
  if (!placed_) return;
  if (exchanged_) {
    exchange_names(temporary_.path(), path_);
  } else if (!replaces_) {
    ::unlink(path_.c_str());
  }
}

void OutputFile::commit() {
  OutputFile* const self = this;
  commit({&self, 1});
}

void OutputFile::commit(std::span<OutputFile* const> files) {
  for (OutputFile* file : files) file->prepare();
  try {
    for (OutputFile* file : files) file->take_place(files.size() > 1);
  } catch (...) {
    for (OutputFile* file : files) file->give_back();
    throw;
  }
  for (OutputFile* file : files) file->temporary_.remove();  // the older file
  for (const OutputFile* file : files) {
    if (file->placed_ && file->sync_ == Sync::yes)
      sync_directory(file->directory_, file->file_.label());
  }
}

void write_text(const std::string& path, const std::string& text, const std::string& argument) {
  const auto bytes = static_cast<std::int64_t>(text.size());
  OutputFile file(path, bytes, argument);
  file.file().write(text.data(), bytes);
  file.commit();
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

}  // namespace cornerturn::files
