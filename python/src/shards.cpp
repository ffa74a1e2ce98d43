#include "shards.hpp"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "core/refuse.hpp"
#include "execute.hpp"
#include "shards/plan.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using shards::Layout;
using shards::Message;
using shards::Numbers;
using shards::Redistribution;
using shards::Side;

// An array of this device: an address, strides in bytes.
struct Place {
  std::uintptr_t address = 0;
  Numbers strides;
};

/// One device's part in a redistribution, whose messages are computed once.
class Part {
 public:
  Part(const Redistribution& what, int device) : what_(what), device_(device) {
    if (device < 0 || device >= what.devices()) {
      refuse(fmt::format("device = {} is out of range for {} devices", device, what.devices()));
    }
    for (int other = 0; other < what.devices(); ++other) {
      sent_.push_back(what.message(device, other));
      received_.push_back(what.message(other, device));
    }
  }

  Numbers src_shape() const { return shape_in(what_.src()); }
  Numbers dst_shape() const { return shape_in(what_.dst()); }
  Numbers sent() const { return bytes_of(sent_); }
  Numbers received() const { return bytes_of(received_); }

  void pack(std::uintptr_t buffer, const Numbers& peers, std::uintptr_t src, const Numbers& strides,
            int gpu, std::uintptr_t stream) const {
    const nb::gil_scoped_release released;
    const Place from{src, strides};
    for (const std::int64_t peer : peers) {
      if (peer == device_) continue;
      const Message& message = sent_.at(static_cast<std::size_t>(peer));
      copy(message, Side::source, Side::message, from, {}, buffer, gpu, stream);
      buffer += static_cast<std::uintptr_t>(message.elements * what_.item_bytes());
    }
  }

  void unpack(std::uintptr_t dst, const Numbers& strides, std::uintptr_t buffer,
              const Numbers& peers, int gpu, std::uintptr_t stream) const {
    const nb::gil_scoped_release released;
    const Place to{dst, strides};
    for (const std::int64_t peer : peers) {
      if (peer == device_) continue;
      const Message& message = received_.at(static_cast<std::size_t>(peer));
      copy(message, Side::message, Side::destination, {}, to, buffer, gpu, stream);
      buffer += static_cast<std::uintptr_t>(message.elements * what_.item_bytes());
    }
  }

  /// What stays on the device.
  void keep(std::uintptr_t dst, const Numbers& dst_strides, std::uintptr_t src,
            const Numbers& src_strides, int gpu, std::uintptr_t stream) const {
    const nb::gil_scoped_release released;
    copy(sent_.at(static_cast<std::size_t>(device_)), Side::source, Side::destination,
         {src, src_strides}, {dst, dst_strides}, 0, gpu, stream);
  }

 private:
  Numbers shape_in(const Layout& layout) const {
    return layout.shards[static_cast<std::size_t>(device_)].shape();
  }

  Numbers bytes_of(const std::vector<Message>& messages) const {
    Numbers bytes;
    for (const Message& message : messages) bytes.push_back(message.elements * what_.item_bytes());
    bytes[static_cast<std::size_t>(device_)] = 0;
    return bytes;
  }

  void copy(const Message& message, Side from, Side to, const Place& src, const Place& dst,
            std::uintptr_t buffer, int gpu, std::uintptr_t stream) const {
    const auto base = [&](Side side) {
      if (side == Side::message) return buffer;
      return side == Side::source ? src.address : dst.address;
    };
    // The side that takes no part has no strides.
    const Numbers none(what_.perm().size());
    for (const shards::Box& box : message.boxes) {
      const Problem problem = what_.copy(box, from, to, src.strides.empty() ? none : src.strides,
                                         dst.strides.empty() ? none : dst.strides);
      Sides sides;
      sides.dst = base(to) + static_cast<std::uintptr_t>(problem.dst_offset);
      sides.src = base(from) + static_cast<std::uintptr_t>(problem.src_offset);
      sides.itemsize = what_.item_bytes();
      for (const Mode& mode : problem.modes) {
        sides.shape.push_back(mode.extent);
        sides.dst_strides.push_back(mode.dst_stride);
        sides.src_strides.push_back(mode.src_stride);
      }
      execute_in_pieces(sides, gpu, stream);
    }
  }

  Redistribution what_;
  int device_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

using Box = std::pair<Numbers, Numbers>;

Layout boxes(const Numbers& shape, const std::vector<Box>& devices, const std::string& argument) {
  std::vector<shards::Bounds> bounds;
  for (const auto& [begin, end] : devices) bounds.push_back({begin, end});
  return shards::boxes(shape, bounds, argument);
}

Layout placed(const Numbers& shape, const Numbers& mesh, const std::string& placements,
              const std::string& argument) {
  return shards::placed(shape, mesh, shards::parse_placements(placements, argument), argument);
}

shards::ShardPlan plan_of(const Redistribution& what, const std::string& on) {
  std::optional<shards::GpusOfHost> host;
  if (!on.empty()) host = shards::host_named(on, "on");
  return shards::make_plan(what, host);
}

bool moves(const Redistribution& what) {
  for (int from = 0; from < what.devices(); ++from) {
    for (int to = 0; to < what.devices(); ++to) {
      if (from != to && what.message_elements(from, to) > 0) return true;
    }
  }
  return false;
}

}  // namespace

void add_shards(nb::module_& module) {
  nb::class_<Layout>(module, "ShardLayout", "How an array is spread over devices.")
      .def_static("placed", placed, "shape"_a, "mesh"_a, "placements"_a, "argument"_a)
      .def_static("boxes", boxes, "shape"_a, "devices"_a, "argument"_a)
      .def_prop_ro("devices", &Layout::devices);
  nb::class_<Redistribution>(module, "Redistribution", "From one layout to another.")
      .def(nb::init<Layout, Layout, std::vector<int>, std::int64_t>(), "src"_a, "dst"_a, "perm"_a,
           "itemsize"_a)
      .def("moves", moves, "Does any device send anything?")
      .def(
          "to_string",
          [](const Redistribution& what, const std::string& on, bool explain) {
            return shards::to_string(plan_of(what, on), explain);
          },
          "on"_a, "explain"_a)
      .def(
          "to_json",
          [](const Redistribution& what, const std::string& on) {
            return shards::to_json(plan_of(what, on));
          },
          "on"_a);
  nb::class_<Part>(
      module, "ShardPart",
      "One device's part in a redistribution. A buffer holds the messages of `peers`, one "
      "after the\nother; strides are in bytes, `gpu` and `stream` as in `execute`.")
      .def(nb::init<const Redistribution&, int>(), "what"_a, "device"_a)
      .def_prop_ro("src_shape", &Part::src_shape)
      .def_prop_ro("dst_shape", &Part::dst_shape)
      .def_prop_ro("sent", &Part::sent, "Bytes for each other device.")
      .def_prop_ro("received", &Part::received, "Bytes from each other device.")
      .def("pack", &Part::pack, "buffer"_a, "peers"_a, "src"_a, "strides"_a, "gpu"_a, "stream"_a)
      .def("unpack", &Part::unpack, "dst"_a, "strides"_a, "buffer"_a, "peers"_a, "gpu"_a,
           "stream"_a)
      .def("keep", &Part::keep, "dst"_a, "dst_strides"_a, "src"_a, "src_strides"_a, "gpu"_a,
           "stream"_a);
}

}  // namespace cornerturn::python
