// PyTorch's macros, streams and modules. A module is never loaded: what it defines is only
// compiled.
#pragma once

namespace at::cuda {

struct CUDAStream {
  cudaStream_t handle = nullptr;
  operator cudaStream_t() const { return handle; }
  cudaStream_t stream() const { return handle; }
  void synchronize() const {}
};
inline CUDAStream getCurrentCUDAStream(int = 0) {
  return {};
}
inline CUDAStream getDefaultCUDAStream(int = 0) {
  return {};
}
inline CUDAStream getStreamFromPool(bool = false, int = 0) {
  return {};
}
inline int current_device() {
  return 0;
}
inline int device_count() {
  return 1;
}
inline bool is_available() {
  return true;
}
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  return &properties;
}
inline cudaDeviceProp* getDeviceProperties(int) {
  return getCurrentDeviceProperties();
}
// There is one device, which is always the current one.
struct CUDAGuard {
  template <class... A>
  explicit CUDAGuard(const A&...) {}
};
using OptionalCUDAGuard = CUDAGuard;
using CUDAStreamGuard = CUDAGuard;

}  // namespace at::cuda

namespace c10::cuda {
using namespace at::cuda;
}
namespace at {
inline Device device_of(const Tensor& tensor) {
  return tensor.device();
}
}  // namespace at
namespace torch {
using namespace at;
namespace cuda {
using namespace at::cuda;
inline void synchronize(int = 0) {
  cudaDeviceSynchronize();
}
}  // namespace cuda

// What PYBIND11_MODULE and TORCH_LIBRARY define their functions on.
struct Library {
  template <class... A>
  Library& def(A&&...) {
    return *this;
  }
  template <class... A>
  Library& impl(A&&...) {
    return *this;
  }
  template <class... A>
  void attr(A&&...) {}
  const char*& doc() {
    static const char* text;
    return text;
  }
};
}  // namespace torch

namespace pybind11 {
using module = torch::Library;
using module_ = torch::Library;
struct arg {
  explicit arg(const char*) {}
  template <class T>
  arg& operator=(const T&) {
    return *this;
  }
  arg& none(bool = true) { return *this; }
};
struct kw_only {};
namespace literals {
inline arg operator""_a(const char* name, std::size_t) {
  return arg(name);
}
}  // namespace literals
}  // namespace pybind11
namespace py = pybind11;

#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME cornerturn_extension
#endif
#define CT_GUEST_JOIN(A, B) CT_GUEST_JOIN_(A, B)
#define CT_GUEST_JOIN_(A, B) A##B
#define CT_GUEST_MODULE(M) \
  [[maybe_unused]] static void CT_GUEST_JOIN(cornerturn_module_, __COUNTER__)(torch::Library & M)
#define PYBIND11_MODULE(NAME, M, ...) CT_GUEST_MODULE(M)
#define TORCH_LIBRARY(NAME, M) CT_GUEST_MODULE(M)
#define TORCH_LIBRARY_FRAGMENT(NAME, M) CT_GUEST_MODULE(M)
#define TORCH_LIBRARY_EXPAND(NAME, M) CT_GUEST_MODULE(M)
#define TORCH_LIBRARY_IMPL(NAME, KEY, M) CT_GUEST_MODULE(M)
#define TORCH_FN(F) F
#define TORCH_API
#define C10_EXPORT

// Checks throw, as PyTorch's do.
#define TORCH_CHECK(CONDITION, ...)         \
  if (!(CONDITION)) {                       \
    ::c10::fail(#CONDITION, ##__VA_ARGS__); \
  }
#define TORCH_CHECK_EQ(A, B) TORCH_CHECK((A) == (B), #A " == " #B " does not hold")
#define TORCH_CHECK_NE(A, B) TORCH_CHECK((A) != (B), #A " != " #B " does not hold")
#define TORCH_CHECK_LE(A, B) TORCH_CHECK((A) <= (B), #A " <= " #B " does not hold")
#define TORCH_CHECK_LT(A, B) TORCH_CHECK((A) < (B), #A " < " #B " does not hold")
#define TORCH_CHECK_GE(A, B) TORCH_CHECK((A) >= (B), #A " >= " #B " does not hold")
#define TORCH_CHECK_GT(A, B) TORCH_CHECK((A) > (B), #A " > " #B " does not hold")
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define AT_ERROR(...) ::c10::fail("false", ##__VA_ARGS__)
#define TORCH_WARN(...) static_cast<void>(0)
#define TORCH_WARN_ONCE(...) static_cast<void>(0)
#define C10_CUDA_CHECK(CALL)                                          \
  do {                                                                \
    const cudaError_t cornerturn_error = (CALL);                      \
    TORCH_CHECK(cornerturn_error == cudaSuccess,                      \
                "CUDA error: ", cudaGetErrorString(cornerturn_error)) \
  } while (0)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define CUDA_CHECK_TORCH C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

// One instance of a function for each type of element, chosen by the tensor's.
#define AT_DISPATCH_CASE(TYPE, ...)                             \
  case TYPE: {                                                  \
    using scalar_t = typename ::at::detail::TypeOf<TYPE>::type; \
    return __VA_ARGS__();                                       \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                  \
  [&] {                                                                      \
    const ::at::ScalarType cornerturn_type = (TYPE);                         \
    switch (cornerturn_type) {                                               \
      __VA_ARGS__                                                            \
      default:                                                               \
        throw ::c10::Error(std::string(NAME) + " is not implemented for '" + \
                           ::c10::toString(cornerturn_type) + "'");          \
    }                                                                        \
  }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...)   \
  AT_DISPATCH_CASE(::at::kDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  AT_DISPATCH_CASE(::at::kByte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::kChar, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::kInt, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::at::kLong, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(EXTRA, TYPE, NAME, ...)    \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(EXTRA, EXTRA2, TYPE, NAME, ...)             \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                    \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE( \
                         EXTRA, __VA_ARGS__) AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::at::kHalf, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                \
                     AT_DISPATCH_CASE(::at::kHalf, __VA_ARGS__) \
                         AT_DISPATCH_CASE(::at::kBFloat16, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(EXTRA, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                          \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(EXTRA, EXTRA2, TYPE, NAME, ...)                                \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                  \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(EXTRA, __VA_ARGS__) \
                         AT_DISPATCH_CASE(EXTRA2, __VA_ARGS__))

namespace at::detail {
using namespace c10;
template <ScalarType>
struct TypeOf;
#define CT_GUEST_TYPE_OF(TYPE, NAME) \
  template <>                        \
  struct TypeOf<ScalarType::NAME> {  \
    using type = TYPE;               \
  };
CT_GUEST_SCALAR_TYPES(CT_GUEST_TYPE_OF)
#undef CT_GUEST_TYPE_OF
}  // namespace at::detail
