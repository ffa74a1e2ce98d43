#include "torch/shim.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "cornerturn/error.hpp"

namespace cornerturn::torch {
namespace {

// A library that is loaded already; null: it is not.
void* loaded(const char* name) {
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
void find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr) {
    throw Error(
        Status::unsupported,
        fmt::format("PyTorch: its library has no function {}, which PyTorch 2.11 has", symbol));
  }
}

void find_stable(void* library, Shim& found) {
  find(library, "aoti_torch_library_init_impl", found.library_init_impl);
  find(library, "aoti_torch_delete_library_object", found.delete_library_object);
  find(library, "aoti_torch_delete_tensor_object", found.delete_tensor_object);
  find(library, "aoti_torch_get_dim", found.get_dim);
  find(library, "aoti_torch_get_sizes", found.get_sizes);
  find(library, "aoti_torch_get_strides", found.get_strides);
  find(library, "aoti_torch_get_dtype", found.get_dtype);
  find(library, "aoti_torch_get_device_type", found.get_device_type);
  find(library, "aoti_torch_get_device_index", found.get_device_index);
  find(library, "aoti_torch_dtype_element_size", found.dtype_element_size);
  find(library, "aoti_torch_empty_strided", found.empty_strided);
  find(library, "aoti_torch_memory_format_contiguous_format", found.contiguous_format);
  find(library, "aoti_torch_memory_format_channels_last", found.channels_last);
  find(library, "aoti_torch_memory_format_channels_last_3d", found.channels_last_3d);
  find(library, "torch_library_impl", found.library_impl);
  find(library, "torch_get_const_data_ptr", found.get_const_data_ptr);
  find(library, "torch_get_mutable_data_ptr", found.get_mutable_data_ptr);
  find(library, "torch_get_num_threads", found.get_num_threads);
}

void find_aten(void* library, Shim& found) {
  find(library, "_ZN2at6native5cloneERKNS_6TensorESt8optionalIN3c1012MemoryFormatEE", found.clone);
  find(library, "_ZN2at6native5copy_ERNS_6TensorERKS1_b", found.copy);
  find(library, "_ZN2at6native7is_conjERKNS_6TensorE", found.is_conj);
  find(library, "_ZN2at6native6is_negERKNS_6TensorE", found.is_neg);
  find(library, "_ZN2at6native14_is_zerotensorERKNS_6TensorE", found.is_zerotensor);
  find(library, "_ZN2at4impl9has_namesEPKN3c1010TensorImplE", found.has_names);
}

Shim found_shim() {
  Shim found;
  void* const library = loaded("libtorch_cpu.so");
  if (library == nullptr) {
    throw Error(Status::unsupported, "PyTorch: this process has not loaded libtorch_cpu.so");
  }
  find_stable(library, found);
  find_aten(library, found);
  if (void* const cuda = loaded("libtorch_cuda.so"); cuda != nullptr) {
    find(cuda, "aoti_torch_get_current_cuda_stream", found.current_cuda_stream);
  }
  return found;
}

}  // namespace

const Shim& shim() {
  static const Shim found = found_shim();
  return found;
}

}  // namespace cornerturn::torch
