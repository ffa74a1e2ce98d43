#include "quick.hpp"

#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <utility>

#include "quick_numpy.hpp"
#include "quick_torch.hpp"

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

// The two types that are known, once an object of them has been seen. All of it happens with the
// GIL held; the types are never given back.
struct Known {
  PyTypeObject* numpy_type = nullptr;
  PyTypeObject* torch_type = nullptr;
  QuickArrays* numpy = nullptr;
  QuickArrays* torch = nullptr;
};
Known known;

bool is_type(PyTypeObject* type, std::string_view module, std::string_view name) {
  const nb::handle object(reinterpret_cast<PyObject*>(type));
  return nb::cast<std::string>(object.attr("__name__")) == name &&
         nb::cast<std::string>(object.attr("__module__")) == module;
}

// Remembers the type of `x` if it is one of the two.
void look_at(nb::handle x) {
  PyTypeObject* type = Py_TYPE(x.ptr());
  if (known.numpy == nullptr && is_type(type, "numpy", "ndarray")) {
    known.numpy = quick_numpy(x);
    known.numpy_type = type;
  } else if (known.torch == nullptr && is_type(type, "torch", "Tensor")) {
    known.torch = quick_torch(reinterpret_cast<PyObject*>(type));
    known.torch_type = type;
  } else {
    return;
  }
  Py_INCREF(reinterpret_cast<PyObject*>(type));
}

// Who knows arrays like `x`; null for others.
QuickArrays* arrays_like(nb::handle x) {
  PyTypeObject* type = Py_TYPE(x.ptr());
  if (type != known.numpy_type && type != known.torch_type) look_at(x);
  if (type == known.numpy_type) return known.numpy;
  return type == known.torch_type ? known.torch : nullptr;
}

}  // namespace

nb::object quick_transpose(nb::handle x, nb::handle axes, nb::handle out, nb::handle dtype) {
  QuickArrays* arrays = arrays_like(x);
  return arrays == nullptr ? nb::none() : arrays->transpose(x, axes, out, {dtype, 1});
}

nb::object quick_convert(nb::handle x, nb::handle axes, nb::handle out, nb::handle dtype,
                         double alpha) {
  QuickArrays* arrays = arrays_like(x);
  return arrays == nullptr ? nb::none() : arrays->transpose(x, axes, out, {dtype, alpha});
}

nb::object quick_interleave(nb::handle list, std::vector<std::int64_t> numbers, std::int64_t rows,
                            std::int64_t row, std::vector<std::int64_t> shape) {
  // Of its own: the list may change while the GIL is released.
  const nb::object arrays = nb::steal(PySequence_Tuple(list.ptr()));
  if (!arrays.is_valid()) nb::raise_python_error();
  const auto count = static_cast<std::size_t>(PyTuple_Size(arrays.ptr()));
  if (count == 0 || count != numbers.size()) return nb::none();
  const nb::handle first = PyTuple_GetItem(arrays.ptr(), 0);
  for (std::size_t i = 1; i < count; ++i) {
    const nb::handle array = PyTuple_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(i));
    if (Py_TYPE(array.ptr()) != Py_TYPE(first.ptr())) return nb::none();
  }
  QuickArrays* known_arrays = arrays_like(first);
  if (known_arrays == nullptr) return nb::none();
  return known_arrays->interleave(arrays, {std::move(numbers), rows, row, std::move(shape)});
}

}  // namespace cornerturn::python
