#include "io/python_literal.hpp"

#include <limits>
#include <utility>

#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

constexpr int max_depth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Literal whole() {
    Literal literal = value(0);
    skip_space();
    if (at_ < text_.size()) fail("only one literal may stand here");
    return literal;
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw Error(Status::invalid_argument,
                "header byte " + std::to_string(at_) + " is malformed: " + rule);
  }

  bool more() const noexcept { return at_ < text_.size(); }
  char peek() const noexcept { return more() ? text_[at_] : '\0'; }

  void skip_space() noexcept {
    while (more() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }

  bool take(char c) noexcept {
    skip_space();
    if (!more() || peek() != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) noexcept {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Literal value(int depth) {
    if (depth > max_depth) fail("literals nest at most 32 levels deep");
    skip_space();
    const std::size_t begin = at_;
    Literal literal;
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') {
      ++at_;
      literal = c == '{' ? dict(depth) : sequence(c, depth);
    } else if (c == '\'' || c == '"') {
      literal = quoted(c);
    } else if ((c >= '0' && c <= '9') || c == '-') {
      literal = number();
    } else if (take_word("True")) {
      literal.type = Literal::Type::boolean;
      literal.integer = 1;
    } else if (take_word("False")) {
      literal.type = Literal::Type::boolean;
    } else if (!take_word("None")) {
      fail("a string, a number, True, False, None, '(', '[' or '{' has to stand here");
    }
    // A value in parentheses has its text already.
    if (literal.text.empty()) literal.text = text_.substr(begin, at_ - begin);
    return literal;
  }

  // A tuple, a list, or one value in parentheses.
  Literal sequence(char open, int depth) {
    const char close = open == '(' ? ')' : ']';
    Literal literal;
    literal.type = open == '(' ? Literal::Type::tuple : Literal::Type::list;
    bool comma = true;
    while (!take(close)) {
      if (!comma) fail("',' or the closing bracket has to stand here");
      literal.items.push_back(value(depth + 1));
      comma = take(',');
    }
    if (open == '(' && literal.items.size() == 1 && !comma) {
      Literal inner = std::move(literal.items.front());
      return inner;
    }
    return literal;
  }

  Literal dict(int depth) {
    Literal literal;
    literal.type = Literal::Type::dict;
    bool comma = true;
    while (!take('}')) {
      if (!comma) fail("',' or '}' has to stand here");
      literal.items.push_back(value(depth + 1));
      if (literal.items.back().type != Literal::Type::string) fail("keys are strings");
      if (!take(':')) fail("':' has to stand here");
      literal.items.push_back(value(depth + 1));
      comma = take(',');
    }
    return literal;
  }

  Literal quoted(char quote) {
    Literal literal;
    literal.type = Literal::Type::string;
    for (++at_; more() && peek() != quote; ++at_) {
      if (peek() == '\n') fail("a string ends on the line on which it starts");
      if (peek() == '\\') ++at_;
    }
    if (!more()) fail("the string does not end");
    ++at_;
    return literal;
  }

  Literal number() {
    Literal literal;
    literal.type = Literal::Type::integer;
    const bool negative = take('-');
    if (peek() < '0' || peek() > '9') fail("a digit has to stand here");
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    while (peek() >= '0' && peek() <= '9') {
      const int digit = peek() - '0';
      if (literal.integer > (most - digit) / 10) fail("the number does not fit in 64 bits");
      literal.integer = literal.integer * 10 + digit;
      ++at_;
    }
    if (peek() == 'L') ++at_;  // Python 2 wrote long integers as 12L
    if (negative) literal.integer = -literal.integer;
    return literal;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Literal parse_python_literal(std::string_view text) {
  return Parser(text).whole();
}

}  // namespace cornerturn::io
