#include "quick_first.hpp"

#include <dlfcn.h>

#include <array>
#include <exception>
#include <new>

#include "quick.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

// How the functions were called before, which runs their code.
vectorcallfunc transpose_itself = nullptr;
vectorcallfunc copy_itself = nullptr;

// Arguments of a call: the first ones by their places, the others by their names.
struct Call {
  PyObject* const* args;
  Py_ssize_t places;
  PyObject* names;  ///< a tuple, or null

  Py_ssize_t named() const { return names == nullptr ? 0 : PyTuple_Size(names); }
};

nb::object several(PyObject* const* args, Py_ssize_t count) {
  nb::object tuple = nb::steal(PyTuple_New(count));
  if (!tuple.is_valid()) nb::raise_python_error();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SetItem(tuple.ptr(), i, nb::borrow(args[i]).release().ptr());
  }
  return tuple;
}

// transpose(x, axes=None, *more, out=None, ...). None where another argument is given.
nb::object try_transpose(const Call& call) {
  static const nb::handle out_name = PyUnicode_InternFromString("out");
  static const nb::handle axes_name = PyUnicode_InternFromString("axes");
  if (call.places < 1) return nb::none();
  nb::object axes = call.places == 1   ? nb::none()
                    : call.places == 2 ? nb::borrow(call.args[1])
                                       : several(call.args + 1, call.places - 1);
  nb::handle out = Py_None;
  for (Py_ssize_t i = 0; i < call.named(); ++i) {
    const nb::handle name = PyTuple_GetItem(call.names, i);
    PyObject* value = call.args[call.places + i];
    if (name.ptr() == out_name.ptr()) {
      out = value;
    } else if (name.ptr() == axes_name.ptr() && call.places == 1) {
      axes = nb::borrow(value);
    } else {
      return nb::none();
    }
  }
  return quick_transpose(call.args[0], axes, out, nb::none());
}

// (0, 1, ..., rank - 1)
nb::handle in_order(long rank) {
  static std::array<nb::handle, 65> known;
  nb::handle& axes = known[static_cast<std::size_t>(rank)];
  if (axes.is_valid()) return axes;
  nb::object tuple = nb::steal(PyTuple_New(rank));
  if (!tuple.is_valid()) nb::raise_python_error();
  for (long i = 0; i < rank; ++i) PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLong(i));
  return axes = tuple.release();
}

// copy(dst, src, ...): is it done?
bool try_copy(const Call& call) {
  static const nb::handle ndim = PyUnicode_InternFromString("ndim");
  if (call.places != 2 || call.named() != 0 || call.args[0] == Py_None) return false;
  const nb::handle src = call.args[1];
  const nb::object axes = nb::steal(PyObject_GetAttr(src.ptr(), ndim.ptr()));
  if (!axes.is_valid()) {
    PyErr_Clear();
    return false;
  }
  if (!PyLong_CheckExact(axes.ptr())) return false;
  int overflow = 0;
  const long rank = PyLong_AsLongAndOverflow(axes.ptr(), &overflow);
  if (overflow != 0 || rank < 0 || rank > 64) return false;
  return !quick_transpose(src, in_order(rank), call.args[0], nb::none()).is_none();
}

// work(), whose exceptions become Python's.
template <class Work>
PyObject* guarded(const Work& work) {
  try {
    return work();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call_transpose(PyObject* function, PyObject* const* args, std::size_t count,
                         PyObject* names) {
  return guarded([&]() -> PyObject* {
    nb::object result = try_transpose({args, PyVectorcall_NARGS(count), names});
    if (!result.is_none()) return result.release().ptr();
    return transpose_itself(function, args, count, names);
  });
}

PyObject* call_copy(PyObject* function, PyObject* const* args, std::size_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (try_copy({args, PyVectorcall_NARGS(count), names})) return nb::none().release().ptr();
    return copy_itself(function, args, count, names);
  });
}

// A function of Python's own library, null where it has none of this name.
template <class Function>
Function in_python(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// By PyFunction_SetVectorcall, which Python has from 3.12 on. It is no part of the stable
// interface, so it is asked for by its name.
bool set_call(nb::handle function, vectorcallfunc& itself, vectorcallfunc call) {
  static const auto set =
      in_python<void (*)(PyObject*, vectorcallfunc)>("PyFunction_SetVectorcall");
  static const auto get = in_python<vectorcallfunc (*)(PyObject*)>("PyVectorcall_Function");
  const nb::object type = nb::module_::import_("types").attr("FunctionType");
  const auto* type_of_function = reinterpret_cast<PyObject*>(Py_TYPE(function.ptr()));
  if (set == nullptr || get == nullptr || type_of_function != type.ptr()) return false;
  const vectorcallfunc before = get(function.ptr());
  if (before == nullptr || before == call) return false;
  itself = before;
  set(function.ptr(), call);
  return true;
}

}  // namespace

void add_quick_first(nb::module_& module) {
  module.def(
      "quick_transpose_first",
      [](nb::handle function) { return set_call(function, transpose_itself, call_transpose); },
      "function"_a,
      "Lets calls of `function`, which is cornerturn.transpose, try quick_transpose before its "
      "code "
      "runs.\nFalse where this Python cannot do that.");
  module.def(
      "quick_copy_first",
      [](nb::handle function) { return set_call(function, copy_itself, call_copy); }, "function"_a,
      "The same of cornerturn.copy.");
}

}  // namespace cornerturn::python
