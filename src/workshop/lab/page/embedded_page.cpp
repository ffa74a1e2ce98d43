#include "workshop/lab/page/embedded_page.hpp"

// clang-format off
__asm__(
    ".section .rodata\n"
    ".global cornerturn_page_begin\n"
    ".global cornerturn_page_end\n"
    "cornerturn_page_begin:\n"
    ".incbin \"" CORNERTURN_PAGE_FILE "\"\n"
    "cornerturn_page_end:\n"
    ".byte 0\n"
    ".text\n");
// clang-format on

extern "C" const char cornerturn_page_begin[];
extern "C" const char cornerturn_page_end[];

namespace cornerturn::lab {

std::string_view embedded_page() {
  return {cornerturn_page_begin,
          static_cast<std::size_t>(cornerturn_page_end - cornerturn_page_begin)};
}

}  // namespace cornerturn::lab
