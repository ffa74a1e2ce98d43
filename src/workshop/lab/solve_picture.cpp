#include "workshop/lab/solve_picture.hpp"

#include <vector>

#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_picture.hpp"

namespace cornerturn::lab {

Picture picture_of(const Answer& answer, const plan::gpu::DeviceInfo& device) {
  const TileChoice& choice = answer.choice;
  const TileShape& tile = choice.tile;
  std::vector<Access> accesses;
  for (const Leg* leg : {&answer.write, &answer.read}) {
    if (!leg->by_tma) accesses.push_back(parse_access(leg->access_text(tile.bytes), tile, {}));
  }
  if (const auto layout = choice.layout()) {
    return picture_of(explain(*layout, tile.bytes, accesses, device, false));
  }
  const Placement placed = {tile.rows, tile.columns, choice};
  std::vector<AccessExplanation> explained;
  explained.reserve(accesses.size());
  for (const Access& access : accesses) {
    explained.push_back(explain_access(placed, tile.bytes, access));
  }
  return picture_of(choice.text(), placed, tile.bytes, explained);
}

}  // namespace cornerturn::lab
