// The TOML files of `cornerturn check`: layouts, and what accesses to them may take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workshop/lab/check.hpp"

namespace cornerturn::cli {

struct CheckFile {
  std::string gpu;  ///< as plan::gpu::device_named() takes it
  std::vector<lab::CheckedLayout> layouts;
};

/// Reads `text`, the contents of the file `path`. Throws Error with the file and the line.
CheckFile parse_check_file(std::string_view text, const std::string& path);

}  // namespace cornerturn::cli
