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
#include <cstdint>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

// The character of UTF-8 that begins at `at`, as TOML writes it in ASCII, and how many bytes it
// has; 0 where it is none.
std::pair<std::string, std::size_t> escaped(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < bytes) return {"", 0};
  std::uint32_t point = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0U) != 0x80U) return {"", 0};
    point = point << 6 | (next & 0x3fU);
  }
  const std::uint32_t least[] = {0x80, 0x800, 0x10000};
  if (point < least[bytes - 2]) return {"", 0};
  return {fmt::format("\\U{:08X}", point), bytes};
}

// The file in ASCII: toml++ 3.3 takes some other characters for impossible where they stand in
// neither text nor comment. Those in texts in double quotes become escapes, those in comments go.
class InAscii {
 public:
  explicit InAscii(std::string_view toml) : toml_(toml) {
    if (toml.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < toml_.size() && stray_ == nowhere) {
      if (toml_[at_] == '#') {
        comment();
      } else if (toml_[at_] == '"' || toml_[at_] == '\'') {
        text(toml_[at_]);
      } else {
        take();
      }
    }
  }

  const std::string& file() const { return file_; }
  /// Where a character stands that has no place there.
  std::size_t stray() const { return stray_; }

 private:
  void take() {
    if (!is_ascii(toml_[at_])) {
      stray_ = at_;
    } else {
      file_ += toml_[at_++];
    }
  }

  void comment() {
    for (; at_ < toml_.size() && toml_[at_] != '\n'; ++at_) {
      file_ += is_ascii(toml_[at_]) ? toml_[at_] : '?';
    }
  }

  // Texts of one line end with it, closed or not.
  void text(char quote) {
    const bool is_long = toml_.substr(at_, 3) == std::string(3, quote);
    const std::size_t quotes = is_long ? 3 : 1;
    for (std::size_t i = 0; i < quotes; ++i) take();
    while (at_ < toml_.size() && stray_ == nowhere && (is_long || toml_[at_] != '\n')) {
      if (toml_.substr(at_, quotes) == std::string(quotes, quote)) {
        for (std::size_t i = 0; i < quotes; ++i) take();
        return;  // one or two quotes more, which a long text may end with, are a text without an
                 // end
      }
      if (quote == '"' && toml_[at_] == '\\' && at_ + 1 < toml_.size()) {
        take();
        take();
      } else if (quote == '"' && !is_ascii(toml_[at_])) {
        const auto [ascii, bytes] = escaped(toml_, at_);
        if (bytes == 0) stray_ = at_;
        file_ += ascii;
        at_ += bytes;
      } else {
        take();
      }
    }
  }

  std::string_view toml_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t stray_ = nowhere;
};

// Reads the file's tables; what is wrong is refused with the file and the line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : path_(path) {
    const InAscii ascii(text);
    if (ascii.stray() != nowhere) {
      const auto before = text.substr(0, ascii.stray());
      const auto line = std::count(before.begin(), before.end(), '\n');
      refuse(static_cast<std::size_t>(line) + 1,
             "characters that are not ASCII stand in comments, and as UTF-8 in double quotes");
    }
    try {
      root_ = toml::parse(ascii.file(), path);
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
