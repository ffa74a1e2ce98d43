// Which passes put a file in order, and what they write.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "io/in_place.hpp"
#include "io/schedule.hpp"

namespace cornerturn::io {
namespace {

using namespace in_place;

constexpr std::int64_t most_extents = 64 << 10;  // of a record
constexpr std::int64_t buffers = 4;              // two of a record, what is kept, and to spare
constexpr std::int64_t good_run = 256 << 10;     // what a disk reads and writes fast

std::int64_t written_by(const SavePass&) {
  return 0;
}
std::int64_t written_by(const PanelPass& p) {
  return p.panels * p.rows * p.columns * p.element;
}
std::int64_t written_by(const RunPass& p) {
  return p.rows * p.columns * p.run;
}
std::int64_t written_by(const MovePass& p) {
  return p.rows * p.run;
}
std::int64_t written_by(const RestorePass& p) {
  return p.rows * p.columns * p.element;
}
std::int64_t written_by(const SwapPass& p) {
  return p.groups * p.extent * p.middle * p.extent * p.element;
}

}  // namespace

std::int64_t InPlaceSchedule::bytes() const {
  std::int64_t all = element;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

// A record of few bytes has room for few, so that it is about as long as its data.
std::int64_t InPlaceSchedule::extents() const {
  return std::clamp<std::int64_t>(piece / 64, 16, most_extents);
}

std::int64_t InPlaceSchedule::bytes_written() const {
  std::int64_t all = 0;
  for (const Way& way : ways.ways) {
    const Passes some = passes(way.step, way.factors);
    for (const Pass& pass : some.passes) {
      all += some.batch * std::visit([](const auto& one) { return written_by(one); }, pass);
    }
  }
  return all;
}

InPlaceSchedule schedule_in_pieces(const Extents& shape, const std::vector<int>& perm,
                                   std::int64_t element, std::int64_t piece) {
  InPlaceSchedule schedule{shape, perm, element, piece, {}};
  const in_place::Limits limits{piece, piece, good_run, 1};
  schedule.ways = decompose(shape, perm, element, limits);
  return schedule;
}

std::int64_t smallest_piece() {
  return (least_memory - program_memory) / buffers;
}

InPlaceSchedule make_in_place_schedule(const Extents& shape, const std::vector<int>& perm,
                                       std::int64_t element, std::int64_t memory) {
  require_memory(memory);
  const std::int64_t most = (memory - program_memory) / buffers;
  const std::int64_t bytes = InPlaceSchedule{shape, perm, element, 0, {}}.bytes();
  InPlaceSchedule schedule =
      schedule_in_pieces(shape, perm, element, std::min(most, std::max(bytes, least_piece)));
  if (!schedule.ways.fits) {
    throw Error(Status::invalid_argument,
                fmt::format("memory = {}: this permutation in place needs {}", size_text(memory),
                            size_text(schedule.ways.workspace * buffers + program_memory)));
  }
  return schedule;
}

std::string to_string(const InPlaceSchedule& schedule) {
  std::string text;
  for (const Way& way : schedule.ways.ways) {
    text += fmt::format("step     {}\n", to_string(way.step));
    const Passes all = passes(way.step, way.factors);
    for (const Pass& pass : all.passes) text += fmt::format("         - {}\n", to_string(pass));
  }
  return text + fmt::format("writes   {}, and as much to a journal of {}\n",
                            size_text(schedule.bytes_written()),
                            size_text(files::Journal::bytes(schedule.journal_sizes(), 0)));
}

}  // namespace cornerturn::io
