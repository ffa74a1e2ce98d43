// Bad input ends here: the message names the argument, its value and the rule.
#pragma once

#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn {

[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

}  // namespace cornerturn
