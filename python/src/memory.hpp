// An array that belongs to somebody else, held on to: from a DLPack capsule or the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlpack.hpp"

namespace cornerturn::python {

class Memory {
 public:
  /// Takes the array out of a capsule that `__dlpack__` returned. Throws nb::buffer_error when it
  /// is of a kind that cannot be moved.
  static Memory from_dlpack(nanobind::handle capsule);
  /// Throws what Python raises for an object without the buffer protocol.
  static Memory from_buffer(nanobind::handle object);

  std::uintptr_t address = 0;
  std::int64_t itemsize = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in bytes
  int device = -1;                    ///< -1: host memory
  bool readonly = false;
  std::string dtype;  ///< "float32", "bfloat16", ...; for a buffer its format

 private:
  std::shared_ptr<void> owner_;
};

}  // namespace cornerturn::python
