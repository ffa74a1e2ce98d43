#include "workshop/lab/page/page_link.hpp"

#include <fmt/format.h>

#include <string_view>

#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

std::string spelled(const std::string& text, const TileShape& tile,
                    const AccessDefaults& defaults) {
  const auto begins = [&](const char* word) { return text.rfind(word, 0) == 0; };
  const bool as_it_is = defaults.op == SharedOp::load && defaults.width == 0;
  if (as_it_is || begins("rung:") || text.find("matrix") != std::string::npos) return text;
  const Access access = parse_access(text, tile, defaults);
  if (begins("tv:") || begins("table:")) return access_text(access, tile);
  return fmt::format("{}:{}:{}", text.substr(0, text.find(':')), name(access.op),
                     access.vector * tile.bytes);
}

}  // namespace

std::string link_part(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool special = std::string_view("%&#+\"\\<>").find(c) != std::string_view::npos;
    out += special ? fmt::format("%{:02X}", static_cast<int>(c)) : std::string(1, c);
  }
  return out;
}

std::string link_to_tile(const SwizzledLayout& layout, int bytes,
                         const std::vector<std::string>& accesses, const AccessDefaults& defaults) {
  const TileShape tile = tile_shape(tile_layout(layout.layout), bytes);
  std::string link = fmt::format("layout={}&bytes={}", link_part(to_string(layout)), bytes);
  for (const std::string& text : accesses) {
    link += "&access=" + link_part(spelled(text, tile, defaults));
  }
  return link;
}

}  // namespace cornerturn::lab
