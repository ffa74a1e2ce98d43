#include "cornerturn/error.hpp"
#include "workshop/lab/page/embedded_page.hpp"

namespace cornerturn::lab {

std::string page_with(std::string_view state) {
  if (embedded_page().empty()) {
    throw Error(
        Status::unsupported,
        "this build has no page: emscripten was not here. `make page` installs it and builds "
        "the command line with the page, as `pip install .` then does");
  }
  std::string page(embedded_page());
  const std::string_view mark = "@START@";
  std::string text;
  for (const char c : state) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '<') {
      text += "\\u003c";  // no </script> inside the script
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      text += c;
    }
  }
  page.replace(page.find(mark), mark.size(), text);
  return page;
}

}  // namespace cornerturn::lab
