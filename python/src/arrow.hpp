// Tables in the C data interface of Arrow
// (https://arrow.apache.org/docs/format/CDataInterface.html).
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// Adds `ArrowTable`, which reads what others show, and `arrow_stream`, which shows a block of
/// columns.
void bind_arrow(nanobind::module_& module);

}  // namespace cornerturn::python
