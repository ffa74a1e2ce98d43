// What a route across the link does: the work of a plan whose two sides lie in different memories.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "plan/link/cut.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan::link {

/// Work before or after the bytes cross: a plan for a whole piece and one for a piece with fewer
/// steps. Null: there is none, the bytes cross as they lie.
struct Stage {
  std::shared_ptr<const Plan> piece;
  std::shared_ptr<const Plan> rest;

  const Plan& of(const Piece& one) const { return one.is_rest ? *rest : *piece; }
  bool is_there() const { return piece != nullptr; }
};

/// Pieces cross one after the other, by the copy engine. Between a side and the link there may be
/// a stage of the CPU, on the host's side, or one of the GPU; what crosses are `wire` bytes.
///
///   into the GPU    host -[cpu]-> wire in pinned memory ==> wire on the GPU -[gpu]-> GPU
///   out of it       GPU -[gpu]-> wire on the GPU ==> wire in pinned memory -[cpu]-> host
///
/// Without its stage a side's own memory is the wire.
struct Pieces {
  Cut cut;
  Stage cpu;
  Stage gpu;
  /// Of a side that is the wire, from its first element; elsewhere 0 and the bytes of the wire.
  Span wire;
  Span rest_wire;

  const Span& wire_of(const Piece& one) const { return one.is_rest ? rest_wire : wire; }
  /// Pieces on their way at once: the next one is filled while one crosses and one is emptied.
  int slots() const { return static_cast<int>(std::min<std::int64_t>(cut.count(), 3)); }
  /// Bytes of a slot: a wire begins where in 16 bytes its own memory does.
  std::int64_t slot_bytes() const { return (wire.bytes + 15 + 255) / 256 * 256; }
};

/// What runs: either one plan whose kernels reach over the link, or pieces.
struct Route {
  std::string words;   ///< the configuration's name
  double seconds = 0;  ///< as estimated
  std::shared_ptr<const Plan> direct = {};
  std::shared_ptr<const Pieces> pieces = {};
  int blocks = 0;  ///< of the direct plan, at most; 0: as many as it has

  /// Must the call wait, since the CPU takes part?
  bool needs_cpu() const { return pieces != nullptr && pieces->cpu.is_there(); }
};

/// The configuration of every family of routes.
struct RouteConfig {
  std::shared_ptr<const Route> route;

  friend bool operator==(const RouteConfig& a, const RouteConfig& b) {
    return a.route == b.route || a.route->words == b.route->words;
  }
};

/// Lines that explain() adds: what the stages do, each with its end.
std::string details_of(const Route& route);

inline const Route& route_of(const Plan& plan) {
  return *plan.chosen.config.as<RouteConfig>().route;
}

}  // namespace cornerturn::plan::link
