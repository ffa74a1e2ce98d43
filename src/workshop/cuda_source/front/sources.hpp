// The user's file with the headers of the user's own that it includes: all of them are rewritten
// into one folder, and the compiler still names the user's own files and lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workshop/cuda_source/front/rewrite.hpp"

namespace cornerturn::cuda_source {

struct SourceFile {
  std::string path;  ///< absolute
  std::string text;
  std::string name;  ///< as people know it: as they wrote it, or beside what they wrote
};

/// The first is the user's file, the others are the headers that it leads to.
struct Sources {
  std::vector<SourceFile> files;
  bool has(const std::string& path) const;
  /// What a place in one of them is called: "kernels/a.cu" for "/home/me/kernels/a.cu".
  std::string shown(const std::string& path) const;
};

/// Reads `file` and follows every #include of a file that stands beside the one that includes it,
/// or in one of `folders`. Throws Error where `file` cannot be read.
Sources read_sources(const std::string& file, const std::vector<std::string>& folders);

/// The file that `directive`, an #include in `includer`, leads to; empty where there is none of the
/// user's own.
std::string included_file(std::string_view directive, const std::string& includer,
                          const std::vector<std::string>& folders);

/// Writes the rewritten `texts`, one for each of the files, to `folder`, and returns the path of
/// the first. They include each other there.
std::string write_sources(const Sources& sources, const std::vector<std::string>& texts,
                          const std::vector<std::string>& folders, const std::string& folder);

}  // namespace cornerturn::cuda_source
