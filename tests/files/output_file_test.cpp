#include "files/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cornerturn/error.hpp"

namespace cornerturn::files {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    std::string name = ::testing::TempDir() + "/cornerturn.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string contents(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  long entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWholeOrNotAtAll) {
  {
    OutputFile out(path("a"), 5);
    out.file().write_at("hello", 5, 0);
    EXPECT_FALSE(fs::exists(path("a")));
    out.commit();
  }
  EXPECT_EQ(contents("a"), "hello");
  {
    const OutputFile out(path("b"), 5);
    out.file().write_at("hello", 5, 0);
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFileTest, ReplacesAFileAndKeepsItsMode) {
  put("a", "old and longer");
  fs::permissions(path("a"), fs::perms(0640));
  OutputFile out(path("a"), 3);
  out.file().write_at("new", 3, 0);
  EXPECT_EQ(contents("a"), "old and longer");
  out.commit();
  EXPECT_EQ(contents("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(OutputFileTest, WritesWhereASymbolicLinkPoints) {
  fs::create_directory(path("elsewhere"));
  put("elsewhere/a", "old");
  fs::create_symlink(path("elsewhere/a"), path("link"));
  OutputFile out(path("link"), 3);
  out.file().write_at("new", 3, 0);
  out.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents("elsewhere/a"), "new");
}

TEST_F(OutputFileTest, RefusesWhatCannotBeWritten) {
  fs::create_directory(path("folder"));
  EXPECT_THROW(OutputFile(path("folder"), 1), Error);
  EXPECT_THROW(OutputFile(path("missing/a"), 1), Error);
  EXPECT_THROW(OutputFile("", 1), Error);
  EXPECT_THROW(OutputFile(path("new/"), 1), Error);
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFileTest, SaysWhenThereIsNoRoom) {
  try {
    const OutputFile out(path("a"), std::int64_t{1} << 60);
    FAIL() << "2^60 bytes were reserved";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("has no room for 1152921504606846976 bytes"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(OutputFileTest, WritesADeviceAsItIs) {
  OutputFile out("/dev/null", 1000);
  EXPECT_FALSE(out.seekable());
  out.file().write("hello", 5);
  out.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, TemporaryFilesHaveNoName) {
  const File file = temporary_file(folder_.string(), 1000);
  EXPECT_EQ(entries(), 0);
  EXPECT_EQ(file.size(), 1000);
}

TEST_F(OutputFileTest, InputsThatShrinkAreNoticed) {
  put("a", "0123456789");
  const File in = open_input(path("a"), "IN");
  char data[10];
  in.read_at(data, 10, 0);
  fs::resize_file(path("a"), 4);
  try {
    in.read_at(data, 10, 0);
    FAIL() << "ten bytes of four were read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("shrank while it was read"), std::string::npos);
  }
}

}  // namespace
}  // namespace cornerturn::files
