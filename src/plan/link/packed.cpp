#include "plan/link/packed.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "plan/link/pieces.hpp"

namespace cornerturn::plan::link::packed {

const char* Family::why_not(const Problem& normal, const LinkInfo& link) {
  if (link.crossing.captured) return "the CPU takes part, which a graph does not take";
  return why_no_pieces(normal, link);
}

void Family::configure(const Question& question, const AddRoute& add) {
  const bool converts = question.normal.converts();
  std::vector<std::string> known;  // both orders are one where the sides have the same
  for (const Wire::Order order : {Wire::Order::of_host, Wire::Order::of_gpu}) {
    for (const bool converted : {false, true}) {
      if (converted && !converts) continue;
      std::int64_t before = 0;
      for (const std::int64_t most : piece_sizes) {
        const auto route = route_by(question, {order, converted, most});
        if (route == nullptr) continue;
        if (route->pieces->wire.bytes == before) break;
        before = route->pieces->wire.bytes;
        if (std::find(known.begin(), known.end(), route->words) != known.end()) continue;
        known.push_back(route->words);
        add(route);
      }
    }
  }
}

}  // namespace cornerturn::plan::link::packed
