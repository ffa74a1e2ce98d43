#include "plan/plan.hpp"

namespace cornerturn::plan {
namespace {

// Wraps a family's own functions, which speak of its own configuration type.
#define CT_ROW(family, ConfigType, text)                                                   \
  Row {                                                                                    \
#family, text, &family::why_not,                                                         \
        [](const Row& row, const Problem& normal, const CpuInfo& cpu, Candidates& out) {     \
          const ConfigType config = family::configure(normal, cpu);                          \
          out.push_back({&row, config, family::cost_ns(config, normal, cpu)});               \
        },                                                                                   \
        [](const Config& config, const Problem& normal) {                                    \
          return family::describe(std::get<ConfigType>(config), normal);                     \
        } \
  }

Row converting(Row row) {
  row.converts = true;
  return row;
}

// tile has one configuration for each way to split the modes.
void configure_tile(const Row& row, const Problem& normal, const CpuInfo& cpu, Candidates& out) {
  const tile::Configs configs = tile::configure(normal, cpu);
  for (int i = 0; i < configs.size; ++i) {
    const TileConfig& config = configs.list[static_cast<std::size_t>(i)];
    out.push_back({&row, config, tile::cost_ns(config, normal, cpu)});
  }
}

}  // namespace

const std::vector<Row>& registry() {
  static const std::vector<Row> rows = {
      CT_ROW(copy, CopyConfig, "one run on both sides"),
      CT_ROW(rows, RowsConfig, "both sides share their fastest mode, its rows are moved whole"),
      converting(Row{"tile", "long runs on both sides, transposed in registers", &tile::why_not,
                     &configure_tile,
                     [](const Config& config, const Problem& normal) {
                       return tile::describe(std::get<TileConfig>(config), normal);
                     }}),
      CT_ROW(pack_lines, PackLinesConfig, "whole lines put together in registers"),
      CT_ROW(pack, PackConfig, "boxes contiguous in pieces on both sides, through a stage"),
      CT_ROW(strided, StridedConfig, "source elements a step apart, joined into lines"),
      converting(
          CT_ROW(convert, ConvertConfig, "contiguous runs converted in vectors, box by box")),
      converting(CT_ROW(gather, GatherConfig, "one element after the other, in destination order")),
  };
  return rows;
}

}  // namespace cornerturn::plan
