#include "files/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/visible.hpp"
#include "cornerturn/error.hpp"
#include "files/place.hpp"

namespace cornerturn::files {
namespace {

constexpr std::int64_t block = 4096;  // of what is written and read as one
constexpr std::array<char, 8> magic_of_task = {'C', 'T', 'J', 'O', 'U', 'R', 'N', '2'};
constexpr std::array<char, 8> magic_of_slot = {'C', 'T', 'R', 'E', 'C', 'O', 'R', 'D'};

std::int64_t in_blocks(std::int64_t bytes) {
  return (bytes + block - 1) / block * block;
}

// FNV-1a: tells a block that was written whole from one that was not.
std::uint64_t check_of(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3U;
  }
  return hash;
}

struct TaskBlock {
  std::array<char, 8> magic;
  Journal::Sizes sizes;
  std::int64_t text_bytes;
  std::array<char, 3072> text;
  std::uint64_t check;

  std::uint64_t right_check() const { return check_of(this, offsetof(TaskBlock, check)); }
  bool is_whole() const { return magic == magic_of_task && check == right_check(); }
};
static_assert(sizeof(TaskBlock) <= block);

std::optional<TaskBlock> read_task(const File& journal) {
  TaskBlock task{};
  if (journal.size() < block) return std::nullopt;
  journal.read_at(&task, sizeof task, 0);
  if (!task.is_whole() || journal.size() < task.sizes.total()) return std::nullopt;
  return task;
}

// Pieces of the file, spread over all of it, by which a change that somebody else made is noticed.
constexpr std::int64_t sample_count = 64;
constexpr std::int64_t sample_bytes = 64;
using Samples = std::array<std::uint64_t, sample_count>;

Extent sample(std::int64_t size, std::int64_t number) {
  const std::int64_t bytes = std::min(size, sample_bytes);
  return {(size - bytes) / (sample_count - 1) * number, bytes};
}

std::uint64_t check_of(const File& file, const Extent& piece) {
  std::array<std::byte, sample_bytes> data{};
  file.read_at(data.data(), piece.bytes, piece.offset);
  return check_of(data.data(), data.size());
}

bool overlap(const Extent& a, const Extent& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::string text_of(const TaskBlock& task) {
  return {task.text.data(), static_cast<std::size_t>(task.text_bytes)};
}

File open_journal(const std::string& path, int flags) {
  return File(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600),
              label_of("the journal", path));
}

// What it says is written into the file: in a folder like /tmp somebody else could have put it
// there.
void require_own(const File& journal) {
  struct stat status {};
  if (fstat(journal.descriptor(), &status) != 0) journal.fail("cannot be examined");
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    throw Error(Status::invalid_argument,
                fmt::format("{} is not a file of this user: nobody else's journal is followed",
                            journal.label()));
  }
}

}  // namespace

struct Journal::Slot {
  std::array<char, 8> magic;
  std::int64_t number;
  std::int64_t extents;
  std::int64_t state_bytes;
  std::int64_t data_bytes;
  std::int64_t file_bytes;
  Samples samples;  // of the file before the record changes it
  std::uint64_t check;

  std::uint64_t right_check() const { return check_of(this, offsetof(Slot, check)); }
};

static_assert(sizeof(std::int64_t) * 8 + sizeof(Samples) <= block);  // of a slot

std::int64_t Journal::Sizes::slot() const {
  return in_blocks(block + extents * static_cast<std::int64_t>(sizeof(Extent)) + state + data);
}

std::int64_t Journal::Sizes::total() const {
  return block + in_blocks(rest) + 2 * slot();
}

std::string Journal::path_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return directory_of(path) + "/." + name.substr(0, 220) + ".cornerturn-journal";
}

std::optional<std::string> Journal::task_of(const std::string& path) {
  const File journal = open_journal(path_of(path), O_RDONLY);
  if (!journal.is_open()) return std::nullopt;
  const std::optional<TaskBlock> task = read_task(journal);
  return task ? std::optional(text_of(*task)) : std::nullopt;
}

Journal::Journal(const std::string& path, const File& file, const std::string& task,
                 const Sizes& sizes, Sync sync)
    : path_(path_of(path)),
      directory_(directory_of(path)),
      file_(file),
      sizes_(sizes),
      sync_(sync) {
  journal_ = open_journal(path_, O_RDWR);
  if (!journal_.is_open() && errno != ENOENT) journal_.fail("cannot be opened");
  if (journal_.is_open()) require_own(journal_);
  const std::optional<TaskBlock> known = journal_.is_open() ? read_task(journal_) : std::nullopt;
  if (!known) {
    create(task);
    return;
  }
  if (text_of(*known) != task) {
    throw Error(Status::invalid_argument,
                fmt::format("{} is in the middle of another change, of which {} tells: {}",
                            file.label(), visible(path_), visible(text_of(*known))));
  }
  sizes_ = known->sizes;
  recover();
}

// Its room is taken, and the task is written last: before that it counts as none.
void Journal::create(const std::string& task) {
  TaskBlock first{};
  if (task.size() > first.text.size()) {
    throw Error(Status::invalid_argument,
                fmt::format("the task of {} takes {} bytes, the most is {}", file_.label(),
                            task.size(), first.text.size()));
  }
  journal_ = open_journal(path_, O_RDWR | O_CREAT | O_TRUNC);
  if (!journal_.is_open()) journal_.fail("cannot be made");
  try {
    reserve(journal_, sizes_.total());
    const std::vector<std::byte> none(block);
    for (const int slot : {0, 1}) journal_.write_at(none.data(), block, slot_offset(slot));
    sync(journal_);
    first.magic = magic_of_task;
    first.sizes = sizes_;
    first.text_bytes = static_cast<std::int64_t>(task.size());
    std::memcpy(first.text.data(), task.data(), task.size());
    first.check = first.right_check();
    journal_.write_at(&first, sizeof first, 0);
    sync(journal_);
    if (sync_ == Sync::yes) sync_directory(directory_, journal_.label());
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

std::int64_t Journal::slot_offset(int number) const {
  return block + in_blocks(sizes_.rest) + number * sizes_.slot();
}

std::optional<Journal::Slot> Journal::read_slot(int number) const {
  Slot slot{};
  journal_.read_at(&slot, sizeof slot, slot_offset(number));
  if (slot.magic != magic_of_slot || slot.check != slot.right_check()) return std::nullopt;
  return slot;
}

void Journal::recover() {
  std::optional<Slot> last;
  for (const int number : {0, 1}) {
    const std::optional<Slot> slot = read_slot(number);
    if (slot && (!last || slot->number > last->number)) last = slot;
  }
  if (!last) return;
  number_ = last->number;
  std::int64_t at = slot_offset(static_cast<int>(number_ % 2)) + block;
  std::vector<Extent> extents(static_cast<std::size_t>(last->extents));
  const auto extent_bytes = static_cast<std::int64_t>(extents.size() * sizeof(Extent));
  journal_.read_at(extents.data(), extent_bytes, at);
  require_unchanged(*last, extents);
  at += extent_bytes;
  state_.resize(static_cast<std::size_t>(last->state_bytes));
  journal_.read_at(state_.data(), last->state_bytes, at);
  at += last->state_bytes;
  std::vector<std::byte> data(static_cast<std::size_t>(last->data_bytes));
  journal_.read_at(data.data(), last->data_bytes, at);
  apply(extents, data);
}

// What the last record replaces may be old, new or torn; everything else is as it was.
void Journal::require_unchanged(const Slot& last, std::span<const Extent> extents) const {
  bool fits = file_.size() == last.file_bytes;
  for (std::int64_t i = 0; fits && i < sample_count; ++i) {
    const Extent piece = sample(last.file_bytes, i);
    const bool replaced = std::any_of(extents.begin(), extents.end(),
                                      [&](const Extent& extent) { return overlap(extent, piece); });
    fits = replaced || check_of(file_, piece) == last.samples[static_cast<std::size_t>(i)];
  }
  if (fits) return;
  throw Error(Status::invalid_argument,
              fmt::format("{} was changed by something else while {} waits to finish it: put the "
                          "interrupted file back, or remove the journal to use the file as it is",
                          file_.label(), visible(path_)));
}

void Journal::write_rest(std::span<const std::byte> data, std::int64_t offset) const {
  journal_.write_at(data.data(), static_cast<std::int64_t>(data.size()), block + offset);
}

void Journal::read_rest(std::span<std::byte> data, std::int64_t offset) const {
  journal_.read_at(data.data(), static_cast<std::int64_t>(data.size()), block + offset);
}

void Journal::commit(std::string state, std::span<const Extent> extents,
                     std::span<const std::byte> data) {
  Slot slot{magic_of_slot,
            number_ + 1,
            static_cast<std::int64_t>(extents.size()),
            static_cast<std::int64_t>(state.size()),
            static_cast<std::int64_t>(data.size()),
            file_.size(),
            {},
            0};
  for (std::int64_t i = 0; i < sample_count; ++i) {
    slot.samples[static_cast<std::size_t>(i)] = check_of(file_, sample(slot.file_bytes, i));
  }
  slot.check = slot.right_check();
  const std::int64_t begin = slot_offset(static_cast<int>(slot.number % 2));
  std::int64_t at = begin + block;
  const auto put = [&](const void* bytes, std::size_t count) {
    journal_.write_at(bytes, static_cast<std::int64_t>(count), at);
    at += static_cast<std::int64_t>(count);
  };
  put(extents.data(), extents.size_bytes());
  put(state.data(), state.size());
  put(data.data(), data.size());
  sync(journal_);  // what the block speaks of is there before the block is
  journal_.write_at(&slot, sizeof slot, begin);
  sync(journal_);
  number_ = slot.number;
  state_ = std::move(state);
  apply(extents, data);
}

void Journal::apply(std::span<const Extent> extents, std::span<const std::byte> data) const {
  const std::byte* from = data.data();
  for (const Extent& extent : extents) {
    file_.write_at(from, extent.bytes, extent.offset);
    from += extent.bytes;
  }
  if (!extents.empty()) sync(file_);
}

void Journal::sync(const File& file) const {
  if (sync_ == Sync::yes) file.sync();
}

void Journal::finish() {
  if (::unlink(path_.c_str()) != 0) journal_.fail("cannot be removed");
  journal_.close();
  if (sync_ == Sync::yes) sync_directory(directory_, file_.label());
}

}  // namespace cornerturn::files
