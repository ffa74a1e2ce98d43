// A place in the user's source, as the running program knows it.
#pragma once

#include <cstdint>

namespace cornerturn::cuda_source {

/// Either a file and a line, or an address in the program's code, which becomes one when the report
/// is written.
struct Where {
  const char* file = nullptr;
  unsigned line = 0;
  std::uintptr_t code = 0;

  friend bool operator==(const Where&, const Where&) = default;
};

inline Where at_code(const void* return_address) {
  // The call stands before the address that it returns to.
  return {nullptr, 0, reinterpret_cast<std::uintptr_t>(return_address) - 1};
}

}  // namespace cornerturn::cuda_source
