#include "quick_numpy.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

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

class NumPy : public QuickArrays {
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

  nb::object transpose(nb::handle x, nb::handle axes, nb::handle out,
                       const Change& change) override {
    Array source;
    AxisOrder order;
    if (!is_known_ || !read(x, source) || !read_axes(axes, source.rank, order)) return nb::none();
    const bool converts = !change.none();
    const nb::handle own(fields(x)->dtype);
    const nb::handle of_result = change.dtype.is_none() ? own : change.dtype;
    nb::object result = nb::borrow(out);
    if (out.is_none()) {
      result = new_array(x, of_result, source, order);
    } else if (Py_TYPE(out.ptr()) != Py_TYPE(x.ptr()) || (fields(out)->flags & writeable) == 0 ||
               (converts && fields(out)->dtype != of_result.ptr())) {
      return nb::none();
    }
    Array target;
    if (!read(result, target)) return nb::none();
    const Sides* sides = permuted_into(source, target, order);
    if (sides == nullptr) return nb::none();
    const bool done = converts ? convert(*sides, of_result, own, change.alpha)
                               : same_elements(source, target) &&
                                     try_to([&] { execute_quickly(*sides, host, 0); });
    return done ? result : nb::none();
  }

  nb::object interleave(nb::handle arrays, const Turns& turns) override {
    Stack stack;
    if (!is_known_ || !read_all(arrays, turns, stack,
                                [this](nb::handle x, Array& array) { return read(x, array); })) {
      return nb::none();
    }
    const nb::handle first = PyTuple_GetItem(arrays.ptr(), 0);
    const nb::object result = new_array(first, fields(first)->dtype, turns.shape);
    const bool done = try_to(
        [&] { interleave_quickly(reinterpret_cast<std::uintptr_t>(fields(result)->data), stack); });
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
                       const AxisOrder& order) const {
    std::array<std::int64_t, max_rank> shape;
    for (int i = 0; i < source.rank; ++i) {
      const auto k = static_cast<std::size_t>(i);
      shape[k] = source.shape[order[k]];
    }
    return new_array(x, dtype, {shape.data(), static_cast<std::size_t>(source.rank)});
  }

  nb::object new_array(nb::handle x, nb::handle dtype, std::span<const std::int64_t> shape) const {
    nb::object result = nb::steal(new_array_(
        Py_TYPE(x.ptr()), nb::borrow(dtype).release().ptr(), static_cast<int>(shape.size()),
        reinterpret_cast<const Py_intptr_t*>(shape.data()), nullptr, nullptr, 0, nullptr));
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
  bool convert(const Sides& sides, nb::handle to, nb::handle from, double alpha) {
    const std::optional<ElementType> dst_type = dtypes_.find(to.ptr()).element;
    const std::optional<ElementType> src_type = dtypes_.find(from.ptr()).element;
    if (!dst_type || !src_type) return false;
    Epilogue epilogue;
    epilogue.alpha = alpha;
    return try_to([&] {
      const nb::gil_scoped_release released;
      execute_converting(
          {reinterpret_cast<void*>(sides.dst), *dst_type, sides.shape, sides.dst_strides},
          {reinterpret_cast<const void*>(sides.src), *src_type, sides.shape, sides.src_strides},
          epilogue, host, 0);
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

}  // namespace

QuickArrays* quick_numpy(nb::handle x) {
  return new NumPy(x);
}

}  // namespace cornerturn::python
