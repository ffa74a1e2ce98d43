// DLPack 1.x, the part that is used here: how libraries show each other their arrays. The
// structures are those of https://github.com/dmlc/dlpack (include/dlpack/dlpack.h).
#pragma once

#include <cstdint>

namespace cornerturn::python::dlpack {

constexpr std::int32_t on_cpu = 1;
constexpr std::int32_t on_cuda = 2;
constexpr std::int32_t on_cuda_host = 3;  ///< pinned memory
constexpr std::int32_t on_cuda_managed = 13;

constexpr std::uint8_t complex_number = 5;  ///< of the type codes

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

struct Device {
  std::int32_t type = 0;
  std::int32_t number = 0;
};

struct DataType {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 0;
};

/// Strides are in elements; null: packed.
struct Tensor {
  void* data = nullptr;
  Device device;
  std::int32_t rank = 0;
  DataType type;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;
};

struct Managed {
  Tensor tensor;
  void* context = nullptr;
  void (*deleter)(Managed*) = nullptr;
};

constexpr std::uint64_t read_only = 1;
constexpr std::uint64_t sub_byte_padded = 4;

struct ManagedVersioned {
  Version version;
  void* context = nullptr;
  void (*deleter)(ManagedVersioned*) = nullptr;
  std::uint64_t flags = 0;
  Tensor tensor;
};

/// The functions of a library, from the capsule `type(x).__dlpack_c_exchange_api__`. They return 0,
/// or -1 with a Python exception set.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous = nullptr;
  void* allocate = nullptr;
  void* managed_of = nullptr;
  void* object_of = nullptr;
  /// Describes an array without taking hold of it.
  int (*tensor_of)(void* object, Tensor* out) = nullptr;
  int (*current_stream)(std::int32_t device_type, std::int32_t device, void** out) = nullptr;
};

}  // namespace cornerturn::python::dlpack
