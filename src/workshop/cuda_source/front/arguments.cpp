#include "workshop/cuda_source/front/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <regex>

#include "cornerturn/error.hpp"

namespace cornerturn::cuda_source {
namespace {

struct ElementName {
  const char* name;
  const char* type;    // in the source
  const char* tensor;  // torch's name
};

constexpr ElementName element_names[] = {
    {"f64", "double", "torch::kFloat64"},
    {"f32", "float", "torch::kFloat32"},
    {"f16", "__half", "torch::kFloat16"},
    {"bf16", "__nv_bfloat16", "torch::kBFloat16"},
    {"i8", "signed char", "torch::kInt8"},
    {"u8", "unsigned char", "torch::kUInt8"},
    {"i16", "short", "torch::kInt16"},
    {"u16", "unsigned short", ""},
    {"i32", "int", "torch::kInt32"},
    {"u32", "unsigned int", ""},
    {"i64", "long long", "torch::kInt64"},
    {"u64", "unsigned long long", ""},
    {"bool", "bool", "torch::kBool"},
    {"f8_e4m3", "__nv_fp8_e4m3", "torch::kFloat8_e4m3fn"},
    {"f8_e5m2", "__nv_fp8_e5m2", "torch::kFloat8_e5m2"},
};

constexpr std::int64_t most_elements = std::int64_t{1} << 32;

const ElementName* element_name(const std::string& name) {
  for (const ElementName& one : element_names) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

[[noreturn]] void refuse_argument(const std::string& text, const std::string& why) {
  throw Error(Status::invalid_argument, "--arg = '" + text + "': " + why);
}

std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error != std::errc() || number < 1) return {};
    numbers.push_back(number);
    at = end;
    if (at < text.data() + text.size()) {
      if (*at != ',' || at + 1 == text.data() + text.size()) return {};
      ++at;
    }
  }
  return numbers;
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return "{" + text + "}";
}

std::string known_types() {
  std::string text;
  for (const ElementName& one : element_names)
    text += std::string(text.empty() ? "" : ", ") + one.name;
  return text;
}

std::string quoted_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < ' ') {
      for (const int shift : {6, 3, 0}) {
        out += shift == 6 ? "\\" : "";
        out += static_cast<char>('0' + ((code >> shift) & 7));
      }
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

bool has_type(const std::vector<Argument>& arguments, const std::string& type) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& one) { return one.type == type; });
}

std::string head(const std::vector<Argument>& arguments) {
  std::string text = "\n#line 1 \"the main of cornerturn check\"\n";
  if (has_type(arguments, "f16")) text += "#include <cuda_fp16.h>\n";
  if (has_type(arguments, "bf16")) text += "#include <cuda_bf16.h>\n";
  if (has_type(arguments, "f8_e4m3") || has_type(arguments, "f8_e5m2")) {
    text += "#include <cuda_fp8.h>\n";
  }
  return text + "#include <cornerturn_guest_main.hpp>\n";
}

// "inf" and "nan" are no words of C++.
std::string number_value(const std::string& value) {
  if (value.find("inf") != std::string::npos) {
    return value.front() == '-' ? "-__builtin_inff()" : "__builtin_inff()";
  }
  return value.find("nan") != std::string::npos ? "__builtin_nanf(\"\")" : value;
}

std::string number_text(const Argument& argument) {
  std::string value = number_value(argument.value);
  if (argument.type.empty()) return value;
  return std::string("static_cast<") + element_name(argument.type)->type + ">(" + value + ")";
}

// How an array begins, as the guest's main takes it.
std::string contents_text(const Argument& argument, std::size_t number) {
  return "{" + std::to_string(number) + ", " + (argument.is_output ? "true" : "false") + ", " +
         quoted_text(argument.value) + ", " + quoted_text(argument.path) + ", " +
         std::to_string(argument.offset) + "}";
}

std::string argument_name(std::size_t number) {
  return "cornerturn_argument_" + std::to_string(number);
}

// The end of a main: what was asked for is written when nothing is wrong.
std::string saving_end(const std::vector<Argument>& arguments, const std::string& results) {
  std::string text = "  ::cornerturn::guest::finish();\n";
  for (std::size_t i = 0; i < arguments.size() && !results.empty(); ++i) {
    if (!arguments[i].is_array) continue;
    text += "  ::cornerturn::guest::save(" + argument_name(i) + ", " +
            quoted_text(results + "/arg" + std::to_string(i)) + ");\n";
  }
  return text;
}

}  // namespace

void require_array(const Argument& argument, const std::string& text) {
  if (element_name(argument.type) == nullptr) {
    refuse_argument(text, "'" + argument.type + "' is none of " + known_types());
  }
  if (argument.extents.empty()) {
    refuse_argument(text, "the extents of an array are numbers from 1 on");
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : argument.extents) {
    if (extent < 1) refuse_argument(text, "the extents of an array are numbers from 1 on");
    elements = extent > most_elements / elements ? most_elements + 1 : elements * extent;
    if (elements > most_elements) refuse_argument(text, "an array has 2^32 elements at most");
  }
}

Argument parse_argument(const std::string& text) {
  static const std::regex number(
      R"([-+]?(0[xX][0-9a-fA-F]+|\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)[fFuUlL]*|[-+]?(inf|nan)|true|false|nullptr)");
  static const std::regex array(R"((?:(in|out|inout):)?(\w+)\[([^\]]*)\](?:=([^]*))?)");
  static const std::regex file(R"((?:(in|out|inout):)?([^]+\.npy))");
  static const std::regex scalar(R"((\w+)=(.*))");
  Argument argument;
  std::smatch found;
  if (std::regex_match(text, number)) {
    argument.value = text;
    return argument;
  }
  if (std::regex_match(text, found, array)) {
    argument.is_array = true;
    argument.type = found[2];
    argument.extents = numbers_of(found[3]);
    (found[4].str().ends_with(".npy") ? argument.path : argument.value) = found[4];
  } else if (std::regex_match(text, found, file)) {
    argument.is_array = true;
    argument.path = found[2];
  } else if (std::regex_match(text, found, scalar)) {
    argument.type = found[1];
    argument.value = found[2];
  } else {
    refuse_argument(text,
                    "it is neither a number nor an array such as in:f32[64,32], out:f32[64] or "
                    "in.npy");
  }
  argument.is_output = argument.is_array && found[1] == "out";
  if (argument.is_output && !argument.path.empty()) {
    refuse_argument(text, "an output is an array that nobody has written, not one from a file");
  }
  if (argument.is_array && !argument.type.empty()) require_array(argument, text);
  if (!argument.is_array && element_name(argument.type) == nullptr) {
    refuse_argument(text, "'" + argument.type + "' is none of " + known_types());
  }
  if (!argument.value.empty() ? !std::regex_match(argument.value, number) : !argument.is_array) {
    refuse_argument(text, "'" + argument.value + "' is no number");
  }
  return argument;
}

std::vector<std::int64_t> parse_dimensions(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> numbers = numbers_of(text);
  if (numbers.empty() || numbers.size() > 3) {
    throw Error(Status::invalid_argument,
                option + " = '" + text + "': there are one to three numbers from 1 on, as in 32,8");
  }
  for (const std::int64_t number : numbers) {
    if (number > 2147483647) {
      throw Error(Status::invalid_argument,
                  option + " = '" + text + "' is more than a launch may have");
    }
  }
  numbers.resize(3, 1);
  return numbers;
}

std::string kernel_main(const KernelCall& call) {
  std::string text = head(call.arguments) + "int main() {\n";
  std::string typed;
  std::string loose;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    const std::string name = argument_name(i);
    if (argument.is_array) {
      text += std::string("  ::cornerturn::guest::Array<") + element_name(argument.type)->type +
              "> " + name + "(" + listed(argument.extents) + ", " + contents_text(argument, i) +
              ");\n";
    }
    typed += ", " + (argument.is_array ? name + ".typed()" : number_text(argument));
    loose += ", " + (argument.is_array ? name + ".any()" : number_text(argument));
  }
  // Arrays may be of another type than the kernel's arguments, as f32 for float4*.
  text += "  const auto cornerturn_call = [](auto... cornerturn_a) CT_GUEST_PLAIN -> decltype(" +
          call.kernel + "(cornerturn_a...)) { " + call.kernel + "(cornerturn_a...); };\n";
  text += "  ::cornerturn::guest::run_kernel(::cornerturn::guest::Place{" + quoted_text(call.file) +
          ", " + std::to_string(call.line) + "}, " + quoted_text(call.kernel) + ", dim3(" +
          listed(call.grid).substr(1, listed(call.grid).size() - 2) + "), dim3(" +
          listed(call.block).substr(1, listed(call.block).size() - 2) + "), " +
          std::to_string(call.shared) + ", cornerturn_call,\n      std::make_tuple(" +
          (typed.empty() ? "" : typed.substr(2)) + "),\n      std::make_tuple(" +
          (loose.empty() ? "" : loose.substr(2)) + "));\n";
  return text + saving_end(call.arguments, call.results) + "}\n";
}

std::string function_main(const std::string& function, const std::vector<Argument>& arguments,
                          const std::string& results) {
  std::string text =
      "#include <torch/extension.h>\n" + head(arguments).substr(1) + "int main() {\n";
  std::string given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.is_array) {
      const ElementName& element = *element_name(argument.type);
      if (*element.tensor == '\0') {
        throw Error(Status::invalid_argument,
                    "--arg: a tensor has no elements of the type " + argument.type);
      }
      const std::string name = argument_name(i);
      text += "  auto " + name + " = ::cornerturn::guest::make_tensor<" + element.type + ">(" +
              listed(argument.extents) + ", " + element.tensor + ", " + contents_text(argument, i) +
              ");\n";
      given += ", " + name;
    } else {
      given += ", " + number_text(argument);
    }
  }
  const std::string call = function + "(" + (given.empty() ? "" : given.substr(2)) + ")";
  text +=
      results.empty()
          ? "  " + call + ";\n"
          : "  const auto cornerturn_results = ::cornerturn::guest::results_of(\n      [&]() -> "
            "decltype(auto) { return " +
                call + "; });\n";
  text += saving_end(arguments, results);
  if (!results.empty()) {
    text +=
        "  ::cornerturn::guest::save_results(cornerturn_results, " + quoted_text(results) + ");\n";
  }
  return "\n#line 1 \"the main of cornerturn check\"\n" + text + "}\n";
}

}  // namespace cornerturn::cuda_source
