// How many random cases, or elements of a long array, a test takes.
#pragma once

namespace cornerturn::test {

/// A sixth of `all` with a sanitizer, which makes each case take ten times as long or longer.
constexpr int draws(int all) {
#if defined(CORNERTURN_ASAN) || defined(CORNERTURN_TSAN)
  return all / 6;
#else
  return all;
#endif
}

}  // namespace cornerturn::test
