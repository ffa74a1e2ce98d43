// What indexes a tensor's elements by several numbers. The packed kind is passed to kernels.
#pragma once

#include <cstdint>
#include <vector>

namespace at {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T*;
};

template <class T, std::size_t modes, class Index = std::int64_t>
class TensorAccessor {
 public:
  CT_GUEST_INLINE TensorAccessor(T* data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  CT_GUEST_INLINE TensorAccessor<T, modes - 1, Index> operator[](Index i) const {
    return {data_ + i * strides_[0], sizes_ + 1, strides_ + 1};
  }
  CT_GUEST_INLINE Index size(Index mode) const { return sizes_[mode]; }
  CT_GUEST_INLINE Index stride(Index mode) const { return strides_[mode]; }
  CT_GUEST_INLINE T* data() const { return data_; }

 private:
  T* data_;
  const Index* sizes_;
  const Index* strides_;
};

template <class T, class Index>
class TensorAccessor<T, 1, Index> {
 public:
  CT_GUEST_INLINE TensorAccessor(T* data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  CT_GUEST_INLINE T& operator[](Index i) const { return data_[i * strides_[0]]; }
  CT_GUEST_INLINE Index size(Index mode) const { return sizes_[mode]; }
  CT_GUEST_INLINE Index stride(Index mode) const { return strides_[mode]; }
  CT_GUEST_INLINE T* data() const { return data_; }

 private:
  T* data_;
  const Index* sizes_;
  const Index* strides_;
};

// It holds the sizes itself, so that a kernel does not read the host's.
template <class T, std::size_t modes, class Index>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides)
      : data_(data) {
    for (std::size_t i = 0; i < modes; ++i) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
  CT_GUEST_INLINE decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, modes, Index>(data_, sizes_, strides_)[i];
  }
  CT_GUEST_INLINE Index size(Index mode) const { return sizes_[mode]; }
  CT_GUEST_INLINE Index stride(Index mode) const { return strides_[mode]; }
  CT_GUEST_INLINE T* data() const { return data_; }

 private:
  T* data_;
  Index sizes_[modes];
  Index strides_[modes];
};

template <class T, std::size_t modes, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, modes, std::int32_t>;
template <class T, std::size_t modes, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, modes, std::int64_t>;

}  // namespace at
