#include "workshop/cuda_source/front/assembly_text.hpp"

#include <algorithm>

namespace cornerturn::cuda_source {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r";
  const std::size_t from = text.find_first_not_of(spaces);
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(spaces) + 1 - from));
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
      out += ' ';
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      const char c = text[i];
      depth += c == '[' || c == '{' || c == '(' ? 1 : c == ']' || c == '}' || c == ')' ? -1 : 0;
      if (depth > 0 || c != at) continue;
    }
    out.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return out;
}

AssemblyInstruction instruction_of(std::string_view text) {
  AssemblyInstruction out;
  std::string rest = trimmed(text);
  if (rest.starts_with('@')) {
    const std::size_t end = rest.find_first_of(" \t\n");
    out.guard = rest.substr(1, end == std::string::npos ? end : end - 1);
    rest = end == std::string::npos ? "" : trimmed(std::string_view(rest).substr(end));
  }
  const std::size_t end = rest.find_first_of(" \t\n");
  const std::string opcode = rest.substr(0, end);
  // A declaration begins with a dot.
  out.opcode = split(opcode.starts_with('.') ? opcode.substr(1) : opcode, '.');
  if (end != std::string::npos) out.operands = split(std::string_view(rest).substr(end), ',');
  if (opcode.starts_with('.')) out.opcode.insert(out.opcode.begin(), ".");
  return out;
}

}  // namespace

bool AssemblyInstruction::has(std::string_view modifier) const {
  return std::find(opcode.begin() + 1, opcode.end(), modifier) != opcode.end();
}

std::string AssemblyInstruction::text() const {
  std::string out;
  for (const std::string& part : opcode) out += (out.empty() || out == "." ? "" : ".") + part;
  return out;
}

std::vector<AssemblyInstruction> instructions_of(std::string_view assembly) {
  const std::string text = without_comments(assembly);
  std::vector<AssemblyInstruction> out;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';') {
      ++at;
    } else if (c == '{' || c == '}') {
      out.push_back({"", {std::string(1, c)}, {}});
      ++at;
    } else {
      const std::size_t end = std::min(text.find(';', at), text.size());
      out.push_back(instruction_of(std::string_view(text).substr(at, end - at)));
      at = end;
    }
  }
  return out;
}

std::vector<std::string> parts_of(const std::string& operand) {
  if (!operand.starts_with('{') || !operand.ends_with('}')) return {operand};
  return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

std::string literal_value(std::string_view literal) {
  const std::size_t open = literal.find('"');
  if (open == std::string_view::npos) return "";
  if (open > 0 && literal[open - 1] == 'R') {
    const std::size_t from = literal.find('(', open);
    const std::size_t to = literal.rfind(')');
    return from == std::string_view::npos ? ""
                                          : std::string(literal.substr(from + 1, to - from - 1));
  }
  std::string out;
  for (std::size_t i = open + 1; i < literal.size() && literal[i] != '"'; ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    if (c == '\n') continue;  // the line goes on
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return out;
}

}  // namespace cornerturn::cuda_source
