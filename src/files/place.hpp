// Where a path leads.
#pragma once

#include <string>

namespace cornerturn::files {

/// What a path names when all symbolic links are followed.
struct Place {
  std::string path;     ///< without a link in its last part; there may be nothing there
  int descriptor = -1;  ///< of this process, where the path names one: /dev/stdout, /dev/fd/3
};

/// Follows the links of `path`. Never throws for what is not there.
Place place_of(const std::string& path);

/// The folder in which `path` lies: "." for a bare name.
std::string directory_of(const std::string& path);

/// Do both paths name one file, whether it is there or not?
bool same_place(const std::string& a, const std::string& b);

/// Is what would be written to `path` seen by whoever reads standard output? So it is for "-", for
/// /dev/stdout, and for another name of the same pipe, device or open file.
bool is_standard_output(const std::string& path);

}  // namespace cornerturn::files
