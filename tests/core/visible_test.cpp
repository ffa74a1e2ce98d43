#include "core/visible.hpp"

#include <gtest/gtest.h>

namespace cornerturn {
namespace {

TEST(Visible, KeepsTextOfAnyLanguage) {
  for (const char* text : {"", "plain text", "Größe", "転置", "\xf0\x9f\x98\x80", "a\\x1b"}) {
    EXPECT_EQ(visible(text), text);
  }
}

TEST(Visible, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(visible("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(visible("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(visible(std::string("\0\r\n\t\x7f", 5)), "\\x00\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(visible("\xc2\x9b"), "\\xc2\\x9b") << "a control sequence in one character, as UTF-8";
  EXPECT_EQ(visible("\u202egnp"), "\\xe2\\x80\\xaegnp") << "text that would be shown backwards";
  EXPECT_EQ(visible("\u2028"), "\\xe2\\x80\\xa8");
  EXPECT_EQ(visible("two\nlines\x1b", "\n"), "two\nlines\\x1b");
}

TEST(Visible, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(visible("\x9b"), "\\x9b");
  EXPECT_EQ(visible("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(visible("a\xe2\x82"), "a\\xe2\\x82") << "the end is missing";
  EXPECT_EQ(visible("\xc0\x9b"), "\\xc0\\x9b") << "too long a form";
  EXPECT_EQ(visible("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(visible("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

}  // namespace
}  // namespace cornerturn
