#include "files/checksum.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cornerturn::files {
namespace {

std::uint64_t of(const std::string& text, std::uint64_t seed = 0) {
  return checksum_of(std::as_bytes(std::span(text)), seed);
}

// As other programs have them: xxhsum -H64.
TEST(Checksum, IsXxh64) {
  EXPECT_EQ(of(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(of("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(of("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(of("xxhash"), 0x32DD38952C4BC720U);
  EXPECT_EQ(of("xxhash", 20141025), 0xB559B98D844E0635U);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

TEST(Checksum, EveryBitCounts) {
  for (const std::size_t size : {1U, 7U, 8U, 31U, 32U, 33U, 100U}) {
    std::string text(size, 'x');
    const std::uint64_t right = of(text);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(of(text), right);
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    }
  }
}

}  // namespace
}  // namespace cornerturn::files
