#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::test {

/// What a wrong argument of the call is refused with; "nothing": it is not.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    return error.what();
  }
  return "nothing";
}

}  // namespace cornerturn::test
