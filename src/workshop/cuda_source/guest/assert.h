// The standard's assert, which a kernel's thread reports with its place. As in the standard it may
// be included again after NDEBUG was defined or undefined.
#include "cornerturn_guest_abi.hpp"

#ifndef CT_GUEST_ASSERT
#define CT_GUEST_ASSERT
extern "C" [[noreturn]] void __assert_fail(const char* condition, const char* file, unsigned line,
                                           const char* function) noexcept;
#endif

#undef assert
#ifdef NDEBUG
#define assert(...) (static_cast<void>(0))
#else
#define assert(...)                                            \
  (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0)       \
   : ::cornerturn::guest::in_kernel()                          \
       ? ::cornerturn::guest::trap("assert(" #__VA_ARGS__ ")") \
       : __assert_fail(#__VA_ARGS__, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
