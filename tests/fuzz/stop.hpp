// What a fuzz target does when it has found something.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cornerturn::fuzz {

[[noreturn]] inline void stop(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace cornerturn::fuzz
