// What each instruction is in C++.
#include <algorithm>
#include <functional>

#include "workshop/cuda_source/front/assembly.hpp"

namespace cornerturn::cuda_source {
namespace {

using Text = std::optional<std::string>;
using Instruction = AssemblyInstruction;
using Names = AssemblyNames;

const std::string guest = "::cornerturn::guest::";

std::string cpp_type(const std::string& type) {
  static const std::map<std::string, std::string> types = {
      {"u8", "std::uint8_t"},   {"b8", "std::uint8_t"},   {"s8", "std::int8_t"},
      {"u16", "std::uint16_t"}, {"b16", "std::uint16_t"}, {"s16", "std::int16_t"},
      {"u32", "std::uint32_t"}, {"b32", "std::uint32_t"}, {"s32", "std::int32_t"},
      {"u64", "std::uint64_t"}, {"b64", "std::uint64_t"}, {"s64", "std::int64_t"},
      {"f32", "float"},         {"f64", "double"}};
  const auto found = types.find(type);
  return found == types.end() ? "" : found->second;
}

// The whole number without a sign that has as many bits.
std::string bits_type(const std::string& suffix) {
  return "std::uint" + suffix.substr(1) + "_t";
}

std::string as(const std::string& type, const std::string& value) {
  return guest + "asm_get<" + type + ">(" + value + ")";
}
std::string put(const std::string& place, const std::string& value) {
  return guest + "asm_put(" + place + ", " + value + ");";
}

std::string list_of(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += ", " + value;
  return out;
}

// Is it ordered or watched by other threads: an access that is atomic?
bool is_strong(const Instruction& one) {
  return one.has("volatile") || one.has("relaxed") || one.has("acquire") || one.has("release");
}

std::string pointer(const Instruction& one, const Names::Address& at) {
  return guest + (one.has("shared") ? "shared_pointer(" : "global_pointer(") + at.base + ", " +
         at.offset + ")";
}

bool is_spaced(const Instruction& one) {
  return !one.has("param") && !one.has("local") && !one.has("const") && !one.has("shared::cluster");
}

Text load(const Instruction& one, const Names& names) {
  const std::string type = cpp_type(one.opcode.back());
  if (type.empty() || one.operands.size() < 2 || !is_spaced(one)) return std::nullopt;
  const auto out = names.values(one.operands[0]);
  const auto at = names.address(one.operands[1]);
  if (!out || !at) return std::nullopt;
  if (is_strong(one) && out->size() == 1) {
    const std::string bits = bits_type(one.opcode.back());
    return put((*out)[0], as(type, "static_cast<" + bits + ">(" + guest + "atomic_load(" +
                                       pointer(one, *at) + ", sizeof(" + type + ")))")) +
           (one.has("acquire") ? " " + guest + "fence(1);" : "");
  }
  return guest + "asm_load_" + (one.has("shared") ? "shared<" : "global<") + type + ">(" +
         at->base + ", " + at->offset + list_of(*out) + ");";
}

Text store(const Instruction& one, const Names& names) {
  const std::string type = cpp_type(one.opcode.back());
  if (type.empty() || one.operands.size() < 2 || !is_spaced(one)) return std::nullopt;
  const auto at = names.address(one.operands[0]);
  const auto in = names.values(one.operands[1]);
  if (!in || !at) return std::nullopt;
  if (is_strong(one) && in->size() == 1) {
    return (one.has("release") ? guest + "fence(1); " : "") + guest + "atomic_store(" +
           pointer(one, *at) + ", sizeof(" + type + "), " +
           as(bits_type(one.opcode.back()), as(type, (*in)[0])) + ");";
  }
  return guest + "asm_store_" + (one.has("shared") ? "shared<" : "global<") + type + ">(" +
         at->base + ", " + at->offset + list_of(*in) + ");";
}

Text copy_async(const Instruction& one, const Names& names) {
  if (one.has("commit_group")) return guest + "commit_async();";
  if (one.has("wait_all")) return guest + "wait_async(0);";
  if (one.has("wait_group") && one.operands.size() == 1) {
    const auto count = names.value(one.operands[0]);
    return count ? Text(guest + "wait_async(" + *count + ");") : std::nullopt;
  }
  if (!one.has("async") || one.has("bulk") || one.has("mbarrier")) return std::nullopt;
  std::size_t operands = one.operands.size();
  if (one.has("L2::cache_hint") && operands > 0) --operands;
  if (operands < 3 || operands > 4 || !names.is_constant(one.operands[2])) return std::nullopt;
  const auto to = names.address(one.operands[0]);
  const auto from = names.address(one.operands[1]);
  const auto bytes = names.value(one.operands[2]);
  const auto source = operands == 4 ? names.value(one.operands[3]) : bytes;
  if (!to || !from || !bytes || !source) return std::nullopt;
  return guest + "asm_cp_async<(" + *bytes + "), " + (one.has("ca") ? "true" : "false") + ">(" +
         guest + "shared_pointer(" + to->base + ", " + to->offset + "), " + guest +
         "global_pointer(" + from->base + ", " + from->offset + "), static_cast<int>(" + *source +
         "));";
}

Text matrices(const Instruction& one, const Names& names) {
  const bool loads = one.name() == "ldmatrix";
  if (one.operands.size() != 2 || !one.has("m8n8") || !one.has("b16")) return std::nullopt;
  const auto registers = names.values(one.operands[loads ? 0 : 1]);
  const auto at = names.address(one.operands[loads ? 1 : 0]);
  if (!registers || !at) return std::nullopt;
  const char* count = one.has("x4") ? "4" : one.has("x2") ? "2" : "1";
  return guest + "asm_" + one.name() + "<" + count + ", " + (one.has("trans") ? "true" : "false") +
         ">(" + at->base + ", " + at->offset + list_of(*registers) + ");";
}

Text shuffle(const Instruction& one, const Names& names) {
  if (one.operands.size() != 5 || !one.has("sync")) return std::nullopt;
  const std::size_t bar = one.operands[0].find('|');
  const auto out = names.value(one.operands[0].substr(0, bar));
  const auto predicate =
      bar == std::string::npos ? Text("") : names.value(one.operands[0].substr(bar + 1));
  std::vector<std::string> in;
  for (std::size_t i = 1; i < 5; ++i) {
    const auto value = names.value(one.operands[i]);
    if (!value) return std::nullopt;
    in.push_back(*value);
  }
  if (!out || !predicate) return std::nullopt;
  const char* mode = one.has("up")     ? "'u'"
                     : one.has("down") ? "'d'"
                     : one.has("bfly") ? "'b'"
                                       : "'i'";
  return put(*out, guest + "asm_shuffle<" + mode + ">(" + in[0] + list_of({in[1], in[2], in[3]}) +
                       ", " + (predicate->empty() ? "nullptr" : "&" + *predicate) + ")");
}

Text move(const Instruction& one, const Names& names) {
  const std::string type = cpp_type(one.opcode.back());
  if (one.operands.size() != 2 || type.empty()) return std::nullopt;
  const auto to = names.values(one.operands[0]);
  const auto from = names.values(one.operands[1]);
  if (!to || !from) return std::nullopt;
  if (to->size() == 1 && from->size() == 1) return put((*to)[0], as(type, (*from)[0]));
  if (one.opcode.back() != "b32" && one.opcode.back() != "b64") return std::nullopt;
  const std::size_t count = std::max(to->size(), from->size());
  const bool is_long = one.opcode.back() == "b64";
  const std::string bits = std::to_string((is_long ? 64 : 32) / count);
  const std::string half = "std::uint" + bits + "_t";
  if (count != 2 && count != 4) return std::nullopt;
  std::string out;
  if (to->size() == 1) {
    std::string whole;
    for (std::size_t i = 0; i < count; ++i) {
      whole += std::string(i == 0 ? "" : " | ") + "static_cast<std::uint64_t>(" +
               as(half, (*from)[i]) + ") << " + std::to_string(i) + " * " + bits;
    }
    return put((*to)[0], as(type, "(" + whole + ")"));
  }
  out = "{ const std::uint64_t cornerturn_whole = " + as(type, (*from)[0]) + "; ";
  for (std::size_t i = 0; i < count; ++i) {
    out += put((*to)[i], "static_cast<" + half + ">(cornerturn_whole >> " + std::to_string(i) +
                             " * " + bits + ")") +
           " ";
  }
  return out + "}";
}

Text convert_address(const Instruction& one, const Names& names) {
  const auto to = one.operands.size() == 2 ? names.value(one.operands[0]) : std::nullopt;
  const auto from = one.operands.size() == 2 ? names.value(one.operands[1]) : std::nullopt;
  if (!to || !from) return std::nullopt;
  if (!one.has("shared")) return one.has("global") ? Text(put(*to, *from)) : std::nullopt;
  if (one.has("to")) {
    return put(*to, guest + "shared_address(" + as("const void*", *from) + ")");
  }
  return put(*to, guest + "from_shared_address(" + as("std::uint64_t", *from) + ")");
}

// Instructions whose result depends on their operands alone: $1, $2, $3 of the type, $T the type.
const std::map<std::string, std::string>& formulas() {
  static const std::map<std::string, std::string> all = {
      {"add", "static_cast<$T>($1 + $2)"},
      {"sub", "static_cast<$T>($1 - $2)"},
      {"mul", "static_cast<$T>($1 * $2)"},
      {"mul.lo", "static_cast<$T>($1 * $2)"},
      {"mad.lo", "static_cast<$T>($1 * $2 + $3)"},
      {"div", "static_cast<$T>($1 / $2)"},
      {"rem", "static_cast<$T>($1 % $2)"},
      {"fma", "($T)__builtin_fma((double)$1, (double)$2, (double)$3)"},
      {"and", "static_cast<$T>($1 & $2)"},
      {"or", "static_cast<$T>($1 | $2)"},
      {"xor", "static_cast<$T>($1 ^ $2)"},
      {"not", "static_cast<$T>(~$1)"},
      {"neg", "static_cast<$T>(-$1)"},
      {"abs", "($1 < 0 ? static_cast<$T>(-$1) : $1)"},
      {"min", "($1 < $2 ? $1 : $2)"},
      {"max", "($1 < $2 ? $2 : $1)"},
      {"prmt", "::cornerturn::guest::asm_prmt($1, $2, $3)"},
      {"lop3", "::cornerturn::guest::asm_lop3($1, $2, $3, $4)"},
      {"bfe", "::cornerturn::guest::asm_bfe_u32($1, $2, $3)"},
      {"bfi", "::cornerturn::guest::asm_bfi_b32($1, $2, $3, $4)"},
      {"brev", "::cornerturn::guest::asm_brev($1)"},
      {"popc", "::cornerturn::guest::asm_popc($1)"},
      {"clz", "::cornerturn::guest::asm_clz($1)"},
      {"ex2", "__builtin_exp2f($1)"},
      {"lg2", "__builtin_log2f($1)"},
      {"rcp", "(1.0f / $1)"},
      {"sqrt", "__builtin_sqrtf($1)"},
      {"rsqrt", "(1.0f / __builtin_sqrtf($1))"},
      {"sin", "__builtin_sinf($1)"},
      {"cos", "__builtin_cosf($1)"},
      {"tanh", "__builtin_tanhf($1)"},
  };
  return all;
}

// Instructions of one type alone.
bool takes_type(const std::string& name, const std::string& type) {
  for (const char* single : {"ex2", "lg2", "rcp", "sqrt", "rsqrt", "sin", "cos", "tanh"}) {
    if (name == single) return type == "f32";
  }
  for (const char* bits : {"prmt", "lop3", "bfe", "bfi", "brev", "popc", "clz"}) {
    if (name == bits) return type == "b32" || type == "u32";
  }
  return true;
}

std::string filled(const std::string& formula, const std::string& type,
                   const std::vector<std::string>& values) {
  std::string out;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    if (formula[i] != '$') {
      out += formula[i];
    } else if (formula[++i] == 'T') {
      out += type;
    } else {
      const auto index = static_cast<std::size_t>(formula[i] - '1');
      out += index < values.size() ? as(type, values[index]) : "0";
    }
  }
  return out;
}

// Halves and bfloat16s, one or two in a register, are calculated by a function of the guest's
// headers.
Text small_arithmetic(const Instruction& one, const Names& names) {
  static const std::map<std::string, std::string> operations = {{"add", "'+'"}, {"sub", "'-'"},
                                                                {"mul", "'*'"}, {"fma", "'f'"},
                                                                {"min", "'m'"}, {"max", "'M'"}};
  const auto operation = operations.find(one.name());
  const std::size_t needed = one.name() == "fma" ? 4 : 3;
  if (operation == operations.end() || one.operands.size() != needed || one.has("sat") ||
      one.has("relu") || one.has("NaN") || one.has("xorsign") || one.has("abs")) {
    return std::nullopt;
  }
  std::vector<std::string> values;
  for (const std::string& operand : one.operands) {
    const auto value = names.value(operand);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const std::string& suffix = one.opcode.back();
  const char* bits = suffix.ends_with("x2") ? "std::uint32_t" : "std::uint16_t";
  std::string call = guest + "asm_" + suffix + "<" + operation->second + ">(";
  for (std::size_t i = 1; i < values.size(); ++i)
    call += (i == 1 ? "" : ", ") + as(bits, values[i]);
  return put(values[0], call + ")");
}

Text arithmetic(const Instruction& one, const Names& names) {
  for (const char* small : {"f16", "f16x2", "bf16", "bf16x2"}) {
    if (one.opcode.back() == small) return small_arithmetic(one, names);
  }
  const bool is_low = one.has("lo");
  const auto formula = formulas().find(one.name() + (is_low ? ".lo" : ""));
  const std::string& suffix = one.opcode.back();
  const std::string type = cpp_type(suffix);
  const bool is_float = suffix == "f32" || suffix == "f64";
  const bool wide_or_carried = one.has("hi") || one.has("wide") || one.has("cc") || one.has("sat");
  if (formula == formulas().end() || type.empty() || wide_or_carried || one.operands.empty() ||
      !takes_type(one.name(), suffix) || (one.name() == "mul" && !is_float && !is_low)) {
    return std::nullopt;
  }
  const auto out = names.value(one.operands[0]);
  std::vector<std::string> in;
  for (std::size_t i = 1; i < one.operands.size(); ++i) {
    const auto value = names.value(one.operands[i]);
    if (!value) return std::nullopt;
    in.push_back(*value);
  }
  // As many operands as the formula names.
  std::size_t needed = 0;
  for (std::size_t n = 1; n < 5; ++n) {
    if (formula->second.find("$" + std::to_string(n)) != std::string::npos) needed = n;
  }
  if (!out || in.size() != needed) return std::nullopt;
  return put(*out, filled(formula->second, type, in));
}

Text shift(const Instruction& one, const Names& names) {
  const std::string type = cpp_type(one.opcode.back());
  if (type.empty() || one.operands.size() != 3) return std::nullopt;
  const auto out = names.value(one.operands[0]);
  const auto value = names.value(one.operands[1]);
  const auto by = names.value(one.operands[2]);
  if (!out || !value || !by) return std::nullopt;
  const std::string count = as("std::uint32_t", *by);
  const std::string bits = "sizeof(" + type + ") * 8";
  if (one.name() == "shl") {
    return put(*out, "(" + count + " >= " + bits + " ? 0 : static_cast<" + type + ">(" +
                         as(type, *value) + " << " + count + "))");
  }
  return put(*out, "static_cast<" + type + ">(" + as(type, *value) + " >> (" + count +
                       " >= " + bits + " ? " + bits + " - 1 : " + count + ") >> (" + count +
                       " >= " + bits + "))");
}

Text compare(const Instruction& one, const Names& names) {
  static const std::map<std::string, std::string> marks = {
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
      {"ge", ">="}, {"lo", "<"},  {"ls", "<="}, {"hi", ">"},  {"hs", ">="}};
  const std::string type = cpp_type(one.opcode.back());
  if (one.opcode.size() != 3 || type.empty() || one.operands.size() != 3) return std::nullopt;
  const auto mark = marks.find(one.opcode[1]);
  const auto out = names.value(one.operands[0]);
  const auto a = names.value(one.operands[1]);
  const auto b = names.value(one.operands[2]);
  if (mark == marks.end() || !out || !a || !b) return std::nullopt;
  return *out + " = " + as(type, *a) + " " + mark->second + " " + as(type, *b) + ";";
}

Text select(const Instruction& one, const Names& names) {
  const std::string type = cpp_type(one.opcode.back());
  if (type.empty() || one.operands.size() != 4) return std::nullopt;
  std::vector<std::string> values;
  for (const std::string& operand : one.operands) {
    const auto value = names.value(operand);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return put(values[0],
             "(" + values[3] + " ? " + as(type, values[1]) + " : " + as(type, values[2]) + ")");
}

// Between whole numbers alone.
Text convert(const Instruction& one, const Names& names) {
  if (one.opcode.size() != 3 || one.operands.size() != 2) return std::nullopt;
  const std::string to = cpp_type(one.opcode[1]);
  const std::string from = cpp_type(one.opcode[2]);
  const auto out = names.value(one.operands[0]);
  const auto in = names.value(one.operands[1]);
  if (!out || !in || to.rfind("std::", 0) != 0 || from.rfind("std::", 0) != 0) return std::nullopt;
  return put(*out, "static_cast<" + to + ">(" + as(from, *in) + ")");
}

Text barrier(const Instruction& one, const Names& names) {
  if (one.has("warp")) {
    const auto mask = one.operands.size() == 1 ? names.value(one.operands[0]) : std::nullopt;
    return mask ? Text(guest + "warp_barrier(" + *mask + ");") : std::nullopt;
  }
  const bool waits = one.has("sync") && !one.has("cluster");
  if (!waits || one.operands.size() != 1 || one.operands[0] != "0") return std::nullopt;
  return guest + "block_barrier();";
}

Text fence(const Instruction& one, const Names&) {
  if (one.has("proxy") || one.has("mbarrier_init")) return std::nullopt;
  const char* scope = one.has("cta") ? "0" : one.has("sys") ? "2" : "1";
  return guest + "fence(" + scope + ");";
}

Text atomic(const Instruction& one, const Names& names) {
  static const std::map<std::string, std::string> operations = {
      {"add", "'a'"}, {"min", "'m'"}, {"max", "'M'"}, {"exch", "'e'"},
      {"cas", "'c'"}, {"and", "'&'"}, {"or", "'|'"},  {"xor", "'^'"}};
  const bool returns = one.name() == "atom";
  const std::string type = cpp_type(one.opcode.back());
  std::string operation;
  for (const std::string& part : one.opcode) {
    if (const auto known = operations.find(part); known != operations.end())
      operation = known->second;
  }
  const std::size_t first = returns ? 1 : 0;
  if (operation.empty() || type.empty() || one.has("shared") || one.operands.size() < first + 2) {
    return std::nullopt;
  }
  const auto at = names.address(one.operands[first]);
  const auto value = names.value(one.operands[first + 1]);
  const auto second =
      one.operands.size() > first + 2 ? names.value(one.operands[first + 2]) : Text("");
  const auto out = returns ? names.value(one.operands[0]) : Text("");
  if (!at || !value || !second || !out) return std::nullopt;
  std::string call = guest + "asm_atomic<" + type + ", " + operation + ">(" + at->base + ", " +
                     at->offset + ", " + as(type, *value) +
                     (second->empty() ? "" : ", " + as(type, *second)) + ")";
  if (one.has("release") || one.has("acq_rel")) call = "(" + guest + "fence(1), " + call + ")";
  const std::string after =
      one.has("acquire") || one.has("acq_rel") ? " " + guest + "fence(1);" : "";
  return (returns ? put(*out, call) : call + ";") + after;
}

Text vote(const Instruction& one, const Names& names) {
  if (one.operands.size() != 3 || !one.has("sync")) return std::nullopt;
  const auto out = names.value(one.operands[0]);
  const auto predicate = names.value(one.operands[1]);
  const auto mask = names.value(one.operands[2]);
  if (!out || !predicate || !mask) return std::nullopt;
  const char* function = one.has("ballot") ? "__ballot_sync"
                         : one.has("any")  ? "__any_sync"
                                           : "__all_sync";
  if (one.has("uni")) return std::nullopt;
  const std::string call = std::string(function) + "(" + *mask + ", " + *predicate + ")";
  return one.has("ballot") ? put(*out, call) : *out + " = " + call + " != 0;";
}

Text active_mask(const Instruction& one, const Names& names) {
  const auto out = one.operands.size() == 1 ? names.value(one.operands[0]) : std::nullopt;
  return out ? Text(put(*out, guest + "active_mask()")) : std::nullopt;
}

// What changes nothing that is looked at here: hints to caches, waits.
Text nothing(const Instruction&, const Names&) {
  return ";";
}

Text policy(const Instruction& one, const Names& names) {
  const auto out = one.operands.empty() ? std::nullopt : names.value(one.operands[0]);
  return out ? Text(put(*out, "std::uint64_t{0}")) : std::nullopt;
}

}  // namespace

std::optional<std::string> instruction_in_cpp(const AssemblyInstruction& instruction,
                                              const AssemblyNames& names) {
  using Translate = Text (*)(const Instruction&, const Names&);
  static const std::map<std::string, Translate> known = {{"ld", load},
                                                         {"ldu", load},
                                                         {"st", store},
                                                         {"cp", copy_async},
                                                         {"ldmatrix", matrices},
                                                         {"stmatrix", matrices},
                                                         {"shfl", shuffle},
                                                         {"mov", move},
                                                         {"cvta", convert_address},
                                                         {"shl", shift},
                                                         {"shr", shift},
                                                         {"setp", compare},
                                                         {"selp", select},
                                                         {"cvt", convert},
                                                         {"bar", barrier},
                                                         {"barrier", barrier},
                                                         {"membar", fence},
                                                         {"fence", fence},
                                                         {"atom", atomic},
                                                         {"red", atomic},
                                                         {"vote", vote},
                                                         {"activemask", active_mask},
                                                         {"prefetch", nothing},
                                                         {"prefetchu", nothing},
                                                         {"discard", nothing},
                                                         {"nanosleep", nothing},
                                                         {"createpolicy", policy}};
  const auto found = known.find(instruction.name());
  Text text =
      found != known.end() ? found->second(instruction, names) : arithmetic(instruction, names);
  if (!text || instruction.guard.empty()) return text;
  const auto guard = names.value(instruction.guard);
  return guard ? Text("if (" + *guard + ") { " + *text + " }") : std::nullopt;
}

}  // namespace cornerturn::cuda_source
