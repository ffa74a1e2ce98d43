#include "shards/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/refuse.hpp"
#include "plan/planner.hpp"
#include "plan/text.hpp"

namespace cornerturn::shards {
namespace {

// The bytes that follow each other where modes have these strides.
template <class Stride>
std::int64_t run_of(const Problem& problem, std::int64_t item, const Stride& stride) {
  std::vector<Mode> modes;
  std::copy_if(problem.modes.begin(), problem.modes.end(), std::back_inserter(modes),
               [&](const Mode& mode) { return stride(mode) > 0; });
  std::sort(modes.begin(), modes.end(),
            [&](const Mode& a, const Mode& b) { return stride(a) < stride(b); });
  std::int64_t run = item;
  for (const Mode& mode : modes) {
    if (stride(mode) != run) break;
    run *= mode.extent;
  }
  return run;
}

Runs runs_of(const Problem& problem) {
  const std::int64_t src = problem.src_type.size(), dst = problem.dst_type.size();
  // Counted in elements of the result, which may have another size than those of the array.
  const std::int64_t both = run_of(problem, src, [&](const Mode& mode) {
    return mode.src_stride / src == mode.dst_stride / dst ? mode.src_stride : -1;
  });
  return {run_of(problem, src, [](const Mode& mode) { return mode.src_stride; }),
          run_of(problem, dst, [](const Mode& mode) { return mode.dst_stride; }), both / src * dst};
}

const Box& largest(const Message& message) {
  return *std::max_element(message.boxes.begin(), message.boxes.end(),
                           [](const Box& a, const Box& b) { return a.elements() < b.elements(); });
}

// The copy of the largest box of a message, between packed shards.
Problem copy_of(const Redistribution& what, const Message& message, int from, int to, Side first,
                Side last) {
  const auto strides = [&](const Layout& layout, int device, Side side) {
    return packed(layout.shards[static_cast<std::size_t>(device)].shape(), what.item_bytes(side));
  };
  return what.copy(largest(message), first, last, strides(what.src(), from, Side::source),
                   strides(what.dst(), to, Side::destination));
}

// What the kernels take on a GPU: each message is judged by its largest box.
class Kernels {
 public:
  Kernels(const Redistribution& what, const plan::gpu::DeviceInfo& gpu)
      : what_(what), machine_(gpu) {}

  double seconds(int from, int to, Side first, Side last) {
    const Message message = what_.message(from, to);
    if (message.elements == 0) return 0;
    const Problem problem = copy_of(what_, message, from, to, first, last);
    const double share = static_cast<double>(message.elements) /
                         static_cast<double>(std::max<std::int64_t>(problem.elements(), 1));
    if (known_.elements() != problem.elements() || !(known_ == problem)) {
      known_ = problem;
      known_seconds_ = plan::make_plan(problem, machine_).predicted_seconds();
    }
    return share * known_seconds_;
  }

 private:
  const Redistribution& what_;
  plan::Machine machine_;
  Problem known_;  // many messages have equal boxes
  double known_seconds_ = -1;
};

std::int64_t through_links(const Traffic& traffic) {
  return std::max(traffic.sent, traffic.received);
}

void add_routes(ShardPlan& plan) {
  const Host& host = plan.on->host;
  const auto busiest = std::max_element(
      plan.devices.begin(), plan.devices.end(), [](const Traffic& a, const Traffic& b) {
        return std::pair(through_links(a), a.kept) < std::pair(through_links(b), b.kept);
      });
  const int device = static_cast<int>(busiest - plan.devices.begin());
  const auto bytes = static_cast<double>(through_links(*busiest));
  Kernels kernels(plan.what, host.gpu);
  const double local = kernels.seconds(device, device, Side::source, Side::destination);
  double pack = 0, unpack = 0;
  for (const MessageLine& message : plan.messages) {
    if (message.from == device) {
      pack += kernels.seconds(device, message.to, Side::source, Side::message);
    }
    if (message.to == device) {
      unpack += kernels.seconds(message.from, device, Side::message, Side::destination);
    }
  }
  plan.bound_seconds = bytes / host.copy_engine_bandwidth;

  const bool transposes = plan.runs.both < std::min(plan.runs.source, plan.runs.destination);
  const double stores = transposes ? host.transposing_store_bandwidth : host.store_bandwidth;
  // Values that become larger are stored as such.
  const double stored = bytes / static_cast<double>(plan.what.item_bytes(Side::message)) *
                        static_cast<double>(plan.what.item_bytes(Side::destination));
  const double filled = std::min(
      1.0, static_cast<double>(plan.runs.destination) / static_cast<double>(host.store_run_bytes));
  Route one_pass{"one pass", "a kernel stores into the memory of the others", "",
                 host.gpu.launch_seconds + std::max(stored / (stores * filled), local)};
  Route engines{"copy engines", "the GPUs' copy engines move runs that are long on both sides", "",
                host.gpu.launch_seconds + std::max(plan.bound_seconds, local)};
  if (plan.what.items().differ()) {
    engines.why_not = "values are converted";
  } else if (!engines_pay(plan.runs, host)) {
    engines.why_not =
        fmt::format("runs of {} on both sides; they pay from {} on",
                    plan::bytes_text(plan.runs.both), plan::bytes_text(host.copy_engine_run_bytes));
  }
  Route messages{"packed", "messages are packed, sent and unpacked", "",
                 pack + std::max(bytes / host.message_bandwidth, local) + unpack};
  plan.routes = {one_pass, engines, messages};
  std::stable_sort(plan.routes.begin(), plan.routes.end(), [](const Route& a, const Route& b) {
    return std::pair(!a.why_not.empty(), a.seconds) < std::pair(!b.why_not.empty(), b.seconds);
  });
}

}  // namespace

Runs runs_of(const Redistribution& what) {
  MessageLine most;
  for (int from = 0; from < what.devices(); ++from) {
    for (int to = 0; to < what.devices(); ++to) {
      const std::int64_t bytes = what.message_elements(from, to) * what.item_bytes(Side::message);
      // A message tells more than what stays.
      if (bytes > 0 && std::pair(from != to, bytes) > std::pair(most.from != most.to, most.bytes)) {
        most = {from, to, bytes};
      }
    }
  }
  if (most.bytes == 0) return {};
  return runs_of(copy_of(what, what.message(most.from, most.to), most.from, most.to, Side::source,
                         Side::destination));
}

bool engines_pay(const Runs& runs, const Host& host) {
  return runs.both >= host.copy_engine_run_bytes;
}

ShardPlan make_plan(const Redistribution& what, const std::optional<GpusOfHost>& on) {
  if (on && on->devices != what.devices()) {
    refuse(fmt::format("the mesh has {} devices, but {} GPUs of {} are there", what.devices(),
                       on->devices, on->host.name));
  }
  ShardPlan plan{
      what, std::vector<Traffic>(static_cast<std::size_t>(what.devices())), {}, {}, on, {}, 0};
  for (int from = 0; from < what.devices(); ++from) {
    for (int to = 0; to < what.devices(); ++to) {
      const std::int64_t bytes = what.message_elements(from, to) * what.item_bytes(Side::message);
      if (bytes == 0) continue;
      if (from == to) {
        plan.devices[static_cast<std::size_t>(from)].kept = bytes;
        continue;
      }
      plan.devices[static_cast<std::size_t>(from)].sent += bytes;
      plan.devices[static_cast<std::size_t>(to)].received += bytes;
      plan.messages.push_back({from, to, bytes});
    }
  }
  plan.runs = runs_of(what);
  if (on && plan.anything_moves()) add_routes(plan);
  return plan;
}

}  // namespace cornerturn::shards
