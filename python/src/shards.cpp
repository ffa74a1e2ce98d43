#include "shards.hpp"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "api/redistribute.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"
#include "cuda/backend.hpp"
#include "execute.hpp"
#include "shards/plan.hpp"
#include "threads.hpp"

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

/// One device's part in a redistribution, whose messages are computed once. They are cut into
/// chunks of about `chunk_bytes`.
class Part {
 public:
  Part(const Redistribution& what, int device, std::int64_t chunk_bytes)
      : what_(what), device_(device), runs_(shards::runs_of(what)) {
    if (device < 0 || device >= what.devices()) {
      refuse(fmt::format("device = {} is out of range for {} devices", device, what.devices()));
    }
    const int chunks = shards::chunks_for(what, chunk_bytes);
    sent_.resize(static_cast<std::size_t>(chunks));
    received_.resize(static_cast<std::size_t>(chunks));
    for (int other = 0; other < what.devices(); ++other) {
      if (other == device) continue;
      auto out = shards::chunks_of(what, device, other, chunks);
      auto in = shards::chunks_of(what, other, device, chunks);
      for (std::size_t k = 0; k < out.size(); ++k) {
        sent_[k].emplace(other, std::move(out[k]));
        received_[k].emplace(other, std::move(in[k]));
      }
    }
    kept_ = what.message(device, device);
  }

  Numbers src_shape() const { return shape_in(what_.src()); }
  Numbers dst_shape() const { return shape_in(what_.dst()); }
  std::vector<Numbers> dst_strides() const {
    std::vector<Numbers> all;
    for (const shards::Shard& shard : what_.dst().shards) {
      all.push_back(shards::packed(shard.shape(), what_.item_bytes(Side::destination)));
    }
    return all;
  }
  std::vector<Numbers> sent() const { return bytes_of(sent_); }
  std::vector<Numbers> received() const { return bytes_of(received_); }

  void pack(int chunk, std::uintptr_t buffer, const Numbers& peers, std::uintptr_t src,
            const Numbers& strides, int gpu, std::uintptr_t stream) const {
    const Messages& messages = sent_.at(static_cast<std::size_t>(chunk));
    const nb::gil_scoped_release released;
    const Place from{src, strides};
    for (const std::int64_t peer : peers) {
      if (peer == device_) continue;
      const Message& message = messages.at(static_cast<int>(peer));
      copy(message, Side::source, Side::message, from, {}, buffer, gpu, stream);
      buffer += static_cast<std::uintptr_t>(message.elements * what_.item_bytes(Side::message));
    }
  }

  void unpack(int chunk, std::uintptr_t dst, const Numbers& strides, std::uintptr_t buffer,
              const Numbers& peers, int gpu, std::uintptr_t stream) const {
    const Messages& messages = received_.at(static_cast<std::size_t>(chunk));
    const nb::gil_scoped_release released;
    const Place to{dst, strides};
    for (const std::int64_t peer : peers) {
      if (peer == device_) continue;
      const Message& message = messages.at(static_cast<int>(peer));
      copy(message, Side::message, Side::destination, {}, to, buffer, gpu, stream);
      buffer += static_cast<std::uintptr_t>(message.elements * what_.item_bytes(Side::message));
    }
  }

  /// What stays on the device.
  void keep(std::uintptr_t dst, const Numbers& dst_strides, std::uintptr_t src,
            const Numbers& src_strides, int gpu, std::uintptr_t stream) const {
    const nb::gil_scoped_release released;
    copy(kept_, Side::source, Side::destination, {src, src_strides}, {dst, dst_strides}, 0, gpu,
         stream);
  }

  /// Everything at once, where the other shards can be written to.
  void send(const std::vector<std::uintptr_t>& dst, const std::vector<Numbers>& dst_strides,
            std::uintptr_t src, const Numbers& src_strides, int gpu, std::uintptr_t stream,
            const std::string& route) const {
    const auto devices = static_cast<std::size_t>(what_.devices());
    if (dst.size() != devices || dst_strides.size() != devices) {
      refuse(fmt::format("dst has {} addresses and {} lists of strides, but there are {} devices",
                         dst.size(), dst_strides.size(), devices));
    }
    Sending how;
    how.gpu = gpu;
    how.stream = reinterpret_cast<void*>(stream);
    how.threads = thread_limit();
    std::vector<void*> places;
    for (const std::uintptr_t address : dst) places.push_back(reinterpret_cast<void*>(address));
    const nb::gil_scoped_release released;
    on_device(gpu, [&] {
      how.route = route_of(route, runs_, gpu == host ? "" : cuda::machine_of(gpu).name(), "route");
      const auto work = work_by(src_strides, dst_strides, how.route, gpu != host);
      cornerturn::send(*work, device_, reinterpret_cast<const void*>(src), places, how);
    });
  }

 private:
  Numbers shape_in(const Layout& layout) const {
    return layout.shards[static_cast<std::size_t>(device_)].shape();
  }

  using Messages = std::map<int, Message>;  // of a chunk, by the other device

  std::vector<Numbers> bytes_of(const std::vector<Messages>& chunks) const {
    std::vector<Numbers> bytes;
    for (const Messages& messages : chunks) {
      bytes.emplace_back(static_cast<std::size_t>(what_.devices()));
      for (const auto& [other, message] : messages) {
        bytes.back()[static_cast<std::size_t>(other)] =
            message.elements * what_.item_bytes(Side::message);
      }
    }
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
      if (problem.converts()) {
        convert(problem, base(to), base(from), gpu, stream);
        continue;
      }
      Sides sides;
      sides.dst = base(to) + static_cast<std::uintptr_t>(problem.dst_offset);
      sides.src = base(from) + static_cast<std::uintptr_t>(problem.src_offset);
      sides.itemsize = problem.src_type.size();
      for (const Mode& mode : problem.modes) {
        sides.shape.push_back(mode.extent);
        sides.dst_strides.push_back(mode.dst_stride);
        sides.src_strides.push_back(mode.src_stride);
      }
      execute_in_pieces(sides, gpu, stream);
    }
  }

  static void convert(const Problem& problem, std::uintptr_t dst, std::uintptr_t src, int gpu,
                      std::uintptr_t stream) {
    Numbers shape, dst_strides, src_strides;
    for (const Mode& mode : problem.modes) {
      shape.push_back(mode.extent);
      dst_strides.push_back(mode.dst_stride);
      src_strides.push_back(mode.src_stride);
    }
    void* const to = reinterpret_cast<std::byte*>(dst) + problem.dst_offset;
    const void* const from = reinterpret_cast<const std::byte*>(src) + problem.src_offset;
    execute_converting(View(to, problem.dst_type, shape, dst_strides),
                       ConstView(from, problem.src_type, shape, src_strides), {}, gpu, stream);
  }

  // Those of the last call, where it asked for the same.
  std::shared_ptr<const SenderWork> work_by(const Numbers& src_strides,
                                            const std::vector<Numbers>& dst_strides,
                                            ShardRoute route, bool on_gpu) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Asked asked{src_strides, dst_strides, route, on_gpu};
    if (work_ == nullptr || asked != asked_) {
      work_ = std::make_shared<const SenderWork>(
          work_for(what_, device_, src_strides, dst_strides, route, on_gpu));
      asked_ = asked;
    }
    return work_;
  }
  using Asked = std::tuple<Numbers, std::vector<Numbers>, ShardRoute, bool>;

  Redistribution what_;
  int device_;
  shards::Runs runs_;
  mutable std::mutex mutex_;
  mutable Asked asked_;
  mutable std::shared_ptr<const SenderWork> work_;
  std::vector<Messages> sent_;
  std::vector<Messages> received_;
  Message kept_;
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

Redistribution converting(Layout src, Layout dst, std::vector<int> perm,
                          const std::string& src_type, const std::string& dst_type) {
  const shards::Items items{ElementType::parse(src_type), ElementType::parse(dst_type)};
  // Throws where there is no such conversion.
  make_problem(View(nullptr, items.dst, {}), ConstView(nullptr, items.src, {}));
  return Redistribution(std::move(src), std::move(dst), std::move(perm), items);
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
      .def_static("converting", converting, "src"_a, "dst"_a, "perm"_a, "src_type"_a, "dst_type"_a)
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
  nb::class_<Part>(module, "ShardPart",
                   "One device's part in a redistribution. A buffer holds the messages of `peers` "
                   "in a chunk, one "
                   "after\nthe other; strides are in bytes, `gpu` and `stream` as in `execute`.")
      .def(nb::init<const Redistribution&, int, std::int64_t>(), "what"_a, "device"_a,
           "chunk_bytes"_a)
      .def_prop_ro("src_shape", &Part::src_shape)
      .def_prop_ro("dst_shape", &Part::dst_shape)
      .def_prop_ro("dst_strides", &Part::dst_strides, "Of every device's part, packed.")
      .def_prop_ro("sent", &Part::sent, "Bytes for each other device, chunk by chunk.")
      .def_prop_ro("received", &Part::received, "Bytes from each other device, chunk by chunk.")
      .def("pack", &Part::pack, "chunk"_a, "buffer"_a, "peers"_a, "src"_a, "strides"_a, "gpu"_a,
           "stream"_a)
      .def("unpack", &Part::unpack, "chunk"_a, "dst"_a, "strides"_a, "buffer"_a, "peers"_a, "gpu"_a,
           "stream"_a)
      .def("keep", &Part::keep, "dst"_a, "dst_strides"_a, "src"_a, "src_strides"_a, "gpu"_a,
           "stream"_a)
      .def("send", &Part::send, "dst"_a, "dst_strides"_a, "src"_a, "src_strides"_a, "gpu"_a,
           "stream"_a, "route"_a,
           "Stores into the shards of all devices, whose memory this process can write to.");
}

}  // namespace cornerturn::python
