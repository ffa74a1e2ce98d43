// The library's errors as Python's exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "cornerturn/error.hpp"

namespace cornerturn::python {

/// For nanobind::register_exception_translator.
inline void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.status()) {
      case Status::invalid_argument:
      case Status::overflow:
        type = PyExc_ValueError;
        break;
      case Status::out_of_memory:
        type = PyExc_MemoryError;
        break;
      case Status::io_error:
        type = PyExc_OSError;
        break;
      default:
        break;
    }
    PyErr_SetString(type, error.what());
  }
}

}  // namespace cornerturn::python
