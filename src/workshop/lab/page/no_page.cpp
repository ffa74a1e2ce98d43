#include "workshop/lab/page/embedded_page.hpp"

namespace cornerturn::lab {

std::string_view embedded_page() {
  return {};
}

}  // namespace cornerturn::lab
