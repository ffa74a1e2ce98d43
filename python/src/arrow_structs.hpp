// The three structures of Arrow's C interfaces, laid out as its specification says, which is fixed
// for good.
#pragma once

#include <cstdint>

namespace cornerturn::python::arrow {

struct Schema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  Schema** children;
  Schema* dictionary;
  void (*release)(Schema*);
  void* private_data;
};

struct Array {
  std::int64_t length;
  std::int64_t null_count;  ///< -1: it has not been counted
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  Array** children;
  Array* dictionary;
  void (*release)(Array*);
  void* private_data;
};

struct Stream {
  int (*get_schema)(Stream*, Schema* out);
  int (*get_next)(Stream*, Array* out);
  const char* (*get_last_error)(Stream*);
  void (*release)(Stream*);
  void* private_data;
};

constexpr std::int64_t nullable = 2;  // a flag of a schema
constexpr const char* schema_capsule = "arrow_schema";
constexpr const char* array_capsule = "arrow_array";
constexpr const char* stream_capsule = "arrow_array_stream";

/// A structure that was moved here, and is released with this object.
template <class Struct>
class Owned {
 public:
  Owned() = default;
  /// Takes over what `other` holds, which is empty then.
  explicit Owned(Struct& other) : held_(other) { other.release = nullptr; }
  Owned(Owned&& other) noexcept : held_(other.held_) { other.held_.release = nullptr; }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (held_.release != nullptr) held_.release(&held_);
  }

  Struct* get() { return &held_; }
  const Struct& operator*() const { return held_; }
  const Struct* operator->() const { return &held_; }
  bool empty() const { return held_.release == nullptr; }

 private:
  Struct held_ = {};
};

}  // namespace cornerturn::python::arrow
