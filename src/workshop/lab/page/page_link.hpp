// What the page's address has behind the #.
#pragma once

#include <string>
#include <vector>

#include "maps/composed.hpp"
#include "workshop/lab/access.hpp"

namespace cornerturn::lab {

/// `text` as a part of an address: what means something there is written with %.
std::string link_part(const std::string& text);

/// A tile and the accesses to it. The page knows no defaults: what they say goes into the texts.
/// Throws Error where parse_access() does.
std::string link_to_tile(const SwizzledLayout& layout, int bytes,
                         const std::vector<std::string>& accesses, const AccessDefaults& defaults);

}  // namespace cornerturn::lab
