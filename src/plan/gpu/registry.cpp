#include "plan/gpu/plan.hpp"

namespace cornerturn::plan::gpu {
namespace {

// Wraps a family's own functions, which speak of its own configuration type. A family offers one or
// several configurations by configure(normal, start, device, add).
#define CT_GPU_ROW(family, ConfigType, converting, text)                                                    \
  Row {                                                                                                     \
#family, text, converting, &family::why_not,                                                              \
        [](const Row& row, const Problem& normal, const Alignment& start, const Model& model, Candidates& out) { \
 family::configure(normal, start, model.device, [&](const ConfigType& config) {                       \
            const Estimate estimate = family::estimate(config, normal, model); \
            out.push_back({&row, config, estimate.seconds, estimate});          \
          });                                                                                     \
        },                                                                                        \
        [](const Config& config, const Problem& normal, const Model& model) {                     \
          return family::estimate(std::get<ConfigType>(config), normal, model);                   \
        },                                                                                        \
        [](const Config& config, const Problem& normal) {                                         \
          return family::describe(std::get<ConfigType>(config), normal);                          \
        },                                                                                        \
        [](const Config& config, const Problem& normal) {                                         \
          return family::prepare(std::get<ConfigType>(config), normal);                           \
        } \
  }

}  // namespace

const std::vector<Row>& registry() {
  static const std::vector<Row> rows = {
      CT_GPU_ROW(copy, CopyConfig, false, "one run of bytes"),
      CT_GPU_ROW(rows, RowsConfig, false, "rows that both sides share, in vectors"),
      CT_GPU_ROW(boxes, BoxesConfig, false,
                 "rows that both sides share, neighbours of either together"),
      CT_GPU_ROW(structures, StructuresConfig, false, "structures to planes or back, in registers"),
      CT_GPU_ROW(tile, TileConfig, false, "long runs on both sides, turned through shared memory"),
      CT_GPU_ROW(skew, SkewConfig, false,
                 "long runs on both sides that begin anywhere, gathered from rows"),
      CT_GPU_ROW(pack, PackConfig, false,
                 "boxes contiguous in pieces on both sides, gathered through a table"),
      CT_GPU_ROW(gather, GatherConfig, false, "one element after the other, in destination order"),
      CT_GPU_ROW(rows_convert, RowsConvertConfig, true,
                 "values change: rows that both sides share, in vectors"),
      CT_GPU_ROW(structures_convert, StructuresConvertConfig, true,
                 "values change: structures to planes, in registers"),
      CT_GPU_ROW(tile_convert, TileConvertConfig, true,
                 "values change: long runs on both sides, turned through shared memory"),
      CT_GPU_ROW(skew_convert, SkewConvertConfig, true,
                 "values change: long runs on both sides that begin anywhere"),
      CT_GPU_ROW(pack_convert, PackConvertConfig, true,
                 "values change: boxes contiguous in pieces on both sides"),
      CT_GPU_ROW(gather_convert, GatherConvertConfig, true,
                 "values change: one element after the other, in destination order"),
  };
  return rows;
}

}  // namespace cornerturn::plan::gpu
