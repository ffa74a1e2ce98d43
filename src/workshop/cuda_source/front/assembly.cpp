// Finds statements of inline assembly and writes C++ in their places.
#include "workshop/cuda_source/front/assembly.hpp"

#include "workshop/cuda_source/front/rewrite.hpp"

namespace cornerturn::cuda_source {
namespace {

struct Statement {
  std::string text;
  std::vector<AssemblyOperand> operands;
  std::size_t outputs = 0;
  bool is_understood = true;
};

std::string expression(const Tokens& tokens, std::size_t from, std::size_t to) {
  std::string out;
  for (std::size_t i = from; i < to; ++i) {
    out += tokens[i].is_blank() ? " " : std::string(tokens[i].text);
  }
  return out;
}

// Reads "text" : "=r"(a), [b] "r"(c) : ... between two parentheses.
class StatementReader {
 public:
  StatementReader(const Tokens& tokens, std::size_t open, std::size_t close)
      : tokens_(tokens), at_(next_solid(tokens, open + 1)), close_(close) {}

  Statement statement() {
    while (here() && tokens_[at_].kind == TokenKind::text) {
      out_.text += literal_value(tokens_[at_].text);
      step();
    }
    for (int section = 0; here(); ++section) {
      // Two colons may stand together.
      if (tokens_[at_].is("::") && section == 0) ++section;
      if (!tokens_[at_].is(":") && !tokens_[at_].is("::")) out_.is_understood = false;
      step();
      if (section >= 2 || !out_.is_understood) break;  // what is clobbered does not matter
      read_operands();
      if (section == 0) out_.outputs = out_.operands.size();
    }
    return std::move(out_);
  }

 private:
  bool here() const { return at_ != no_token && at_ < close_; }
  void step() { at_ = next_solid(tokens_, at_ + 1); }

  void read_operands() {
    while (here() && !tokens_[at_].is(":") && !tokens_[at_].is("::")) {
      AssemblyOperand operand;
      if (tokens_[at_].is("[")) {
        step();
        operand.name = tokens_[at_].text;
        step();
        step();
      }
      if (!here() || tokens_[at_].kind != TokenKind::text) return fail();
      operand.constraint = literal_value(tokens_[at_].text);
      step();
      if (!here() || !tokens_[at_].is("(")) return fail();
      const std::size_t end = closing(tokens_, at_);
      if (end == no_token) return fail();
      operand.expression = expression(tokens_, at_, end + 1);
      out_.operands.push_back(operand);
      at_ = next_solid(tokens_, end + 1);
      if (here() && tokens_[at_].is(",")) step();
    }
  }
  void fail() {
    out_.is_understood = false;
    at_ = close_;
  }

  const Tokens& tokens_;
  std::size_t at_;
  std::size_t close_;
  Statement out_;
};

bool begins_statement(const Token& token) {
  return token.is("asm") || token.is("__asm__") || token.is("__asm");
}

// Where the statement's "(" is.
std::size_t opening_of(const Tokens& tokens, std::size_t at) {
  for (at = next_solid(tokens, at + 1); at != no_token; at = next_solid(tokens, at + 1)) {
    const Token& token = tokens[at];
    if (token.is("(")) return at;
    if (!token.is("volatile") && !token.is("__volatile__") && !token.is("inline")) break;
  }
  return no_token;
}

bool is_tensor_core(const std::string& name) {
  return name == "mma" || name == "wgmma" || name == "wmma" || name == "tcgen05";
}

void rewrite_statement(Edits& edits, std::size_t at) {
  const Tokens& tokens = edits.tokens();
  const std::size_t open = opening_of(tokens, at);
  const std::size_t close = open == no_token ? no_token : closing(tokens, open);
  if (close == no_token) return;
  const Statement statement = StatementReader(tokens, open, close).statement();
  if (!statement.is_understood) {
    edits.refuse(at, "this inline assembly is not understood: its text or an operand is a macro");
    return;
  }
  AssemblyNames names(statement.operands, statement.outputs);
  std::string cpp = "do { " + names.copies();
  for (const AssemblyInstruction& one : instructions_of(statement.text)) {
    const bool is_scope = one.name() == "{" || one.name() == "}";
    const bool declares = one.name() == "." && one.opcode.size() == 2 && one.opcode[1] == "reg";
    const auto text = is_scope   ? std::optional(one.name())
                      : declares ? names.declare(one)
                                 : instruction_in_cpp(one, names);
    if (!text) {
      edits.refuse(
          at, is_tensor_core(one.name())
                  ? "tensor cores (" + one.text() + ") are not understood here"
                  : "the instruction " + one.text() + " of inline assembly is not understood here");
      return;
    }
    cpp += *text + " ";
  }
  edits.erase(at, close + 1);
  edits.insert(at, cpp + "} while (false)");
}

}  // namespace

void rewrite_assembly(Edits& edits) {
  const Tokens& tokens = edits.tokens();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (begins_statement(tokens[i])) rewrite_statement(edits, i);
  }
}

}  // namespace cornerturn::cuda_source
