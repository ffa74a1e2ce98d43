// Where variables of device code lie. `extern __shared__ T s[]` is an array of the runtime's, whose
// size a launch says; `__device__` before a variable and before a function are different words
// here.
#include "workshop/cuda_source/front/rewrite.hpp"

namespace cornerturn::cuda_source {
namespace {

// Where the declaration begins that the token at `at` is part of.
std::size_t declaration_begin(const Tokens& tokens, std::size_t at) {
  while (at > 0) {
    const Token& before = tokens[at - 1];
    if (before.is(";") || before.is("{") || before.is("}") || before.is(":") ||
        before.kind == TokenKind::directive) {
      break;
    }
    --at;
  }
  return at;
}

// Its ";", or the end of a macro's body.
std::size_t declaration_end(const Tokens& tokens, std::size_t at) {
  for (; at < tokens.size() && !tokens[at].is(";"); ++at) {
    if (tokens[at].is("(") || tokens[at].is("[") || tokens[at].is("{")) {
      const std::size_t close = closing(tokens, at);
      if (close == no_token) return tokens.size();
      at = close;
    }
  }
  return at;
}

std::size_t find_word(const Tokens& tokens, std::size_t from, std::size_t to,
                      std::string_view word) {
  for (std::size_t i = from; i < to; ++i) {
    if (tokens[i].is(word)) return i;
  }
  return no_token;
}

bool is_attribute(const Token& token) {
  return token.is("__align__") || token.is("alignas") || token.is("__attribute__") ||
         token.is("__launch_bounds__") || token.is("decltype");
}

// Does a variable follow, and no function? What comes first decides: "(", or "=", "[" and ";".
bool declares_variable(const Tokens& tokens, std::size_t at) {
  int depth = 0;  // of template arguments
  for (; at < tokens.size(); ++at) {
    const Token& token = tokens[at];
    if (token.is("operator") || token.is("const") || token.is("constexpr") || token.is("class") ||
        token.is("struct")) {
      return false;
    }
    if (is_attribute(token)) {
      const std::size_t open = next_solid(tokens, at + 1);
      const std::size_t close = open == no_token ? no_token : closing(tokens, open);
      if (close == no_token) return false;
      at = close;
    } else if (token.is("<") || token.is(">")) {
      depth += token.is("<") ? 1 : -1;
    } else if (depth == 0 && (token.is("=") || token.is("[") || token.is(";") || token.is("{"))) {
      return true;
    } else if (token.is("(") || token.is(")") || token.kind == TokenKind::directive) {
      return false;
    }
  }
  return false;
}

// The compiler guards an array of a class against being initialised twice, which is an access as
// well. With an initialiser of its own there is nothing to guard.
void initialise_arrays(Edits& edits, std::size_t from, std::size_t end) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = from; i < end; ++i) {
    if (tokens[i].is("(") || tokens[i].is("{")) i = closing(tokens, i);
    if (i == no_token) return;
    if (!tokens[i].is("]")) continue;
    const std::size_t next = next_solid(tokens, i + 1);
    if (next != no_token && (tokens[next].is(",") || tokens[next].is(";"))) {
      edits.insert(i + 1, " = {}");
    }
  }
}

// Does the declaration stand in a namespace, or in none?
bool is_outside_functions(const Tokens& tokens, std::size_t at) {
  for (std::size_t i = at; i > 0; --i) {
    if (tokens[i - 1].is("}")) {
      i = opening(tokens, i - 1) + 1;
      if (i == 0) return true;
      continue;
    }
    if (!tokens[i - 1].is("{")) continue;
    const std::size_t before = last_solid(tokens, i - 1);
    if (before == no_token) return false;
    if (tokens[before].kind == TokenKind::text || tokens[before].is("namespace")) continue;
    std::size_t name = before;  // of a::b
    while (name != no_token && (tokens[name].is_word() || tokens[name].is("::")) &&
           !tokens[name].is("namespace")) {
      name = last_solid(tokens, name);
    }
    if (name == no_token || !tokens[name].is("namespace")) return false;
  }
  return true;
}

// `extern __shared__ T s[]` in a function: a reference to the runtime's array, since g++ forgets in
// templates that a variable has another name for the linker.
void refer_to_dynamic(Edits& edits, std::size_t at, std::size_t begin, std::size_t end) {
  const Tokens& tokens = edits.tokens();
  std::size_t bracket = at;
  while (bracket < end && !tokens[bracket].is("[")) ++bracket;
  const std::size_t name = last_solid(tokens, bracket);
  if (name == no_token || name <= begin || !tokens[name].is_word()) return;
  const std::string variable(tokens[name].text);
  edits.replace(find_word(tokens, begin, end, "extern"), "");
  edits.replace(at, "");
  edits.replace(name, "(&" + variable + ")");
  edits.insert(end, " = reinterpret_cast<decltype(" + variable + ")>(::cornerturn_dynamic_shared)");
}

void rewrite_shared(Edits& edits, std::size_t at) {
  const Tokens& tokens = edits.tokens();
  const std::size_t begin = declaration_begin(tokens, at);
  const std::size_t end = declaration_end(tokens, at);
  const std::size_t is_static = find_word(tokens, begin, end, "static");
  if (is_static != no_token) edits.replace(is_static, "");
  if (find_word(tokens, begin, end, "extern") == no_token) {
    initialise_arrays(edits, at, end);
  } else if (is_outside_functions(tokens, at)) {
    edits.replace(at, "__thread");
    edits.insert(end, " __asm__(\"cornerturn_dynamic_shared\")");
  } else {
    refer_to_dynamic(edits, at, begin, end);
  }
}

// The compiler has no section for what is constant and what is not.
void drop_const(Edits& edits, std::size_t at) {
  const Tokens& tokens = edits.tokens();
  const std::size_t begin = declaration_begin(tokens, at);
  const std::size_t end = declaration_end(tokens, at);
  for (std::size_t i = begin; i < end && !tokens[i].is("=") && !tokens[i].is("["); ++i) {
    const std::size_t next = next_solid(tokens, i + 1);
    const bool is_of_pointee = next != no_token && tokens[next].is("*");
    if ((tokens[i].is("const") || tokens[i].is("constexpr")) && !is_of_pointee)
      edits.replace(i, "");
  }
}

}  // namespace

void rewrite_storage(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_shared = tokens[i].is("__shared__");
    const bool is_constant = tokens[i].is("__constant__");
    const bool is_variable = tokens[i].is("__device__") && declares_variable(tokens, i + 1);
    if (is_shared) rewrite_shared(edits, i);
    if (is_constant) drop_const(edits, i);
    if (is_variable) edits.replace(i, "CT_GUEST_DEVICE_VARIABLE");
    if (!is_shared && !is_constant && !is_variable) continue;
    // The compiler takes alignas only before the other words of a declaration.
    const std::size_t alignment = find_word(tokens, i, declaration_end(tokens, i), "alignas");
    if (alignment != no_token) edits.replace(alignment, "__align__");
  }
}

}  // namespace cornerturn::cuda_source
