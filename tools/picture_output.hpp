// Where a picture goes: to the terminal, and to a file.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "workshop/lab/picture.hpp"

namespace cornerturn::cli {

/// --svg FILE. The file appears whole or not at all.
class PictureArguments {
 public:
  void add_to(CLI::App& command);
  /// Throws Error when the file cannot be written or is not called .svg.
  void write(const lab::Picture& picture) const;
  bool asked() const { return !svg_.empty(); }

 private:
  std::string svg_;
};

/// --html FILE: the swizzle lab's page.
class PageArgument {
 public:
  void add_to(CLI::App& command, const std::string& help);
  /// Writes the page that opens at `link`. Throws Error where there is no page in this build.
  void write(const std::string& link) const;
  bool asked() const { return !html_.empty(); }

 private:
  std::string html_;
};

/// --svg, --html and --draw of a tile.
class LabPictureArguments {
 public:
  void add_to(CLI::App& command);
  bool asked() const { return svg_.asked() || html_.asked() || draw_; }
  /// Writes the files and returns the picture for the terminal if it was asked for, with a line
  /// before it; or nothing. Throws Error when a page is asked for and there is no link.
  std::string write(const lab::Picture& picture, const std::optional<std::string>& link) const;

 private:
  PictureArguments svg_;
  PageArgument html_;
  bool draw_ = false;
};

/// Writes `text` to a file that must end in `ending`; `option` is what errors call it.
void write_whole(const std::string& option, const std::string& path, const std::string& ending,
                 const std::string& text);

/// The picture as it suits standard output: with colours in a terminal, unless NO_COLOR is set, and
/// as wide as that is (COLUMNS elsewhere, or 100 characters).
std::string for_terminal(const lab::Picture& picture);

}  // namespace cornerturn::cli
