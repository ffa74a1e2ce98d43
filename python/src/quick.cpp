#include "quick.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "cornerturn/error.hpp"
#include "cuda/backend.hpp"
#include "dlpack.hpp"
#include "execute.hpp"

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

// An array, as long as it is not changed.
struct Array {
  std::uintptr_t data = 0;
  std::int64_t itemsize = 0;
  int rank = 0;
  const std::int64_t* shape = nullptr;
  std::array<std::int64_t, max_rank> strides;  ///< in bytes
  int device = host;
  std::uint64_t type = 0;  ///< differs where the dtypes do
};

// The axes in order, counted from the front. False unless `axes` names each of them once.
bool read_axes(nb::handle axes, int rank, std::array<int, max_rank>& order) {
  if (axes.is_none()) {
    for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
    return true;
  }
  if (!PyTuple_CheckExact(axes.ptr()) && !PyList_CheckExact(axes.ptr())) return false;
  if (PySequence_Size(axes.ptr()) != rank) return false;
  std::uint64_t seen = 0;
  for (int i = 0; i < rank; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(axes.ptr(), i));
    if (!item.is_valid() || !PyLong_CheckExact(item.ptr())) return false;
    int overflow = 0;
    const long axis = PyLong_AsLongAndOverflow(item.ptr(), &overflow);
    if (overflow != 0 || axis < -rank || axis >= rank) return false;
    const int from_front = static_cast<int>(axis < 0 ? axis + rank : axis);
    if ((seen >> from_front & 1) != 0) return false;
    seen |= std::uint64_t{1} << from_front;
    order[static_cast<std::size_t>(i)] = from_front;
  }
  return true;
}

// Both sides of a permutation from `src` into a packed array at `dst`. Valid until the thread's
// next call, whose vectors need no new memory.
Sides& permuted(const Array& src, std::uintptr_t dst, const std::array<int, max_rank>& order) {
  thread_local Sides sides;
  sides.dst = dst;
  sides.src = src.data;
  sides.itemsize = src.itemsize;
  const auto rank = static_cast<std::size_t>(src.rank);
  sides.shape.resize(rank);
  sides.dst_strides.resize(rank);
  sides.src_strides.resize(rank);
  std::int64_t step = src.itemsize;
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    sides.shape[i] = src.shape[axis];
    sides.src_strides[i] = src.strides[axis];
    sides.dst_strides[i] = step;
    step *= std::max<std::int64_t>(src.shape[axis], 1);
  }
  return sides;
}

// The same into `dst`. Null unless that has the right shape and place.
const Sides* permuted_into(const Array& src, const Array& dst,
                           const std::array<int, max_rank>& order) {
  if (dst.rank != src.rank || dst.device != src.device) return nullptr;
  Sides& sides = permuted(src, dst.data, order);
  if (!std::equal(sides.shape.begin(), sides.shape.end(), dst.shape)) return nullptr;
  sides.dst_strides.assign(dst.strides.begin(), dst.strides.begin() + dst.rank);
  return &sides;
}

bool same_elements(const Array& a, const Array& b) {
  return a.type == b.type && a.itemsize == b.itemsize;
}

nb::object shape_of_result(const Array& src, const std::array<int, max_rank>& order) {
  nb::object shape = nb::steal(PyTuple_New(src.rank));
  if (!shape.is_valid()) nb::raise_python_error();
  for (int i = 0; i < src.rank; ++i) {
    const std::int64_t extent = src.shape[order[static_cast<std::size_t>(i)]];
    PyTuple_SetItem(shape.ptr(), i, PyLong_FromLongLong(extent));
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

// Without the GIL, unless that would take as long as the work itself.
void run(const Sides& sides, int device, std::uintptr_t stream) {
  constexpr std::int64_t few_bytes = 32 << 10;
  std::int64_t bytes = sides.itemsize;
  for (const std::int64_t extent : sides.shape) {
    if (bytes <= few_bytes || extent == 0) bytes *= extent;
  }
  if (device == host && bytes <= few_bytes) return execute(sides, device, stream);
  const nb::gil_scoped_release released;
  execute_in_pieces(sides, device, stream);
}

// work(); false where the library refuses.
template <class Work>
bool try_to(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error&) {
    return false;
  }
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

// How every NumPy array begins: PyArrayObject_fields. It is part of NumPy's binary interface, as
// the macros of its headers read these fields; NumPy's constructor below makes sure of it.
struct ArrayFields {
  PyObject_HEAD char* data;
  int rank;
  const Py_intptr_t* shape;
  const Py_intptr_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};
static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));

// The dtypes that were seen last, and what matters of them here.
class KnownDtypes {
 public:
  struct Dtype {
    PyObject* object = nullptr;
    std::int64_t itemsize = 0;
    std::uint64_t type = 0;              ///< as in Array; 0: its elements need a closer look
    std::optional<ElementType> element;  ///< none: its values cannot be converted
  };

  const Dtype& find(PyObject* object) {
    for (const Dtype& dtype : dtypes_) {
      if (dtype.object == object) return dtype;
    }
    Dtype& dtype = dtypes_[next_];
    next_ = (next_ + 1) % dtypes_.size();
    const Dtype seen = look_at(object);
    Py_INCREF(object);
    Py_XDECREF(dtype.object);
    return dtype = seen;
  }

 private:
  static Dtype look_at(PyObject* object) {
    const nb::handle dtype(object);
    Dtype result{object, nb::cast<std::int64_t>(dtype.attr("itemsize")), 0, {}};
    const char kind = nb::cast<std::string>(dtype.attr("kind")).at(0);
    const bool native = nb::cast<bool>(dtype.attr("isnative"));
    if (std::string_view("biufcSU").find(kind) != std::string_view::npos) {
      result.type = static_cast<std::uint64_t>(kind) << 1 | static_cast<std::uint64_t>(native);
    } else if (std::string_view("MmV").find(kind) != std::string_view::npos &&
               !nb::cast<bool>(dtype.attr("hasobject"))) {
      // Times have units, structures have fields: none but the same dtype is equal.
      result.type = reinterpret_cast<std::uintptr_t>(object);
    }
    try {
      result.element = ElementType::parse(nb::cast<std::string>(nb::str(dtype)));
    } catch (const Error&) {  // of another byte order, a structure, ...
    }
    return result;
  }

  std::array<Dtype, 16> dtypes_;
  std::size_t next_ = 0;
};

class NumPy {
 public:
  /// `x` is any array.
  explicit NumPy(nb::handle x) : is_known_(is_laid_out_as_known(x)) {
    if (!is_known_) return;
    // By the functions of NumPy's binary interface, as extensions that are built with its headers.
    const nb::object multiarray = nb::module_::import_(
        has_private_core() ? "numpy._core.multiarray" : "numpy.core.multiarray");
    void* const* api = static_cast<void* const*>(
        PyCapsule_GetPointer(nb::object(multiarray.attr("_ARRAY_API")).ptr(), nullptr));
    if (api == nullptr) nb::raise_python_error();
    new_array_ = reinterpret_cast<NewArray>(api[new_from_descr]);
  }

  nb::object transpose(nb::handle x, nb::handle axes, nb::handle out, nb::handle dtype) {
    Array source;
    std::array<int, max_rank> order;
    if (!is_known_ || !read(x, source) || !read_axes(axes, source.rank, order)) return nb::none();
    const bool converts = !dtype.is_none();
    const nb::handle of_result = converts ? dtype : nb::handle(fields(x)->dtype);
    nb::object result = nb::borrow(out);
    if (out.is_none()) {
      result = new_array(x, of_result, source, order);
    } else if (Py_TYPE(out.ptr()) != Py_TYPE(x.ptr()) || (fields(out)->flags & writeable) == 0 ||
               (converts && fields(out)->dtype != dtype.ptr())) {
      return nb::none();
    }
    Array target;
    if (!read(result, target)) return nb::none();
    const Sides* sides = permuted_into(source, target, order);
    if (sides == nullptr) return nb::none();
    const bool done = converts
                          ? convert(*sides, dtype, nb::handle(fields(x)->dtype))
                          : same_elements(source, target) && try_to([&] { run(*sides, host, 0); });
    return done ? result : nb::none();
  }

 private:
  static constexpr int writeable = 0x400;
  // PyArray_NewFromDescr, which takes over the reference to the dtype, and its place.
  using NewArray = PyObject* (*)(PyTypeObject* type, PyObject* dtype, int rank,
                                 const Py_intptr_t* shape, const Py_intptr_t* strides, void* data,
                                 int flags, PyObject* like);
  static constexpr int new_from_descr = 94;

  static bool has_private_core() {  // from NumPy 2.0 on
    const nb::object version = nb::module_::import_("numpy").attr("__version__");
    return nb::cast<std::string>(version).substr(0, 2) != "1.";
  }

  nb::object new_array(nb::handle x, nb::handle dtype, const Array& source,
                       const std::array<int, max_rank>& order) const {
    std::array<Py_intptr_t, max_rank> shape;
    for (int i = 0; i < source.rank; ++i) {
      const auto k = static_cast<std::size_t>(i);
      shape[k] = source.shape[order[k]];
    }
    nb::object result =
        nb::steal(new_array_(Py_TYPE(x.ptr()), nb::borrow(dtype).release().ptr(), source.rank,
                             shape.data(), nullptr, nullptr, 0, nullptr));
    if (!result.is_valid()) nb::raise_python_error();
    return result;
  }

  static const ArrayFields* fields(nb::handle x) {
    return reinterpret_cast<const ArrayFields*>(x.ptr());
  }

  static bool is_laid_out_as_known(nb::handle x) {
    const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(x.ptr())));
    if (nb::cast<std::size_t>(type.attr("__basicsize__")) < sizeof(ArrayFields)) return false;
    const ArrayFields& array = *fields(x);
    const nb::object data = nb::object(x.attr("__array_interface__"))["data"];
    if (nb::cast<std::uintptr_t>(data[0]) != reinterpret_cast<std::uintptr_t>(array.data) ||
        nb::cast<int>(x.attr("ndim")) != array.rank ||
        nb::object(x.attr("dtype")).ptr() != array.dtype) {
      return false;
    }
    for (int i = 0; i < array.rank; ++i) {
      if (nb::cast<Py_intptr_t>(x.attr("shape")[i]) != array.shape[i] ||
          nb::cast<Py_intptr_t>(x.attr("strides")[i]) != array.strides[i]) {
        return false;
      }
    }
    return true;
  }

  // False for dtypes that are none of the library's types, and where the library refuses.
  bool convert(const Sides& sides, nb::handle to, nb::handle from) {
    const std::optional<ElementType> dst_type = dtypes_.find(to.ptr()).element;
    const std::optional<ElementType> src_type = dtypes_.find(from.ptr()).element;
    if (!dst_type || !src_type) return false;
    return try_to([&] {
      const nb::gil_scoped_release released;
      execute_converting(
          {reinterpret_cast<void*>(sides.dst), *dst_type, sides.shape, sides.dst_strides},
          {reinterpret_cast<const void*>(sides.src), *src_type, sides.shape, sides.src_strides}, {},
          host, 0);
    });
  }

  // False for elements that need a closer look: those that are or may hold references.
  bool read(nb::handle x, Array& array) {
    const ArrayFields& found = *fields(x);
    const KnownDtypes::Dtype& dtype = dtypes_.find(found.dtype);
    if (dtype.type == 0 || found.rank > max_rank) return false;
    array.data = reinterpret_cast<std::uintptr_t>(found.data);
    array.itemsize = dtype.itemsize;
    array.rank = found.rank;
    array.shape = reinterpret_cast<const std::int64_t*>(found.shape);
    std::copy_n(found.strides, found.rank, array.strides.begin());
    array.type = dtype.type;
    return true;
  }

  bool is_known_;
  NewArray new_array_ = nullptr;
  KnownDtypes dtypes_;
};

class Torch {
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

  nb::object transpose(nb::handle x, nb::handle axes, nb::handle out) const {
    Array source;
    std::array<int, max_rank> order;
    if (api_ == nullptr || is_watched() || !read(x, source) ||
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
      result = new_tensor(x, source, order);
      if (!show(result, target)) return nb::none();
    } else if (Py_TYPE(out.ptr()) != Py_TYPE(x.ptr()) || !read(out, target)) {
      return nb::none();
    }
    const Sides* sides = permuted_into(source, target, order);
    if (sides == nullptr || !same_elements(source, target)) return nb::none();
    if (!try_to([&] { run(*sides, source.device, number); })) return nb::none();
    if (!out.is_none()) was_written(out);
    return result;
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
  nb::object new_tensor(nb::handle x, const Array& source,
                        const std::array<int, max_rank>& order) const {
    const nb::object shape = shape_of_result(source, order);
    const nb::handle empty = source.device == host                     ? empty_on_cpu_
                             : source.device == cuda::current_device() ? empty_on_gpu_
                                                                       : nb::none();
    nb::object result;
    if (empty.is_none()) {
      PyObject* arguments[] = {x.ptr(), shape.ptr()};
      result = nb::steal(PyObject_VectorcallMethod(new_empty_.ptr(), arguments,
                                                   2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    } else {
      const nb::object strides = packed(shape, source.rank);
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

// The two types that are known, once an object of them has been seen. All of it happens with the
// GIL held; the types are never given back.
struct Known {
  PyTypeObject* numpy_type = nullptr;
  PyTypeObject* torch_type = nullptr;
  NumPy* numpy = nullptr;
  const Torch* torch = nullptr;
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
    known.numpy = new NumPy(x);
    known.numpy_type = type;
  } else if (known.torch == nullptr && is_type(type, "torch", "Tensor")) {
    known.torch = new Torch(reinterpret_cast<PyObject*>(type));
    known.torch_type = type;
  } else {
    return;
  }
  Py_INCREF(reinterpret_cast<PyObject*>(type));
}

}  // namespace

nb::object quick_transpose(nb::handle x, nb::handle axes, nb::handle out, nb::handle dtype) {
  PyTypeObject* type = Py_TYPE(x.ptr());
  if (type != known.numpy_type && type != known.torch_type) look_at(x);
  if (type == known.numpy_type) return known.numpy->transpose(x, axes, out, dtype);
  if (type == known.torch_type && dtype.is_none()) return known.torch->transpose(x, axes, out);
  return nb::none();
}

}  // namespace cornerturn::python
