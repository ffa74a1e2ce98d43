// The bytes of a fuzz target as numbers and texts. Where they end, zeros follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cornerturn::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::size_t left() const { return left_; }

  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  /// A number of [low, high]: one byte decides where that is enough, otherwise two.
  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    const std::int64_t count = high - low + 1;
    const std::int64_t value = count <= 256 ? byte() : byte() + 256 * byte();
    return low + value % count;
  }
  bool one_in(int count) { return uniform(1, count) == count; }
  /// Any of 64 bits.
  std::int64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return static_cast<std::int64_t>(value);
  }
  /// One of a list.
  template <class T, std::size_t count>
  const T& of(const T (&list)[count]) {
    return list[static_cast<std::size_t>(uniform(0, count - 1))];
  }
  /// Up to the next end of a line, which is left out.
  std::string_view line() {
    const std::string_view all(reinterpret_cast<const char*>(data_), left_);
    const std::string_view text = all.substr(0, all.find('\n'));
    skip(text.size() < left_ ? text.size() + 1 : left_);
    return text;
  }
  std::string_view rest() {
    const std::string_view text(reinterpret_cast<const char*>(data_), left_);
    skip(left_);
    return text;
  }

 private:
  void skip(std::size_t count) {
    data_ += count;
    left_ -= count;
  }

  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace cornerturn::fuzz
