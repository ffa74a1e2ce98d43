// How each kernel is set up for one problem: plain aggregates, one a family.
#pragma once

#include <variant>

#include "plan/convert.hpp"
#include "plan/copy.hpp"
#include "plan/gather.hpp"
#include "plan/pack.hpp"
#include "plan/pack_lines.hpp"
#include "plan/rows.hpp"
#include "plan/strided.hpp"
#include "plan/tile.hpp"

namespace cornerturn::plan {

using Config = std::variant<CopyConfig, RowsConfig, TileConfig, PackLinesConfig, PackConfig,
                            StridedConfig, ConvertConfig, GatherConfig>;

}  // namespace cornerturn::plan
