// PyTorch's tensors, as far as extensions with kernels of their own use them: a type, sizes,
// strides and memory of the device. Operations on whole tensors are not here.
#pragma once

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <tuple>

#include "cornerturn_guest_torch_accessors.hpp"
#include "cornerturn_guest_torch_types.hpp"

#define CORNERTURN_GUEST_TORCH 1

namespace at {
using namespace c10;

// A number of which only the program knows the type.
class Scalar {
 public:
  Scalar() = default;
  Scalar(std::int64_t whole) : whole_(whole), number_(static_cast<double>(whole)) {}
  Scalar(double number) : whole_(static_cast<std::int64_t>(number)), number_(number) {}
  template <class T>
  T to() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(whole_);
    } else {
      return static_cast<T>(number_);
    }
  }
  int toInt() const { return to<int>(); }
  std::int64_t toLong() const { return to<std::int64_t>(); }
  float toFloat() const { return to<float>(); }
  double toDouble() const { return to<double>(); }
  bool toBool() const { return to<bool>(); }

 private:
  std::int64_t whole_ = 0;
  double number_ = 0;
};

// Memory of the host or of the device, which its last tensor frees.
struct Storage {
  void* memory = nullptr;
  bool of_device = false;
  bool owned = true;

  Storage(std::size_t bytes, bool device, ::cornerturn::guest::Place place) : of_device(device) {
    if (device) {
      if (::cudaMalloc(&memory, bytes, place) != cudaSuccess) {
        throw Error("CUDA out of memory");
      }
    } else {
      memory = std::calloc(bytes + 1, 1);
    }
  }
  explicit Storage(void* given) : memory(given), owned(false) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (owned && of_device) {
      cudaFree(memory);
    } else if (owned) {
      std::free(memory);
    }
  }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, std::vector<std::int64_t> sizes, TensorOptions options)
      : storage_(std::move(storage)), sizes_(std::move(sizes)), options_(options) {
    strides_.assign(sizes_.size(), 1);
    for (std::size_t i = sizes_.size(); i-- > 1;) {
      strides_[i - 1] = strides_[i] * sizes_[i];
    }
  }

  bool defined() const { return storage_ != nullptr; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes_.size()); }
  std::int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return sizes_; }
  IntArrayRef strides() const { return strides_; }
  std::int64_t size(std::int64_t mode) const { return sizes_.at(wrapped(mode)); }
  std::int64_t stride(std::int64_t mode) const { return strides_.at(wrapped(mode)); }
  std::int64_t numel() const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : sizes_) {
      elements *= extent;
    }
    return elements;
  }
  std::int64_t element_size() const {
    return static_cast<std::int64_t>(elementSize(options_.type));
  }
  std::size_t itemsize() const { return elementSize(options_.type); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel()) * itemsize(); }
  ScalarType scalar_type() const { return options_.type; }
  ScalarType dtype() const { return options_.type; }
  ScalarType type() const { return options_.type; }
  TensorOptions options() const { return options_; }
  Device device() const { return options_.where; }
  int get_device() const { return is_cuda() ? 0 : -1; }
  Layout layout() const { return kStrided; }
  bool is_cuda() const { return options_.where.is_cuda(); }
  bool is_cpu() const { return !is_cuda(); }
  bool is_floating_point() const { return isFloatingType(options_.type); }
  bool requires_grad() const { return false; }
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    std::int64_t dense = 1;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      if (sizes_[i] != 1 && strides_[i] != dense) {
        return false;
      }
      dense *= sizes_[i];
    }
    return true;
  }

  void* data_ptr() const {
    return storage_ == nullptr ? nullptr
                               : static_cast<char*>(storage_->memory) + offset_ * element_size();
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data_ptr() const {
    constexpr ScalarType wanted = CppTypeToScalarType<std::remove_const_t<T>>::value;
    if (wanted != ScalarType::Undefined && wanted != options_.type) {
      throw Error(std::string("expected scalar type ") + toString(wanted) + " but found " +
                  toString(options_.type));
    }
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }

  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    return is_contiguous() ? *this : clone();
  }
  Tensor clone() const;
  Tensor to(ScalarType type) const;
  Tensor to(Device device) const;
  Tensor to(DeviceType kind) const { return to(Device(kind)); }
  Tensor to(TensorOptions options) const { return to(options.type).to(options.where); }
  Tensor to(Device device, ScalarType type) const { return to(type).to(device); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor detach() const { return *this; }
  Tensor& zero_() { return fill_bytes(0); }
  template <class T>
  T item() const {
    T value{};
    if (nbytes() != sizeof(T)) {
      throw Error("item() needs a tensor of one element of this type");
    }
    cudaMemcpy(&value, data_ptr(), sizeof(T), cudaMemcpyDefault);
    return value;
  }

  Scalar item() const;

  void record_stream(cudaStream_t) const {}

  std::tuple<Tensor, Tensor> sort(std::int64_t mode = -1, bool descending = false) const;
  std::tuple<Tensor, Tensor> sort(std::optional<bool> stable, std::int64_t mode = -1,
                                  bool descending = false) const;
  Tensor argsort(std::int64_t mode = -1, bool descending = false) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(std::int64_t mode, bool keeps = false) const;
  std::tuple<Tensor, Tensor> min(std::int64_t mode, bool keeps = false) const;
  Tensor index_select(std::int64_t mode, const Tensor& index) const;

  // What indexes the elements by several numbers: on the host, or in a kernel.
  template <class T, std::size_t modes>
  TensorAccessor<T, modes> accessor() const {
    return {checked_for_accessor<T, modes>(), sizes_.data(), strides_.data()};
  }
  template <class T, std::size_t modes, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, modes, std::int32_t> packed_accessor32() const {
    return {checked_for_accessor<T, modes>(), sizes_, strides_};
  }
  template <class T, std::size_t modes, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor<T, modes, std::int64_t> packed_accessor64() const {
    return {checked_for_accessor<T, modes>(), sizes_, strides_};
  }

  // Views of the same memory.
  Tensor view(IntArrayRef sizes) const {
    if (!is_contiguous()) {
      throw Error("view needs a contiguous tensor");
    }
    std::vector<std::int64_t> extents = sizes.vec();
    std::int64_t known = 1;
    for (const std::int64_t extent : extents) {
      known *= extent < 0 ? 1 : extent;
    }
    for (std::int64_t& extent : extents) {
      extent = extent < 0 ? numel() / (known == 0 ? 1 : known) : extent;
    }
    Tensor result(storage_, extents, options_);
    result.offset_ = offset_;
    if (result.numel() != numel()) {
      throw Error("view has another number of elements than the tensor");
    }
    return result;
  }
  Tensor reshape(IntArrayRef sizes) const { return contiguous().view(sizes); }
  Tensor flatten() const { return reshape({-1}); }
  Tensor transpose(std::int64_t a, std::int64_t b) const {
    Tensor result = *this;
    std::swap(result.sizes_.at(wrapped(a)), result.sizes_.at(wrapped(b)));
    std::swap(result.strides_.at(wrapped(a)), result.strides_.at(wrapped(b)));
    return result;
  }
  Tensor t() const { return transpose(0, 1); }
  Tensor unsqueeze(std::int64_t mode) const {
    Tensor result = *this;
    const std::int64_t at = mode < 0 ? mode + dim() + 1 : mode;
    const std::int64_t step = at < dim() ? sizes_.at(static_cast<std::size_t>(at)) *
                                               strides_.at(static_cast<std::size_t>(at))
                                         : 1;
    result.sizes_.insert(result.sizes_.begin() + at, 1);
    result.strides_.insert(result.strides_.begin() + at, step);
    return result;
  }

 private:
  template <class T, std::size_t modes>
  T* checked_for_accessor() const {
    if (dim() != static_cast<std::int64_t>(modes)) {
      throw Error("an accessor has as many modes as its tensor");
    }
    return data_ptr<T>();
  }
  std::size_t wrapped(std::int64_t mode) const {
    return static_cast<std::size_t>(mode < 0 ? mode + dim() : mode);
  }
  Tensor& fill_bytes(int value) {
    if (is_cuda()) {
      cudaMemset(data_ptr(), value, nbytes());
    } else {
      std::memset(data_ptr(), value, nbytes());
    }
    return *this;
  }

  std::shared_ptr<Storage> storage_;
  std::vector<std::int64_t> sizes_, strides_;
  TensorOptions options_;
  std::int64_t offset_ = 0;
};

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}, CT_GUEST_AT) {
  std::size_t elements = 1;
  for (const std::int64_t extent : sizes) {
    elements *= static_cast<std::size_t>(extent);
  }
  return Tensor(std::make_shared<Storage>(elements * elementSize(options.type),
                                          options.where.is_cuda(), place),
                sizes.vec(), options);
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}, CT_GUEST_AT) {
  Tensor result = empty(sizes, options, place);
  result.zero_();
  return result;
}
inline Tensor empty_like(const Tensor& tensor, CT_GUEST_AT) {
  return empty(tensor.sizes(), tensor.options(), place);
}
inline Tensor empty_like(const Tensor& tensor, TensorOptions options, CT_GUEST_AT) {
  return empty(tensor.sizes(), options, place);
}
inline Tensor zeros_like(const Tensor& tensor, CT_GUEST_AT) {
  return zeros(tensor.sizes(), tensor.options(), place);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions options = {}) {
  return Tensor(std::make_shared<Storage>(data), sizes.vec(), options);
}

namespace detail {

// Calls `use` with a value of the type, which only tells the type.
template <class Use>
void with_type(ScalarType type, Use use) {
  switch (type) {
    case kByte:
      return use(static_cast<unsigned char>(0));
    case kChar:
      return use(static_cast<signed char>(0));
    case kShort:
      return use(static_cast<short>(0));
    case kInt:
      return use(0);
    case kLong:
      return use(static_cast<std::int64_t>(0));
    case kHalf:
      return use(Half(0));
    case kFloat:
      return use(0.f);
    case kDouble:
      return use(0.);
    case kBool:
      return use(false);
    case kBFloat16:
      return use(BFloat16(0));
    default:
      throw Error(std::string("no conversion of ") + toString(type));
  }
}

inline std::vector<char> bytes_of(const Tensor& dense) {
  std::vector<char> bytes(dense.nbytes());
  cudaMemcpy(bytes.data(), dense.data_ptr(), bytes.size(), cudaMemcpyDefault);
  return bytes;
}
inline Tensor with_bytes(const std::vector<char>& bytes, IntArrayRef sizes, TensorOptions options) {
  Tensor result = empty(sizes, options);
  cudaMemcpy(result.data_ptr(), bytes.data(), bytes.size(), cudaMemcpyDefault);
  return result;
}

// Wide enough for every type's values. One type in the middle keeps the pairs of types few, which
// would all have to be compiled.
using Number = long double;
inline std::vector<Number> numbers_of(const Tensor& tensor) {
  const std::vector<char> bytes = bytes_of(tensor.contiguous());
  std::vector<Number> numbers(static_cast<std::size_t>(tensor.numel()));
  with_type(tensor.scalar_type(), [&](auto value) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
      numbers[i] = static_cast<Number>(value);
    }
  });
  return numbers;
}
inline Tensor with_numbers(const std::vector<Number>& numbers, IntArrayRef sizes,
                           TensorOptions options) {
  std::vector<char> bytes(numbers.size() * elementSize(options.type));
  with_type(options.type, [&](auto value) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      value = static_cast<decltype(value)>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  });
  return with_bytes(bytes, sizes, options);
}

inline Tensor filled(IntArrayRef sizes, Number value, TensorOptions options) {
  std::size_t elements = 1;
  for (const std::int64_t extent : sizes) {
    elements *= static_cast<std::size_t>(extent);
  }
  return with_numbers(std::vector<Number>(elements, value), sizes, options);
}

}  // namespace detail

template <class T>
Tensor full(IntArrayRef sizes, T value, TensorOptions options = {}) {
  return detail::filled(sizes, static_cast<detail::Number>(value), options);
}
inline Tensor ones(IntArrayRef sizes, TensorOptions options = {}) {
  return detail::filled(sizes, 1, options);
}
inline Tensor ones_like(const Tensor& tensor) {
  return detail::filled(tensor.sizes(), 1, tensor.options());
}

inline Tensor Tensor::clone() const {
  // Rows of a tensor that is not dense are gathered element by element on the host.
  std::vector<char> gathered(nbytes());
  std::vector<std::int64_t> index(sizes_.size(), 0);
  const auto element = itemsize();
  const char* const base = static_cast<const char*>(data_ptr());
  for (std::size_t at = 0; at < gathered.size(); at += element) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      from += index[i] * strides_[i];
    }
    cudaMemcpy(gathered.data() + at, base + from * element_size(), element, cudaMemcpyDefault);
    for (std::size_t i = index.size(); i-- > 0 && ++index[i] == sizes_[i];) {
      index[i] = 0;
    }
  }
  return detail::with_bytes(gathered, sizes_, options_);
}
inline Scalar Tensor::item() const {
  if (numel() != 1) {
    throw Error("item() needs a tensor of one element");
  }
  Scalar result;
  detail::with_type(options_.type, [&](auto value) {
    cudaMemcpy(&value, data_ptr(), sizeof(value), cudaMemcpyDefault);
    result = std::is_integral_v<decltype(value)> ? Scalar(static_cast<std::int64_t>(value))
                                                 : Scalar(static_cast<double>(value));
  });
  return result;
}
inline Tensor Tensor::to(Device device) const {
  if (device == options_.where) {
    return *this;
  }
  return detail::with_bytes(detail::bytes_of(contiguous()), sizes_, options_.device(device));
}
inline Tensor Tensor::to(ScalarType type) const {
  if (type == options_.type) {
    return *this;
  }
  return detail::with_numbers(detail::numbers_of(*this), sizes_, options_.dtype(type));
}

template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<Half> {
  using type = float;
};
template <>
struct OpMathType<BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
template <class T, bool>
using acc_type = typename OpMathType<T>::type;

}  // namespace at

#include "cornerturn_guest_torch_operations.hpp"

#include "cornerturn_guest_torch_macros.hpp"
