#include "check_file.hpp"

#include <fmt/format.h>

// toml++ 3.3 asserts what "[[[" in a file breaks, and without assertions lets the compiler assume
// it. The code that follows its assertions says what is wrong with the file.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
#include <algorithm>
#include <optional>

#include "arguments.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

// Where the text that begins at `at` ends. Texts of one line end with it, closed or not.
std::size_t end_of_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string long_quotes(3, quote);
  const bool is_long = toml.substr(at, 3) == long_quotes;
  std::size_t i = at + (is_long ? 3 : 1);
  for (; i < toml.size(); ++i) {
    if (toml[i] == '\\' && quote == '"') {
      ++i;
    } else if (!is_long && (toml[i] == quote || toml[i] == '\n')) {
      return i + 1;
    } else if (is_long && toml.substr(i, 3) == long_quotes) {
      i += 3;  // two more quotes belong to the text
      for (int more = 0; more < 2 && i < toml.size() && toml[i] == quote; ++more) ++i;
      return i;
    }
  }
  return toml.size();
}

// The place of a character that is not ASCII and stands in neither text nor comment, where TOML has
// none: toml++ 3.3 takes some of them for impossible.
std::size_t place_of_stray(std::string_view toml) {
  std::size_t i = toml.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (i < toml.size()) {
    if (toml[i] == '#') {
      i = std::min(toml.find('\n', i), toml.size());
    } else if (toml[i] == '"' || toml[i] == '\'') {
      i = end_of_text(toml, i);
    } else if (static_cast<unsigned char>(toml[i]) >= 0x80) {
      return i;
    } else {
      ++i;
    }
  }
  return std::string_view::npos;
}

// Reads the file's tables; what is wrong is refused with the file and the line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : path_(path) {
    if (const std::size_t at = place_of_stray(text); at != std::string_view::npos) {
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      refuse(static_cast<std::size_t>(line) + 1,
             "a character that is not ASCII stands outside of texts and comments");
    }
    try {
      root_ = toml::parse(text, path);
    } catch (const toml::parse_error& error) {
      const auto& at = error.source().begin;
      if (at.line == 0) refuse(0, std::string(error.description()));
      refuse(at.line, fmt::format("column {}: {}", at.column, error.description()));
    }
    allow(root_, {"gpu", "layout"});
  }

  std::string gpu() { return text(root_, "gpu", "h200"); }

  std::vector<lab::CheckedLayout> layouts() {
    std::vector<lab::CheckedLayout> out;
    for (const toml::table* one : tables(root_, "layout")) {
      allow(*one, {"name", "layout", "dtype", "injective", "access"});
      lab::CheckedLayout layout;
      layout.layout = text(*one, "layout", std::nullopt);
      layout.name = text(*one, "name", layout.layout);
      layout.bytes = static_cast<int>(
          parse_dtype(fmt::format("{}:{}: dtype", path_, line_of(*one)), text(*one, "dtype", "f32"))
              .size);
      layout.injective = flag(*one, "injective", true);
      for (const toml::table* access : tables(*one, "access")) {
        allow(*access, {"access", "wavefronts"});
        layout.accesses.push_back({text(*access, "access", std::nullopt), wavefronts(*access)});
      }
      out.push_back(std::move(layout));
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& problem) const {
    throw Error(Status::invalid_argument, line == 0
                                              ? fmt::format("{}: {}", path_, problem)
                                              : fmt::format("{}:{}: {}", path_, line, problem));
  }
  static std::size_t line_of(const toml::node& node) { return node.source().begin.line; }

  void allow(const toml::table& table, const std::vector<std::string_view>& keys) const {
    for (const auto& [key, value] : table) {
      bool known = false;
      for (const std::string_view allowed : keys) known = known || key == allowed;
      if (!known) {
        refuse(line_of(value), fmt::format("'{}' is none of {}", key.str(), fmt::join(keys, ", ")));
      }
    }
  }

  std::vector<const toml::table*> tables(const toml::table& parent, std::string_view key) const {
    const toml::node* node = parent.get(key);
    const toml::array* list = node != nullptr ? node->as_array() : nullptr;
    if (list == nullptr || list->empty()) {
      refuse(node != nullptr ? line_of(*node) : line_of(parent),
             fmt::format("no [[{}]], of which there is at least one", key));
    }
    std::vector<const toml::table*> out;
    for (const toml::node& item : *list) {
      if (item.as_table() == nullptr) refuse(line_of(item), fmt::format("'{}' are tables", key));
      out.push_back(item.as_table());
    }
    return out;
  }

  std::string text(const toml::table& table, std::string_view key,
                   const std::optional<std::string>& otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (!otherwise) refuse(line_of(table), fmt::format("'{}' is missing", key));
      return *otherwise;
    }
    if (!node->is_string()) refuse(line_of(*node), fmt::format("'{}' is no text", key));
    return node->as_string()->get();
  }

  bool flag(const toml::table& table, std::string_view key, bool otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return otherwise;
    if (!node->is_boolean()) refuse(line_of(*node), fmt::format("'{}' is true or false", key));
    return node->as_boolean()->get();
  }

  std::optional<int> wavefronts(const toml::table& table) const {
    const toml::node* node = table.get("wavefronts");
    if (node == nullptr) return std::nullopt;
    const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
    if (value < 1 || value > 1024) {
      refuse(line_of(*node), "'wavefronts' is a number from 1 on: those that a request may take");
    }
    return static_cast<int>(value);
  }

  std::string path_;
  toml::table root_;
};

}  // namespace

CheckFile parse_check_file(std::string_view text, const std::string& path) {
  Reader reader(text, path);
  return {reader.gpu(), reader.layouts()};
}

}  // namespace cornerturn::cli
