// Arrays that are put into another order in their file: every pass, in records of few bytes, ended
// and taken up again after each record.
#include "io/in_place.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "cornerturn/cornerturn.hpp"
#include "cornerturn/error.hpp"
#include "io/in_place_units.hpp"

namespace cornerturn::io {
namespace {

namespace fs = std::filesystem;

class InPlaceFile : public testing::Test {
 protected:
  InPlaceFile()
      : folder_(fs::temp_directory_path() / ("cornerturn_in_place_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~InPlaceFile() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "array"; }

  void write(const std::vector<std::byte>& bytes) const {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(fs::file_size(path()));
    std::ifstream(path(), std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

  // One attempt; false when it was stopped after its first record.
  bool attempt(const InPlaceSchedule& schedule, std::int64_t offset, const std::string& header,
               bool stop) const {
    const File file = files::open_to_change(path(), "FILE");
    auto journal = files::Journal::waiting(path(), file, files::Sync::no);
    if (!journal) {
      journal =
          files::Journal::begin(path(), file, "a test", schedule.journal_sizes(), files::Sync::no);
    }
    if (is_done(schedule, *journal)) {
      journal->finish();
      return true;
    }
    Progress progress;
    progress.stop = stop;
    try {
      rearrange_in_place(schedule, file, offset, header, *journal, Options(), progress);
    } catch (const Error&) {
      if (!stop) throw;
      return false;
    }
    journal->finish();
    return true;
  }

  // Returns how many attempts it took.
  int check(const Extents& shape, const std::vector<int>& perm, std::int64_t element,
            std::int64_t piece, bool stop) const {
    const InPlaceSchedule schedule = schedule_in_pieces(shape, perm, element, piece);
    EXPECT_TRUE(schedule.ways.fits);
    const std::string before(40, 'x'), after(24, 'y');
    std::vector<std::byte> bytes(before.size() + static_cast<std::size_t>(schedule.bytes()));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = i < before.size() ? std::byte{'x'} : static_cast<std::byte>(random_());
    }
    write(bytes);
    std::vector<std::byte> expected(bytes);
    std::fill_n(expected.begin(), after.size(), std::byte{'y'});
    const std::byte* array = bytes.data() + before.size();
    Options any;
    any.kernel = "any";
    permute(expected.data() + before.size(), ConstView(array, ElementType::bytes(element), shape),
            perm, any);
    int attempts = 1;
    while (!attempt(schedule, static_cast<std::int64_t>(before.size()), after, stop)) ++attempts;
    EXPECT_TRUE(read() == expected) << to_string(schedule);
    EXPECT_FALSE(fs::exists(files::Journal::path_of(path())));
    return attempts;
  }

  fs::path folder_;
  mutable std::mt19937 random_{7};
};

struct Case {
  Extents shape;
  std::vector<int> perm;
  std::int64_t element;
  std::int64_t piece;
};

const Case cases[] = {
    {{64, 48}, {1, 0}, 4, 2048},  // panels and runs
    {{37, 41}, {1, 0}, 4, 1024},  // a rest
    {{3, 1009}, {1, 0}, 4, 600},  // rows longer than a piece
    {{1009, 3}, {1, 0}, 8, 600},
    {{40, 40}, {1, 0}, 4, 1024},  // tiles that change places
    {{5, 5}, {1, 0}, 200, 1024},
    {{3, 3}, {1, 0}, 251, 300},  // parts of elements
    {{4, 9, 7, 9, 3}, {0, 3, 2, 1, 4}, 2, 700},
    {{50, 3, 2, 3}, {0, 3, 2, 1}, 1, 512},  // groups within a piece
    {{3, 50, 3}, {2, 1, 0}, 1, 128},        // middle indices in parts of seven
    {{6, 10, 15}, {2, 0, 1}, 4, 900},
    {{12, 5, 7}, {1, 0, 2}, 4, 512},
    {{7, 6, 5, 4}, {3, 1, 0, 2}, 2, 600},
    {{17, 1}, {1, 0}, 4, 64},  // nothing moves
};

TEST_F(InPlaceFile, EveryPassIsDone) {
  for (const Case& one : cases) check(one.shape, one.perm, one.element, one.piece, false);
}

TEST_F(InPlaceFile, IsTakenUpAfterEveryRecord) {
  int attempts = 0;
  for (const Case& one : cases)
    attempts += check(one.shape, one.perm, one.element, one.piece, true);
  EXPECT_GT(attempts, 200);
}

// Many short rows far apart, each of which is an extent of its own: a record has room for some.
TEST_F(InPlaceFile, ARecordHasNoMoreExtentsThanItsPlace) {
  const auto is_such = [](const InPlaceSchedule& schedule) {
    for (const in_place::Way& way : schedule.ways.ways) {
      for (const in_place::Pass& pass : passes(way.step, way.factors).passes) {
        const auto* rows = std::get_if<in_place::RestorePass>(&pass);
        if (rows == nullptr || rows->pitch <= schedule.piece / 2) continue;
        const std::int64_t at_once = schedule.piece / (rows->columns * rows->element);
        if (std::min(rows->rows, at_once) > schedule.extents()) return true;
      }
    }
    return false;
  };
  int such = 0;
  for (std::int64_t m = 257; m < 900 && such < 5; ++m) {
    for (const std::int64_t n : {40, 61, 97}) {
      if (!is_such(schedule_in_pieces({m, n}, {1, 0}, 4, 1024))) continue;
      check({m, n}, {1, 0}, 4, 1024, false);
      ++such;
    }
  }
  EXPECT_GE(such, 5);
}

TEST_F(InPlaceFile, RandomArrays) {
  std::mt19937 random(11);
  for (int n = 0; n < 60; ++n) {
    const auto rank = 2 + random() % 3;
    Extents shape;
    std::vector<int> perm;
    for (unsigned i = 0; i < rank; ++i) {
      shape.push_back(1 + static_cast<std::int64_t>(random() % (rank == 2 ? 90 : 14)));
      perm.push_back(static_cast<int>(i));
    }
    std::shuffle(perm.begin(), perm.end(), random);
    const std::int64_t element = 1 + static_cast<std::int64_t>(random() % 9);
    std::int64_t piece = 256 << random() % 4;
    while (!schedule_in_pieces(shape, perm, element, piece).ways.fits) piece *= 2;
    check(shape, perm, element, piece, n % 4 == 0);
  }
}

// Whatever the memory is, a piece is no longer than the array, and four of them fit.
TEST(InPlaceSchedule, APieceIsAsLongAsTheArrayAtMost) {
  std::mt19937 random(2);
  for (int n = 0; n < 300; ++n) {
    Extents shape;
    for (unsigned i = 0; i < 2 + random() % 3; ++i) {
      shape.push_back(1 + static_cast<std::int64_t>(random() % 60));
    }
    std::vector<int> perm(shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    const InPlaceSchedule schedule = make_in_place_schedule(shape, perm, 8, least_memory);
    EXPECT_TRUE(schedule.ways.fits);
    EXPECT_LE(schedule.piece, std::max(schedule.bytes(), least_piece));
    const std::int64_t journal = files::Journal::bytes(schedule.journal_sizes(), 0);
    EXPECT_LE(journal, 5 * std::max(schedule.bytes(), std::int64_t{10'000}));
  }
  for (const std::int64_t memory : {least_memory, std::int64_t{1} << 30, std::int64_t{1} << 40}) {
    const InPlaceSchedule schedule = make_in_place_schedule({1 << 20, 1 << 22}, {1, 0}, 1, memory);
    EXPECT_LE(4 * schedule.piece + program_memory, memory);
    EXPECT_LE(files::Journal::bytes(schedule.journal_sizes(), 0), 2 * schedule.piece + (8 << 20));
    EXPECT_GE(5 * schedule.piece + program_memory,
              std::min<std::int64_t>(memory, schedule.bytes()));
  }
}

// Swaps of any size, of which no array is needed: a unit fits into a piece and a record, and units
// reach from the first element to the last.
TEST(InPlaceUnits, OfSwapsOfAnySize) {
  std::mt19937_64 random(8);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int n = 0; n < 2000; ++n) {
    const SwapPass pass{up_to(3), 1 + up_to(std::int64_t{1} << up_to(20)), up_to(1 << up_to(10)),
                        up_to(1 << up_to(9))};
    const std::int64_t piece = 128 + up_to(std::int64_t{1} << up_to(33));
    const std::int64_t extents = 16 + up_to(1 << 16);
    const Units units(pass, piece, extents);
    const Tile first = tile_of(pass, units, 0);
    const Tile last = tile_of(pass, units, units.count(pass) - 1);
    for (const Tile& tile : {first, last, tile_of(pass, units, up_to(units.count(pass)) - 1)}) {
      EXPECT_LE(2 * tile.bytes(), piece);
      std::int64_t runs = 0, bytes = 0, end = 0;
      for_each_run(pass, tile, [&](std::int64_t offset, std::int64_t length) {
        EXPECT_GE(offset, end);
        end = offset + length;
        bytes += length;
        ++runs;
      });
      EXPECT_LE(2 * runs, extents);
      EXPECT_EQ(bytes, tile.bytes());
      EXPECT_LE(end, pass.groups * bytes_of_group(pass));
      if (HasFailure()) return;
    }
    EXPECT_EQ(first.i + first.j + first.m + first.b + first.group, 0);
    EXPECT_EQ(last.i + last.rows, pass.extent);
    EXPECT_EQ(last.j + last.columns, pass.extent);
    EXPECT_EQ(last.m + last.depth, pass.middle);
    EXPECT_EQ(last.b + last.part, pass.element);
    EXPECT_EQ(last.group, pass.groups - 1);
  }
}

// The state that a journal tells of is checked, whatever is in it.
TEST_F(InPlaceFile, AStateThatCannotBeIsRefused) {
  for (const Case& one : cases) {
    const InPlaceSchedule schedule =
        schedule_in_pieces(one.shape, one.perm, one.element, one.piece);
    for (int n = 0; n < 40; ++n) {
      fs::remove(files::Journal::path_of(path()));
      write(std::vector<std::byte>(static_cast<std::size_t>(schedule.bytes())));
      const File file = files::open_to_change(path(), "FILE");
      files::Journal journal =
          files::Journal::begin(path(), file, "a test", schedule.journal_sizes(), files::Sync::no);
      std::string state(static_cast<std::size_t>(random_() % 200), '\0');
      state.resize(
          std::min(state.size(), static_cast<std::size_t>(schedule.journal_sizes().state)));
      for (std::size_t i = 0; i < state.size(); ++i) {
        if (random_() % 8 == 0) state[i] = static_cast<char>(random_());
      }
      journal.commit(state, {}, {});
      Progress progress;
      try {
        rearrange_in_place(schedule, file, 0, "", journal, Options(), progress);
      } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
      }
    }
  }
}

TEST_F(InPlaceFile, TheKernelOfTheEnvironmentIsNotAsked) {
  for (const char* kernel : {"rows", "copy", "swap", "units", "strided", "passes", "no kernel"}) {
    setenv("CORNERTURN_KERNEL", kernel, 1);
    EXPECT_NO_THROW(check({37, 41}, {1, 0}, 4, 1024, false)) << kernel;
    unsetenv("CORNERTURN_KERNEL");
  }
}

}  // namespace
}  // namespace cornerturn::io
