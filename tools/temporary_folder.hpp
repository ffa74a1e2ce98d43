// A folder for what one command needs while it runs.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::cli {

/// An empty folder of its own, which goes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cornerturn-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(Status::io_error, fmt::format("no temporary folder {}", name));
    }
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace cornerturn::cli
