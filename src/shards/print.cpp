#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/text.hpp"
#include "shards/plan.hpp"

namespace cornerturn::shards {
namespace {

using plan::bytes_text;
using plan::time_text;

// "8 x 4096 x 32768", or the smallest and the largest where shards differ.
std::string shards_text(const Layout& layout) {
  const auto less = [](const Shard& a, const Shard& b) { return a.elements() < b.elements(); };
  const auto [least, most] = std::minmax_element(layout.shards.begin(), layout.shards.end(), less);
  const auto shape = [](const Shard& shard) {
    return fmt::format("({})", fmt::join(shard.shape(), ","));
  };
  if (shape(*least) == shape(*most)) return shape(*most) + " on every device";
  return fmt::format("{} to {} on a device", shape(*least), shape(*most));
}

std::string layout_text(const Layout& layout) {
  return fmt::format("{}: {}", layout.text, shards_text(layout));
}

template <class Of>
std::string range_text(const ShardPlan& plan, const Of& of) {
  const auto less = [&](const Traffic& a, const Traffic& b) { return of(a) < of(b); };
  const auto [least, most] = std::minmax_element(plan.devices.begin(), plan.devices.end(), less);
  if (of(*least) == of(*most)) return bytes_text(of(*most));
  return fmt::format("{} to {}", bytes_text(of(*least)), bytes_text(of(*most)));
}

std::string traffic_text(const ShardPlan& plan) {
  return fmt::format("{} messages; a device sends {}, receives {}, keeps {}", plan.messages.size(),
                     range_text(plan, [](const Traffic& t) { return t.sent; }),
                     range_text(plan, [](const Traffic& t) { return t.received; }),
                     range_text(plan, [](const Traffic& t) { return t.kept; }));
}

std::string runs_text(const Runs& runs) {
  return fmt::format("{} at the source, {} at the destination, {} on both sides",
                     bytes_text(runs.source), bytes_text(runs.destination), bytes_text(runs.both));
}

double bandwidth(const ShardPlan& plan, double seconds) {
  std::int64_t bytes = 0;
  for (const Traffic& device : plan.devices)
    bytes = std::max({bytes, device.sent, device.received});
  return static_cast<double>(bytes) / seconds;
}

std::string routes_text(const ShardPlan& plan, bool explain) {
  const Route& best = plan.routes.front();
  std::string text = fmt::format(
      "route        {}: {}; about {} on {} {}, {:.0f} GB/s a device\n"
      "bound        {}: {:.0f} GB/s, the link by copy engines\n",
      best.name, best.idea, time_text(best.seconds * 1e9), plan.on->devices, plan.on->host.gpu.name,
      bandwidth(plan, best.seconds) * 1e-9, time_text(plan.bound_seconds * 1e9),
      plan.on->host.copy_engine_bandwidth * 1e-9);
  if (!explain) return text;
  text += "routes\n";
  for (const Route& route : plan.routes) {
    const bool taken = route.why_not.empty();
    text += fmt::format("  {:<13} {}\n", route.name,
                        taken ? "about " + time_text(route.seconds * 1e9) : route.why_not);
  }
  return text;
}

std::string messages_text(const ShardPlan& plan) {
  std::string text = "messages\n";
  for (const MessageLine& line : plan.messages) {
    const Message message = plan.what.message(line.from, line.to);
    text += fmt::format("  {:>4} -> {:<4} {:>10} in {} {}\n", line.from, line.to,
                        bytes_text(line.bytes), message.boxes.size(),
                        message.boxes.size() == 1 ? "box" : "boxes");
  }
  return text;
}

std::string items_text(const Items& items) {
  if (items.differ()) return fmt::format("{} to {}", items.src.name(), items.dst.name());
  return fmt::format("elements of {} bytes", items.src.size());
}

nlohmann::json layout_json(const Layout& layout) {
  nlohmann::json shapes = nlohmann::json::array();
  for (const Shard& shard : layout.shards) shapes.push_back(shard.shape());
  return {{"layout", layout.text}, {"shape", layout.shape}, {"shards", shapes}};
}

}  // namespace

std::string to_string(const ShardPlan& plan, bool explain) {
  std::string text = fmt::format("{} devices, {}, axes ({})\n", plan.what.devices(),
                                 items_text(plan.what.items()), fmt::join(plan.what.perm(), ","));
  text += fmt::format("source       {}\n", layout_text(plan.what.src()));
  text += fmt::format("destination  {}\n", layout_text(plan.what.dst()));
  text += fmt::format("traffic      {}\n", traffic_text(plan));
  text += fmt::format("runs         {}\n", runs_text(plan.runs));
  if (!plan.routes.empty()) text += routes_text(plan, explain);
  if (explain && plan.anything_moves()) text += messages_text(plan);
  return text;
}

std::string to_json(const ShardPlan& plan) {
  nlohmann::json json = {{"devices", plan.what.devices()},
                         {"item_bytes", plan.what.item_bytes(Side::source)},
                         {"perm", plan.what.perm()},
                         {"src", layout_json(plan.what.src())},
                         {"dst", layout_json(plan.what.dst())},
                         {"runs",
                          {{"source", plan.runs.source},
                           {"destination", plan.runs.destination},
                           {"both", plan.runs.both}}}};
  if (const Items& items = plan.what.items(); items.differ()) {
    json["conversion"] = {{"from", items.src.name()}, {"to", items.dst.name()}};
  }
  json["traffic"] = nlohmann::json::array();
  for (const Traffic& device : plan.devices) {
    json["traffic"].push_back(
        {{"sent", device.sent}, {"received", device.received}, {"kept", device.kept}});
  }
  json["messages"] = nlohmann::json::array();
  for (const MessageLine& line : plan.messages) {
    json["messages"].push_back({{"from", line.from},
                                {"to", line.to},
                                {"bytes", line.bytes},
                                {"boxes", plan.what.message(line.from, line.to).boxes.size()}});
  }
  if (!plan.routes.empty()) {
    json["on"] = {{"host", plan.on->host.name}, {"gpu", plan.on->host.gpu.name}};
    json["bound_seconds"] = plan.bound_seconds;
    json["routes"] = nlohmann::json::array();
    for (const Route& route : plan.routes) {
      nlohmann::json entry = {{"name", route.name}};
      if (route.why_not.empty()) {
        entry["predicted_seconds"] = route.seconds;
      } else {
        entry["why_not"] = route.why_not;
      }
      json["routes"].push_back(entry);
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace cornerturn::shards
