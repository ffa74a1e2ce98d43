#include "workshop/cuda_source/front/declarations.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "workshop/cuda_source/front/macros.hpp"

namespace cornerturn::cuda_source {
namespace {

template <std::size_t n>
bool is_one_of(const Token& token, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), token.text) != words.end();
}

// Words before "(" that name no function.
constexpr std::array<std::string_view, 11> attributes = {
    "__launch_bounds__", "__attribute__", "__align__",        "alignas",  "decltype", "noexcept",
    "__declspec",        "explicit",      "__cluster_dims__", "requires", "throw"};
constexpr std::array<std::string_view, 4> classes = {"class", "struct", "union", "enum"};

class Scanner {
 public:
  explicit Scanner(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<Declaration> declarations() {
    for (const Token& token : tokens_) {
      if (token.kind == TokenKind::directive) macros_.add(token.text);
    }
    while (at_ < tokens_.size()) {
      const Token& token = tokens_[at_];
      if (token.kind == TokenKind::directive) {
        if (directive_name(token.text) == "define") add_macro(token);
        ++at_;
      } else if (token.is_blank() || token.is(";") || token.is("}") || opens_a_scope()) {
        ++at_;
      } else {
        add_declaration();
      }
    }
    return std::move(out_);
  }

 private:
  static std::string_view macro_name(const Token& token) {
    bool after = false;
    for (const Token& word : tokens_of(token.text, false)) {
      if (!word.is_word()) continue;
      if (after) return word.text;
      after = word.is("define");
    }
    return "";
  }

  void add_macro(const Token& token) {
    Declaration one;
    one.begin = at_;
    one.end = at_ + 1;
    one.line = token.line;
    one.is_macro = true;
    one.names = {macro_name(token)};
    for (const Token& word : tokens_of(token.text, false)) {
      if (word.is_word()) one.uses.insert(word.text);
    }
    out_.push_back(std::move(one));
  }

  // At `namespace a {`, `extern "C" {`: goes to the brace. Also at `using namespace a;`.
  bool opens_a_scope() {
    std::size_t at = at_;
    if (tokens_[at].is("inline")) at = next_solid(tokens_, at + 1);
    if (at == no_token) return false;
    const bool is_namespace = tokens_[at].is("namespace");
    if (!is_namespace && !tokens_[at].is("extern")) return false;
    for (std::size_t i = next_solid(tokens_, at + 1); i != no_token;
         i = next_solid(tokens_, i + 1)) {
      if (tokens_[i].is("{")) {
        at_ = i;
        return true;
      }
      if (!(is_namespace ? tokens_[i].is_word() || tokens_[i].is("::")
                         : tokens_[i].kind == TokenKind::text)) {
        return false;
      }
    }
    return false;
  }

  void add_declaration() {
    Declaration one;
    one.begin = at_;
    std::size_t body = no_token;
    one.end = end_of_declaration(one, body);
    const std::size_t head = body == no_token ? one.end : body;
    for (std::size_t i = one.begin; i < one.end; ++i) {
      if (tokens_[i].is_word()) one.uses.insert(tokens_[i].text);
      if (tokens_[i].kind == TokenKind::directive) {
        for (const Token& word : tokens_of(tokens_[i].text, false)) {
          if (word.is_word()) one.uses.insert(word.text);
        }
      }
    }
    add_expansions(one, tokens_, one.begin, one.end, 0);
    bool on_host = false;
    for (std::size_t i = one.begin; i < head; ++i) {
      one.is_kernel = one.is_kernel || tokens_[i].is("__global__");
      one.is_device = one.is_device || tokens_[i].is("__device__") || tokens_[i].is("__global__");
      on_host = on_host || tokens_[i].is("__host__");
    }
    one.is_device = one.is_device && !on_host;
    if (!one.is_call) {
      name(one, head);
    } else if (one.names.empty()) {
      one.is_needed = true;
    }
    at_ = one.end;
    out_.push_back(std::move(one));
  }

  // Macros may paste names together that stand nowhere, and a call of one at the outer level may
  // declare them.
  void add_expansions(Declaration& one, const Tokens& tokens, std::size_t from, std::size_t to,
                      int depth) {
    constexpr int deepest = 4;
    for (std::size_t i = from; i < to && depth < deepest; ++i) {
      if (!tokens[i].is_word() || !macros_.has(tokens[i].text)) continue;
      auto text = std::make_shared<const std::string>(macros_.expanded(tokens, i));
      if (text->empty()) continue;
      one.expansions.push_back(text);
      const Tokens inner = tokens_of(*text);
      for (const Token& word : inner) {
        if (word.is_word()) one.uses.insert(word.text);
      }
      if (one.is_call && depth == 0) {
        for (const Declaration& declared : declarations_of(inner)) {
          one.names.insert(one.names.end(), declared.names.begin(), declared.names.end());
        }
      }
      add_expansions(one, inner, 0, inner.size(), depth + 1);
    }
  }

  // The names in the head: those before "(" of a function; the class; else what "=", ";", "[", "{"
  // and "," follow.
  void name(Declaration& one, std::size_t head) {
    one.line = tokens_[one.begin].line;
    if (tokens_[one.begin].is("using")) {
      const std::size_t next = next_solid(tokens_, one.begin + 1);
      one.is_needed = next != no_token && tokens_[next].is("namespace");
    }
    const bool is_typedef = tokens_[one.begin].is("typedef");
    for (std::size_t i = one.begin; i < head; ++i) {
      const Token& token = tokens_[i];
      if (token.is("template") || token.is("operator")) {
        one.is_needed = one.is_needed || token.is("operator");
        i = after_template(i);
        continue;
      }
      if (is_typedef) {
        if (token.is_word()) one.names.push_back(token.text);
        continue;
      }
      if (token.is("(") || token.is("[")) {
        const std::size_t close = closing(tokens_, i);
        if (close == no_token) return;
        i = close;
        continue;
      }
      if (is_one_of(token, classes) && !one.is_function) {
        one.names.push_back(class_name(i, head));
        continue;
      }
      if (token.is_word()) name_if_declared(one, i);
    }
    if (one.names.empty()) one.is_needed = true;
  }

  void name_if_declared(Declaration& one, std::size_t i) {
    const std::size_t next = next_solid(tokens_, i + 1);
    if (next == no_token || is_one_of(tokens_[i], attributes)) return;
    const Token& after = tokens_[next];
    const bool ends = after.is("(") || after.is("=") || after.is(";") || after.is("[") ||
                      after.is("{") || after.is(",") || (after.is("::") && is_class_of_member(i)) ||
                      (after.is("<") && is_class_of_member(i));
    if (!ends) return;
    if (after.is("(") && one.names.empty()) one.line = tokens_[i].line;
    one.names.push_back(tokens_[i].text);
  }

  // Is it the A of `A<T>::member(`, or a function with template arguments, and no type: `A::B f(`?
  bool is_class_of_member(std::size_t name) const {
    int depth = 0;
    bool is_joined = true;
    for (std::size_t i = name + 1; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.is_blank()) continue;
      depth += token.is("<") ? 1 : token.is(">") ? -1 : 0;
      if (depth > 0 || token.is(">")) continue;
      if (token.is("(") || token.is("=") || token.is(";") || token.is("[")) return true;
      if (token.is_word() && is_joined && i > name + 1) {
        const std::size_t before = last_solid(tokens_, i);
        is_joined = tokens_[before].is("::");
        if (!is_joined) return false;
      } else if (!token.is("::")) {
        return false;
      }
    }
    return false;
  }

  std::size_t after_template(std::size_t at) const {
    const std::size_t open = next_solid(tokens_, at + 1);
    if (open == no_token || !tokens_[open].is("<")) return at;
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i].is("(")) {
        const std::size_t close = closing(tokens_, i);
        if (close == no_token) return at;
        i = close;
      }
      depth += tokens_[i].is("<") ? 1 : tokens_[i].is(">") ? -1 : 0;
      if (depth == 0) return i;
    }
    return at;
  }

  std::string_view class_name(std::size_t at, std::size_t head) const {
    for (std::size_t i = at + 1; i < head; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) {
        const std::size_t close = closing(tokens_, i);
        if (close == no_token) break;
        i = close;
      } else if (tokens_[i].is_word() && !is_one_of(tokens_[i], attributes) &&
                 !is_one_of(tokens_[i], classes)) {
        return tokens_[i].text;
      }
    }
    return "";
  }

  // Sets `body` to the brace that opens the body of a function or of a class.
  std::size_t end_of_declaration(Declaration& one, std::size_t& body) {
    bool has_parentheses = false;
    bool is_class = false;
    bool has_value = false;
    bool has_members = false;  // after the ":" of a constructor
    for (std::size_t i = one.begin; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.is("template")) {
        i = after_template(i);
      } else if (token.is(";")) {
        return i + 1;
      } else if (token.is("}")) {
        return i;  // of the scope around it
      } else if (token.is("(") || token.is("[")) {
        const std::size_t close = closing(tokens_, i);
        if (close == no_token) return tokens_.size();
        const std::size_t before = last_solid(tokens_, i);
        if (token.is("(") && before == one.begin && macros_.has(tokens_[before].text)) {
          const std::size_t next = next_solid(tokens_, close + 1);
          one.is_call = true;
          if (next == no_token || !tokens_[next].is("{")) return close + 1;
        }
        has_parentheses = has_parentheses || token.is("(");
        i = close;
      } else if (token.is("{")) {
        const std::size_t close = closing(tokens_, i);
        if (close == no_token) return tokens_.size();
        const std::size_t before = last_solid(tokens_, i);
        const bool is_member = has_members && before != no_token &&
                               (tokens_[before].is_word() || tokens_[before].is(">"));
        if (body == no_token && !is_member && !has_value) body = i;
        i = close;
        if (has_parentheses && !is_class && !has_value && !is_member) {
          one.is_function = true;
          return close + 1;
        }
      } else if (token.is("=") && !is_operator(i)) {
        has_value = true;
      } else if (token.is(":")) {
        has_members = has_parentheses;
      } else if (is_one_of(token, classes) && !has_parentheses) {
        is_class = !is_return_type(i);
      }
    }
    return tokens_.size();
  }

  bool is_operator(std::size_t at) const {
    for (std::size_t i = 0; i < 3 && at != no_token; ++i) {
      at = last_solid(tokens_, at);
      if (at != no_token && tokens_[at].is("operator")) return true;
    }
    return false;
  }

  // `struct A f(...)`: a "(" comes before "{" and ";", after two words at least.
  bool is_return_type(std::size_t at) const {
    const std::size_t name = next_solid(tokens_, at + 1);
    if (name == no_token || !tokens_[name].is_word() || is_one_of(tokens_[name], attributes)) {
      return false;
    }
    for (std::size_t i = name + 1; i < tokens_.size(); ++i) {
      if (tokens_[i].is("(")) return true;
      if (tokens_[i].is("{") || tokens_[i].is(";") || tokens_[i].is(":")) return false;
    }
    return false;
  }

  const Tokens& tokens_;
  std::size_t at_ = 0;
  Macros macros_;
  std::vector<Declaration> out_;
};

}  // namespace

bool Declaration::declares(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Declaration> declarations_of(const Tokens& tokens) {
  return Scanner(tokens).declarations();
}

void add_what_is_used(const std::vector<const Declaration*>& declarations,
                      std::set<std::string_view>& names) {
  std::vector<bool> added(declarations.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < declarations.size(); ++i) {
      const Declaration& one = *declarations[i];
      const auto wanted = [&](std::string_view name) { return names.count(name) != 0; };
      if (added[i] ||
          (!one.is_needed && std::none_of(one.names.begin(), one.names.end(), wanted))) {
        continue;
      }
      names.insert(one.uses.begin(), one.uses.end());
      added[i] = more = true;
    }
  }
}

}  // namespace cornerturn::cuda_source
