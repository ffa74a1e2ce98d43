#include "picture_output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "workshop/analyse/notation.hpp"
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

/// What the page's address has behind the #.
std::string page_state(const PageQuestion& question) {
  const auto encoded = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      const bool special = std::string_view("%&#+\"\\<>").find(c) != std::string_view::npos;
      out += special ? fmt::format("%{:02X}", static_cast<int>(c)) : std::string(1, c);
    }
    return out;
  };
  std::string state =
      fmt::format("layout={}&bytes={}", encoded(to_string(question.layout)), question.bytes);
  for (const std::string& access : question.accesses) state += "&access=" + encoded(access);
  return state;
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

void LabPictureArguments::add_to(CLI::App& command) {
  svg_.add_to(command);
  command
      .add_option("--html", html_,
                  "Write a page to this file in which layout and accesses can be changed")
      ->type_name("FILE.html");
  command.add_flag("--draw", draw_, "Draw the picture below the text");
}

std::string LabPictureArguments::write(const lab::Picture& picture,
                                       const std::optional<PageQuestion>& page) const {
  if (!html_.empty() && !page) {
    throw Error(Status::unsupported,
                "--html: the page shows layouts of CuTe's, and this is none; --svg and --draw show "
                "it");
  }
  svg_.write(picture);
  if (!html_.empty()) write_whole("--html", html_, ".html", lab::page_with(page_state(*page)));
  return draw_ ? "\n" + for_terminal(picture) : std::string();
}

std::string for_terminal(const lab::Picture& picture) {
  return to_text(picture, terminal());
}

}  // namespace cornerturn::cli
