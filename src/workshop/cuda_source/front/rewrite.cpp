#include "workshop/cuda_source/front/rewrite.hpp"

#include <algorithm>
#include <array>

namespace cornerturn::cuda_source {
namespace {

Rewritten rewrite_tokens(const Tokens& tokens);

// The body of a macro may launch, declare and hold assembly as well.
void rewrite_macros(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::directive || directive_name(tokens[i].text) != "define") {
      continue;
    }
    const Tokens inner = tokens_of(tokens[i].text, false);
    const Rewritten done = rewrite_tokens(inner);
    edits.replace(i, done.text);
    for (const Refusal& refusal : done.refusals) {
      edits.refuse(i, refusal.what);
    }
  }
}

// float2, uchar4 and their like: CUDA's vectors that are copied by one access.
bool is_vector(std::string_view name) {
  if (name.size() < 4 || (name.back() != '2' && name.back() != '4')) return false;
  const std::string_view element = name.substr(0, name.size() - 1);
  for (const char* known : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                            "longlong", "ulonglong", "float", "double"}) {
    if (element == known) return true;
  }
  return false;
}

// g++ stores float2{a, b} number by number where it goes. A copy of it stays whole.
void rewrite_vectors(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_word() || !is_vector(tokens[i].text)) continue;
    const std::size_t open = next_solid(tokens, i + 1);
    const std::size_t before = last_solid(tokens, i);
    if (open == no_token || !tokens[open].is("{")) continue;
    // What is declared, or returned by the function whose body follows, is no value.
    if (before != no_token && (tokens[before].is("struct") || tokens[before].is("->") ||
                               tokens[before].is("operator") || tokens[before].is("::"))) {
      continue;
    }
    const std::size_t close = closing(tokens, open);
    if (close == no_token) continue;
    const std::string name(tokens[i].text);
    edits.replace(i, name + "(::cornerturn::guest::whole(" + name);
    edits.replace(close, "}))");
  }
}

Rewritten rewrite_tokens(const Tokens& tokens) {
  Edits edits(tokens);
  rewrite_macros(edits);
  rewrite_vectors(edits);
  refuse_features(edits);
  rewrite_storage(edits);
  rewrite_assembly(edits);
  rewrite_launches(edits);
  return {edits.now(0, tokens.size()), edits.refusals()};
}

struct Feature {
  std::string_view word;  ///< the name, or its beginning with "*" at the end
  std::string_view what;
};

constexpr std::array features = {
    Feature{"wmma", "tensor cores"},
    Feature{"__wmma*", "tensor cores"},
    Feature{"__mma*", "tensor cores"},
    Feature{"tex1D*", "textures"},
    Feature{"tex2D*", "textures"},
    Feature{"tex3D*", "textures"},
    Feature{"texCubemap*", "textures"},
    Feature{"surf1D*", "surfaces"},
    Feature{"surf2D*", "surfaces"},
    Feature{"surf3D*", "surfaces"},
    Feature{"cuTensorMapEncode*", "bulk copies of tensors (TMA)"},
    Feature{"CUtensorMap*", "bulk copies of tensors (TMA)"},
    Feature{"cp_async_bulk*", "bulk copies (TMA)"},
    Feature{"cudaLaunchKernelEx*", "launches with attributes"},
    Feature{"cuLaunchKernel*", "launches by the driver's interface"},
    Feature{"cuModuleLoad*", "code that is loaded when the program runs"},
    Feature{"__cluster_dims__", "clusters of blocks"},
    Feature{"this_cluster", "clusters of blocks"},
    Feature{"__nanosleep_for_cluster*", "clusters of blocks"},
};

bool named_by(std::string_view name, std::string_view word) {
  return word.back() == '*' ? name.substr(0, word.size() - 1) == word.substr(0, word.size() - 1)
                            : name == word;
}

bool says_where(const Tokens& tokens, std::size_t at) {
  const std::size_t next = next_solid(tokens, at + 1);
  const std::size_t member = next == no_token ? no_token : next_solid(tokens, next + 1);
  // A conversion, which needs no tensor core.
  if (member != no_token && tokens[member].is("__float_to_tf32")) return false;
  return next != no_token && (tokens[next].is("(") || tokens[next].is("<") ||
                              tokens[next].is("::") || tokens[next].is_word());
}

}  // namespace

void Edits::erase(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    std::string ends;
    for (std::size_t c = 0; c < instead_[i].size(); ++c) {
      if (instead_[i][c] != '\n') continue;
      // A line of a macro goes on after its backslash.
      std::size_t back = c;
      while (back > 0 && (instead_[i][back - 1] == ' ' || instead_[i][back - 1] == '\r')) --back;
      ends += back > 0 && instead_[i][back - 1] == '\\' ? "\\\n" : "\n";
    }
    instead_[i] = ends.empty() ? "" : ends;
    before_[i].clear();
  }
}

std::string Edits::now(std::size_t from, std::size_t to) const {
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    text += before_[i];
    text += instead_[i];
  }
  return to == tokens_.size() ? text + before_[to] : text;
}

void refuse_features(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_word()) continue;
    for (const Feature& feature : features) {
      if (named_by(tokens[i].text, feature.word) && says_where(tokens, i)) {
        edits.refuse(i, std::string(feature.what) + " (" + std::string(tokens[i].text) +
                            ") are not understood here");
        break;
      }
    }
  }
}

Rewritten rewrite(std::string_view source) {
  return rewrite_tokens(tokens_of(source));
}

}  // namespace cornerturn::cuda_source
