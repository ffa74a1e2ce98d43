// Launches: `kernel<<<grid, block, bytes, stream>>>(arguments)` becomes a call of the guest's
// headers, whose threads call the kernel.
#include <optional>

#include "workshop/cuda_source/front/rewrite.hpp"

namespace cornerturn::cuda_source {
namespace {

constexpr const char* place = "::cornerturn::guest::Place{__builtin_FILE(), __builtin_LINE()}";

// The "<" that opens the list of template arguments whose ">" is at `close`.
std::size_t template_opening(const Tokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i > 0; --i) {
    const Token& token = tokens[i - 1];
    if (token.is(")") || token.is("]") || token.is("}")) {
      const std::size_t open = opening(tokens, i - 1);
      if (open == no_token) return no_token;
      i = open + 1;
    } else if (token.is(">")) {
      ++depth;
    } else if (token.is("<")) {
      if (--depth == 0) return i - 1;
    } else if (token.is(";") || token.is("{") || token.is("(")) {
      return no_token;
    }
  }
  return no_token;
}

bool joins(const Token& token) {
  return token.is("::") || token.is("->") || token.is(".");
}

// Does the expression begin before the mark as well, as "a::" does and "return ::" does not?
bool goes_on_before(const Token& mark, const Token& outer) {
  if (outer.is_word()) return !outer.is("return") && !outer.is("else") && !outer.is("do");
  return outer.is(">") || (!mark.is("::") && (outer.is(")") || outer.is("]")));
}

// The "2d" of a##2d.
bool is_pasted_number(const Tokens& tokens, std::size_t at) {
  const std::size_t before = last_solid(tokens, at);
  return tokens[at].kind == TokenKind::number && before != no_token && tokens[before].is("#");
}

// The first token of the name, or of the expression, that is launched by the "<<<" at `launch`.
std::size_t callee_begin(const Tokens& tokens, std::size_t launch) {
  std::size_t end = last_solid(tokens, launch);
  while (end != no_token) {
    std::size_t first = end;
    if (tokens[end].is(">")) {
      first = template_opening(tokens, end);
      first = first == no_token ? no_token : last_solid(tokens, first);
    } else if (tokens[end].is(")") || tokens[end].is("]")) {
      first = opening(tokens, end);
      const std::size_t name = first == no_token ? no_token : last_solid(tokens, first);
      if (tokens[end].is("]") && name != no_token) {
        end = name;
        continue;
      }
    } else if (!tokens[end].is_word() && !is_pasted_number(tokens, end)) {
      return no_token;
    }
    if (first == no_token) return no_token;
    std::size_t before = last_solid(tokens, first);
    if (before != no_token && tokens[before].is("template")) {
      first = before;
      before = last_solid(tokens, first);
    }
    if (before == no_token) return first;
    std::size_t outer = last_solid(tokens, before);
    if (tokens[before].is("#") && outer != no_token && tokens[outer].is("#")) {
      // A macro pastes the name together: a##b.
      outer = last_solid(tokens, outer);
    } else if (!joins(tokens[before])) {
      return first;
    } else if (outer == no_token || !goes_on_before(tokens[before], tokens[outer])) {
      return before;
    }
    end = outer;
  }
  return no_token;
}

// The ">>>" that closes the launch's configuration, in which there may be blanks: [from, to).
struct ConfigurationEnd {
  std::size_t from = no_token, to = no_token;
};

ConfigurationEnd configuration_end(const Tokens& tokens, std::size_t launch) {
  for (std::size_t i = launch + 1; i < tokens.size(); ++i) {
    if (tokens[i].is("(") || tokens[i].is("[") || tokens[i].is("{")) {
      i = closing(tokens, i);
      if (i == no_token) return {};
    } else if (tokens[i].is(";")) {
      return {};
    } else if (tokens[i].is(">")) {
      std::size_t last = i;
      for (int marks = 1; marks < 3 && last != no_token; ++marks) {
        last = next_solid(tokens, last + 1);
        if (last != no_token && !tokens[last].is(">")) last = no_token;
      }
      if (last != no_token) return {i, last + 1};
    }
  }
  return {};
}

std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\n\\", at)) != std::string::npos;) {
    text[at] = ' ';
  }
  return text;
}

// The tokens of [from, to) without comments.
std::string words_of(const Tokens& tokens, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    if (!tokens[i].is_blank()) {
      text += tokens[i].text;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  return in_one_line(text);
}

// NULL among a launch's arguments would arrive as a number.
void replace_null(Edits& edits, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    if (edits.tokens()[i].is("NULL")) edits.replace(i, "nullptr");
  }
}

void rewrite_launch(Edits& edits, std::size_t launch) {
  const Tokens& tokens = edits.tokens();
  const std::size_t begin = callee_begin(tokens, launch);
  const ConfigurationEnd end = configuration_end(tokens, launch);
  const std::size_t open = end.to == no_token ? no_token : next_solid(tokens, end.to);
  if (begin == no_token || open == no_token || !tokens[open].is("(")) {
    edits.refuse(launch, "this launch is not understood: kernel<<<grid, block>>>(arguments) is");
    return;
  }
  const std::string callee = words_of(tokens, begin, launch);
  edits.erase(begin, launch);
  edits.insert(begin, std::string("::cornerturn::guest::launch_kernel(") + place +
                          ", CT_GUEST_TEXT(" + callee + "), ::cornerturn::guest::config(");
  edits.replace(launch, "");
  edits.erase(end.from, open + 1);
  const std::size_t close = closing(tokens, open);
  const std::size_t first = next_solid(tokens, open + 1);
  edits.insert(open + 1, "), [&](auto... cornerturn_a) CT_GUEST_PLAIN { " + callee +
                             "(cornerturn_a...); }" + (first == close ? "" : ", "));
  if (close != no_token) replace_null(edits, open, close);
}

// A cast to void* before the argument at `at` hides what the kernel's arguments are. Returns where
// the argument begins without it.
std::size_t drop_cast(Edits& edits, std::size_t at) {
  const Tokens& tokens = edits.tokens();
  std::size_t end = at;
  if (tokens[at].is("(")) {
    const std::size_t close = closing(tokens, at);
    const std::string inside = close == no_token ? "" : words_of(tokens, at + 1, close);
    if (inside.find("void") != std::string::npos && inside.find('*') != std::string::npos) {
      end = close + 1;
    }
  } else if (tokens[at].is("reinterpret_cast") || tokens[at].is("static_cast")) {
    std::size_t close = at;
    while (close < tokens.size() && !tokens[close].is(">")) ++close;
    if (close < tokens.size()) end = close + 1;
  }
  edits.erase(at, end);
  return end;
}

// "k" of "(&k)".
std::string without_address(std::string name) {
  while (!name.empty() && (name.front() == '(' || name.front() == '&' || name.front() == ' ')) {
    if (name.front() == '(' && name.back() == ')') name.pop_back();
    name.erase(0, 1);
  }
  return name;
}

void rewrite_call(Edits& edits, std::size_t name, const std::string& function) {
  const Tokens& tokens = edits.tokens();
  const std::size_t open = next_solid(tokens, name + 1);
  if (open == no_token || !tokens[open].is("(")) return;
  const std::size_t first = next_solid(tokens, open + 1);
  const std::size_t close = closing(tokens, open);
  if (first == no_token || close == no_token || first == close) return;
  std::size_t comma = first;
  for (int depth = 0; comma < close && (depth > 0 || !tokens[comma].is(",")); ++comma) {
    if (tokens[comma].is("(")) comma = closing(tokens, comma);
    depth += tokens[comma].is("<") ? 1 : tokens[comma].is(">") ? -1 : 0;
  }
  const std::string kernel = without_address(words_of(tokens, drop_cast(edits, first), comma));
  edits.replace(name, "::cornerturn::guest::" + function);
  edits.insert(first, std::string(place) + ", CT_GUEST_TEXT(" + kernel + "), ");
}

}  // namespace

void rewrite_launches(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is("<<<")) rewrite_launch(edits, i);
    if (tokens[i].is("cudaLaunchCooperativeKernel")) rewrite_call(edits, i, "launch_cooperative");
    if (tokens[i].is("cudaLaunchKernel")) rewrite_call(edits, i, "launch_by_address");
  }
}

}  // namespace cornerturn::cuda_source
