// What is called of PyTorch: the functions of its stable C interface, which every PyTorch from 2.11
// on has, and a few of its C++ functions by their symbols. They are looked for in the PyTorch that
// the process has loaded, so that one build serves all versions and none is needed to build it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cornerturn::torch {

/// An argument or a result of a boxed kernel, StableIValue in PyTorch: a number, a tensor's handle,
/// or a pointer to the value of an optional argument, null for none.
using Value = std::uint64_t;
using BoxedKernel = void (*)(Value* stack, std::uint64_t arguments, std::uint64_t results);
using Failed = std::int32_t;  ///< 0: all went well

struct TensorObject;  ///< PyTorch's at::Tensor
struct LibraryObject;
using TensorHandle = TensorObject*;  ///< owned by whoever has it
using LibraryHandle = LibraryObject*;

/// c10::MemoryFormat, whose values the shim's functions say.
enum class MemoryFormat : std::int8_t {};

/// An at::Tensor as a result: it has a destructor, so it is returned in memory.
struct ReturnedTensor {
  void* implementation = nullptr;
  ~ReturnedTensor() {}  // NOLINT: whoever called has taken the tensor over
};

struct Shim {
  // torch/csrc/inductor/aoti_torch/c/shim.h
  Failed (*library_init_impl)(const char* space, const char* key, const char* file,
                              std::uint32_t line, LibraryHandle* made) = nullptr;
  Failed (*delete_library_object)(LibraryHandle) = nullptr;
  Failed (*delete_tensor_object)(TensorHandle) = nullptr;
  Failed (*get_dim)(TensorHandle, std::int64_t* rank) = nullptr;
  Failed (*get_sizes)(TensorHandle, std::int64_t** sizes) = nullptr;
  Failed (*get_strides)(TensorHandle, std::int64_t** strides) = nullptr;
  Failed (*get_dtype)(TensorHandle, std::int32_t* dtype) = nullptr;
  Failed (*get_device_type)(TensorHandle, std::int32_t* type) = nullptr;
  Failed (*get_device_index)(TensorHandle, std::int32_t* index) = nullptr;
  std::size_t (*dtype_element_size)(std::int32_t dtype) = nullptr;
  Failed (*empty_strided)(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
                          std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                          TensorHandle* made) = nullptr;
  std::int32_t (*contiguous_format)() = nullptr;
  std::int32_t (*channels_last)() = nullptr;
  std::int32_t (*channels_last_3d)() = nullptr;
  /// Null where this PyTorch has no CUDA.
  Failed (*current_cuda_stream)(std::int32_t device, void** stream) = nullptr;

  // torch/csrc/stable/c/shim.h
  Failed (*library_impl)(LibraryHandle, const char* name, BoxedKernel,
                         std::uint64_t built_for) = nullptr;
  Failed (*get_const_data_ptr)(TensorHandle, const void** data) = nullptr;
  Failed (*get_mutable_data_ptr)(TensorHandle, void** data) = nullptr;
  Failed (*get_num_threads)(std::uint32_t* threads) = nullptr;

  // ATen. The stable interface can neither call the kernel that another one replaces nor ask for
  // the bits that say how a tensor's memory is read.
  ReturnedTensor (*clone)(const TensorObject& x, std::optional<MemoryFormat> format) = nullptr;
  TensorObject& (*copy)(TensorObject& self, const TensorObject& src, bool non_blocking) = nullptr;
  bool (*is_conj)(const TensorObject&) = nullptr;
  bool (*is_neg)(const TensorObject&) = nullptr;
  bool (*is_zerotensor)(const TensorObject&) = nullptr;
  bool (*has_names)(const void* implementation) = nullptr;
};

/// The functions of the PyTorch that is loaded. Throws Error(unsupported), which says what is
/// missing, where there is none, or one without a function that is needed.
const Shim& shim();

/// PyTorch 2.11: whose boxed values are meant.
inline constexpr std::uint64_t built_for = std::uint64_t{2} << 56 | std::uint64_t{11} << 48;

}  // namespace cornerturn::torch
