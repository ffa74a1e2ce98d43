#include "quick_torch.hpp"

#include <algorithm>
#include <array>

#include "cuda/backend.hpp"
#include "dlpack.hpp"

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

// extent_of(i) for `rank` axes, as a tuple.
template <class ExtentOf>
nb::object shape_of_result(int rank, const ExtentOf& extent_of) {
  nb::object shape = nb::steal(PyTuple_New(rank));
  if (!shape.is_valid()) nb::raise_python_error();
  for (int i = 0; i < rank; ++i) {
    PyTuple_SetItem(shape.ptr(), i, PyLong_FromLongLong(extent_of(i)));
  }
  return shape;
}

// The strides of a packed array of `shape`, in elements.
nb::object packed(nb::handle shape, int rank) {
  nb::object strides = nb::steal(PyTuple_New(rank));
  if (!strides.is_valid()) nb::raise_python_error();
  long long step = 1;
  for (int i = rank; i-- > 0;) {
    PyTuple_SetItem(strides.ptr(), i, PyLong_FromLongLong(step));
    step *= std::max(PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), i)), 1LL);
  }
  return strides;
}
// Names that are looked up in every call. They live as long as the process.
nb::handle interned(const char* text) {
  return PyUnicode_InternFromString(text);
}

bool is_true(nb::handle object, nb::handle attribute) {
  const nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), attribute.ptr()));
  if (!value.is_valid()) nb::raise_python_error();
  return value.ptr() == Py_True;
}

bool says_true(nb::handle object, nb::handle method) {
  PyObject* arguments[] = {object.ptr()};
  const nb::object value = nb::steal(PyObject_VectorcallMethod(
      method.ptr(), arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!value.is_valid()) nb::raise_python_error();
  return value.ptr() == Py_True;
}
class Torch : public QuickArrays {
 public:
  explicit Torch(nb::handle tensor_type) {
    const nb::object capsule = nb::getattr(tensor_type, "__dlpack_c_exchange_api__", nb::none());
    if (capsule.is_none()) return;
    auto* api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (api == nullptr) nb::raise_python_error();
    while (api != nullptr && api->version.major != 1) api = api->previous;
    if (api != nullptr && api->tensor_of != nullptr) api_ = api;
    const nb::module_ internals = nb::module_::import_("torch._C");
    const nb::object guards = nb::getattr(internals.attr("_dynamo"), "guards", nb::none());
    empty_on_cpu_ = nb::getattr(guards, "_empty_strided_cpu", nb::none()).release();
    empty_on_gpu_ = nb::getattr(guards, "_empty_strided_cuda", nb::none()).release();
    modes_ = nb::getattr(internals, "_len_torch_dispatch_stack", nb::none()).release();
    is_tracing_ = nb::getattr(internals, "_is_tracing", nb::none()).release();
    increment_version_ = nb::getattr(internals, "_increment_version", nb::none()).release();
    forward_mode_ = nb::module_::import_("torch.autograd.forward_ad").release();
    profiler_ = nb::module_::import_("torch.autograd.profiler").release();
    if (modes_.is_none() || is_tracing_.is_none() || increment_version_.is_none()) api_ = nullptr;
  }

  nb::object transpose(nb::handle x, nb::handle axes, nb::handle out,
                       const Change& change) override {
    Array source;
    AxisOrder order;
    if (!change.none() || api_ == nullptr || is_watched() || !read(x, source) ||
        !read_axes(axes, source.rank, order)) {
      return nb::none();
    }
    void* stream = nullptr;
    if (source.device != host &&
        api_->current_stream(dlpack::on_cuda, source.device, &stream) != 0) {
      nb::raise_python_error();
    }
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    Array target;
    nb::object result = nb::borrow(out);
    if (out.is_none()) {
      result = new_tensor(x, source.device, shape_of_result(source.rank, [&](int i) {
                            return source.shape[order[static_cast<std::size_t>(i)]];
                          }));
      if (!show(result, target)) return nb::none();
    } else if (Py_TYPE(out.ptr()) != Py_TYPE(x.ptr()) || !read(out, target)) {
      return nb::none();
    }
    const Sides* sides = permuted_into(source, target, order);
    if (sides == nullptr || !same_elements(source, target)) return nb::none();
    if (!try_to([&] { execute_quickly(*sides, source.device, number); })) return nb::none();
    if (!out.is_none()) was_written(out);
    return result;
  }

  nb::object interleave(nb::handle arrays, const Turns& turns) override {
    Stack stack;
    if (api_ == nullptr || is_watched() ||
        !read_all(arrays, turns, stack,
                  [this](nb::handle x, Array& array) { return read(x, array); })) {
      return nb::none();
    }
    const nb::handle first = PyTuple_GetItem(arrays.ptr(), 0);
    const nb::object result =
        new_tensor(first, host, shape_of_result(static_cast<int>(turns.shape.size()), [&](int i) {
                     return turns.shape[static_cast<std::size_t>(i)];
                   }));
    Array target;
    if (!show(result, target)) return nb::none();
    return try_to([&] { interleave_quickly(target.data, stack); }) ? result : nb::none();
  }

 private:
  // Autograd then knows that what it has kept of `x` is no longer there.
  void was_written(nb::handle x) const {
    const nb::object written = nb::steal(PyTuple_Pack(1, x.ptr()));
    if (!written.is_valid()) nb::raise_python_error();
    PyObject* arguments[] = {nullptr, written.ptr()};
    const nb::object done = nb::steal(PyObject_Vectorcall(
        increment_version_.ptr(), arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    if (!done.is_valid()) nb::raise_python_error();
  }

  // Has somebody an interest in what happens to any tensor: a mode, torch.jit.trace, autograd's
  // forward mode, or a profiler?
  bool is_watched() const {
    const nb::object modes = nb::steal(PyObject_CallNoArgs(modes_.ptr()));
    const nb::object tracing = nb::steal(PyObject_CallNoArgs(is_tracing_.ptr()));
    const nb::object level = nb::steal(PyObject_GetAttr(forward_mode_.ptr(), level_.ptr()));
    const nb::object profiling =
        nb::steal(PyObject_GetAttr(profiler_.ptr(), is_profiler_enabled_.ptr()));
    if (!modes.is_valid() || !tracing.is_valid() || !level.is_valid() || !profiling.is_valid()) {
      nb::raise_python_error();
    }
    return PyLong_AsLong(modes.ptr()) != 0 || tracing.ptr() == Py_True ||
           PyLong_AsLong(level.ptr()) >= 0 || profiling.ptr() == Py_True;
  }

  // False for a tensor that wants a gradient, or whose memory does not hold its values: numbers
  // that are negated when they are read, complex ones that are conjugated. To ask for that takes
  // longer than to ask for all else.
  bool read(nb::handle x, Array& array) const {
    if (is_true(x, requires_grad_) || !show(x, array) || array.data == 0) return false;
    return !says_true(x, is_neg_) &&
           (array.type != dlpack::complex_number || !says_true(x, is_conj_));
  }

  // A packed tensor for the result: by what the code that torch.compile generates calls, which
  // takes a third of the time of new_empty and knows the current GPU only.
  nb::object new_tensor(nb::handle x, int device, const nb::object& shape) const {
    const nb::handle empty = device == host                     ? empty_on_cpu_
                             : device == cuda::current_device() ? empty_on_gpu_
                                                                : nb::none();
    nb::object result;
    if (empty.is_none()) {
      PyObject* arguments[] = {x.ptr(), shape.ptr()};
      result = nb::steal(PyObject_VectorcallMethod(new_empty_.ptr(), arguments,
                                                   2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    } else {
      const nb::object strides = packed(shape, static_cast<int>(PyTuple_Size(shape.ptr())));
      const nb::object dtype = nb::steal(PyObject_GetAttr(x.ptr(), dtype_.ptr()));
      PyObject* arguments[] = {nullptr, shape.ptr(), strides.ptr(), dtype.ptr()};
      result = nb::steal(PyObject_Vectorcall(empty.ptr(), arguments + 1,
                                             3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    }
    if (!result.is_valid()) nb::raise_python_error();
    return result;
  }

  // False for what PyTorch cannot show: a tensor without memory of its own, or on another device.
  bool show(nb::handle x, Array& array) const {
    dlpack::Tensor tensor;
    if (api_->tensor_of(x.ptr(), &tensor) != 0) {
      PyErr_Clear();
      return false;
    }
    const int bits = tensor.type.bits * tensor.type.lanes;
    if (bits % 8 != 0 || tensor.rank > max_rank || tensor.strides == nullptr) return false;
    switch (tensor.device.type) {
      case dlpack::on_cpu:
      case dlpack::on_cuda_host:
        break;
      case dlpack::on_cuda:
        array.device = tensor.device.number;
        break;
      default:
        return false;
    }
    array.data = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
    array.itemsize = bits / 8;
    array.type = tensor.type.code;
    array.rank = tensor.rank;
    array.shape = tensor.shape;
    for (int i = 0; i < tensor.rank; ++i) {
      array.strides[static_cast<std::size_t>(i)] = tensor.strides[i] * array.itemsize;
    }
    return true;
  }

  const dlpack::ExchangeApi* api_ = nullptr;
  nb::handle requires_grad_ = interned("requires_grad");
  nb::handle is_neg_ = interned("is_neg");
  nb::handle is_conj_ = interned("is_conj");
  nb::handle new_empty_ = interned("new_empty");
  nb::handle dtype_ = interned("dtype");
  nb::handle level_ = interned("_current_level");
  nb::handle is_profiler_enabled_ = interned("_is_profiler_enabled");
  nb::handle empty_on_cpu_, empty_on_gpu_, modes_, is_tracing_, forward_mode_, profiler_;
  nb::handle increment_version_;
};

}  // namespace

QuickArrays* quick_torch(nb::handle tensor_type) {
  return new Torch(tensor_type);
}

}  // namespace cornerturn::python
