#include "lists.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

Places places_named(const std::string& name) {
  if (name == "i32") return Places::i32;
  if (name == "i64") return Places::i64;
  return Places::pointers;
}

List list_of(std::uintptr_t address, const std::string& places, int axis, std::int64_t count,
             bool zeros, int alignment) {
  return {.places = places_named(places),
          .table = reinterpret_cast<const void*>(address),
          .axis = axis,
          .count = count,
          .missing = zeros ? Missing::zeros : Missing::left,
          .alignment = alignment};
}

Options options_for(std::uintptr_t stream, std::optional<bool> checked, const std::string& kernel) {
  Options options;
  options.threads = thread_limit();
  options.stream = reinterpret_cast<void*>(stream);
  options.kernel = kernel;
  if (checked) options.lists = *checked ? ListChecks::always : ListChecks::never;
  return options;
}

void copy_listed(const Operand& dst, const std::optional<List>& dst_list, const Operand& src,
                 const std::optional<List>& src_list, const Epilogue& epilogue, int device,
                 std::uintptr_t stream, std::optional<bool> checked, const std::string& kernel) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    copy(ListedView(dst.view(), dst_list.value_or(List{})),
         ConstListedView(src.const_view(), src_list.value_or(List{})), epilogue,
         options_for(stream, checked, kernel));
  });
}

std::string explain_listed(const Operand& dst, const std::optional<List>& dst_list,
                           const Operand& src, const std::optional<List>& src_list,
                           const std::string& device, const std::string& kernel) {
  Options options = options_for(0, std::nullopt, kernel);
  options.device = device;
  return make_plan(ListedView(dst.view(), dst_list.value_or(List{})),
                   ConstListedView(src.const_view(), src_list.value_or(List{})), Epilogue{},
                   options)
      .explain();
}

}  // namespace

void bind_lists(nb::module_& module) {
  nb::class_<List>(module, "TableOf",
                   "The places of one axis of an operand: `places` is \"i32\", \"i64\" or "
                   "\"pointers\", and `address`\nthat of the table.")
      .def(
          "__init__",
          [](List* list, std::uintptr_t address, const std::string& places, int axis,
             std::int64_t count, bool zeros, int alignment) {
            new (list) List(list_of(address, places, axis, count, zeros, alignment));
          },
          "address"_a, "places"_a, "axis"_a, "count"_a = 0, "zeros"_a = true, "alignment"_a = 0);
  module.def("copy_listed", copy_listed, "dst"_a, "dst_list"_a.none(), "src"_a, "src_list"_a.none(),
             "epilogue"_a, "device"_a, "stream"_a, "checked"_a.none(), "kernel"_a = "",
             "dst[i] = epilogue(src[i]), where an axis of a side, or of both, comes from a table. "
             "`checked`:\nNone means on a CPU. Releases the GIL.");
  module.def("explain_listed", explain_listed, "dst"_a, "dst_list"_a.none(), "src"_a,
             "src_list"_a.none(), "device"_a = "", "kernel"_a = "",
             "The plan of such a copy, in words.");
}

}  // namespace cornerturn::python
