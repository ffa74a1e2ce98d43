// A plan for a redistribution: what moves, by which route, and how long it should take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shards/host.hpp"
#include "shards/redistribution.hpp"

namespace cornerturn::shards {

/// Bytes of one device.
struct Traffic {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t kept = 0;  ///< copied within the device
};

struct MessageLine {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// Bytes that lie next to each other, in the largest box of the largest message.
struct Runs {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t both = 0;  ///< on both sides
};

/// Runs of the largest message, or of what stays where there is none.
Runs runs_of(const Redistribution& what);

/// Are the runs long enough for the copy engines of such GPUs?
bool engines_pay(const Runs& runs, const Host& host);

/// A way to do it.
struct Route {
  std::string_view name;
  std::string_view idea;
  std::string why_not;  ///< empty: it can be taken
  double seconds = 0;
};

struct ShardPlan {
  Redistribution what;
  std::vector<Traffic> devices;
  std::vector<MessageLine> messages;  ///< between devices
  Runs runs;
  std::optional<GpusOfHost> on;
  // With a described host only:
  std::vector<Route> routes;  ///< the fastest first
  double bound_seconds = 0;   ///< the busiest device's bytes over its links, by copy engines

  bool anything_moves() const { return !messages.empty(); }
};

/// Throws where `on` has another number of GPUs than the layouts are for.
ShardPlan make_plan(const Redistribution& what, const std::optional<GpusOfHost>& on);

/// Some lines; with `explain` also every route and every message.
std::string to_string(const ShardPlan& plan, bool explain);
/// What programs read.
std::string to_json(const ShardPlan& plan);

}  // namespace cornerturn::shards
