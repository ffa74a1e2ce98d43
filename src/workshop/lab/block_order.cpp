#include "workshop/lab/block_order.hpp"

#include <algorithm>
#include <string>

#include "cornerturn/error.hpp"
#include "maps/sectors.hpp"
#include "workshop/rungs/block_order.hpp"

namespace cornerturn::lab {
namespace {

constexpr std::int64_t most_tiles = 65536;
constexpr int most_drawn = 32;

const char* words(BlockOrder order) {
  return order == BlockOrder::input_rows    ? "along the rows of the source"
         : order == BlockOrder::output_rows ? "along the rows of the destination"
         : order == BlockOrder::groups      ? "in groups of rows of tiles"
         : order == BlockOrder::morton      ? "along the Morton curve"
                                            : "along the Hilbert curve";
}

// Blocks of a curve, those outside of the matrix included.
std::int64_t launched(const TiledMatrix& matrix) {
  using Curve = ladder::BlockOrder<ladder::Order::morton>;
  return static_cast<std::int64_t>(
      Curve::blocks(static_cast<std::uint32_t>(matrix.tiles_down()),
                    static_cast<std::uint32_t>(matrix.tiles_across())));
}

template <ladder::Order order>
std::vector<TilePlace> along_curve(const TiledMatrix& matrix) {
  using Curve = ladder::BlockOrder<order>;
  const auto down = static_cast<std::uint32_t>(matrix.tiles_down());
  const auto across = static_cast<std::uint32_t>(matrix.tiles_across());
  const auto blocks = static_cast<std::uint32_t>(launched(matrix));
  std::vector<TilePlace> places;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const ladder::TileIndex at = Curve::tile(block, down, across);
    if (at.row < down && at.col < across) places.push_back({at.row, at.col, block});
  }
  return places;
}

void check(const TiledMatrix& m, int group, int resident) {
  const auto refuse = [](const std::string& what) { throw Error(Status::invalid_argument, what); };
  if (m.rows < 1 || m.columns < 1) refuse("a matrix without elements has no blocks");
  if (m.tile_rows < 1 || m.tile_columns < 1) refuse("a tile without elements");
  if (m.bytes < 1 || m.bytes > 16) {
    refuse("elements of " + std::to_string(m.bytes) + " B: they have 1 to 16");
  }
  if (group < 1) refuse("a group of " + std::to_string(group) + " rows of tiles: at least 1");
  if (resident < 1) refuse(std::to_string(resident) + " resident blocks: at least 1");
  if (m.tiles_down() > most_tiles || m.tiles_across() > most_tiles ||
      m.tiles_down() * m.tiles_across() > most_tiles) {
    refuse(std::to_string(m.tiles_down()) + " x " + std::to_string(m.tiles_across()) +
           " tiles: no more than 65536 are looked at");
  }
}

}  // namespace

BlockOrder parse_block_order(std::string_view name) {
  if (name == "input") return BlockOrder::input_rows;
  if (name == "output") return BlockOrder::output_rows;
  if (name == "groups") return BlockOrder::groups;
  if (name == "morton") return BlockOrder::morton;
  if (name == "hilbert") return BlockOrder::hilbert;
  throw Error(Status::invalid_argument, "'" + std::string(name) +
                                            "' is no order of blocks: input, output, groups, "
                                            "morton or hilbert");
}

std::vector<TilePlace> block_order(const TiledMatrix& matrix, BlockOrder order, int group) {
  if (order == BlockOrder::morton) return along_curve<ladder::Order::morton>(matrix);
  if (order == BlockOrder::hilbert) return along_curve<ladder::Order::hilbert>(matrix);
  const std::int64_t down = matrix.tiles_down();
  const std::int64_t across = matrix.tiles_across();
  const std::int64_t high = order == BlockOrder::input_rows ? 1
                            : order == BlockOrder::output_rows
                                ? down
                                : std::min<std::int64_t>(group, down);
  std::vector<TilePlace> places;
  for (std::int64_t top = 0; top < down; top += high) {
    for (std::int64_t j = 0; j < across; ++j) {
      for (std::int64_t i = top; i < std::min(top + high, down); ++i) {
        places.push_back({i, j, static_cast<std::int64_t>(places.size())});
      }
    }
  }
  return places;
}

L2Footprint l2_footprint(const TiledMatrix& m, const std::vector<TilePlace>& places,
                         std::size_t first, std::size_t resident) {
  struct Piece {
    std::int64_t line;
    std::int64_t bytes;
  };
  std::vector<std::int64_t> read;
  std::vector<Piece> written;
  const auto lines = [](std::int64_t begin, std::int64_t bytes, const auto& use) {
    for (std::int64_t at = begin; at < begin + bytes;) {
      const std::int64_t end = std::min((at / line_bytes + 1) * line_bytes, begin + bytes);
      use(at / line_bytes, end - at);
      at = end;
    }
  };
  const std::size_t last = std::min(first + resident, places.size());
  for (std::size_t b = first; b < last; ++b) {
    const std::int64_t row = places[b].down * m.tile_rows;
    const std::int64_t column = places[b].across * m.tile_columns;
    const std::int64_t rows = std::min<std::int64_t>(m.tile_rows, m.rows - row);
    const std::int64_t columns = std::min<std::int64_t>(m.tile_columns, m.columns - column);
    for (std::int64_t i = 0; i < rows; ++i) {
      lines(((row + i) * m.columns + column) * m.bytes, columns * m.bytes,
            [&](std::int64_t line, std::int64_t) { read.push_back(line); });
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      lines(((column + j) * m.rows + row) * m.bytes, rows * m.bytes,
            [&](std::int64_t line, std::int64_t bytes) {
              written.push_back({line, bytes});
            });
    }
  }
  L2Footprint result;
  std::sort(read.begin(), read.end());
  result.read_lines = std::unique(read.begin(), read.end()) - read.begin();
  std::sort(written.begin(), written.end(),
            [](const Piece& a, const Piece& b) { return a.line < b.line; });
  const std::int64_t end = m.rows * m.columns * m.bytes;
  for (std::size_t i = 0; i < written.size();) {
    const std::int64_t line = written[i].line;
    std::int64_t bytes = 0;
    for (; i < written.size() && written[i].line == line; ++i) bytes += written[i].bytes;
    ++result.written_lines;
    if (bytes < std::min<std::int64_t>(line_bytes, end - line * line_bytes)) {
      ++result.unfinished_lines;
    }
  }
  return result;
}

Picture block_picture(const TiledMatrix& matrix, BlockOrder order, int group, int resident) {
  check(matrix, group, resident);
  const std::vector<TilePlace> places = block_order(matrix, order, group);
  const auto wave = static_cast<std::size_t>(resident);
  const std::size_t waves = (places.size() + wave - 1) / wave;
  L2Footprint worst;
  for (std::size_t first = 0; first < places.size(); first += wave) {
    const L2Footprint now = l2_footprint(matrix, places, first, wave);
    if (now.unfinished_lines > worst.unfinished_lines ||
        (now.unfinished_lines == worst.unfinished_lines && now.bytes() > worst.bytes())) {
      worst = now;
    }
  }

  Picture picture;
  picture.title = "Blocks " + std::string(words(order));
  picture.description =
      std::to_string(resident) + " blocks run at a time. The worst such wave reads " +
      std::to_string(worst.read_lines) + " lines of 128 bytes and writes " +
      std::to_string(worst.written_lines) + ", together " + std::to_string(worst.bytes()) +
      " bytes of L2; " + std::to_string(worst.unfinished_lines) +
      " of the written lines are finished by other waves.";
  if (order == BlockOrder::morton || order == BlockOrder::hilbert) {
    const std::int64_t blocks = launched(matrix);
    picture.description += " Of " + std::to_string(blocks) + " blocks " +
                           std::to_string(blocks - static_cast<std::int64_t>(places.size())) +
                           " lie outside of the matrix and end at once.";
  }
  const int rows = static_cast<int>(std::min<std::int64_t>(matrix.tiles_down(), most_drawn));
  const int columns = static_cast<int>(std::min<std::int64_t>(matrix.tiles_across(), most_drawn));
  Panel panel =
      make_panel(std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) +
                     " elements of " + std::to_string(matrix.bytes) + " B, tiles of " +
                     std::to_string(matrix.tile_rows) + " x " + std::to_string(matrix.tile_columns),
                 rows, columns, matrix.tile_rows, matrix.tile_columns);
  panel.row_axis = "row";
  panel.column_axis = "column";
  panel.tones = static_cast<int>(std::min<std::size_t>(waves, 8));
  panel.description = picture.description +
                      " The number is the block's, the tone its wave; blocks of the first wave "
                      "have a frame.";
  if (rows < matrix.tiles_down() || columns < matrix.tiles_across()) {
    panel.description += " Drawn are the first " + std::to_string(rows) + " x " +
                         std::to_string(columns) + " of " + std::to_string(matrix.tiles_down()) +
                         " x " + std::to_string(matrix.tiles_across()) + " tiles.";
  }
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (places[b].down >= rows || places[b].across >= columns) continue;
    Cell& cell = panel.at(static_cast<int>(places[b].down), static_cast<int>(places[b].across));
    cell.tone = static_cast<std::int16_t>(b / wave % 8);
    cell.mark = b < wave ? Mark::touched : Mark::none;
    cell.label = std::to_string(places[b].block);
    cell.text = "block " + cell.label + ", wave " + std::to_string(b / wave);
  }
  picture.lines.push_back({std::move(panel)});
  return picture;
}

}  // namespace cornerturn::lab
