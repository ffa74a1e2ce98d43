#include <algorithm>
#include <cctype>
#include <regex>

#include "workshop/cuda_source/front/assembly.hpp"

namespace cornerturn::cuda_source {
namespace {

std::string variable_of(const std::string& name) {
  std::string out = "cornerturn_r_";
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

// "%tid.x" and the others that CUDA has names for, and those that the guest's headers know.
std::optional<std::string> special_register(const std::string& name) {
  static const std::map<std::string, std::string> dims = {
      {"tid", "threadIdx"}, {"ntid", "blockDim"}, {"ctaid", "blockIdx"}, {"nctaid", "gridDim"}};
  const std::size_t dot = name.find('.');
  const auto dim = dims.find(name.substr(0, dot));
  if (dim != dims.end() && dot != std::string::npos) return dim->second + name.substr(dot);
  for (const char* known :
       {"laneid", "warpid", "nsmid", "smid", "clock", "clock64", "globaltimer", "lanemask_lt",
        "lanemask_le", "lanemask_eq", "lanemask_gt", "lanemask_ge"}) {
    if (name == known) return "::cornerturn::guest::asm_special(\"" + name + "\")";
  }
  return std::nullopt;
}

std::optional<std::string> immediate(const std::string& text) {
  static const std::regex whole(R"(-?(0[xX][0-9a-fA-F]+|\d+)U?)");
  static const std::regex single(R"(0[fF]([0-9a-fA-F]{8}))");
  static const std::regex twofold(R"(0[dD]([0-9a-fA-F]{16}))");
  std::smatch found;
  if (std::regex_match(text, whole)) return text;
  if (std::regex_match(text, found, single)) return "0x" + found[1].str() + "u";
  if (std::regex_match(text, found, twofold)) return "0x" + found[1].str() + "ull";
  return std::nullopt;
}

std::string without_spaces(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; }),
             text.end());
  return text;
}

const char* register_type(const std::string& type) {
  if (type == "pred") return "bool";
  if (type == "b16" || type == "u16" || type == "s16" || type == "f16") return "std::uint16_t";
  if (type == "b32" || type == "u32" || type == "s32" || type == "f32") return "std::uint32_t";
  if (type == "b64" || type == "u64" || type == "s64" || type == "f64") return "std::uint64_t";
  return nullptr;
}

}  // namespace

std::string AssemblyNames::copies() const {
  std::string out;
  for (std::size_t i = outputs_; i < operands_.size(); ++i) {
    if (operands_[i].is_constant()) continue;
    out += "const auto cornerturn_i" + std::to_string(i) + " = " + operands_[i].expression + "; ";
  }
  return out;
}

std::optional<std::string> AssemblyNames::declare(const AssemblyInstruction& registers) {
  if (registers.operands.empty()) return std::nullopt;
  // The type stands before the first name.
  const std::string& first = registers.operands.front();
  const std::size_t space = first.find_first_of(" \t");
  if (!first.starts_with('.') || space == std::string::npos) return std::nullopt;
  const char* type = register_type(first.substr(1, space - 1));
  if (type == nullptr) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < registers.operands.size(); ++i) {
    std::string name = without_spaces(i == 0 ? first.substr(space) : registers.operands[i]);
    int count = 0;
    if (const std::size_t open = name.find('<'); open != std::string::npos) {
      count = std::atoi(name.c_str() + open + 1);
      if (count < 1 || count > 1000) return std::nullopt;
      name.resize(open);
    }
    for (int n = 0; n < std::max(count, 1); ++n) {
      const std::string one = count > 0 ? name + std::to_string(n) : name;
      registers_[one] = variable_of(one);
      out += std::string(type) + " " + variable_of(one) + "{}; ";
    }
  }
  return out;
}

std::optional<std::size_t> AssemblyNames::index_of(const std::string& operand) const {
  if (operand.size() < 2 || operand[0] != '%') return std::nullopt;
  if (operand[1] == '[') {
    const std::string name = operand.substr(2, operand.size() - 3);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].name == name) return i;
    }
    return std::nullopt;
  }
  if (!std::all_of(operand.begin() + 1, operand.end(),
                   [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(std::atoi(operand.c_str() + 1));
  return index < operands_.size() ? std::optional(index) : std::nullopt;
}

bool AssemblyNames::is_constant(const std::string& operand) const {
  const auto index = index_of(operand);
  return index ? operands_[*index].is_constant() : immediate(operand).has_value();
}

std::optional<std::string> AssemblyNames::value(const std::string& operand) const {
  if (operand.starts_with('!')) {
    const auto inner = value(operand.substr(1));
    return inner ? std::optional("!" + *inner) : std::nullopt;
  }
  if (const auto known = registers_.find(operand); known != registers_.end()) return known->second;
  if (const auto index = index_of(operand)) {
    if (*index < outputs_ || operands_[*index].is_constant()) return operands_[*index].expression;
    return "cornerturn_i" + std::to_string(*index);
  }
  if (operand == "WARP_SZ") return "32";
  if (operand.starts_with("%%")) return special_register(operand.substr(2));
  if (operand.starts_with('%')) return special_register(operand.substr(1));
  return immediate(operand);
}

std::optional<std::vector<std::string>> AssemblyNames::values(const std::string& operand) const {
  std::vector<std::string> out;
  for (const std::string& part : parts_of(operand)) {
    const auto one = value(part);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}

std::optional<AssemblyNames::Address> AssemblyNames::address(const std::string& operand) const {
  if (!operand.starts_with('[') || !operand.ends_with(']')) return std::nullopt;
  const std::string inner = without_spaces(operand.substr(1, operand.size() - 2));
  const std::size_t sign = inner.find('+');
  const auto base = value(inner.substr(0, sign));
  if (!base) return std::nullopt;
  if (sign == std::string::npos) return Address{*base, "0"};
  const auto offset = value(inner.substr(sign + 1));
  if (!offset) return std::nullopt;
  return Address{*base, *offset};
}

}  // namespace cornerturn::cuda_source
