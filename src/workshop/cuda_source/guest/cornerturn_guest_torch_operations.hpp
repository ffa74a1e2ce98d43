// The few operations on whole tensors that extensions do around their launches: all of them are
// done on the host, where nothing is counted.
#pragma once

#include <algorithm>
#include <numeric>

#include "cornerturn_guest_torch.hpp"

namespace at {
namespace detail {

// A dense tensor as [outer][extent][inner] around one of its modes.
struct Around {
  std::int64_t outer = 1, extent = 1, inner = 1;
  Around(const Tensor& tensor, std::int64_t mode) {
    for (std::int64_t i = 0; i < tensor.dim(); ++i) {
      (i < mode ? outer : i == mode ? extent : inner) *= tensor.size(i);
    }
  }
};

inline std::int64_t wrapped_mode(const Tensor& tensor, std::int64_t mode) {
  const std::int64_t at = mode < 0 ? mode + tensor.dim() : mode;
  if (at < 0 || at >= tensor.dim()) {
    throw Error("Dimension out of range");
  }
  return at;
}

// The elements along a mode in order, with their places, as many of them as `kept`.
inline std::tuple<Tensor, Tensor> ordered(const Tensor& tensor, std::int64_t mode,
                                          std::int64_t kept, bool keeps_mode, bool descending) {
  mode = wrapped_mode(tensor, mode);
  const Around around(tensor, mode);
  const std::vector<Number> numbers = numbers_of(tensor);
  const auto lines = static_cast<std::size_t>(around.outer * around.inner);
  std::vector<Number> values(lines * static_cast<std::size_t>(kept));
  std::vector<Number> places(values.size());
  std::vector<std::int64_t> order(static_cast<std::size_t>(around.extent));
  for (std::int64_t line = 0; line < around.outer * around.inner; ++line) {
    const std::int64_t column = line % around.inner, row = line / around.inner;
    const auto number = [&](std::int64_t i) {
      return numbers[static_cast<std::size_t>((row * around.extent + i) * around.inner + column)];
    };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return descending ? number(b) < number(a) : number(a) < number(b);
    });
    for (std::int64_t i = 0; i < kept; ++i) {
      const auto at = static_cast<std::size_t>((row * kept + i) * around.inner + column);
      places[at] = static_cast<Number>(order[static_cast<std::size_t>(i)]);
      values[at] = number(order[static_cast<std::size_t>(i)]);
    }
  }
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[static_cast<std::size_t>(mode)] = kept;
  if (!keeps_mode) {
    sizes.erase(sizes.begin() + mode);
  }
  return {with_numbers(values, sizes, tensor.options()),
          with_numbers(places, sizes, tensor.options().dtype(kLong))};
}

}  // namespace detail

inline std::tuple<Tensor, Tensor> sort(const Tensor& tensor, std::int64_t mode = -1,
                                       bool descending = false) {
  return detail::ordered(tensor, mode, tensor.size(mode), true, descending);
}
inline std::tuple<Tensor, Tensor> Tensor::sort(std::int64_t mode, bool descending) const {
  return at::sort(*this, mode, descending);
}
inline std::tuple<Tensor, Tensor> Tensor::sort(std::optional<bool>, std::int64_t mode,
                                               bool descending) const {
  return at::sort(*this, mode, descending);  // which is stable
}
inline Tensor argsort(const Tensor& tensor, std::int64_t mode = -1, bool descending = false) {
  return std::get<1>(sort(tensor, mode, descending));
}
inline Tensor Tensor::argsort(std::int64_t mode, bool descending) const {
  return at::argsort(*this, mode, descending);
}

inline std::tuple<Tensor, Tensor> max(const Tensor& tensor, std::int64_t mode, bool keeps = false) {
  return detail::ordered(tensor, mode, 1, keeps, true);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& tensor, std::int64_t mode, bool keeps = false) {
  return detail::ordered(tensor, mode, 1, keeps, false);
}
inline Tensor max(const Tensor& tensor) {
  return std::get<0>(max(tensor.flatten(), 0));
}
inline Tensor min(const Tensor& tensor) {
  return std::get<0>(min(tensor.flatten(), 0));
}
inline Tensor Tensor::max() const {
  return at::max(*this);
}
inline Tensor Tensor::min() const {
  return at::min(*this);
}
inline std::tuple<Tensor, Tensor> Tensor::max(std::int64_t mode, bool keeps) const {
  return at::max(*this, mode, keeps);
}
inline std::tuple<Tensor, Tensor> Tensor::min(std::int64_t mode, bool keeps) const {
  return at::min(*this, mode, keeps);
}

inline Tensor index_select(const Tensor& tensor, std::int64_t mode, const Tensor& index) {
  mode = detail::wrapped_mode(tensor, mode);
  const detail::Around around(tensor, mode);
  const std::vector<detail::Number> places = detail::numbers_of(index);
  const std::vector<char> from = detail::bytes_of(tensor.contiguous());
  const auto row = static_cast<std::size_t>(around.inner) * tensor.itemsize();
  std::vector<char> to;
  to.reserve(static_cast<std::size_t>(around.outer) * places.size() * row);
  for (std::int64_t o = 0; o < around.outer; ++o) {
    for (const detail::Number number : places) {
      const auto place = static_cast<std::int64_t>(number);
      if (place < 0 || place >= around.extent) {
        throw Error("index_select: index out of range");
      }
      const auto* first = from.data() + static_cast<std::size_t>(o * around.extent + place) * row;
      to.insert(to.end(), first, first + row);
    }
  }
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[static_cast<std::size_t>(mode)] = static_cast<std::int64_t>(places.size());
  return detail::with_bytes(to, sizes, tensor.options());
}
inline Tensor Tensor::index_select(std::int64_t mode, const Tensor& index) const {
  return at::index_select(*this, mode, index);
}

/// A tensor of one mode with these elements, which are whole numbers of 64 bits or floats where
/// nothing else is said.
template <class T>
Tensor tensor(const std::vector<T>& values, TensorOptions options) {
  const std::vector<detail::Number> numbers(values.begin(), values.end());
  return detail::with_numbers(numbers, {static_cast<std::int64_t>(values.size())}, options);
}
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return at::tensor(values, TensorOptions(std::is_integral_v<T> ? kLong : kFloat));
}
template <class T>
Tensor tensor(std::initializer_list<T> values, TensorOptions options) {
  return at::tensor(std::vector<T>(values), options);
}
template <class T>
Tensor tensor(std::initializer_list<T> values) {
  return at::tensor(std::vector<T>(values));
}

inline Tensor arange(std::int64_t from, std::int64_t to, TensorOptions options) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(std::max<std::int64_t>(0, to - from)));
  std::iota(values.begin(), values.end(), from);
  return at::tensor(values, options);
}
inline Tensor arange(std::int64_t to, TensorOptions options = TensorOptions(kLong)) {
  return arange(0, to, options);
}

}  // namespace at
