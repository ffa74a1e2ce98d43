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

}  // namespace

const std::vector<Row>& registry() {
  static const std::vector<Row> rows = {
      CT_ROW(copy, CopyConfig, "one run on both sides"),
      CT_ROW(rows, RowsConfig, "both sides share their fastest mode, its rows are moved whole"),
      CT_ROW(pack_lines, PackLinesConfig, "whole lines put together in registers"),
      CT_ROW(gather, GatherConfig, "one element after the other, in destination order"),
  };
  return rows;
}

}  // namespace cornerturn::plan
