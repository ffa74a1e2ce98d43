// Texts that come from outside (names, headers, options), made safe to show in a terminal.
#pragma once

#include <string>
#include <string_view>

namespace cornerturn {

/// `text` with everything that a terminal might obey, or that would show other text than is there,
/// written as \x and two digits a byte: control characters, the marks that reverse the direction of
/// text, line separators, and bytes that are not UTF-8. What is in `kept` stays.
std::string visible(std::string_view text, std::string_view kept = "");

}  // namespace cornerturn
