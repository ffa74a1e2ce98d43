// Journals of files that are changed in place: whose they are, and what is followed.
#include "files/journal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t file_bytes = 20'000;
const Journal::Sizes sizes{100, 4, 16, 64};
const std::vector<Extent> extents = {{8, 4}, {3000, 4}};
const std::vector<std::byte> ones(8, std::byte{1}), twos(8, std::byte{2});

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string name = ::testing::TempDir() + "/cornerturn.XXXXXX";
    folder_ = mkdtemp(name.data());
    write("a", std::string(file_bytes, 'x'));
  }
  ~JournalTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string journal() const { return Journal::path_of(path("a")); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  File open(const std::string& name = "a") const { return open_to_change(path(name), "FILE"); }
  Journal begin(const File& file, const std::string& name = "a") const {
    return Journal::begin(path(name), file, "the task", sizes, Sync::no);
  }
  std::optional<Journal> waiting(const File& file, const std::string& name = "a") const {
    return Journal::waiting(path(name), file, Sync::no);
  }
  // What a crash leaves after two records.
  void interrupt() const {
    const File file = open();
    Journal work = begin(file);
    work.commit("first", extents, ones);
    work.commit("second", extents, twos);
  }
  // What is said where no journal is followed; nothing is changed.
  std::string refused(const std::string& name = "a") const {
    const std::string before = read(name);
    const File file = open(name);
    std::string said;
    try {
      waiting(file, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::invalid_argument);
      said = error.what();
    }
    EXPECT_EQ(read(name), before);
    return said;
  }

  fs::path folder_;
};

TEST_F(JournalTest, GoesOnAndEnds) {
  interrupt();
  EXPECT_EQ(read("a").size(), static_cast<std::size_t>(marked_bytes(file_bytes)));
  const File file = open();
  std::optional<Journal> work = waiting(file);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->state(), "second");
  EXPECT_EQ(work->task(), "the task");
  EXPECT_THROW(work->finish(), Error) << "that was no last record";
  work->commit("third", extents, ones, Journal::Last::yes);
  work->finish();
  std::string expected(file_bytes, 'x');
  for (const Extent& extent : extents) {
    std::fill_n(expected.begin() + extent.offset, extent.bytes, '\1');
  }
  EXPECT_EQ(read("a"), expected);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(JournalTest, TheLastRecordIsWrittenAgain) {
  interrupt();
  const int lost = 0;
  open().write_at(&lost, sizeof lost, 3000);
  const File file = open();
  waiting(file);
  EXPECT_EQ(read("a").substr(3000, 5), std::string(4, '\2') + 'x');
}

TEST_F(JournalTest, ARecordLongerThanItsPlaceIsRefused) {
  const File file = open();
  Journal work = begin(file);
  const std::vector<Extent> five(5, Extent{0, 1});
  EXPECT_THROW(work.commit("", five, std::vector<std::byte>(5)), Error);
  EXPECT_THROW(work.commit("", {}, std::vector<std::byte>(65)), Error);
  EXPECT_THROW(work.commit(std::string(17, 's'), {}, {}), Error);
  EXPECT_EQ(read("a").substr(0, file_bytes), std::string(file_bytes, 'x'));
}

TEST_F(JournalTest, AnUnfinishedFileIsNeitherTakenNorReplacedUnderAnyName) {
  EXPECT_FALSE(why_unfinished(path("a")));
  EXPECT_FALSE(why_unfinished(path("nothing")));
  interrupt();
  fs::create_hard_link(path("a"), path("b"));
  fs::create_symlink(path("a"), path("c"));
  fs::copy_file(path("a"), path("d"));
  for (const std::string name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(why_unfinished(path(name))) << name;
    EXPECT_NE(why_unfinished(path(name))->find(".a.cornerturn-journal"), std::string::npos);
    EXPECT_THROW(OutputFile(path(name), 5), Error);
  }
  EXPECT_EQ(read("a"), read("d"));
}

TEST_F(JournalTest, ItsMarkIsAlwaysThereWhole) {
  interrupt();  // the mark has numbers 2 and 3
  const auto size = static_cast<std::size_t>(marked_bytes(file_bytes));
  const std::string before = read("a");
  for (std::size_t at = static_cast<std::size_t>(file_bytes); at < size; at += 3) {
    std::string damaged = before;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write("a", damaged);
    EXPECT_TRUE(why_unfinished(path("a"))) << at;
    const File file = open();
    EXPECT_EQ(waiting(file)->state(), "second") << at;
  }
  for (const std::size_t other : {size - 1, size + 1, size + 512}) {
    write("a", before.substr(0, other) + std::string(other > size ? other - size : 0, '\0'));
    EXPECT_NE(refused().find("was changed by something else"), std::string::npos);
  }
}

TEST_F(JournalTest, LongNamesDoNotMeet) {
  const std::string long_name(221, 'n');
  EXPECT_NE(Journal::path_of("f/" + long_name + "A"), Journal::path_of("f/" + long_name + "B"));
  EXPECT_EQ(Journal::path_of("f/a"), "f/.a.cornerturn-journal");
  for (std::size_t size = 1; size <= 255; ++size) {
    const std::string name = fs::path(Journal::path_of(std::string(size, 'n'))).filename();
    EXPECT_LE(name.size() + 17, 255U);
  }
}

TEST_F(JournalTest, TwoProcessesDoNotFollowOne) {
  interrupt();
  fs::copy_file(path("a"), path("b"));
  const File file = open();
  const std::optional<Journal> work = waiting(file);
  EXPECT_THROW(open(), Error);
  EXPECT_NE(refused("b").find("is followed by another process"), std::string::npos);
}

// What is no journal of this file, in the place of its journal.
TEST_F(JournalTest, WhatIsFollowed) {
  interrupt();
  const std::string right = read(".a.cornerturn-journal");
  write("b", std::string(file_bytes, 'y'));
  {
    const File file = open("b");
    begin(file, "b");
  }
  const std::string other = read(".b.cornerturn-journal");
  struct Case {
    const char* name;
    std::function<void()> make;
    const char* said;
  };
  const auto put = [&](const std::string& text) {
    return [=, this] { write(".a.cornerturn-journal", text); };
  };
  const Case cases[] = {
      {"nothing", [] {}, "No such file"},
      {"another file's", put(other), "belongs to another file"},
      {"empty", put(""), "is damaged"},
      {"half", put(right.substr(0, right.size() / 2)), "is damaged"},
      {"a byte more", put(right + "x"), "is damaged"},
      {"zeros", put(std::string(right.size(), '\0')), "is damaged"},
      {"a folder", [&] { fs::create_directory(journal()); }, "cannot be opened"},
      {"a pipe", [&] { mkfifo(journal().c_str(), 0600); }, "is not a file of this user"},
      {"a link",
       [&] {
         write("elsewhere", right);
         fs::create_symlink(path("elsewhere"), journal());
       },
       "cannot be opened"},
  };
  for (const Case& one : cases) {
    fs::remove_all(journal());
    one.make();
    const File file = open();
    try {
      waiting(file);
      ADD_FAILURE() << one.name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(one.said), std::string::npos)
          << one.name << ": " << error.what();
    }
  }
  fs::remove_all(journal());
  write(".a.cornerturn-journal", right);
  const File file = open();
  EXPECT_EQ(waiting(file)->state(), "second");
}

TEST_F(JournalTest, EveryByteOfItsHeadingAndItsTaskIsChecked) {
  interrupt();
  const std::string right = read(".a.cornerturn-journal");
  const std::size_t task = right.find("the task");
  ASSERT_NE(task, std::string::npos);
  for (std::size_t at = 0; at < task + 8; at += at == 100 ? task - at : 1) {
    std::string damaged = right;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write(".a.cornerturn-journal", damaged);
    const std::string said = refused();
    if (right[at] != '\0' || at >= task) {
      EXPECT_NE(said.find("is damaged"), std::string::npos) << at;
    }
  }
}

// A journal whose records replace what no sample shows, with a file of any time and the two
// records of any times: the file is as one of the two has left it, and they follow each other.
TEST_F(JournalTest, RecordsAndFilesOfDifferentTimesAreNotTakenTogether) {
  constexpr int times = 8;
  const std::vector<Extent> between = {{4300, 4}, {9700, 4}};
  const std::int64_t slot = sizes.slot();
  std::string files[times], journals[times];  // by the number of the last record
  {
    const File file = open();
    Journal work = begin(file);
    for (int number = 1; number < times; ++number) {
      if (number > 1) work.commit(std::to_string(number), between, number % 2 == 0 ? ones : twos);
      files[number] = read("a");
      journals[number] = read(".a.cornerturn-journal");
    }
  }
  const auto slots = journals[1].size() - 2 * static_cast<std::size_t>(slot);
  int taken = 0;
  for (int here = 1; here < times; ++here) {
    for (int even = 0; even < times; even += 2) {
      for (int odd = 1; odd < times; odd += 2) {
        const std::string& first = journals[std::max(even, 1)];
        const std::string& second = journals[odd];
        write(".a.cornerturn-journal", first.substr(0, slots + static_cast<std::size_t>(slot)) +
                                           second.substr(slots + static_cast<std::size_t>(slot)));
        write("a", files[here]);
        const int last = std::max(even, odd), before = std::min(even, odd);
        const bool fit = last == before + 1 && (here == last || here == before);
        const File file = open();
        const std::string what = testing::PrintToString(std::array{here, even, odd});
        try {
          EXPECT_EQ(waiting(file)->state(), last == 1 ? "" : std::to_string(last)) << what;
          EXPECT_TRUE(fit) << what;
          ++taken;
        } catch (const Error& error) {
          EXPECT_FALSE(fit) << what;
          EXPECT_NE(std::string(error.what()).find("of another time"), std::string::npos) << what;
          EXPECT_TRUE(read("a") == files[here]) << what;
        }
      }
    }
  }
  EXPECT_EQ(taken, 2 * times - 3);
}

// All of the record before is in the file: whatever its place holds then is not asked for.
TEST_F(JournalTest, TheLastRecordIsEnoughOnceItIsInTheFile) {
  interrupt();  // number 3 is the last one, in the second place
  const std::string right = read(".a.cornerturn-journal"), before = read("a");
  const auto slot = static_cast<std::size_t>(sizes.slot());
  const std::string newest = right.substr(right.size() - slot);
  for (const std::string& other : {newest, std::string(slot, '\0'), std::string(slot, 'x')}) {
    write(".a.cornerturn-journal", right.substr(0, right.size() - 2 * slot) + other + newest);
    write("a", before);
    const File file = open();
    EXPECT_EQ(waiting(file)->state(), "second");
  }
}

// The journal has its room and its name, and then the file cannot have its mark.
TEST_F(JournalTest, AFileWithoutRoomForItsMarkIsAsItWas) {
  constexpr std::size_t bytes = 400'000;
  const std::string before(bytes, 'x');
  write("a", before);
  struct rlimit usual {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto usual_signal = std::signal(SIGXFSZ, SIG_IGN);
  for (const Sync sync : {Sync::no, Sync::yes}) {
    const File file = open();
    const struct rlimit limit { bytes + 512, usual.rlim_max };
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_THROW(Journal::begin(path("a"), file, "the task", sizes, sync), Error);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
    EXPECT_TRUE(read("a") == before);
    EXPECT_FALSE(fs::exists(journal()));
  }
  std::signal(SIGXFSZ, usual_signal);
}

// What a record replaces is half written when the work stops: the mark says so by then.
TEST_F(JournalTest, TheMarkIsWrittenBeforeWhatARecordReplaces) {
  const File file = open();
  Journal work = begin(file);
  work.commit("second", extents, ones);
  const std::vector<Extent> wrong = {{4300, 4}, {-8, 4}};
  EXPECT_THROW(work.commit("third", wrong, twos), Error);
  EXPECT_EQ(read("a")[4300], '\2');
  EXPECT_EQ(read_mark(file)->number, 3);
}

// A journal beside a file that has no mark: the file is whole, and its journal takes another name.
TEST_F(JournalTest, WhatDoesNotHinder) {
  const std::function<void()> makers[] = {
      [&] { fs::create_directory(journal()); },
      [&] { mkfifo(journal().c_str(), 0600); },
      [&] { fs::create_symlink(path("nothing"), journal()); },
  };
  for (const auto& make : makers) {
    make();
    const File file = open();
    EXPECT_FALSE(why_unfinished(path("a")));
    EXPECT_FALSE(waiting(file));
    Journal work = begin(file);
    EXPECT_NE(work.path(), journal());
    work.commit("", {}, {}, Journal::Last::yes);
    work.finish();
    EXPECT_TRUE(fs::symlink_status(journal()).type() != fs::file_type::not_found);
    fs::remove(journal());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  }
}

// Killed before the mark was there: where the file is the same, the journal is removed.
TEST_F(JournalTest, OneOfWhichNothingIsDone) {
  const std::string before = read("a");
  {
    const File file = open();
    begin(file);
  }
  const std::string journal_then = read(".a.cornerturn-journal");
  std::string other_begin = before, other_end = before;
  other_begin[100] = 'z';  // a header
  other_end.back() = 'z';
  for (const std::string& other :
       {other_begin, other_end, before.substr(1), before + "x", before + std::string(2000, '\0')}) {
    write(".a.cornerturn-journal", journal_then);
    write("a", other);
    if (other == before + "x") {  // a part of the mark
      const File file = open();
      EXPECT_FALSE(waiting(file));
      EXPECT_EQ(read("a"), before);
    } else {
      EXPECT_NE(refused().find("was changed by something else"), std::string::npos);
      EXPECT_TRUE(fs::exists(journal()));
    }
  }
  write(".a.cornerturn-journal", journal_then);
  write("a", before);
  const File file = open();
  EXPECT_FALSE(waiting(file));
  EXPECT_FALSE(fs::exists(journal()));
}

TEST_F(JournalTest, AFileThatWasChangedIsNotFinished) {
  interrupt();
  const std::string before = read("a");
  for (const std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{12}, std::size_t{2999},
                               std::size_t{file_bytes - 1}}) {
    std::string changed = before;
    changed[at] = 'z';
    write("a", changed);
    EXPECT_NE(refused().find("was changed by something else"), std::string::npos) << at;
  }
  write("a", std::string(file_bytes, 'x'));  // whole again, as it was
  EXPECT_NE(refused().find("was changed by something else"), std::string::npos);
  write("a", before);
  EXPECT_EQ(refused(), "");
}

// All is done but to remove the journal: what somebody has written behind the file is not cut off.
TEST_F(JournalTest, AFileThatIsLongerAtTheEndIsNotCut) {
  {
    const File file = open();
    Journal work = begin(file);
    work.commit("last", extents, ones, Journal::Last::yes);
  }
  const std::string whole = read("a").substr(0, file_bytes);
  write("a", whole + "more");
  EXPECT_NE(refused().find("was changed by something else"), std::string::npos);
  write("a", whole);
  const File file = open();
  std::optional<Journal> work = waiting(file);
  ASSERT_TRUE(work);
  work->finish();
  EXPECT_TRUE(read("a") == whole);
}

TEST_F(JournalTest, OfAnOlderVersion) {
  for (const char* magic : {"CTJOURN1", "CTJOURN2"}) {
    write(".a.cornerturn-journal", magic + std::string(5000, '\0'));
    EXPECT_NE(refused().find("older version of cornerturn"), std::string::npos);
    EXPECT_TRUE(why_unfinished(path("a")));
  }
  write(".a.cornerturn-journal", "CTJO");
  EXPECT_FALSE(why_unfinished(path("a")));
}

}  // namespace
}  // namespace cornerturn::files
