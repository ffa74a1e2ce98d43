#include "files/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/visible.hpp"
#include "cornerturn/error.hpp"
#include "files/checksum.hpp"
#include "files/place.hpp"

namespace cornerturn::files {
namespace {

constexpr std::int64_t block = 4096;
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
constexpr std::array<char, 8> magic_of_journal = {'C', 'T', 'W', 'O', 'R', 'K', '0', '3'};
constexpr std::array<char, 8> magic_of_record = {'C', 'T', 'R', 'E', 'C', 'O', 'R', 'D'};
constexpr const char* argument = "the journal";

std::int64_t in_blocks(std::int64_t bytes) {
  return (bytes + block - 1) / block * block;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Pieces of the file, spread over all of it, by which a change that somebody else made is noticed:
// its begin, where a header is, and others.
constexpr std::int64_t sample_count = 40;
constexpr std::int64_t sample_bytes = 64;
using Samples = std::array<std::uint64_t, sample_count>;

Extent sample(std::int64_t size, std::int64_t number) {
  if (number == 0) return {0, std::min(size, block)};
  const std::int64_t bytes = std::min(size, sample_bytes);
  return {(size - bytes) * number / (sample_count - 1), bytes};
}

// What a record replaces may be old, new or torn: it counts as zeros.
std::uint64_t checksum_of_piece(const File& file, const Extent& piece,
                                std::span<const Extent> replaced) {
  std::array<std::byte, block> data{};
  file.read_at(data.data(), piece.bytes, piece.offset);
  for (const Extent& extent : replaced) {
    const std::int64_t begin = std::max(extent.offset, piece.offset);
    const std::int64_t end = std::min(extent.offset + extent.bytes, piece.offset + piece.bytes);
    if (begin < end) {
      std::memset(data.data() + (begin - piece.offset), 0, static_cast<std::size_t>(end - begin));
    }
  }
  return checksum_of(std::span(data).first(static_cast<std::size_t>(piece.bytes)));
}

Samples samples_of(const File& file, std::int64_t size, std::span<const Extent> replaced) {
  Samples samples{};
  for (std::int64_t i = 0; i < sample_count; ++i) {
    samples[static_cast<std::size_t>(i)] = checksum_of_piece(file, sample(size, i), replaced);
  }
  return samples;
}

std::uint64_t payload_of(std::uint64_t seed, std::span<const Extent> extents,
                         const std::string& state, std::span<const std::byte> data) {
  return checksum_of(data, checksum_of(bytes_of(state), checksum_of(std::as_bytes(extents), seed)));
}

bool is_size(std::int64_t bytes) {
  return bytes >= 0 && bytes <= most_bytes / 64;
}

bool are_sizes(const Journal::Sizes& sizes) {
  return is_size(sizes.rest) && is_size(sizes.extents) && is_size(sizes.state) &&
         is_size(sizes.data);
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) {
    throw Error(Status::io_error, "the system has no random numbers for a journal");
  }
  return number;
}

void lock_journal(const File& journal) {
  if (::flock(journal.descriptor(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) journal.fail("cannot be locked");
  throw Error(Status::invalid_argument,
              journal.label() + " is followed by another process: only one may do that at a time");
}

}  // namespace

struct Journal::Heading {
  std::array<char, 8> magic;
  std::uint64_t work;
  Sizes sizes;
  std::int64_t file_bytes;
  std::int64_t task_bytes;
  std::uint64_t task_check;
  std::uint64_t check;
};

struct Journal::RecordHeading {
  std::array<char, 8> magic;
  std::uint64_t work;
  std::int64_t number;
  std::int64_t extents;
  std::int64_t state_bytes;
  std::int64_t data_bytes;
  std::int64_t last;
  std::uint64_t payload;  // checksum of the extents, the state and the data
  Samples samples;        // of the file, but for what the record replaces
  std::uint64_t check;

  bool fits(const Sizes& sizes) const {
    return extents >= 0 && extents <= sizes.extents && state_bytes >= 0 &&
           state_bytes <= sizes.state && data_bytes >= 0 && data_bytes <= sizes.data;
  }
};

struct Journal::Record {
  RecordHeading heading;
  std::vector<Extent> extents;
  std::string state;
  std::vector<std::byte> data;

  // Is every extent within the file, and are there bytes for each?
  bool fits(std::int64_t file_bytes) const {
    std::int64_t left = heading.data_bytes;
    for (const Extent& extent : extents) {
      if (extent.offset < 0 || extent.bytes < 0 || extent.bytes > left ||
          extent.offset > file_bytes - extent.bytes) {
        return false;
      }
      left -= extent.bytes;
    }
    return left == 0;
  }
};

std::int64_t Journal::Sizes::slot() const {
  return in_blocks(block + extents * static_cast<std::int64_t>(sizeof(Extent)) + state + data);
}

std::int64_t Journal::bytes(const Sizes& sizes, std::int64_t task_bytes) {
  return block + in_blocks(task_bytes) + in_blocks(sizes.rest) + 2 * sizes.slot();
}

// A name has at most 255 bytes, and there may be one more number behind it.
std::string Journal::path_of(const std::string& path) {
  constexpr std::size_t most_of_name = 200;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string folder = directory_of(path);
  if (name.size() <= most_of_name) return folder + "/." + name + ".cornerturn-journal";
  return fmt::format("{}/.{}.cornerturn-journal-{:016x}", folder, name.substr(0, 160),
                     checksum_of(bytes_of(name)));
}

Journal::Journal(std::string path, const File& file, Sync sync)
    : path_(std::move(path)), directory_(directory_of(path_)), file_(&file), sync_(sync) {}

void Journal::refuse(const std::string& why) const {
  throw Error(Status::invalid_argument, fmt::format("{} {}", label_of(argument, path_), why));
}

void Journal::refuse_changed() const {
  throw Error(Status::invalid_argument,
              fmt::format("{} was changed by something else while '{}' waits to finish it, or that "
                          "belongs to another file: put the interrupted file back, or remove the "
                          "journal to use the file as it is",
                          file_->label(), visible(path_)));
}

// ---- a new journal ----

Journal Journal::begin(const std::string& path, const File& file, const std::string& task,
                       const Sizes& sizes, Sync sync) {
  Journal journal(path_of(path), file, sync);
  journal.work_ = random_number();
  journal.file_bytes_ = file.size();
  TemporaryName temporary;
  journal.journal_ =
      File(open_temporary(journal.path_, 0600, temporary), label_of(argument, journal.path_));
  if (!journal.journal_.is_open()) journal.journal_.fail("cannot be made");
  lock_journal(journal.journal_);
  journal.fill_new(task, sizes);
  journal.take_name(temporary);
  try {
    if (sync == Sync::yes) sync_directory(journal.directory_, journal.journal_.label());
    journal.apply(journal.number_, {}, {});
  } catch (...) {
    // Nothing was done but to write the mark. Where this fails as well, the mark is removed by who
    // finds the journal.
    const int descriptor = file.descriptor();
    const bool whole = ::ftruncate(descriptor, journal.file_bytes_) == 0 &&
                       (sync == Sync::no || ::fsync(descriptor) == 0);
    if (whole) ::unlink(journal.path_.c_str());
    throw;
  }
  return journal;
}

void Journal::fill_new(const std::string& task, const Sizes& sizes) {
  sizes_ = sizes;
  task_ = task;
  const auto task_bytes = static_cast<std::int64_t>(task.size());
  reserve(journal_, bytes(sizes, task_bytes));
  Heading heading{
      magic_of_journal, work_, sizes, file_bytes_, task_bytes, checksum_of(bytes_of(task)), 0};
  heading.check = checksum_of_block(heading);
  journal_.write_at(&heading, sizeof heading, 0);
  journal_.write_at(task.data(), task_bytes, block);
  for (const std::int64_t number : {0, 1}) {
    write_record(heading_of(number, {}, {}, {}, Last::no), {}, {}, {});
  }
  number_ = 1;
}

void Journal::take_name(TemporaryName& temporary) {
  if (give_free_name(journal_.descriptor(), temporary, path_)) return;
  if (errno == EEXIST) {
    path_ += fmt::format("-{:016x}", work_);
    if (give_free_name(journal_.descriptor(), temporary, path_)) return;
  }
  journal_.fail("cannot be given its name");
}

// ---- a journal that is there ----

std::optional<Journal> Journal::waiting(const std::string& path, const File& file, Sync sync) {
  const std::optional<Mark> mark = read_mark(file);
  if (const auto why = mark ? std::nullopt : why_unfinished(path, file)) {
    throw Error(Status::invalid_argument, file.label() + " " + *why);
  }
  const std::string name = mark ? mark->journal_name() : std::string();
  if (mark && (name.empty() || name.find('/') != std::string::npos)) {
    throw Error(Status::invalid_argument,
                file.label() + " has a mark of work in place that names no journal");
  }
  Journal journal(mark ? directory_of(path) + "/" + name : path_of(path), file, sync);
  journal.journal_ = open_own(journal.path_, O_RDWR, argument);
  if (!journal.journal_.is_open()) {
    if (!mark) return std::nullopt;
    if (errno == EPERM) journal.refuse("is not a file of this user: nobody else's is followed");
    journal.journal_.fail(fmt::format("of {}, which is half done, cannot be opened", file.label()));
  }
  lock_journal(journal.journal_);
  journal.read_heading(mark);
  Record record = journal.last_record(mark);
  if (!mark && record.heading.number == 1) {  // not even the mark is there
    file.resize(journal.file_bytes_);
    journal.remove();
    return std::nullopt;
  }
  journal.number_ = record.heading.number;
  journal.done_ = record.heading.last != 0;
  journal.state_ = std::move(record.state);
  // Without its mark the file is as the last record wants it.
  if (mark) journal.apply(journal.number_, record.extents, record.data);
  return journal;
}

void Journal::read_heading(const std::optional<Mark>& mark) {
  constexpr const char* damaged =
      "is damaged, cut short or no journal: {} cannot be finished by it; put back a copy of both, "
      "or remove the journal where the file is as it should be";
  Heading heading{};
  const std::int64_t size = journal_.size();
  if (size >= block) journal_.read_at(&heading, sizeof heading, 0);
  const bool whole = heading.magic == magic_of_journal &&
                     heading.check == checksum_of_block(heading) && are_sizes(heading.sizes) &&
                     is_size(heading.task_bytes) && is_size(heading.file_bytes) &&
                     size == bytes(heading.sizes, heading.task_bytes);
  if (!whole) refuse(fmt::format(damaged, file_->label()));
  task_.resize(static_cast<std::size_t>(heading.task_bytes));
  journal_.read_at(task_.data(), heading.task_bytes, block);
  if (checksum_of(bytes_of(task_)) != heading.task_check) {
    refuse(fmt::format(damaged, file_->label()));
  }
  if (mark && (mark->work != heading.work || mark->file_bytes != heading.file_bytes)) {
    refuse(fmt::format("belongs to another file than {}", file_->label()));
  }
  sizes_ = heading.sizes;
  work_ = heading.work;
  file_bytes_ = heading.file_bytes;
}

std::optional<Journal::Record> Journal::read_record(int number) const {
  Record record{};
  RecordHeading& heading = record.heading;
  std::int64_t at = slot_offset(number);
  journal_.read_at(&heading, sizeof heading, at);
  if (heading.magic != magic_of_record || heading.check != checksum_of_block(heading) ||
      heading.work != work_ || heading.number % 2 != number || !heading.fits(sizes_)) {
    return std::nullopt;
  }
  at += block;
  const auto take = [&](void* to, std::size_t bytes) {
    journal_.read_at(to, static_cast<std::int64_t>(bytes), at);
    at += static_cast<std::int64_t>(bytes);
  };
  record.extents.resize(static_cast<std::size_t>(heading.extents));
  take(record.extents.data(), record.extents.size() * sizeof(Extent));
  record.state.resize(static_cast<std::size_t>(heading.state_bytes));
  take(record.state.data(), record.state.size());
  record.data.resize(static_cast<std::size_t>(heading.data_bytes));
  take(record.data.data(), record.data.size());
  const std::uint64_t payload = payload_of(work_, record.extents, record.state, record.data);
  if (payload != heading.payload || !record.fits(file_bytes_)) return std::nullopt;
  return record;
}

// The mark says of which record the file may have a part: of the last one, or of the one before
// where none of the last one was written yet. A slot that is not whole was being written when the
// work stopped, which is when all of the other record is in the file; or it is damaged.
Journal::Record Journal::last_record(const std::optional<Mark>& mark) const {
  std::optional<Record> last = read_record(0);
  bool both = last.has_value();
  std::int64_t before = both ? last->heading.number : -1;
  if (std::optional<Record> other = read_record(1)) {
    if (!last || other->heading.number > before) {
      last = std::move(other);
    } else {
      before = other->heading.number;
    }
  } else {
    both = false;
  }
  // Without a mark nothing is begun, or all is done.
  const bool at_an_end = both && (last->heading.number == 1 || last->heading.last != 0);
  if (!mark && !at_an_end) refuse_changed();
  bool whole = last.has_value();
  if (whole && both) whole = last->heading.number == before + 1;
  if (whole && mark) {
    whole = mark->number == last->heading.number ||
            (both && mark->number == before && mark->number > 0);
  }
  if (!whole) {
    refuse(fmt::format("is damaged, or of another time than {}: put back a copy of both",
                       file_->label()));
  }
  if (!agrees(*last)) refuse_changed();
  return std::move(*last);
}

bool Journal::agrees(const Record& record) const {
  const std::int64_t size = file_->size();
  const bool begun = record.heading.number > 1;
  if (size < file_bytes_ || size > marked_bytes(file_bytes_)) return false;
  // Once the last record is in the file, the mark is removed.
  if (begun && size != marked_bytes(file_bytes_) && size != file_bytes_) return false;
  return samples_of(*file_, file_bytes_, record.extents) == record.heading.samples;
}

// ---- records ----

std::int64_t Journal::rest_offset() const {
  return block + in_blocks(static_cast<std::int64_t>(task_.size()));
}

std::int64_t Journal::slot_offset(std::int64_t number) const {
  return rest_offset() + in_blocks(sizes_.rest) + number % 2 * sizes_.slot();
}

void Journal::write_rest(std::span<const std::byte> data, std::int64_t offset) {
  rest_written_ = true;
  journal_.write_at(data.data(), static_cast<std::int64_t>(data.size()), rest_offset() + offset);
}

void Journal::read_rest(std::span<std::byte> data, std::int64_t offset) const {
  journal_.read_at(data.data(), static_cast<std::int64_t>(data.size()), rest_offset() + offset);
}

Journal::RecordHeading Journal::heading_of(std::int64_t number, const std::string& state,
                                           std::span<const Extent> extents,
                                           std::span<const std::byte> data, Last last) const {
  RecordHeading heading{magic_of_record,
                        work_,
                        number,
                        static_cast<std::int64_t>(extents.size()),
                        static_cast<std::int64_t>(state.size()),
                        static_cast<std::int64_t>(data.size()),
                        last == Last::yes ? 1 : 0,
                        payload_of(work_, extents, state, data),
                        samples_of(*file_, file_bytes_, extents),
                        0};
  heading.check = checksum_of_block(heading);
  if (!heading.fits(sizes_)) {
    throw Error(Status::internal, fmt::format("a record of {} extents, {} bytes of state and {} of "
                                              "data is longer than its place in the journal",
                                              extents.size(), state.size(), data.size()));
  }
  return heading;
}

void Journal::write_record(const RecordHeading& heading, const std::string& state,
                           std::span<const Extent> extents, std::span<const std::byte> data) {
  const std::int64_t begin = slot_offset(heading.number);
  std::int64_t at = begin + block;
  const auto put = [&](const void* bytes, std::size_t count) {
    if (count > 0) journal_.write_at(bytes, static_cast<std::int64_t>(count), at);
    at += static_cast<std::int64_t>(count);
  };
  put(extents.data(), extents.size_bytes());
  put(state.data(), state.size());
  put(data.data(), data.size());
  std::array<std::byte, sector> bytes{};
  static_assert(sizeof heading <= sector);
  std::memcpy(bytes.data(), &heading, sizeof heading);
  journal_.write_at(bytes.data(), sector, begin);
  sync(journal_);
}

void Journal::commit(std::string state, std::span<const Extent> extents,
                     std::span<const std::byte> data, Last last) {
  if (std::exchange(rest_written_, false)) sync(journal_);  // the record may speak of it
  write_record(heading_of(number_ + 1, state, extents, data, last), state, extents, data);
  ++number_;
  done_ = last == Last::yes;
  state_ = std::move(state);
  apply(number_, extents, data);
}

// The mark comes first: where it speaks of the record before, nothing of this one was written.
void Journal::apply(std::int64_t number, std::span<const Extent> extents,
                    std::span<const std::byte> data) const {
  write_mark(*file_, work_, number, file_bytes_, path_.substr(path_.rfind('/') + 1));
  const std::byte* from = data.data();
  for (const Extent& extent : extents) {
    file_->write_at(from, extent.bytes, extent.offset);
    from += extent.bytes;
  }
  sync(*file_);
}

void Journal::sync(const File& file) const {
  if (sync_ == Sync::yes) file.sync();
}

void Journal::finish() {
  if (!done_) throw Error(Status::internal, "the journal has no last record");
  file_->resize(file_bytes_);
  sync(*file_);
  remove();
}

void Journal::remove() {
  struct stat named {
  }, open{};
  const bool same = ::lstat(path_.c_str(), &named) == 0 &&
                    ::fstat(journal_.descriptor(), &open) == 0 && named.st_dev == open.st_dev &&
                    named.st_ino == open.st_ino;
  if (same && ::unlink(path_.c_str()) != 0) journal_.fail("cannot be removed");
  journal_.close();
  if (sync_ == Sync::yes) sync_directory(directory_, file_->label());
}

}  // namespace cornerturn::files
