#include "io/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

constexpr std::string_view ellipsis = "...";
constexpr std::string_view arrow = "->";

struct Axis {
  std::string_view name;
  std::size_t column;  // from 1
};

class PatternParser {
 public:
  PatternParser(std::string_view pattern, int rank) : pattern_(pattern), rank_(rank) {}

  std::vector<int> permutation() {
    const std::vector<Axis> source = side(true);
    const std::vector<Axis> result = side(false);
    const auto named = static_cast<int>(source.size()) - (has_ellipsis(source) ? 1 : 0);
    if (named > rank_ || (named < rank_ && !has_ellipsis(source))) {
      fail(1, fmt::format("{} axes are named on the left, the array has rank {}", named, rank_));
    }
    for (const Axis& axis : source) {
      if (find(result, axis.name) == nullptr) {
        fail(axis.column,
             fmt::format("axis '{}' is dropped: it has to stand on the right as well", axis.name));
      }
    }
    const int unnamed = rank_ - named;
    std::vector<int> permutation;
    for (const Axis& axis : result) {
      const Axis* from = find(source, axis.name);
      if (from == nullptr) {
        fail(axis.column, fmt::format("axis '{}' does not stand on the left", axis.name));
      }
      int place = 0;
      for (const Axis* before = source.data(); before != from; ++before) {
        place += before->name == ellipsis ? unnamed : 1;
      }
      const int count = axis.name == ellipsis ? unnamed : 1;
      for (int i = 0; i < count; ++i) permutation.push_back(place + i);
    }
    return permutation;
  }

 private:
  [[noreturn]] void fail(std::size_t column, const std::string& rule) const {
    std::string visible(pattern_.substr(0, 200));
    std::replace_if(
        visible.begin(), visible.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
    throw Error(Status::invalid_argument,
                fmt::format("pattern = '{}' at column {}: {}", visible, column, rule));
  }

  static const Axis* find(const std::vector<Axis>& axes, std::string_view name) {
    const auto found =
        std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
    return found == axes.end() ? nullptr : &*found;
  }

  static bool has_ellipsis(const std::vector<Axis>& axes) {
    return find(axes, ellipsis) != nullptr;
  }

  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  bool starts_with(std::string_view text) const {
    return pattern_.substr(at_, text.size()) == text;
  }

  // The names up to the arrow, or up to the end.
  std::vector<Axis> side(bool left) {
    std::vector<Axis> axes;
    while (true) {
      while (at_ < pattern_.size() && (pattern_[at_] == ' ' || pattern_[at_] == ',')) ++at_;
      const std::size_t begin = at_;
      if (begin == pattern_.size()) {
        if (left) fail(begin + 1, "'->' is missing");
        return axes;
      }
      if (starts_with(arrow)) {
        if (!left) fail(begin + 1, "'->' stands there twice");
        at_ += arrow.size();
        return axes;
      }
      if (starts_with(ellipsis)) {
        at_ += ellipsis.size();
      } else {
        while (at_ < pattern_.size() && is_letter(pattern_[at_])) ++at_;
      }
      if (at_ == begin) {
        fail(begin + 1, "a name of letters, digits and '_', '...' or '->' has to stand here");
      }
      const std::string_view name = pattern_.substr(begin, at_ - begin);
      if (find(axes, name) != nullptr) fail(begin + 1, fmt::format("axis '{}' is repeated", name));
      axes.push_back({name, begin + 1});
    }
  }

  std::string_view pattern_;
  int rank_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<int> parse_pattern(std::string_view pattern, int rank) {
  return PatternParser(pattern, rank).permutation();
}

}  // namespace cornerturn::io
