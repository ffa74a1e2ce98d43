// Plans that were timed: they are found again, and kept in files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

TEST(Winners, MeasuredPlansAreRightAndRemembered) {
  forget_plans();
  std::vector<int> src(200 * 300);
  std::iota(src.begin(), src.end(), 0);
  std::vector<int> dst(src.size(), -1);
  Options options;
  options.effort = Effort::measure;
  transpose(dst.data(), src.data(), 200, 300, options);
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t j = 0; j < 300; ++j) ASSERT_EQ(dst[j * 200 + i], src[i * 300 + j]);
  }
  const auto path =
      std::filesystem::temp_directory_path() / ("cornerturn_winners_" + std::to_string(getpid()));
  save_winners(path.string());
  forget_plans();
  load_winners(path.string());
  const ConstView from = view(static_cast<const int*>(src.data()), {200, 300}).permuted({1, 0});
  EXPECT_NE(make_plan(view(dst.data(), {300, 200}), from).explain().find("timed before"),
            std::string::npos);
  std::filesystem::remove(path);
  EXPECT_THROW(load_winners(path.string()), Error);
  EXPECT_THROW(save_winners("/nonexistent/winners"), Error);
  forget_plans();
}

// A folder of its own for files of winners.
class SavedWinners : public ::testing::Test {
 protected:
  SavedWinners() {
    std::string name = (std::filesystem::temp_directory_path() / "winners.XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const std::vector<int> src(50 * 60);
    std::vector<int> dst(src.size());
    Options options;
    options.effort = Effort::measure;
    for (std::int64_t n = 20; n < 30; ++n) transpose(dst.data(), src.data(), n, 2 * n, options);
  }
  ~SavedWinners() override {
    std::filesystem::remove_all(folder_);
    forget_plans();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string contents(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

TEST_F(SavedWinners, TouchNoOtherFile) {
  std::ofstream(path("notes.tmp")) << "notes";
  std::ofstream(path("victim")) << "precious";
  std::filesystem::create_symlink(path("victim"), path("list.tmp"));
  save_winners(path("notes"));
  save_winners(path("list"));
  EXPECT_EQ(contents("notes.tmp"), "notes");
  EXPECT_EQ(contents("victim"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path("list")));
  EXPECT_EQ(contents("list"), contents("notes"));
  std::filesystem::create_symlink("real", path("link"));
  save_winners(path("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(contents("real"), contents("notes"));
  save_winners("/dev/null");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(SavedWinners, AreWholeWhoeverSavesAtTheSameTime) {
  save_winners(path("list"));
  std::atomic<int> failed = 0;
  const auto repeat = [&](void (*work)(const std::string&)) {
    return std::thread([&, work] {
      for (int i = 0; i < 40; ++i) {
        try {
          work(path("list"));
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          ++failed;
        }
      }
    });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) threads.push_back(repeat(save_winners));
  threads.push_back(repeat(load_winners));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing else is left";
}

TEST(Winners, WhatWasTimedIsTheEstimateFromThenOn) {
  forget_plans();
  const std::vector<int> src(200 * 300);
  std::vector<int> dst(src.size());
  const ConstView from = view(src.data(), {200, 300}).permuted({1, 0});
  const auto plan_with = [&](Effort effort) {
    Options options;
    options.effort = effort;
    return make_plan(view(dst.data(), {300, 200}), from, options);
  };
  plan_with(Effort::estimate);
  const Plan timed = plan_with(Effort::measure);
  EXPECT_EQ(plan_with(Effort::estimate).to_json(), timed.to_json());
  forget_plans();
}

}  // namespace
}  // namespace cornerturn
