// cornerturn._lab: layouts in shared memory, explained, searched and drawn.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "cornerturn/error.hpp"
#include "maps/algebra.hpp"
#include "plan/gpu/device_files.hpp"
#include "translate.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/convert.hpp"
#include "workshop/lab/explain_picture.hpp"
#include "workshop/lab/page/embedded_page.hpp"
#include "workshop/lab/page/page_link.hpp"
#include "workshop/lab/rung_access.hpp"
#include "workshop/lab/solve.hpp"
#include "workshop/lab/solve_picture.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using SwizzleNumbers = std::tuple<int, int, int>;
using Released = nb::call_guard<nb::gil_scoped_release>;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status::invalid_argument, what);
}

AnySwizzle swizzle_of(const SwizzleNumbers& numbers) {
  return make_swizzle(std::get<0>(numbers), std::get<1>(numbers), std::get<2>(numbers));
}
SwizzleNumbers numbers_of(const AnySwizzle& swizzle) {
  return {swizzle.bits, swizzle.base, swizzle.shift};
}

// Extents or strides as CuTe's Python has them: nested tuples, or a number.
nb::object nested(const Layout& layout, bool extents) {
  std::vector<nb::list> open(1);
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.leaf[i];
    for (int k = 0; k < leaf.opens; ++k) open.emplace_back();
    open.back().append(extents ? leaf.extent : leaf.stride);
    for (int k = 0; k < leaf.closes; ++k) {
      const nb::tuple closed = nb::tuple(open.back());
      open.pop_back();
      open.back().append(closed);
    }
  }
  return open.front()[0];
}

// The offset of a coordinate, a number or nested numbers; `name` is what errors call it.
std::int64_t offset_at(const Layout& layout, nb::handle coordinate, const std::string& name) {
  if (nb::isinstance<nb::tuple>(coordinate)) {
    const auto parts = nb::borrow<nb::tuple>(coordinate);
    const int rank = layout.is_tuple() ? layout.rank() : 0;
    if (static_cast<int>(parts.size()) != rank) {
      refuse(name + " has " + std::to_string(parts.size()) + " coordinates: " + to_string(layout) +
             (rank == 0 ? " takes a number" : " has " + std::to_string(rank) + " modes"));
    }
    std::int64_t offset = 0;
    for (int i = 0; i < rank; ++i) {
      offset += offset_at(layout.mode(i), parts[static_cast<std::size_t>(i)],
                          name + "[" + std::to_string(i) + "]");
    }
    return offset;
  }
  std::int64_t index = 0;
  if (PyIndex_Check(coordinate.ptr()) == 0 ||
      !nb::try_cast(nb::steal(PyNumber_Index(coordinate.ptr())), index)) {
    throw nb::type_error(
        (name + " = " + nb::repr(coordinate).c_str() + " is no number and no tuple of numbers")
            .c_str());
  }
  if (index < 0 || index >= layout.size()) {
    refuse(name + " = " + std::to_string(index) + " is out of range for extent " +
           std::to_string(layout.size()));
  }
  return layout(index);
}

// One argument is the coordinate of the only mode, or one for all modes.
std::int64_t offset_at(const SwizzledLayout& layout, const nb::tuple& coordinates) {
  nb::object all = coordinates;
  std::string name = "coordinates";
  if (coordinates.size() == 1) {
    const nb::object one = nb::borrow(coordinates[0]);
    const bool of_mode = nb::isinstance<nb::tuple>(one) && nb::len(one) != 1;
    if (layout.layout.rank() > 1 || !layout.layout.is_tuple() || !of_mode) {
      all = one;
      name += "[0]";
    }
  }
  return layout.swizzle(layout.offset + offset_at(layout.layout, all, name));
}

SwizzledLayout swizzled(const SwizzleNumbers& swizzle, const SwizzledLayout& layout) {
  if (layout.swizzle.bits > 0) refuse(to_string(layout) + " is swizzled already");
  const SwizzledLayout result{swizzle_of(swizzle), layout.offset, layout.layout};
  check_offsets(result);
  return result;
}

SwizzledLayout composed(const SwizzledLayout& a, const SwizzledLayout& b) {
  if (b.swizzle.bits > 0 || b.offset != 0) {
    refuse(to_string(b) + ": only layouts without a swizzle go in front of another");
  }
  if (b.layout.lowest() < 0 || b.layout.cosize() > a.size()) {
    const std::int64_t reached = b.layout.lowest() < 0 ? b.layout.lowest() : b.layout.cosize() - 1;
    refuse(to_string(b) + " reaches offset " + std::to_string(reached) + ", but " + to_string(a) +
           " has coordinates from 0 to " + std::to_string(a.size() - 1));
  }
  return composition(a, b.layout);
}

std::string drawn(const lab::Picture& picture, int width) {
  return to_text(picture, {false, width});
}

// As rows and columns.
SwizzledLayout tile_of(SwizzledLayout layout) {
  layout.layout = lab::tile_layout(layout.layout);
  return layout;
}

lab::Explanation explain(const SwizzledLayout& given, int bytes,
                         const std::vector<std::string>& texts, bool store, int width,
                         const std::string& device) {
  const SwizzledLayout layout = tile_of(given);
  const lab::TileShape tile = lab::tile_shape(layout.layout, bytes);
  const lab::AccessDefaults defaults = {store ? SharedOp::store : SharedOp::load,
                                        lab::checked_width("vector", width)};
  std::vector<lab::Access> accesses;
  for (const std::string& text : texts) {
    for (lab::Access& access : lab::parse_accesses(text, tile, defaults)) {
      accesses.push_back(std::move(access));
    }
  }
  return lab::explain(layout, bytes, accesses, plan::gpu::device_named(device, "device"));
}

std::string link_to_tile(const SwizzledLayout& layout, int bytes,
                         const std::vector<std::string>& texts, bool store, int width) {
  return lab::link_to_tile(
      layout, bytes, texts,
      {store ? SharedOp::store : SharedOp::load, lab::checked_width("vector", width)});
}

// What was found, with the GPU that it was asked for.
struct Solution {
  plan::gpu::DeviceInfo device;
  lab::Solution found;
};
struct Answer {
  std::shared_ptr<const Solution> of;
  std::size_t rank = 0;

  const lab::Answer& operator*() const { return of->found.ranked[rank]; }
  const lab::TileChoice& choice() const { return (**this).choice; }
  lab::Picture picture() const { return lab::picture_of(**this, of->device); }
};

std::shared_ptr<Solution> solve(std::int64_t rows, std::int64_t columns, int bytes,
                                const std::string& write, const std::string& read, int width,
                                bool tma, bool pad, const std::string& device) {
  lab::Question question;
  question.tile = {rows, columns, bytes};
  question.write = lab::parse_side("write", write);
  question.read = lab::parse_side("read", read);
  question.width = lab::checked_width("vector", width);
  question.only_tma = tma;
  question.only_padding = pad;
  auto result = std::make_shared<Solution>();
  result->device = plan::gpu::device_named(device, "device");
  result->found = lab::solve(question, result->device);
  return result;
}

std::int64_t place(const Answer& answer, std::int64_t row, std::int64_t column) {
  const lab::TileShape& tile = answer.choice().tile;
  for (const auto& [name, value, extent] :
       {std::tuple{"row", row, tile.rows}, std::tuple{"column", column, tile.columns}}) {
    if (value >= 0 && value < extent) continue;
    refuse(std::string(name) + " = " + std::to_string(value) + " is out of range for extent " +
           std::to_string(extent));
  }
  return answer.choice()(row, column);
}

std::pair<std::string, std::string> convert(const std::string& swizzle, int bytes, std::int64_t row,
                                            int to_bytes) {
  for (const int size : {bytes, to_bytes}) lab::tile_shape(make_leaf(1, 1), size);
  if (row < 0) refuse("row = " + std::to_string(row) + ": a row has at least one element");
  const lab::Conversion conversion =
      lab::convert(lab::parse_any_swizzle(swizzle, bytes, row), to_bytes, row * bytes);
  return {conversion.to_text(), conversion.to_json()};
}

void add_layouts(nb::module_& module) {
  module.def(
      "element_bytes",
      [](const std::string& text) { return parse_printed_layout(text).element_bits / 8; }, "text"_a,
      "The bytes of an element where a pointer in the layout's text says them, else 0.");
  nb::class_<SwizzledLayout>(module, "Layout", "A layout, under a swizzle or not.")
      .def(nb::new_([](const std::string& text) { return parse_swizzled_layout(text); }), "text"_a)
      .def_prop_ro(
          "shape", [](const SwizzledLayout& l) { return nested(l.layout, true); },
          nb::sig("def shape(self) -> int | tuple"))
      .def_prop_ro(
          "stride", [](const SwizzledLayout& l) { return nested(l.layout, false); },
          nb::sig("def stride(self) -> int | tuple"))
      .def_prop_ro("rank", [](const SwizzledLayout& l) { return l.layout.rank(); })
      .def_prop_ro("size", [](const SwizzledLayout& l) { return l.size(); })
      .def_prop_ro("cosize", [](const SwizzledLayout& l) { return l.span(); })
      .def_prop_ro("swizzle", [](const SwizzledLayout& l) { return numbers_of(l.swizzle); })
      .def_prop_ro("offset", [](const SwizzledLayout& l) { return l.offset; })
      .def(
          "at",
          [](const SwizzledLayout& l, const nb::tuple& coordinates) {
            return offset_at(l, coordinates);
          },
          "coordinates"_a)
      .def(
          "swizzled",
          [](const SwizzledLayout& l, const SwizzleNumbers& s) { return swizzled(s, l); },
          "swizzle"_a)
      .def("composed", composed, "other"_a)
      .def(
          "svg",
          [](const SwizzledLayout& l, int bytes, int unit, bool offsets) {
            return to_svg(lab::tile_picture(tile_of(l), bytes, unit, offsets));
          },
          "bytes"_a, "unit"_a, "offsets"_a, Released())
      .def(
          "draw",
          [](const SwizzledLayout& l, int bytes, int unit, bool offsets, int width) {
            return drawn(lab::tile_picture(tile_of(l), bytes, unit, offsets), width);
          },
          "bytes"_a, "unit"_a, "offsets"_a, "width"_a, Released())
      .def("__str__", [](const SwizzledLayout& l) { return to_string(l); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  module.def(
      "swizzle", [](const SwizzleNumbers& s) { return to_string(swizzle_of(s)); }, "swizzle"_a,
      "Checks B, M and S: the text of the swizzle.");
  module.def(
      "swizzled",
      [](const SwizzleNumbers& s, std::int64_t offset) { return swizzle_of(s)(offset); },
      "swizzle"_a, "offset"_a, "Where the swizzle puts an offset.");
  module.def("convert", convert, "swizzle"_a, "bytes"_a, "row"_a, "to_bytes"_a,
             "A swizzle in all words, for elements of `to_bytes`: text and JSON.");
}

void add_answers(nb::module_& module) {
  nb::class_<lab::Explanation>(module, "Explanation", "What accesses to a layout cost, and why.")
      .def_prop_ro("layout", [](const lab::Explanation& e) { return e.layout; })
      .def_prop_ro("remedy",
                   [](const lab::Explanation& e) -> std::optional<SwizzledLayout> {
                     if (!e.remedy) return std::nullopt;
                     return e.remedy->layout;
                   })
      .def("text", &lab::Explanation::to_text)
      .def("json", &lab::Explanation::to_json)
      .def(
          "svg", [](const lab::Explanation& e) { return to_svg(lab::picture_of(e)); }, Released())
      .def(
          "draw",
          [](const lab::Explanation& e, int width) { return drawn(lab::picture_of(e), width); },
          "width"_a, Released());
  module.def("explain", explain, "layout"_a, "bytes"_a, "accesses"_a, "store"_a, "vector"_a,
             "device"_a, Released());
  module.def("link_to_tile", link_to_tile, "layout"_a, "bytes"_a, "accesses"_a, "store"_a,
             "vector"_a);
  module.def("page", &lab::page_with, "link"_a);

  nb::class_<Answer>(module, "Answer", "One of the layouts that were found.")
      .def_prop_ro("text", [](const Answer& a) { return a.choice().text(); })
      .def_prop_ro("layout", [](const Answer& a) { return a.choice().layout(); })
      .def_prop_ro("code",
                   [](const Answer& a) {
                     std::vector<std::pair<std::string, std::string>> code;
                     for (const auto& form : a.choice().forms()) {
                       if (!form.code.empty()) code.emplace_back(form.key, form.code);
                     }
                     return code;
                   })
      .def("at", place, "row"_a, "column"_a)
      .def(
          "svg", [](const Answer& a) { return to_svg(a.picture()); }, Released())
      .def(
          "draw", [](const Answer& a, int width) { return drawn(a.picture(), width); }, "width"_a,
          Released());
  nb::class_<Solution>(module, "Solution", "Layouts that were searched for, the best first.")
      .def("text", [](const Solution& s) { return s.found.to_text(); })
      .def("json", [](const Solution& s) { return s.found.to_json(); });
  module.def("solve", solve, "rows"_a, "columns"_a, "bytes"_a, "write"_a, "read"_a, "vector"_a,
             "tma"_a, "pad"_a, "device"_a, Released());
  module.def(
      "answers",
      [](const std::shared_ptr<Solution>& solution) {
        std::vector<Answer> answers;
        for (std::size_t i = 0; i < solution->found.ranked.size(); ++i) {
          answers.push_back({solution, i});
        }
        return answers;
      },
      "solution"_a);
}

}  // namespace

NB_MODULE(_lab, module) {
  nb::register_exception_translator(translate);
  // Values in modules and test parameters outlive the interpreter; that is no leak of ours.
  nb::set_leak_warnings(false);
  add_layouts(module);
  add_answers(module);
}

}  // namespace cornerturn::python
