// The page as it is built into the command line.
#pragma once

#include <string>
#include <string_view>

namespace cornerturn::lab {

/// Empty in a build without emscripten.
std::string_view embedded_page();

/// The page that opens with `state`, as its address has it behind the #: "layout=...&bytes=4".
/// Throws Error where there is no page, and says how to get one.
std::string page_with(std::string_view state);

}  // namespace cornerturn::lab
