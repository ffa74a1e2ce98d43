#include "io/in_place_cursor.hpp"

#include <variant>

#include "io/in_place_units.hpp"

namespace cornerturn::io {
namespace {

using namespace in_place;

bool is_index(std::int64_t index, std::int64_t end) {
  return index >= 0 && index < end;
}

bool is_within(const PanelPass& pass, const Cursor& at, const InPlaceSchedule&) {
  return is_index(at.index, pass.panels);
}
bool is_within(const SavePass&, const Cursor& at, const InPlaceSchedule&) {
  return at.index == 0;
}
bool is_within(const RestorePass& pass, const Cursor& at, const InPlaceSchedule&) {
  return is_index(at.index, pass.rows) && at.rest == pass.rows * pass.columns * pass.element;
}
bool is_within(const MovePass& pass, const Cursor& at, const InPlaceSchedule&) {
  return is_index(at.index, pass.rows + 1) && is_index(at.part, pass.run);
}
bool is_within(const RunPass& pass, const Cursor& at, const InPlaceSchedule&) {
  const std::int64_t count = pass.rows * pass.columns;
  return is_index(at.index, count + 1) && is_index(at.leader, count) && is_index(at.hole, count);
}
bool is_within(const SwapPass& pass, const Cursor& at, const InPlaceSchedule& schedule) {
  if (bytes_of_group(pass) <= schedule.piece) return is_index(at.index, pass.groups);
  return is_index(at.index, Units(pass, schedule.piece, schedule.extents()).count(pass));
}

}  // namespace

bool is_possible(const Cursor& at, std::int64_t kept, const InPlaceSchedule& schedule) {
  const auto ways = static_cast<std::int64_t>(schedule.ways.ways.size());
  if (!is_index(at.way, ways + 3) || !is_index(at.begun, 2) || !is_index(at.in_cycle, 2) ||
      at.index < 0 || at.rest < 0) {
    return false;
  }
  if (at.way >= ways) return kept == 0;
  const Way& way = schedule.ways.ways[static_cast<std::size_t>(at.way)];
  const Passes all = passes(way.step, way.factors);
  const auto count = static_cast<std::int64_t>(all.passes.size());
  if (!is_index(at.matrix, all.batch) || !is_index(at.pass, count + 1)) return false;
  if (at.pass == count) return kept == 0;
  const Pass& pass = all.passes[static_cast<std::size_t>(at.pass)];
  const auto* runs = std::get_if<RunPass>(&pass);
  const std::int64_t needed = runs != nullptr && at.in_cycle != 0 ? runs->run : 0;
  return kept == needed &&
         std::visit([&](const auto& some) { return is_within(some, at, schedule); }, pass);
}

}  // namespace cornerturn::io
