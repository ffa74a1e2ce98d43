// CUDA's functions on integers and on bits.
#pragma once

#include "cornerturn_guest_vectors.hpp"

#define CT_GUEST_VALUE CT_GUEST_PLAIN inline

CT_GUEST_VALUE int __popc(unsigned v) {
  return __builtin_popcount(v);
}
CT_GUEST_VALUE int __popcll(unsigned long long v) {
  return __builtin_popcountll(v);
}
CT_GUEST_VALUE int __clz(int v) {
  return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v));
}
CT_GUEST_VALUE int __clzll(long long v) {
  return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v));
}
CT_GUEST_VALUE int __ffs(int v) {
  return __builtin_ffs(v);
}
CT_GUEST_VALUE int __ffsll(long long v) {
  return __builtin_ffsll(v);
}
// The position of the offset-th set bit at or above `base`, or below it where `offset` is negative.
CT_GUEST_VALUE unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) {
    return (mask >> base & 1u) != 0 ? base : 0xffffffffu;
  }
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
    left -= static_cast<int>(mask >> bit & 1u);
    if (left == 0) {
      return static_cast<unsigned>(bit);
    }
  }
  return 0xffffffffu;
}
CT_GUEST_VALUE unsigned __brev(unsigned v) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) {
    reversed |= (v >> bit & 1u) << (31 - bit);
  }
  return reversed;
}
CT_GUEST_VALUE unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
// Each of four nibbles of `selector` names a byte of y:x. Its top bit asks for the byte's sign.
CT_GUEST_VALUE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const unsigned nibble = selector >> (4 * byte) & 0xfu;
    unsigned value = static_cast<unsigned>(both >> (8 * (nibble & 7u)) & 0xffu);
    if ((nibble & 8u) != 0) {
      value = (value & 0x80u) != 0 ? 0xffu : 0u;
    }
    result |= value << (8 * byte);
  }
  return result;
}
CT_GUEST_VALUE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31u) >> 32);
}
CT_GUEST_VALUE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31u));
}
CT_GUEST_VALUE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
CT_GUEST_VALUE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
CT_GUEST_VALUE int __mul24(int a, int b) {
  const long long x = static_cast<int>(static_cast<unsigned>(a) << 8) >> 8;
  const long long y = static_cast<int>(static_cast<unsigned>(b) << 8) >> 8;
  return static_cast<int>(x * y);
}
CT_GUEST_VALUE unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
CT_GUEST_VALUE int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
CT_GUEST_VALUE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
CT_GUEST_VALUE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
CT_GUEST_VALUE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
CT_GUEST_VALUE unsigned __sad(int a, int b, unsigned c) {
  const long long difference = static_cast<long long>(a) - b;
  return static_cast<unsigned>(difference < 0 ? -difference : difference) + c;
}
CT_GUEST_VALUE unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a > b ? a - b : b - a) + c;
}
CT_GUEST_VALUE int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
CT_GUEST_VALUE int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
CT_GUEST_VALUE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
CT_GUEST_VALUE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

// Sums of products of the four bytes, or of two halves of `a` with two bytes of `b`.
namespace cornerturn::guest {
template <class A, class B>
CT_GUEST_VALUE unsigned dot_bytes(unsigned a, unsigned b, unsigned c) {
  for (int byte = 0; byte < 4; ++byte) {
    c += static_cast<unsigned>(static_cast<int>(static_cast<A>(a >> (8 * byte))) *
                               static_cast<int>(static_cast<B>(b >> (8 * byte))));
  }
  return c;
}
template <class A, class B>
CT_GUEST_VALUE unsigned dot_halves(unsigned a, unsigned b, unsigned c) {
  for (int half = 0; half < 2; ++half) {
    c += static_cast<unsigned>(static_cast<int>(static_cast<A>(a >> (16 * half)))) *
         static_cast<unsigned>(static_cast<int>(static_cast<B>(b >> (8 * half))));
  }
  return c;
}
}  // namespace cornerturn::guest
CT_GUEST_VALUE int __dp4a(int a, int b, int c) {
  return static_cast<int>(::cornerturn::guest::dot_bytes<signed char, signed char>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(c)));
}
CT_GUEST_VALUE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return ::cornerturn::guest::dot_bytes<unsigned char, unsigned char>(a, b, c);
}
CT_GUEST_VALUE int __dp2a_lo(int a, int b, int c) {
  return static_cast<int>(::cornerturn::guest::dot_halves<short, signed char>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(c)));
}
CT_GUEST_VALUE int __dp2a_hi(int a, int b, int c) {
  return __dp2a_lo(a, static_cast<int>(static_cast<unsigned>(b) >> 16), c);
}
CT_GUEST_VALUE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return ::cornerturn::guest::dot_halves<unsigned short, unsigned char>(a, b, c);
}
CT_GUEST_VALUE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return __dp2a_lo(a, b >> 16, c);
}
CT_GUEST_VALUE int __dp4a(char4 a, char4 b, int c) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
CT_GUEST_VALUE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}

#define CT_GUEST_LEAST(TYPE, A, B)                                             \
  CT_GUEST_INLINE constexpr TYPE min(A a, B b) {                               \
    return static_cast<TYPE>(a) < static_cast<TYPE>(b) ? static_cast<TYPE>(a)  \
                                                       : static_cast<TYPE>(b); \
  }                                                                            \
  CT_GUEST_INLINE constexpr TYPE max(A a, B b) {                               \
    return static_cast<TYPE>(a) < static_cast<TYPE>(b) ? static_cast<TYPE>(b)  \
                                                       : static_cast<TYPE>(a); \
  }
#define CT_GUEST_LEAST_3(SIGNED, UNSIGNED)     \
  CT_GUEST_LEAST(SIGNED, SIGNED, SIGNED)       \
  CT_GUEST_LEAST(UNSIGNED, UNSIGNED, UNSIGNED) \
  CT_GUEST_LEAST(UNSIGNED, SIGNED, UNSIGNED)   \
  CT_GUEST_LEAST(UNSIGNED, UNSIGNED, SIGNED)
CT_GUEST_LEAST_3(int, unsigned)
CT_GUEST_LEAST_3(long, unsigned long)
CT_GUEST_LEAST_3(long long, unsigned long long)
#undef CT_GUEST_LEAST
#undef CT_GUEST_LEAST_3
CT_GUEST_VALUE unsigned umin(unsigned a, unsigned b) {
  return a < b ? a : b;
}
CT_GUEST_VALUE unsigned umax(unsigned a, unsigned b) {
  return a < b ? b : a;
}
CT_GUEST_VALUE long long llmin(long long a, long long b) {
  return a < b ? a : b;
}
CT_GUEST_VALUE long long llmax(long long a, long long b) {
  return a < b ? b : a;
}
CT_GUEST_VALUE unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
CT_GUEST_VALUE unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}
