#include "workshop/lab/rung_data.hpp"

#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/rung_access.hpp"
#include "workshop/lab/rung_picture.hpp"
#include "workshop/ladder/diagnosis.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array element_sizes = {1, 2, 4, 8, 16};

bool lies_as(const ladder::TileMap& tile, const SwizzledLayout& layout) {
  for (int row = 0; row < tile.rows; ++row) {
    for (int column = 0; column < tile.columns; ++column) {
      if (layout(row, column) != tile.at(row, column)) return false;
    }
  }
  return true;
}

// Many rungs have panels in common: each panel is kept once.
class Panels {
 public:
  std::size_t number_of(const Panel& panel) {
    std::string text = json_of(panel).dump();
    const auto [found, is_new] = numbers_.try_emplace(text, all_.size());
    if (is_new) all_.push_back(Json::parse(text));
    return found->second;
  }
  const Json& all() const { return all_; }

 private:
  // A cell is [row, column, label, tone, mark, note]. Cells in which nothing is are left out, as
  // are notes that say no more than the label, a lane.
  static Json json_of(const Panel& panel) {
    Json cells = Json::array();
    for (int i = 0; i < panel.rows(); ++i) {
      for (int j = 0; j < panel.columns(); ++j) {
        const Cell& cell = panel.at(i, j);
        if (cell.empty()) continue;
        Json written = {i, j, cell.label, cell.tone, static_cast<int>(cell.mark)};
        if (note(cell) != "lane " + cell.label) written.push_back(note(cell));
        cells.push_back(std::move(written));
      }
    }
    return {{"title", panel.title},          {"description", panel.description},
            {"rowAxis", panel.row_axis},     {"columnAxis", panel.column_axis},
            {"rowLabels", panel.row_labels}, {"columnLabels", panel.column_labels},
            {"cells", std::move(cells)}};
  }

  Json all_ = Json::array();
  std::map<std::string, std::size_t> numbers_;
};

// What the lab's fields take of the rung's tile.
void add_tile(Json& out, const ladder::Rung& rung, int bytes) {
  const std::optional<ladder::TileMap> tile = rung.tile(bytes);
  if (!tile) return;
  const TileShape shape{tile->rows, tile->columns, bytes};
  Json accesses = Json::array();
  try {
    for (const Access& access : rung_accesses(rung.name, shape)) {
      accesses.push_back({access.name, access_text(access, shape)});
    }
  } catch (const Error&) {
    return;  // it holds no whole elements, or the copy engine alone reaches it
  }
  out["tile"] = {tile->rows, tile->columns};
  out["accesses"] = std::move(accesses);
  if (const auto layout = layout_of(*tile, bytes)) out["layout"] = to_string(*layout);
}

Json json_of(const ladder::Rung& rung, const ladder::Matrix& matrix, Panels& panels) {
  const ladder::Prediction run = ladder::predict(rung, matrix);
  const Dim3& grid = run.launch.grid;
  const Dim3& block = run.launch.block;
  Json out = {{"blocks", grid.count()},
              {"threads", block.count()},
              {"shared", run.shared_bytes},
              {"legs", Json::parse(run.report.json())["legs"]}};
  const auto outlook = ladder::outlook_of(run, ladder::predicted_matrix(matrix.bytes),
                                          plan::gpu::device_named("h200"));
  if (outlook) {
    out["limit"] = outlook->diagnosis.sentence();
    out["predicted"] = outlook->ledger.text();
  }
  add_tile(out, rung, matrix.bytes);
  Json lines = Json::array();
  for (const std::vector<Panel>& line : rung_picture(rung, run).lines) {
    Json numbers = Json::array();
    for (const Panel& panel : line) numbers.push_back(panels.number_of(panel));
    lines.push_back(std::move(numbers));
  }
  out["lines"] = std::move(lines);
  return out;
}

}  // namespace

std::optional<SwizzledLayout> layout_of(const ladder::TileMap& tile, int bytes) {
  if (tile.slot_bytes != bytes || tile.at(0, 0) != 0) return std::nullopt;
  const auto written = [&](std::int64_t row_stride) {
    return make_layout({make_leaf(tile.rows, row_stride), make_leaf(tile.columns, 1)});
  };
  const SwizzledLayout rows{{}, 0, written(tile.at(1, 0))};
  if (lies_as(tile, rows)) return rows;
  const int width =
      static_cast<int>(std::bit_width(static_cast<unsigned>(tile.rows * tile.columns))) - 1;
  for (int bits = 1; bits <= 5; ++bits) {
    for (int base = 0; base + bits <= width; ++base) {
      for (int shift = bits; base + shift + bits <= width; ++shift) {
        const SwizzledLayout layout{make_swizzle(bits, base, shift), 0, written(tile.columns)};
        if (lies_as(tile, layout)) return layout;
      }
    }
  }
  return std::nullopt;
}

std::string rung_data() {
  Panels panels;
  Json rungs = Json::array();
  for (const ladder::Rung& rung : ladder::rungs()) {
    Json sizes = Json::object();
    for (const int bytes : element_sizes) {
      const ladder::Matrix matrix{512, 512, bytes};
      if (ladder::why_not(rung, matrix)) continue;
      sizes[std::to_string(bytes)] = json_of(rung, matrix, panels);
    }
    rungs.push_back({{"name", rung.name},
                     {"shows", rung.shows},
                     {"after", rung.after},
                     {"emulated", rung.family == ladder::Family::kernel_form},
                     {"sizes", std::move(sizes)}});
  }
  Json colours = Json::array();
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const Colour c = tone_colour(lane, warp_lanes);
    colours.push_back({c.red, c.green, c.blue, c.dark() ? 1 : 0});
  }
  return Json{
      {"rungs", std::move(rungs)}, {"panels", panels.all()}, {"colours", std::move(colours)}}
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn::lab
