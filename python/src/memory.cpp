#include "memory.hpp"

#include <array>
#include <limits>

#include "core/problem.hpp"
#include "execute.hpp"

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

// By DLPack's type code.
constexpr std::array<const char*, 18> type_names = {"int",
                                                    "uint",
                                                    "float",
                                                    "opaque",
                                                    "bfloat",
                                                    "complex",
                                                    "bool",
                                                    "float8_e3m4",
                                                    "float8_e4m3",
                                                    "float8_e4m3b11fnuz",
                                                    "float8_e4m3fn",
                                                    "float8_e4m3fnuz",
                                                    "float8_e5m2",
                                                    "float8_e5m2fnuz",
                                                    "float8_e8m0fnu",
                                                    "float6_e2m3fn",
                                                    "float6_e3m2fn",
                                                    "float4_e2m1fn"};
constexpr int first_with_size_in_name = 6;

std::string name_of(const dlpack::DataType& type) {
  std::string name = type.code < type_names.size() ? type_names[type.code]
                                                   : "dlpack" + std::to_string(type.code) + "_";
  if (type.code < first_with_size_in_name || type.code >= type_names.size()) {
    name += std::to_string(type.bits);
  }
  if (type.lanes > 1) name += "x" + std::to_string(type.lanes);
  return name;
}

[[noreturn]] void refuse_capsule(const std::string& what) {
  throw nb::buffer_error(what.c_str());
}

// What a capsule says may be anything: its shape is read when its rank is known to be one.
void check_shape(const dlpack::Tensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > max_rank) {
    refuse_capsule("its rank is " + std::to_string(tensor.rank) + ": it has to be 0 to " +
                   std::to_string(max_rank));
  }
  if (tensor.rank > 0 && tensor.shape == nullptr) {
    refuse_capsule("its rank is " + std::to_string(tensor.rank) + ", but it has no shape");
  }
  bool any_elements = true;
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 256;
  for (int i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] < 0) {
      refuse_capsule("its shape[" + std::to_string(i) + "] is " + std::to_string(tensor.shape[i]) +
                     ": extents are not negative");
    }
    any_elements = any_elements && tensor.shape[i] > 0;
    if (any_elements) most /= tensor.shape[i];
  }
  if (any_elements && most == 0) refuse_capsule("it has more elements than memory has bytes");
  if (any_elements && tensor.data == nullptr)
    refuse_capsule("it has elements, but its address is null");
  if (tensor.type.bits == 0 || tensor.type.lanes == 0) refuse_capsule("its elements have no bits");
}

void describe(Memory& memory, const dlpack::Tensor& tensor, bool padded) {
  check_shape(tensor);
  switch (tensor.device.type) {
    case dlpack::on_cpu:
    case dlpack::on_cuda_host:
      memory.device = host;
      break;
    case dlpack::on_cuda:
    case dlpack::on_cuda_managed:
      memory.device = tensor.device.number;
      break;
    default:
      throw nb::buffer_error("it lies neither in host memory nor on a CUDA GPU");
  }
  const int bits = tensor.type.bits * tensor.type.lanes;
  if (bits % 8 != 0 && !padded) {
    throw nb::buffer_error("its elements are smaller than a byte and packed");
  }
  memory.address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  memory.itemsize = (bits + 7) / 8;
  memory.dtype = name_of(tensor.type);
  const auto rank = static_cast<std::size_t>(tensor.rank);
  memory.shape.assign(tensor.shape, tensor.shape + rank);
  memory.strides.resize(rank);
  std::int64_t packed = 1;
  for (std::size_t i = rank; i-- > 0;) {
    memory.strides[i] = (tensor.strides != nullptr ? tensor.strides[i] : packed) * memory.itemsize;
    packed *= memory.shape[i];
  }
}

// The array in a capsule called `name`, which then is called `used`; null if it has another name.
template <class Managed>
Managed* take(nb::handle capsule, const char* name, const char* used) {
  if (PyCapsule_IsValid(capsule.ptr(), name) == 0) return nullptr;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  PyCapsule_SetName(capsule.ptr(), used);
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  return managed;
}

template <class Managed>
std::shared_ptr<void> owner_of(Managed* managed) {
  return {managed, [](void* p) {
            auto* m = static_cast<Managed*>(p);
            if (m->deleter != nullptr) m->deleter(m);
          }};
}

}  // namespace

Memory Memory::from_dlpack(nb::handle capsule) {
  Memory memory;
  if (auto* managed = take<dlpack::ManagedVersioned>(capsule, "dltensor_versioned",
                                                     "used_dltensor_versioned")) {
    memory.owner_ = owner_of(managed);
    if (managed->version.major != 1) throw nb::buffer_error("its DLPack version is not 1");
    memory.readonly = (managed->flags & dlpack::read_only) != 0;
    describe(memory, managed->tensor, (managed->flags & dlpack::sub_byte_padded) != 0);
  } else if (auto* old = take<dlpack::Managed>(capsule, "dltensor", "used_dltensor")) {
    memory.owner_ = owner_of(old);
    describe(memory, old->tensor, false);
  } else {
    throw nb::buffer_error("__dlpack__ returned no DLPack capsule");
  }
  return memory;
}

Memory Memory::from_buffer(nb::handle object) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FULL_RO) != 0) nb::raise_python_error();
  Memory memory;
  const auto rank = static_cast<std::size_t>(view->ndim);
  memory.address = reinterpret_cast<std::uintptr_t>(view->buf);
  memory.itemsize = view->itemsize;
  memory.shape.assign(view->shape, view->shape + rank);
  memory.strides.assign(view->strides, view->strides + rank);
  memory.readonly = view->readonly != 0;
  memory.dtype = view->format != nullptr ? view->format : "B";
  const bool indirect = view->suboffsets != nullptr;
  memory.owner_ = {view.release(), [](void* p) {
                     auto* buffer = static_cast<Py_buffer*>(p);
                     PyBuffer_Release(buffer);
                     delete buffer;
                   }};
  if (indirect) throw nb::buffer_error("its rows are reached through pointers");
  return memory;
}

}  // namespace cornerturn::python
