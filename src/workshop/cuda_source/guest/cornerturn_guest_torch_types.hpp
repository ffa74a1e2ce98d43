// PyTorch's types of elements, devices and options, as far as extensions name them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace c10 {

// Half and BFloat16 calculate as floats, which is what PyTorch's do.
template <class F>
struct TorchFloat {
  using Device = ::cornerturn::guest::Small<F>;
  unsigned short x;

  TorchFloat() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  CT_GUEST_INLINE TorchFloat(T v) : x(Device(v).__x) {}
  CT_GUEST_INLINE TorchFloat(Device v) : x(v.__x) {}
  template <class G>
  CT_GUEST_INLINE explicit TorchFloat(TorchFloat<G> v) : x(Device(static_cast<float>(v)).__x) {}
  CT_GUEST_INLINE operator float() const { return Device::from(x); }
  CT_GUEST_INLINE operator Device() const { return Device::from(x); }
  CT_GUEST_INLINE TorchFloat& operator+=(float v) {
    return *this = TorchFloat(static_cast<float>(*this) + v);
  }
  CT_GUEST_INLINE TorchFloat& operator-=(float v) {
    return *this = TorchFloat(static_cast<float>(*this) - v);
  }
  CT_GUEST_INLINE TorchFloat& operator*=(float v) {
    return *this = TorchFloat(static_cast<float>(*this) * v);
  }
  CT_GUEST_INLINE TorchFloat& operator/=(float v) {
    return *this = TorchFloat(static_cast<float>(*this) / v);
  }
};
using Half = TorchFloat<::cornerturn::guest::HalfFormat>;
using BFloat16 = TorchFloat<::cornerturn::guest::Bfloat16Format>;
struct Float8_e5m2 {
  unsigned char x;
};
struct Float8_e4m3fn {
  unsigned char x;
};

enum class ScalarType : signed char {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  Bool = 11,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Undefined = 45
};
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char, kInt8 = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int, kInt32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr ScalarType kFloat8_e5m2 = ScalarType::Float8_e5m2;
constexpr ScalarType kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;

// The rows of the types: their C++ types, sizes and names.
#define CT_GUEST_SCALAR_TYPES(X) \
  X(unsigned char, Byte)         \
  X(signed char, Char)           \
  X(short, Short)                \
  X(int, Int)                    \
  X(std::int64_t, Long)          \
  X(Half, Half)                  \
  X(float, Float)                \
  X(double, Double)              \
  X(bool, Bool)                  \
  X(BFloat16, BFloat16)          \
  X(Float8_e5m2, Float8_e5m2)    \
  X(Float8_e4m3fn, Float8_e4m3fn)

inline std::size_t elementSize(ScalarType type) {
  switch (type) {
#define CT_GUEST_SIZE(TYPE, NAME) \
  case ScalarType::NAME:          \
    return sizeof(TYPE);
    CT_GUEST_SCALAR_TYPES(CT_GUEST_SIZE)
#undef CT_GUEST_SIZE
    default:
      return 0;
  }
}
inline const char* toString(ScalarType type) {
  switch (type) {
#define CT_GUEST_NAME(TYPE, NAME) \
  case ScalarType::NAME:          \
    return #NAME;
    CT_GUEST_SCALAR_TYPES(CT_GUEST_NAME)
#undef CT_GUEST_NAME
    default:
      return "Undefined";
  }
}
inline std::ostream& operator<<(std::ostream& out, ScalarType type) {
  return out << toString(type);
}
template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = ScalarType::Undefined;
};
#define CT_GUEST_TYPE(TYPE, NAME)                         \
  template <>                                             \
  struct CppTypeToScalarType<TYPE> {                      \
    static constexpr ScalarType value = ScalarType::NAME; \
  };
CT_GUEST_SCALAR_TYPES(CT_GUEST_TYPE)
#undef CT_GUEST_TYPE
template <>
struct CppTypeToScalarType<long long> {
  static constexpr ScalarType value = ScalarType::Long;
};
template <>
struct CppTypeToScalarType<char> {
  static constexpr ScalarType value = ScalarType::Char;
};
inline bool isFloatingType(ScalarType type) {
  return type == kFloat || type == kDouble || type == kHalf || type == kBFloat16 ||
         type == kFloat8_e5m2 || type == kFloat8_e4m3fn;
}

enum class DeviceType : signed char { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
using DeviceIndex = signed char;
struct Device {
  DeviceType kind = DeviceType::CPU;
  int number = 0;

  Device(DeviceType type, int index = 0) : kind(type), number(index) {}
  Device(const std::string& name) : kind(name.rfind("cuda", 0) == 0 ? kCUDA : kCPU) {}
  Device(const char* name) : Device(std::string(name)) {}
  DeviceType type() const { return kind; }
  int index() const { return number; }
  bool is_cuda() const { return kind == kCUDA; }
  bool is_cpu() const { return kind == kCPU; }
  std::string str() const { return is_cuda() ? "cuda:0" : "cpu"; }
  friend bool operator==(Device a, Device b) { return a.kind == b.kind; }
  friend bool operator!=(Device a, Device b) { return a.kind != b.kind; }
  friend std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }
};

enum class Layout : signed char { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : signed char { Contiguous, Preserve, ChannelsLast };

struct TensorOptions {
  ScalarType type = kFloat;
  Device where = kCPU;

  TensorOptions() = default;
  TensorOptions(ScalarType its_type) : type(its_type) {}
  TensorOptions(Device device) : where(device) {}
  TensorOptions(DeviceType device) : where(device) {}
  TensorOptions dtype(ScalarType its_type) const {
    TensorOptions changed = *this;
    changed.type = its_type;
    return changed;
  }
  TensorOptions device(Device device) const {
    TensorOptions changed = *this;
    changed.where = device;
    return changed;
  }
  TensorOptions device(DeviceType kind, int index) const { return device(Device(kind, index)); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  TensorOptions pinned_memory(bool) const { return *this; }
  ScalarType dtype() const { return type; }
  Device device() const { return where; }
};
inline std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  return out << "TensorOptions(dtype=" << options.type << ", device=" << options.where << ")";
}
inline TensorOptions dtype(ScalarType type) {
  return TensorOptions(type);
}
inline TensorOptions device(Device where) {
  return TensorOptions(where);
}

// A view of a list of numbers.
template <class T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
  ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  std::vector<T> vec() const { return {begin(), end()}; }
  friend bool operator==(ArrayRef a, ArrayRef b) { return a.vec() == b.vec(); }
  friend bool operator!=(ArrayRef a, ArrayRef b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, ArrayRef list) {
    out << "[";
    for (std::size_t i = 0; i < list.size(); ++i) {
      out << (i == 0 ? "" : ", ") << list[i];
    }
    return out << "]";
  }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
template <class... A>
[[noreturn]] void fail(const char* condition, const A&... words) {
  std::ostringstream message;
  (message << ... << words);
  const std::string text = message.str();
  throw Error(text.empty() ? std::string("Expected ") + condition + " to be true, but got false"
                           : text);
}

template <class T>
using optional = std::optional<T>;
constexpr auto nullopt = std::nullopt;

}  // namespace c10
