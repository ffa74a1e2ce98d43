// The floating-point environment that conversions run in: what a thread has when it starts.
#pragma once

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cornerturn {

/// While it lives, this thread rounds to nearest, keeps denormals and traps nothing, whatever the
/// caller has set (a rounding mode, flush-to-zero as -ffast-math sets it). Values then have the
/// same bits on every thread. The caller's settings come back with its end.
class DefaultFpEnvironment {
 public:
#if defined(__SSE2__)
  DefaultFpEnvironment() : saved_(_mm_getcsr()), changed_((saved_ & settings) != initial) {
    if (changed_) _mm_setcsr(initial);
  }
  ~DefaultFpEnvironment() {
    if (changed_) _mm_setcsr(saved_);
  }
#else
  DefaultFpEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFpEnvironment() {
    std::fesetenv(&saved_);
  }
#endif
  DefaultFpEnvironment(const DefaultFpEnvironment&) = delete;
  DefaultFpEnvironment& operator=(const DefaultFpEnvironment&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned settings = 0xffc0;  // of MXCSR: all but the flags of what happened
  static constexpr unsigned initial = 0x1f80;   // every exception masked

  unsigned saved_;
  bool changed_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace cornerturn
