#include "picture_output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "workshop/lab/page/embedded_page.hpp"

namespace cornerturn::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

lab::Terminal terminal() {
  lab::Terminal result;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  result.colours = is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  winsize size = {};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    result.width = size.ws_col;
  } else if (const int columns = std::atoi(std::string(environment("COLUMNS")).c_str());
             columns > 0) {
    result.width = columns;
  }
  return result;
}

}  // namespace

void write_whole(const std::string& option, const std::string& path, const std::string& ending,
                 const std::string& text) {
  if (!path.ends_with(ending)) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = '{}' does not end in {}", option, path, ending));
  }
  files::write_text(path, text, option);
}

void PictureArguments::add_to(CLI::App& command) {
  command.add_option("--svg", svg_, "Write the picture to this file as well")
      ->type_name("FILE.svg");
}

void PictureArguments::write(const lab::Picture& picture) const {
  if (!svg_.empty()) write_whole("--svg", svg_, ".svg", lab::to_svg(picture));
}

void PageArgument::add_to(CLI::App& command, const std::string& help) {
  command.add_option("--html", html_, help)->type_name("FILE.html");
}

void PageArgument::write(const std::string& link) const {
  if (!html_.empty()) write_whole("--html", html_, ".html", lab::page_with(link));
}

void LabPictureArguments::add_to(CLI::App& command) {
  svg_.add_to(command);
  html_.add_to(command, "Write a page to this file in which layout and accesses can be changed");
  command.add_flag("--draw", draw_, "Draw the picture below the text");
}

std::string LabPictureArguments::write(const lab::Picture& picture,
                                       const std::optional<std::string>& link) const {
  if (html_.asked() && !link) {
    throw Error(Status::unsupported,
                "--html: the page shows layouts of CuTe's, and this is none; --svg and --draw show "
                "it");
  }
  svg_.write(picture);
  if (link) html_.write(*link);
  return draw_ ? "\n" + for_terminal(picture) : std::string();
}

std::string for_terminal(const lab::Picture& picture) {
  return to_text(picture, terminal());
}

}  // namespace cornerturn::cli
