#include "workshop/cuda_source/front/macros.hpp"

#include <algorithm>

namespace cornerturn::cuda_source {
namespace {

std::string trimmed_words(const Tokens& tokens, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    if (!tokens[i].is_blank()) {
      text += tokens[i].text;
    } else if (!text.empty()) {
      text += ' ';
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> arguments_of(const Tokens& tokens, std::size_t open, std::size_t close) {
  std::vector<std::string> out;
  std::size_t from = open + 1;
  for (std::size_t i = open + 1; i <= close; ++i) {
    if (i < close && (tokens[i].is("(") || tokens[i].is("{") || tokens[i].is("["))) {
      i = std::min(closing(tokens, i), close);
      continue;
    }
    if (i < close && !tokens[i].is(",")) continue;
    out.push_back(trimmed_words(tokens, from, i));
    from = i + 1;
  }
  return out;
}

}  // namespace

void Macros::add(std::string_view directive) {
  if (directive_name(directive) != "define") return;
  const Tokens tokens = tokens_of(directive, false);
  const std::size_t hash = next_solid(tokens, 0);
  const std::size_t define = hash == no_token ? no_token : next_solid(tokens, hash + 1);
  const std::size_t name = define == no_token ? no_token : next_solid(tokens, define + 1);
  if (name == no_token || name + 1 >= tokens.size() || !tokens[name + 1].is("(")) return;
  const std::size_t close = closing(tokens, name + 1);
  if (close == no_token) return;
  macros_[std::string(tokens[name].text)] = {arguments_of(tokens, name + 1, close),
                                             text_of(tokens, close + 1, tokens.size())};
}

std::string Macros::expanded(const Tokens& tokens, std::size_t at) const {
  const auto found = macros_.find(std::string(tokens[at].text));
  const std::size_t open = next_solid(tokens, at + 1);
  if (found == macros_.end() || open == no_token || !tokens[open].is("(")) return "";
  const std::size_t close = closing(tokens, open);
  if (close == no_token) return "";
  const std::vector<std::string> arguments = arguments_of(tokens, open, close);
  const auto value_of = [&](const Token& token) {
    for (std::size_t i = 0; i < found->second.parameters.size(); ++i) {
      const bool rest = token.is("__VA_ARGS__") && found->second.parameters[i] == "...";
      if (!rest && !token.is(found->second.parameters[i])) continue;
      std::string value;
      for (std::size_t n = i; n < arguments.size() && (n == i || rest); ++n) {
        value += (n == i ? "" : ", ") + arguments[n];
      }
      return value;
    }
    return std::string(token.text);
  };
  std::string out;
  const Tokens body = tokens_of(found->second.body, false);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].is("#") && i + 1 < body.size() && body[i + 1].is("#")) {
      while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
      i = std::min(next_solid(body, i + 2), body.size()) - 1;
    } else if (body[i].is_blank()) {
      out += ' ';
    } else {
      out += value_of(body[i]);
    }
  }
  return out;
}

}  // namespace cornerturn::cuda_source
