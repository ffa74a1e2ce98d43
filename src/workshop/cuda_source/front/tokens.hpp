// CUDA C++ as tokens: enough to find launches, declarations and inline assembly, and to leave
// everything else as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::cuda_source {

enum class TokenKind {
  word,       ///< names and keywords
  number,     ///< 0x1p3f, 1'000
  text,       ///< "a", u8R"x(a)x", 'c'
  mark,       ///< <<<, ::, ->, and else one character
  blank,      ///< spaces, lines' ends, comments, a backslash that continues a line
  directive,  ///< #define A b, with the lines that continue it
};

struct Token {
  TokenKind kind;
  std::string_view text;
  std::size_t line;  ///< where it begins, from 1 on

  bool is(std::string_view what) const { return text == what && kind != TokenKind::text; }
  bool is_word() const { return kind == TokenKind::word; }
  bool is_blank() const { return kind == TokenKind::blank; }
};
using Tokens = std::vector<Token>;

/// All of `source`: the tokens' texts one after the other are the source again, to which they
/// refer, except that blanks within "<<<" are lost.
/// Where it does not begin a line, "#" at its beginning is a mark.
Tokens tokens_of(std::string_view source, bool begins_line = true);

/// What stands for "there is none" below.
inline constexpr std::size_t no_token = static_cast<std::size_t>(-1);

/// The next token from `at` on that is not blank, or no_token.
std::size_t next_solid(const Tokens& tokens, std::size_t at);
/// The last token before `at` that is not blank, or no_token.
std::size_t last_solid(const Tokens& tokens, std::size_t at);

/// The bracket that closes the one at `open`, "(", "[" or "{"; or no_token.
std::size_t closing(const Tokens& tokens, std::size_t open);
/// The bracket that opens the one at `close`, or no_token.
std::size_t opening(const Tokens& tokens, std::size_t close);

/// The texts of [from, to), one after the other.
std::string text_of(const Tokens& tokens, std::size_t from, std::size_t to);

/// The name of a directive: of "#  define A b" it is "define". Empty for "#" alone.
std::string_view directive_name(std::string_view directive);

}  // namespace cornerturn::cuda_source
