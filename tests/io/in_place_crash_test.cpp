// Work in place that stops anywhere: killed in every call, without power after any of them, and
// with a journal that is damaged. The file is old, new, or refused until the same work is finished.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "cornerturn/cornerturn.hpp"
#include "cornerturn/error.hpp"
#include "io/in_place.hpp"
#include "io/npy.hpp"
#include "io/recorded_calls.hpp"

namespace cornerturn::io {
namespace {

using calls::Bytes;
using calls::Call;
using calls::Disk;
using calls::Recording;

struct Work {
  Extents shape;
  std::vector<int> perm;
  std::int64_t element;
  std::int64_t piece;
  bool raw = false;
};

const Work works[] = {
    {{11, 13}, {1, 0}, 4, 160},             // a rest, panels, runs, rows
    {{13, 11}, {1, 0}, 4, 160, true},       // without a header
    {{9, 9}, {1, 0}, 4, 160},               // tiles that change places
    {{3, 5, 2, 5}, {0, 3, 2, 1}, 3, 128},   // units of several rows
    {{3, 3}, {1, 0}, 251, 300},             // parts of elements
    {{2, 3, 4}, {2, 0, 1}, 2, 1024, true},  // all at once
};

// Most of its bytes are in no sample that a journal has of its file.
const Work large{{100, 100}, {1, 0}, 4, 4096};

// A file "array" in a folder of its own, its work, and what it has to become.
class CrashedFile {
 public:
  explicit CrashedFile(const Work& work)
      : schedule_(schedule_in_pieces(work.shape, work.perm, work.element, work.piece)),
        folder_(std::filesystem::temp_directory_path() /
                ("cornerturn_crash_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    if (!work.raw) {
      before_ = "\x93NUMPY\x01: (11, 13)";
      after_ = "\x93NUMPY\x01: (13, 11)";
    }
    offset_ = static_cast<std::int64_t>(before_.size());
    const auto bytes = static_cast<std::size_t>(schedule_.bytes());
    older_.resize(before_.size() + bytes);
    std::mt19937 random(3);
    for (std::byte& byte : older_) byte = static_cast<std::byte>(random());
    newer_ = older_;
    std::transform(before_.begin(), before_.end(), older_.begin(), to_byte);
    std::transform(after_.begin(), after_.end(), newer_.begin(), to_byte);
    permute(newer_.data() + offset_,
            ConstView(older_.data() + offset_, ElementType::bytes(work.element), work.shape),
            work.perm);
    older_disk_.files[1] = older_;
    older_disk_.names["array"] = 1;
  }
  CrashedFile(const CrashedFile&) = delete;
  CrashedFile& operator=(const CrashedFile&) = delete;
  ~CrashedFile() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "array"; }
  const Disk& older_disk() const { return older_disk_; }
  Disk disk() const { return Disk::of_folder(folder_); }
  void put(const Disk& disk) const { disk.write_to(folder_); }

  // What the command does: begins, or goes on. The calls are counted from where the disk is `from`.
  std::vector<Call> run() const {
    const Recording recording;
    const File file = files::open_to_change(path(), "FILE");
    auto journal = files::Journal::waiting(path(), file, files::Sync::yes);
    if (!journal) {
      if (contents() == newer_) return recording.calls();
      journal = files::Journal::begin(path(), file, "a test", schedule_.journal_sizes(),
                                      files::Sync::yes);
    }
    Progress progress;
    if (!is_done(schedule_, *journal)) {
      rearrange_in_place(schedule_, file, offset_, after_, *journal, Options(), progress);
    }
    journal->finish();
    return recording.calls();
  }

  Bytes contents() const {
    const Disk now = disk();
    return now.files.at(now.names.at("array"));
  }
  bool is_finished() const { return contents() == newer_ && disk().names.size() == 1; }

  // Whoever takes the file for a whole one gets the older or the newer array.
  bool is_whole_or_refused() const {
    Bytes now = contents();
    const bool flagged =
        offset_ > 0 && (now[npy_version_offset] & std::byte{npy_unfinished}) != std::byte{};
    if (flagged) return true;
    if (offset_ == 0) {
      const File file = files::open_input(path(), "FILE");
      if (files::read_mark(file) || now.size() != older_.size()) return true;
    }
    now.resize(older_.size());  // NumPy does not mind what is behind the array
    return now == older_ || now == newer_;
  }

 private:
  static std::byte to_byte(char c) { return static_cast<std::byte>(c); }

  InPlaceSchedule schedule_;
  std::filesystem::path folder_;
  std::string before_, after_;
  std::int64_t offset_ = 0;
  Bytes older_, newer_;
  Disk older_disk_;
};

// Calls name inodes of their own time; the disk that they begin with has to have the same.
Disk begin(const CrashedFile& file, const Disk& disk) {
  file.put(disk);
  return file.disk();
}

TEST(InPlaceCrash, KilledInEveryCall) {
  int states = 0;
  for (const Work& work : works) {
    const CrashedFile file(work);
    const Disk first = begin(file, file.older_disk());
    const std::vector<Call> done = file.run();
    ASSERT_TRUE(file.is_finished());
    for (std::size_t stop = 0; stop <= done.size(); ++stop) {
      for (const bool half : {false, true}) {
        file.put(first.killed(done, stop, half));
        ASSERT_TRUE(file.is_whole_or_refused()) << stop << half;
        ASSERT_NO_THROW(file.run()) << stop << half;
        ASSERT_TRUE(file.is_finished()) << stop << half;
        ++states;
      }
    }
  }
  EXPECT_GT(states, 1000);
  RecordProperty("states", states);
}

TEST(InPlaceCrash, WithoutPowerAfterAnyCall) {
  std::mt19937 random(5);
  int states = 0, twice = 0;
  for (const Work& work : works) {
    const CrashedFile file(work);
    const Disk first = begin(file, file.older_disk());
    const std::vector<Call> done = file.run();
    for (std::size_t stop = 0; stop <= done.size(); ++stop) {
      for (int n = 0; n < 3; ++n) {
        const Disk second = begin(file, first.without_power(done, stop, random));
        ASSERT_TRUE(file.is_whole_or_refused()) << stop;
        std::vector<Call> more;
        ASSERT_NO_THROW(more = file.run()) << stop;
        ASSERT_TRUE(file.is_finished()) << stop;
        ++states;
        if (n > 0 || more.empty()) continue;
        // And once more in the middle of what is done again.
        file.put(
            second.without_power(more, random() % std::min<std::size_t>(more.size(), 20), random));
        ASSERT_TRUE(file.is_whole_or_refused()) << stop;
        ASSERT_NO_THROW(file.run()) << stop;
        ASSERT_TRUE(file.is_finished()) << stop;
        ++twice;
      }
    }
  }
  EXPECT_GT(states, 1500);
  RecordProperty("states", states);
  RecordProperty("twice", twice);
}

// Before each sync any one of the calls that wait for it is lost, and all others are not.
TEST(InPlaceCrash, WithoutPowerBeforeASync) {
  int states = 0;
  for (const Work* work : {&works[0], &works[4]}) {
    const CrashedFile file(*work);
    const Disk first = begin(file, file.older_disk());
    const std::vector<Call> done = file.run();
    for (std::size_t stop = 0; stop < done.size(); ++stop) {
      if (done[stop].kind != Call::Kind::sync && done[stop].kind != Call::Kind::sync_folder)
        continue;
      for (const std::size_t lost : Disk::unsynced(done, stop)) {
        file.put(first.without_call(done, stop, lost));
        ASSERT_TRUE(file.is_whole_or_refused()) << stop << " " << lost;
        ASSERT_NO_THROW(file.run()) << stop << " " << lost;
        ASSERT_TRUE(file.is_finished()) << stop << " " << lost;
        ++states;
      }
    }
  }
  EXPECT_GT(states, 150);
  RecordProperty("states", states);
}

// The file is finished, or refused and as it was: with the right journal it is finished then.
void check_with(const CrashedFile& file, const Disk& right, const Disk& damaged,
                const std::string& what, int& refused) {
  file.put(damaged);
  bool done = true;
  try {
    file.run();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument) << what << error.what();
    done = false;
    ++refused;
  }
  if (done) {
    ASSERT_TRUE(file.is_finished()) << what;
    return;
  }
  ASSERT_TRUE(file.is_whole_or_refused()) << what;
  Disk mended = right;
  mended.files[mended.names["array"]] = file.contents();
  file.put(mended);
  ASSERT_NO_THROW(file.run()) << what;
  ASSERT_TRUE(file.is_finished()) << what;
}

TEST(InPlaceCrash, ADamagedJournalIsRefused) {
  int flipped = 0, refused = 0, cut = 0;
  const CrashedFile file(works[0]);
  const std::string name = ".array.cornerturn-journal";
  const Disk first = begin(file, file.older_disk());
  const std::vector<Call> done = file.run();
  for (std::size_t part = 1; part < 8; part += 2) {
    const std::size_t stop = done.size() * part / 8;
    for (const bool half : {part % 4 == 1}) {
      const Disk right = first.killed(done, stop, half);
      ASSERT_TRUE(right.names.contains(name));
      const Bytes& journal = right.files.at(right.names.at(name));
      for (std::size_t at = 0; at < journal.size(); ++at) {
        // Where there are zeros, nothing has been written: some of them will do.
        if (journal[at] == std::byte{} ? at % 97 != 0 : at % 3 != part % 3) continue;
        Disk damaged = right;
        damaged.files[right.names.at(name)][at] ^= std::byte{1} << at % 8;
        check_with(file, right, damaged, std::to_string(at), refused);
        ++flipped;
      }
      for (const std::size_t size :
           {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{4096}, journal.size() / 2,
            journal.size() - 1, journal.size() + 1}) {
        Disk damaged = right;
        damaged.files[right.names.at(name)].resize(size);
        check_with(file, right, damaged, "size " + std::to_string(size), refused);
        Disk zeros = right;
        std::fill(zeros.files[right.names.at(name)].begin(),
                  zeros.files[right.names.at(name)].begin() +
                      static_cast<std::ptrdiff_t>(std::min(size, journal.size())),
                  std::byte{});
        check_with(file, right, zeros, "zeros " + std::to_string(size), refused);
        cut += 2;
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(flipped, 1000);
  EXPECT_GT(refused, 300);
  RecordProperty("flipped", flipped);
  RecordProperty("cut", cut);
  RecordProperty("refused", refused);
}

// The file has a part of a record that is damaged then: the record before is not taken for the
// last.
TEST(InPlaceCrash, ADamagedRecordIsNotPassedOver) {
  const std::string name = ".array.cornerturn-journal", magic = "CTRECORD";
  for (const Work& work : {works[0], large}) {
    const CrashedFile file(work);
    const Disk first = begin(file, file.older_disk());
    const std::vector<Call> done = file.run();
    const std::size_t step = std::max<std::size_t>(2, done.size() / 30);
    int refused = 0;
    for (std::size_t stop = 1; stop < done.size(); stop += step) {
      const Disk right = first.killed(done, stop, true);
      if (!right.names.contains(name)) continue;
      const Bytes& journal = right.files.at(right.names.at(name));
      const auto is_magic = [](std::byte byte, char c) {
        return byte == static_cast<std::byte>(c);
      };
      for (auto at = journal.begin();; ++at) {
        at = std::search(at, journal.end(), magic.begin(), magic.end(), is_magic);
        if (at == journal.end()) break;
        Disk damaged = right;
        damaged.files[right.names.at(name)][static_cast<std::size_t>(at - journal.begin())] ^=
            std::byte{1};
        check_with(file, right, damaged, std::to_string(stop), refused);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(refused, 20);
  }
}

// A journal and a file of different times do not belong together.
TEST(InPlaceCrash, AJournalOfAnotherTimeIsRefused) {
  const std::string name = ".array.cornerturn-journal";
  for (const Work& work : {works[0], large}) {
    const CrashedFile file(work);
    const Disk first = begin(file, file.older_disk());
    const std::vector<Call> done = file.run();
    int refused = 0;
    for (std::size_t i = 1; i < 8; ++i) {
      for (std::size_t k = 1; k < 8; ++k) {
        const Disk right = first.killed(done, done.size() * i / 8, false);
        const Disk other = first.killed(done, done.size() * k / 8, false);
        Disk mixed = right;
        mixed.files[mixed.names[name]] = other.files.at(other.names.at(name));
        check_with(file, right, mixed, std::to_string(i) + " " + std::to_string(k), refused);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_EQ(refused, 42);
  }
}

}  // namespace
}  // namespace cornerturn::io
