#include "workshop/analyse/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace cornerturn {
namespace {

constexpr int max_depth = 16;

/// A number or a tuple, with the place where it was written.
struct Tree {
  std::size_t position = 0;
  std::optional<std::int64_t> number;
  std::vector<Tree> items;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  PrintedLayout printed_layout() {
    PrintedLayout result;
    skip_blanks();
    const bool is_tensor = take_word("tensor<");
    const std::size_t first = at_;
    bool counts_bytes = false;
    std::int64_t address = 0;
    if (is_tensor) {
      result.element_bits = typed_pointer(result.layout.swizzle);
      counts_bytes = result.layout.swizzle.bits > 0;
      expect_o();
    }
    if (!counts_bytes && !at_end() && peek() == 'S') {
      result.layout.swizzle = swizzle();
      if (!is_tensor && take('_')) {
        address = pointer(result.element_bits);
        counts_bytes = true;
      }
      expect_o();
      offset_or_pointer(result, address, counts_bytes, is_tensor);
    } else if (!is_tensor && !at_end() && is_letter(peek())) {
      address = pointer(result.element_bits);
      expect_o();
    }
    if (counts_bytes) count_elements(result, address, first);
    result.layout.layout = layout();
    if (is_tensor) expect('>');
    expect_end();
    return result;
  }

  Layout plain_layout() {
    const Layout result = layout();
    expect_end();
    return result;
  }

  AnySwizzle plain_swizzle() {
    skip_blanks();
    const AnySwizzle result = swizzle();
    expect_end();
    return result;
  }

 private:
  [[noreturn]] void fail(std::size_t position, const std::string& problem) const {
    throw NotationError(text_, position, problem);
  }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  void skip_blanks() {
    while (!at_end() && std::string_view(" \t\n").find(peek()) != std::string_view::npos) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_end() || peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(at_, fmt::format("'{}' expected", wanted));
  }
  void expect_o() {
    if (!take('o')) fail(at_, "' o ' and a layout expected after the swizzle");
    skip_blanks();
  }
  void expect_end() {
    skip_blanks();
    if (!at_end()) fail(at_, "nothing more expected");
  }

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // Behind "Swizzle o": "16 o", "smem_ptr[16b](unset) o", or nothing.
  void offset_or_pointer(PrintedLayout& result, std::int64_t& address, bool& counts_bytes,
                         bool is_tensor) {
    if (!is_tensor && !counts_bytes && !at_end() && is_letter(peek())) {
      address = pointer(result.element_bits);
      counts_bytes = true;
      return expect_o();
    }
    // A number is an offset only if another "o" follows it.
    const std::size_t before = at_;
    if (at_end() || peek() == '(') return;
    const std::int64_t offset = number("an offset or a layout");
    skip_blanks();
    if (!at_end() && peek() == 'o') {
      expect_o();
      result.layout.offset = offset;
    } else {
      at_ = before;
    }
  }

  // "smem_ptr[16b](unset)": its address, which is 0 where it is none.
  std::int64_t pointer(int& element_bits) {
    const std::size_t first = at_;
    for (const std::string_view name : {"smem_ptr[", "gmem_ptr[", "ptr["}) {
      if (take_word(name)) break;
    }
    if (at_ == first) fail(first, "an offset or a layout expected");
    element_bits = whole_bytes(first, number("the bits of an element"));
    if (!take_word("b](")) fail(at_, "'b](' expected");
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) fail(text_.size(), "')' expected");
    const std::string_view address = text_.substr(at_, end - at_);
    at_ = end + 1;
    std::uint64_t value = 0;
    const bool is_number =
        address.substr(0, 2) == "0x" &&
        std::from_chars(address.data() + 2, address.data() + address.size(), value, 16).ptr ==
            address.data() + address.size();
    return is_number ? static_cast<std::int64_t>(value & ((std::uint64_t{1} << 60) - 1)) : 0;
  }

  // "ptr<f16, smem, align<1024>, S<3,4,3>>": the bits of an element.
  int typed_pointer(AnySwizzle& found) {
    const std::size_t first = at_;
    if (!take_word("ptr<")) fail(first, "'ptr<' expected");
    const std::size_t type = at_;
    while (!at_end() && (is_letter(peek()) || peek() == '_')) ++at_;
    const std::size_t digits = at_;
    if (at_end() || peek() < '0' || peek() > '9') fail(type, "a type such as f16 expected");
    if (digits == type) fail(type, "a type such as f16 expected");
    const int bits = whole_bytes(type, number("the bits of an element"));
    int depth = 1;  // of angle brackets; what stands in them beside the swizzle says nothing here
    while (depth > 0) {
      if (at_end()) fail(at_, "'>' expected");
      if (text_.substr(at_, 2) == "S<") {
        found = swizzle();
        continue;
      }
      if (peek() == '<') ++depth;
      if (peek() == '>') --depth;
      ++at_;
    }
    return bits;
  }

  int whole_bytes(std::size_t position, std::int64_t bits) const {
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) {
      fail(position, fmt::format("elements of {} bits: they have 8, 16, 32, 64 or 128", bits));
    }
    return static_cast<int>(bits);
  }

  // A swizzle of byte addresses as one of elements, and the address as an offset.
  void count_elements(PrintedLayout& result, std::int64_t address, std::size_t first) const {
    AnySwizzle& swizzle = result.layout.swizzle;
    if (swizzle.bits == 0) return;
    const int log_bytes = std::countr_zero(static_cast<unsigned>(result.element_bits / 8));
    if (swizzle.base < log_bytes) {
      fail(first, "the swizzle counts bytes, and would part those of one element");
    }
    swizzle.base -= log_bytes;
    result.layout.offset += (address >> log_bytes) & (swizzle.period() - 1);
  }

  std::int64_t number(const char* wanted, bool may_be_negative = false) {
    skip_blanks();
    const std::size_t first = at_;
    if (!at_end() && peek() == '_') ++at_;
    const bool negative = may_be_negative && !at_end() && peek() == '-';
    if (negative) ++at_;
    const std::size_t digits = at_;
    std::int64_t value = 0;
    for (; !at_end() && peek() >= '0' && peek() <= '9'; ++at_) {
      const std::int64_t digit = peek() - '0';
      if (value > (std::numeric_limits<std::int32_t>::max() - digit) / 10) {
        fail(first, "the number is larger than 2147483647");
      }
      value = value * 10 + digit;
    }
    if (at_ == digits) {
      at_ = first;
      fail(first, fmt::format("{} expected", wanted));
    }
    return negative ? -value : value;
  }

  AnySwizzle swizzle() {
    const std::size_t first = at_;
    for (const std::string_view name : {"Swizzle", "Sw", "S"}) {
      if (take_word(name)) break;
    }
    if (at_ == first) fail(first, "'Swizzle<B,M,S>' expected");
    expect('<');
    const std::int64_t b = number("B, a number of bits,");
    expect(',');
    const std::int64_t m = number("M, a number of bits,");
    expect(',');
    const std::int64_t s = number("S, a number of bits,", true);
    expect('>');
    try {
      return make_swizzle(static_cast<int>(b), static_cast<int>(m), static_cast<int>(s));
    } catch (const Error& error) {
      fail(first, error.what());
    }
  }

  Tree tree(const char* what, bool may_be_negative, int depth) {
    skip_blanks();
    Tree result;
    result.position = at_;
    if (!take('(')) {
      result.number = number(what, may_be_negative);
      return result;
    }
    if (depth == max_depth)
      fail(result.position, fmt::format("more than {} tuples in each other", max_depth));
    do {
      result.items.push_back(tree(what, may_be_negative, depth + 1));
    } while (take(','));
    if (!take(')')) fail(at_, "',' or ')' expected");
    return result;
  }

  Layout layout() {
    const Tree shape = tree("an extent or '('", false, 0);
    Layout result;
    if (take(':')) {
      const Tree stride = tree("a stride or '('", true, 0);
      leaves_ = 0;
      build(result, shape, stride);
    } else {
      std::int64_t reached = 1;
      leaves_ = 0;
      build_compact(result, shape, reached);
    }
    result.leaves = leaves_;
    return result;
  }

  void add_leaf(Layout& layout, const Tree& shape, std::int64_t stride) {
    if (*shape.number == 0) fail(shape.position, "an extent of 0 is no layout");
    if (leaves_ == Layout::max_leaves) {
      fail(shape.position, fmt::format("more than {} extents", Layout::max_leaves));
    }
    layout.leaf[leaves_].extent = *shape.number;
    layout.leaf[leaves_].stride = stride;
    size_ *= *shape.number;
    if (size_ > most_layout_elements)
      fail(shape.position, "the layout has more than 2^24 elements");
    ++leaves_;
  }

  void build(Layout& layout, const Tree& shape, const Tree& stride) {
    if (shape.number.has_value() != stride.number.has_value()) {
      fail(stride.position, shape.number
                                ? "a stride for one extent expected, this is a tuple"
                                : "a tuple of strides expected, as the extents are a tuple");
    }
    if (shape.number) return add_leaf(layout, shape, *stride.number);
    if (shape.items.size() != stride.items.size()) {
      fail(stride.position,
           fmt::format("{} strides for {} extents", stride.items.size(), shape.items.size()));
    }
    const int first = leaves_;
    for (std::size_t i = 0; i < shape.items.size(); ++i)
      build(layout, shape.items[i], stride.items[i]);
    ++layout.leaf[first].opens;
    ++layout.leaf[leaves_ - 1].closes;
  }

  void build_compact(Layout& layout, const Tree& shape, std::int64_t& reached) {
    if (shape.number) {
      add_leaf(layout, shape, reached);
      reached *= *shape.number;
      return;
    }
    const int first = leaves_;
    for (const Tree& item : shape.items) build_compact(layout, item, reached);
    ++layout.leaf[first].opens;
    ++layout.leaf[leaves_ - 1].closes;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int leaves_ = 0;
  std::int64_t size_ = 1;
};

std::string quoted_character(std::string_view text, std::size_t position) {
  return position < text.size() ? fmt::format("'{}'", text[position]) : "the end";
}

/// What is shown of a long text: some characters before and after a place.
struct Around {
  std::string text;
  std::size_t position = 0;

  std::string picture() const { return fmt::format("{}\n{}^", text, std::string(position, ' ')); }
};

Around around(std::string_view text, std::size_t position) {
  constexpr std::size_t most = 60;
  const std::size_t first = position > most ? position - most : 0;
  const std::size_t last = std::min(text.size(), position + most);
  const std::string dots = first > 0 ? "..." : "";
  return {fmt::format("{}{}{}", dots, text.substr(first, last - first),
                      last < text.size() ? "..." : ""),
          dots.size() + position - first};
}

void append_numbers(std::string& out, const Layout& layout, bool extents) {
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.leaf[i];
    if (i > 0) out += ',';
    out.append(static_cast<std::size_t>(leaf.opens), '(');
    out += std::to_string(extents ? leaf.extent : leaf.stride);
    out.append(static_cast<std::size_t>(leaf.closes), ')');
  }
}

}  // namespace

NotationError::NotationError(std::string_view text, std::size_t position,
                             const std::string& problem)
    : Error(Status::invalid_argument,
            fmt::format("layout \"{}\", character {} ({}): {}", around(text, position).text,
                        position + 1, quoted_character(text, position), problem)),
      position_(position),
      picture_(around(text, position).picture()) {}

Layout parse_layout(std::string_view text) {
  return Parser(text).plain_layout();
}
PrintedLayout parse_printed_layout(std::string_view text) {
  const PrintedLayout printed = Parser(text).printed_layout();
  check_offsets(printed.layout);
  return printed;
}
SwizzledLayout parse_layout_of(std::string_view text, int& bytes, int usual) {
  const PrintedLayout printed = parse_printed_layout(text);
  const int said = printed.element_bits / 8;
  if (said > 0 && bytes > 0 && said != bytes) {
    throw Error(Status::invalid_argument,
                fmt::format("the layout's pointer has elements of {} bits, but {} were asked for",
                            printed.element_bits, 8 * bytes));
  }
  if (bytes == 0) bytes = said > 0 ? said : usual;
  return printed.layout;
}
SwizzledLayout parse_swizzled_layout(std::string_view text) {
  return parse_printed_layout(text).layout;
}
AnySwizzle parse_swizzle(std::string_view text) {
  return Parser(text).plain_swizzle();
}

std::string to_string(const Layout& layout) {
  std::string out;
  append_numbers(out, layout, true);
  out += ':';
  append_numbers(out, layout, false);
  return out;
}

std::string to_string(const AnySwizzle& swizzle) {
  return fmt::format("Swizzle<{},{},{}>", swizzle.bits, swizzle.base, swizzle.shift);
}

std::string to_string(const SwizzledLayout& layout) {
  if (layout.swizzle.bits == 0 && layout.offset == 0) return to_string(layout.layout);
  const std::string offset = layout.offset == 0 ? "" : fmt::format("{} o ", layout.offset);
  return fmt::format("{} o {}{}", to_string(layout.swizzle), offset, to_string(layout.layout));
}

}  // namespace cornerturn
