// The configuration of any family: a small value behind one type.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace cornerturn::plan {

/// Holds a value of some configuration type, inside itself: it never allocates. Two are equal when
/// they hold equal values of one type.
class AnyConfig {
 public:
  static constexpr std::size_t capacity = 320;

  AnyConfig() noexcept {}  // NOLINT: what holds nothing stays unset
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, AnyConfig>) AnyConfig(T value)
      : type_(&type_of<T>) {  // NOLINT: a configuration is one of any family
    static_assert(sizeof(T) <= capacity);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_copy_constructible_v<T>);
    ::new (bytes_) T(std::move(value));
  }
  AnyConfig(const AnyConfig& other) noexcept : type_(other.type_) {
    if (type_ != nullptr) type_->copy(bytes_, other.bytes_);
  }
  AnyConfig& operator=(const AnyConfig& other) noexcept {
    if (this == &other) return *this;
    if (type_ != nullptr) type_->destroy(bytes_);
    type_ = other.type_;
    if (type_ != nullptr) type_->copy(bytes_, other.bytes_);
    return *this;
  }
  ~AnyConfig() {
    if (type_ != nullptr) type_->destroy(bytes_);
  }

  /// The value, which is a T.
  template <class T>
  const T& as() const noexcept {
    assert(type_ == &type_of<T>);
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }

  friend bool operator==(const AnyConfig& a, const AnyConfig& b) {
    return a.type_ == b.type_ && (a.type_ == nullptr || a.type_->equal(a.bytes_, b.bytes_));
  }

 private:
  struct Type {
    void (*copy)(std::byte* to, const std::byte* from);
    void (*destroy)(std::byte* at);
    bool (*equal)(const std::byte* a, const std::byte* b);
  };
  template <class T>
  static const T& value_at(const std::byte* bytes) {
    return *std::launder(reinterpret_cast<const T*>(bytes));
  }
  template <class T>
  static constexpr Type type_of = {
      [](std::byte* to, const std::byte* from) { ::new (to) T(value_at<T>(from)); },
      [](std::byte* at) { value_at<T>(at).~T(); },
      [](const std::byte* a, const std::byte* b) { return value_at<T>(a) == value_at<T>(b); }};

  const Type* type_ = nullptr;
  alignas(std::max_align_t) std::byte bytes_[capacity];
};

}  // namespace cornerturn::plan
