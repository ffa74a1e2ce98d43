#include "workshop/cuda_source/front/tokens.hpp"

#include <algorithm>
#include <array>

namespace cornerturn::cuda_source {
namespace {

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

class Reader {
 public:
  Reader(std::string_view source, bool begins_line) : source_(source), begins_line_(begins_line) {}

  Tokens tokens() {
    while (at_ < source_.size()) {
      const std::size_t from = at_;
      const std::size_t line = line_;
      const TokenKind kind = next();
      out_.push_back({kind, text_since(from), line});
      line_ += static_cast<std::size_t>(std::count(source_.begin() + static_cast<long>(from),
                                                   source_.begin() + static_cast<long>(at_), '\n'));
      if (kind != TokenKind::blank) {
        begins_line_ = false;
      } else if (out_.back().text.find('\n') != std::string_view::npos &&
                 out_.back().text[0] != '\\') {
        begins_line_ = true;
      }
      if (kind == TokenKind::directive) begins_line_ = true;
    }
    return std::move(out_);
  }

 private:
  TokenKind next() {
    const char c = source_[at_];
    if (is_space(c)) {
      while (at_ < source_.size() && is_space(source_[at_])) ++at_;
      return TokenKind::blank;
    }
    if (const std::size_t length = continuation(at_); length > 0) {
      at_ += length;
      return TokenKind::blank;
    }
    if (comment()) return TokenKind::blank;
    if (c == '#' && begins_line_) {
      directive();
      return TokenKind::directive;
    }
    if (begins_word(c)) return word();
    if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) {
      number();
      return TokenKind::number;
    }
    if (c == '"' || c == '\'') {
      quoted();
      return TokenKind::text;
    }
    if (c == '<' && launch()) return TokenKind::mark;
    for (const std::string_view mark : {"...", "::", "->"}) {
      if (source_.substr(at_, mark.size()) == mark) {
        at_ += mark.size();
        return TokenKind::mark;
      }
    }
    ++at_;
    return TokenKind::mark;
  }

  // "<<<", in which nvcc allows blanks: "<< <" is what tools for the layout of C++ make of it.
  bool launch() {
    if (!out_.empty()) {
      const std::size_t before = last_solid(out_, out_.size());
      if (before != no_token && out_[before].is("operator")) return false;
    }
    std::size_t at = at_;
    for (int marks = 1; marks < 3; ++marks) {
      ++at;
      while (at < source_.size() && (source_[at] == ' ' || source_[at] == '\t')) ++at;
      if (at == source_.size() || source_[at] != '<') return false;
    }
    at_ = at + 1;
    return true;
  }

  std::string_view text_since(std::size_t from) const {
    const std::string_view text = source_.substr(from, at_ - from);
    return text.size() > 3 && text.front() == '<' ? "<<<" : text;
  }

  // How many characters a backslash at the end of a line takes, with the end; or 0.
  std::size_t continuation(std::size_t at) const {
    if (source_[at] != '\\') return 0;
    std::size_t end = at + 1;
    while (end < source_.size() && (source_[end] == ' ' || source_[end] == '\r')) ++end;
    return end < source_.size() && source_[end] == '\n' ? end + 1 - at : 0;
  }

  bool comment() {
    const std::string_view two = source_.substr(at_, 2);
    if (two == "/*") {
      const std::size_t end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
      return true;
    }
    if (two != "//") return false;
    while (at_ < source_.size() && source_[at_] != '\n') {
      const std::size_t length = continuation(at_);
      at_ += length > 0 ? length : 1;
    }
    return true;
  }

  // Up to the end of the line, which is not part of it.
  void directive() {
    while (at_ < source_.size() && source_[at_] != '\n') {
      if (const std::size_t length = continuation(at_); length > 0) {
        at_ += length;
      } else if (source_.substr(at_, 2) == "//") {
        comment();
      } else if (source_.substr(at_, 2) == "/*") {
        comment();
      } else if (source_[at_] == '"') {
        quoted();
      } else {
        ++at_;
      }
    }
  }

  // A name; or a text with a prefix, which begins as one.
  TokenKind word() {
    const std::size_t from = at_;
    while (at_ < source_.size() && (begins_word(source_[at_]) || is_digit(source_[at_]))) ++at_;
    if (at_ == source_.size() || (source_[at_] != '"' && source_[at_] != '\'')) {
      return TokenKind::word;
    }
    const std::string_view prefix = source_.substr(from, at_ - from);
    static constexpr std::array<std::string_view, 9> prefixes = {"u8", "u",  "U",  "L",  "R",
                                                                 "uR", "UR", "LR", "u8R"};
    if (std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end()) {
      return TokenKind::word;
    }
    if (prefix.back() == 'R' && source_[at_] == '"') {
      raw();
    } else {
      quoted();
    }
    return TokenKind::text;
  }

  void number() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const bool sign = (c == '+' || c == '-') &&
                        std::string_view("eEpP").find(source_[at_ - 1]) != std::string_view::npos;
      const bool apart = c == '\'' && at_ + 1 < source_.size() &&
                         (is_digit(source_[at_ + 1]) || begins_word(source_[at_ + 1]));
      if (!is_digit(c) && !begins_word(c) && c != '.' && !sign && !apart) return;
      ++at_;
    }
  }

  // A text without an end ends with its line.
  void quoted() {
    const char quote = source_[at_++];
    while (at_ < source_.size() && source_[at_] != '\n') {
      const char c = source_[at_];
      if (const std::size_t length = continuation(at_); length > 0) {
        at_ += length;
        continue;
      }
      at_ += c == '\\' && at_ + 1 < source_.size() && source_[at_ + 1] != '\n' ? 2 : 1;
      if (c == quote) return;
    }
  }

  void raw() {
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) {
      at_ = source_.size();
      return;
    }
    const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t close = source_.find(end, open);
    at_ = close == std::string_view::npos ? source_.size() : close + end.size();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool begins_line_;
  Tokens out_;
};

int depth_change(const Token& token) {
  if (token.kind != TokenKind::mark) return 0;
  if (token.is("(") || token.is("[") || token.is("{")) return 1;
  return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
}

}  // namespace

Tokens tokens_of(std::string_view source, bool begins_line) {
  return Reader(source, begins_line).tokens();
}

std::size_t next_solid(const Tokens& tokens, std::size_t at) {
  while (at < tokens.size() && tokens[at].is_blank()) ++at;
  return at < tokens.size() ? at : no_token;
}

std::size_t last_solid(const Tokens& tokens, std::size_t at) {
  while (at > 0 && tokens[at - 1].is_blank()) --at;
  return at > 0 ? at - 1 : no_token;
}

std::size_t closing(const Tokens& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += depth_change(tokens[i]);
    if (depth == 0) return i;
  }
  return no_token;
}

std::size_t opening(const Tokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i > 0; --i) {
    depth += depth_change(tokens[i - 1]);
    if (depth == 0) return i - 1;
  }
  return no_token;
}

std::string text_of(const Tokens& tokens, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += tokens[i].text;
  return text;
}

std::string_view directive_name(std::string_view directive) {
  std::size_t from = 1;
  while (from < directive.size() && (directive[from] == ' ' || directive[from] == '\t')) ++from;
  std::size_t to = from;
  while (to < directive.size() && begins_word(directive[to])) ++to;
  return directive.substr(from, to - from);
}

}  // namespace cornerturn::cuda_source
