#include "plan/link/chunks.hpp"

#include "plan/link/pieces.hpp"

namespace cornerturn::plan::link::chunks {
namespace {

// So much of what crosses may be bytes between the elements.
constexpr double most_crossing = 1.5;

}  // namespace

const char* Family::why_not(const Problem& normal, const LinkInfo& link) {
  if (!link.crossing.pinned) return "the copy engine does not reach pageable memory by itself";
  if (link.crossing.captured) return "a graph takes no copies that work beside kernels";
  return why_no_pieces(normal, link);
}

void Family::configure(const Question& question, const AddRoute& add) {
  const bool into = question.link().into_gpu();
  std::int64_t before = 0;
  for (const std::int64_t most : piece_sizes) {
    const auto route = route_by(question, {Wire::Order::as_it_lies, !into, most});
    if (route == nullptr) continue;
    const Pieces& pieces = *route->pieces;
    const Problem& piece = pieces.cut.piece;
    const std::int64_t size = into ? piece.src_type.size() : piece.dst_type.size();
    if (static_cast<double>(pieces.wire.bytes) >
        most_crossing * static_cast<double>(piece.elements() * size)) {
      continue;
    }
    if (pieces.wire.bytes == before) break;
    before = pieces.wire.bytes;
    if (pieces.gpu.is_there()) add(route);  // else it is a batch
  }
}

}  // namespace cornerturn::plan::link::chunks
