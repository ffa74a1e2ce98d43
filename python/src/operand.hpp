// One side of a call that looks at values: an array as numbers, with the type of its elements.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/view.hpp"

namespace cornerturn::python {

struct Operand {
  Operand(std::uintptr_t at, const std::string& type_name, std::vector<std::int64_t> extents,
          std::vector<std::int64_t> strides_in_bytes)
      : address(at),
        type(ElementType::parse(type_name)),
        shape(std::move(extents)),
        strides(std::move(strides_in_bytes)) {}

  View view() const { return {reinterpret_cast<void*>(address), type, shape, strides}; }
  ConstView const_view() const {
    return {reinterpret_cast<const void*>(address), type, shape, strides};
  }

  std::uintptr_t address = 0;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in bytes
};

/// Adds the class `Operand` to the module.
inline void add_operand(nanobind::module_& module) {
  using namespace nanobind::literals;
  nanobind::class_<Operand>(module, "Operand",
                            "An array as numbers: the address, the name of its elements' type, the "
                            "shape, the strides in\nbytes.")
      .def(nanobind::init<std::uintptr_t, const std::string&, std::vector<std::int64_t>,
                          std::vector<std::int64_t>>(),
           "address"_a, "type"_a, "shape"_a, "strides"_a);
}

}  // namespace cornerturn::python
