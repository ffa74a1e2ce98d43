// A CUDA source as C++ that the compiler here takes. What changes are launches, the shared array
// whose size a launch says, and inline assembly; the headers of ../guest do the rest. Lines keep
// their numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "workshop/cuda_source/front/tokens.hpp"

namespace cornerturn::cuda_source {

/// Something that is not understood here.
struct Refusal {
  std::size_t line;
  std::string what;  ///< "textures (tex2D) are not understood"
};

struct Rewritten {
  std::string text;
  std::vector<Refusal> refusals;
};

Rewritten rewrite(std::string_view source);

/// What the steps of rewriting share: the tokens, and what stands in their places.
class Edits {
 public:
  explicit Edits(const Tokens& tokens)
      : tokens_(tokens), before_(tokens.size() + 1), instead_(tokens.size()) {
    for (std::size_t i = 0; i < tokens.size(); ++i) instead_[i] = tokens[i].text;
  }

  const Tokens& tokens() const { return tokens_; }
  /// Writes `text` before a token, after what was written there.
  void insert(std::size_t at, const std::string& text) { before_[at] += text; }
  void replace(std::size_t at, const std::string& text) { instead_[at] = text; }
  /// Takes [from, to) away, but for the ends of lines.
  void erase(std::size_t from, std::size_t to);
  void refuse(std::size_t at, std::string what) {
    refusals_.push_back({tokens_[at].line, std::move(what)});
  }
  /// What [from, to) is by now.
  std::string now(std::size_t from, std::size_t to) const;
  const std::vector<Refusal>& refusals() const { return refusals_; }

 private:
  const Tokens& tokens_;
  std::vector<std::string> before_;
  std::vector<std::string> instead_;
  std::vector<Refusal> refusals_;
};

/// `kernel<<<...>>>(...)` and the functions that launch by a pointer.
void rewrite_launches(Edits& edits);
/// `__shared__`, `__constant__`, and `__device__` before a variable.
void rewrite_storage(Edits& edits);
/// `asm volatile("...")`.
void rewrite_assembly(Edits& edits);
/// What neither the headers nor the emulator know is refused by name.
void refuse_features(Edits& edits);

}  // namespace cornerturn::cuda_source
