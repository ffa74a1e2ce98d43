#include "plan/link/batch.hpp"

#include <fmt/format.h>

#include "plan/text.hpp"

namespace cornerturn::plan::link::batch {
namespace {

constexpr std::int64_t least_run = 4 << 10;  // bytes: shorter ones cross faster by any other route
constexpr std::int64_t most_copies = 1 << 16;  // which are enqueued one by one

std::int64_t run_bytes(const Problem& normal) {
  const int run = run_of(normal);
  return normal.src_type.size() * (run < 0 ? 1 : normal.modes[run].extent);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const LinkInfo& link) {
  if (!link.crossing.pinned) return "the copy engine does not reach pageable memory by itself";
  const std::int64_t bytes = run_bytes(normal);
  if (bytes < least_run && bytes < normal.bytes()) return "runs on both sides are below 4 KiB";
  if (normal.bytes() / bytes > most_copies) return "more than 65,536 runs";
  return nullptr;
}

void Family::configure(const Question& question, const AddRoute& add) {
  const Problem& normal = question.normal;
  const LinkInfo& link = question.link();
  const int run = run_of(normal);
  Pieces pieces;
  pieces.cut.outer = normal.modes;
  pieces.cut.piece = normal;
  pieces.cut.piece.modes.clear();
  pieces.cut.piece.src_offset = pieces.cut.piece.dst_offset = 0;
  if (run >= 0) {
    pieces.cut.outer.erase(run);
    pieces.cut.piece.modes.push_back(normal.modes[run]);
  }
  pieces.cut.rest = pieces.cut.piece;
  pieces.wire = pieces.rest_wire = {0, run_bytes(normal)};
  const auto copies = static_cast<double>(pieces.cut.count());
  const auto bytes = static_cast<double>(pieces.wire.bytes);
  const gpu::LinkRates& rates = link.gpu.link;
  const double seconds = rates.latency + copies * (rates.copy_seconds + bytes / link.engine_rate());
  add(std::make_shared<const Route>(
      Route{fmt::format("{} {} of {}", pieces.cut.count(), copies == 1 ? "copy" : "copies",
                        bytes_text(pieces.wire.bytes)),
            seconds,
            {},
            std::make_shared<const Pieces>(pieces),
            0}));
}

}  // namespace cornerturn::plan::link::batch
