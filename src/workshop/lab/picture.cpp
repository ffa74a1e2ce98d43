#include "workshop/lab/picture.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cornerturn/error.hpp"
#include "maps/banks.hpp"

namespace cornerturn::lab {
namespace {

int bank_of(std::int64_t offset, int bytes) {
  const std::int64_t bank = offset * bytes / bank_bytes % bank_count;
  return static_cast<int>(bank < 0 ? bank + bank_count : bank);
}

bool lie_together(const Placement& placed, int unit) {
  if (placed.columns % unit != 0) return false;
  for (std::int64_t row = 0; row < placed.rows; ++row) {
    for (std::int64_t column = 0; column < placed.columns; column += unit) {
      const std::int64_t first = placed.at(row, column);
      for (int k = 1; k < unit; ++k) {
        if (placed.at(row, column + k) != first + k) return false;
      }
    }
  }
  return true;
}

}  // namespace

Panel make_panel(std::string title, int rows, int columns, int rows_step, int columns_step) {
  Panel panel;
  panel.title = std::move(title);
  for (int i = 0; i < rows; ++i) panel.row_labels.push_back(std::to_string(i * rows_step));
  for (int j = 0; j < columns; ++j) {
    panel.column_labels.push_back(std::to_string(j * columns_step));
  }
  panel.cells.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  return panel;
}

std::string note(const Cell& cell) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (cell.row >= 0) {
    add("(" + std::to_string(cell.row) + "," + std::to_string(cell.column) + ")");
  }
  if (cell.offset >= 0) {
    out += out.empty() ? "offset " : " at offset ";
    out += std::to_string(cell.offset);
  }
  if (cell.bank >= 0) add("bank " + std::to_string(cell.bank));
  if (!cell.lanes.empty()) {
    const bool one = cell.lanes.find_first_not_of("0123456789") == std::string::npos;
    add((one ? "lane " : "lanes ") + cell.lanes);
  }
  if (!cell.text.empty()) add(cell.text);
  return out;
}

int drawn_unit(const Placement& placed, int bytes, int vector) {
  int unit = std::max(vector, bytes < bank_bytes ? bank_bytes / bytes : 1);
  while (unit > 1 && !lie_together(placed, unit)) unit /= 2;
  return unit;
}

Panel tile_panel(std::string title, const Placement& placed, int bytes, const TileView& view) {
  const std::int64_t across = (placed.columns + view.unit - 1) / view.unit;
  const int rows = static_cast<int>(std::min<std::int64_t>(placed.rows, view.max_rows));
  const int columns = static_cast<int>(std::min<std::int64_t>(across, view.max_columns));
  Panel panel = make_panel(std::move(title), rows, columns, 1, view.unit);
  panel.row_axis = "row";
  panel.column_axis = "column";
  panel.description = view.offsets ? "The number in a cell is its offset, the tone its bank."
                                   : "The number and the tone of a cell are its bank.";
  if (view.unit > 1) {
    panel.description +=
        " A cell is " + std::to_string(view.unit) + " neighbouring elements; the first counts.";
  }
  if (rows < placed.rows || columns < across) {
    panel.description +=
        " Drawn are the first " + std::to_string(rows) + " rows and " +
        std::to_string(std::min(placed.columns, std::int64_t{columns} * view.unit)) +
        " columns of " + std::to_string(placed.rows) + " x " + std::to_string(placed.columns) + ".";
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      Cell& cell = panel.at(i, j);
      cell.row = i;
      cell.column = std::int64_t{j} * view.unit;
      cell.offset = placed.at(cell.row, cell.column);
      cell.bank = bank_of(cell.offset, bytes);
      cell.tone = static_cast<std::int16_t>(cell.bank);
      cell.label = std::to_string(view.offsets ? cell.offset : cell.bank);
    }
  }
  return panel;
}

namespace {

// After how many rows a swizzle moves the elements in the same way again.
std::int64_t rows_of_period(const Placement& swizzled, const Placement& plain) {
  const auto repeats = [&](std::int64_t rows) {
    for (std::int64_t row = rows; row < plain.rows; ++row) {
      for (std::int64_t column = 0; column < plain.columns; ++column) {
        if (swizzled.at(row, column) - plain.at(row, column) !=
            swizzled.at(row - rows, column) - plain.at(row - rows, column)) {
          return false;
        }
      }
    }
    return true;
  };
  std::int64_t rows = 1;
  while (rows < plain.rows && !repeats(rows)) ++rows;
  return rows;
}

// A frame where the pattern begins again.
void mark_period(Panel& panel, std::int64_t rows, std::int64_t all_rows) {
  if (rows >= all_rows) return;
  panel.description += " The pattern repeats after " + std::to_string(rows) +
                       (rows == 1 ? " row." : " rows: a frame marks where it begins.");
  if (rows == 1) return;
  for (std::int64_t row = 0; row < panel.rows(); row += rows) {
    panel.at(static_cast<int>(row), 0).mark = Mark::touched;
  }
}

// "=" behind the number of a row that lies as it would without the swizzle.
void mark_unchanged(Panel& panel, const Placement& swizzled, const Placement& plain) {
  int marked = 0;
  for (int row = 0; row < panel.rows(); ++row) {
    bool same = true;
    for (std::int64_t column = 0; column < plain.columns; ++column) {
      same = same && swizzled.at(row, column) == plain.at(row, column);
    }
    if (!same) continue;
    panel.row_labels[static_cast<std::size_t>(row)] += "=";
    ++marked;
  }
  panel.description += marked == 0 ? " No row lies as it would without the swizzle."
                                   : " Rows with = lie as they would without the swizzle.";
}

}  // namespace

Picture tile_picture(const SwizzledLayout& layout, int bytes, int vector, bool offsets) {
  if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)) != 0) {
    throw Error(Status::invalid_argument,
                "elements of " + std::to_string(bytes) + " B: they have 1, 2, 4, 8 or 16");
  }
  if (layout.layout.rank() > 2) {
    throw Error(Status::invalid_argument,
                "the layout has " + std::to_string(layout.layout.rank()) +
                    " modes: rows and columns are two; group the others, as in ((2,4),8)");
  }
  const Placement placed = placement_of(layout);
  for (std::int64_t i = 0; i < layout.size(); ++i) {
    if (layout.offset + layout.layout(i) >= 0) continue;
    throw Error(Status::invalid_argument,
                "(" + std::to_string(i % placed.rows) + "," + std::to_string(i / placed.rows) +
                    ") lies at offset " + std::to_string(layout.offset + layout.layout(i)) +
                    ", which is negative");
  }
  TileView view;
  view.unit = drawn_unit(placed, bytes, vector);
  view.offsets = offsets;
  Picture picture;
  const std::string elements = std::to_string(placed.rows) + " x " +
                               std::to_string(placed.columns) + " elements of " +
                               std::to_string(bytes) + " B";
  picture.title = elements + " over the 32 banks of shared memory";
  picture.description = "Each cell is coloured by its bank, from light (0) to dark (31).";
  if (layout.swizzle.bits == 0) {
    picture.lines.push_back({tile_panel("The tile", placed, bytes, view)});
    return picture;
  }
  SwizzledLayout plain = layout;
  plain.swizzle = {};
  const Placement before = placement_of(plain);
  Panel swizzled = tile_panel("Swizzle<" + std::to_string(layout.swizzle.bits) + "," +
                                  std::to_string(layout.swizzle.base) + "," +
                                  std::to_string(layout.swizzle.shift) + ">",
                              placed, bytes, view);
  mark_period(swizzled, rows_of_period(placed, before), placed.rows);
  mark_unchanged(swizzled, placed, before);
  picture.lines.push_back(
      {tile_panel("Without the swizzle", before, bytes, view), std::move(swizzled)});
  picture.lines.push_back({bits_panel(layout.swizzle, bytes)});
  return picture;
}

Panel bits_panel(const AnySwizzle& swizzle, int bytes) {
  int element_bits = 0;
  while (1 << element_bits < bytes) ++element_bits;
  const std::int64_t y = swizzle.y_mask() << element_bits;
  const std::int64_t z = swizzle.z_mask() << element_bits;
  int count = 12;
  while (std::max(y, z) >> count != 0) ++count;

  Panel panel = make_panel("Bits of a byte address", 3, count);
  panel.row_labels = {"bit", "picks", "xor"};
  panel.tones = 4;
  panel.description =
      "Bits 0 and 1 pick the byte of a word, bits 2 to 6 the bank, those above the line of 128 "
      "bytes.";
  if (swizzle.bits > 0) panel.description += " The bits marked Y are xor-ed into those marked Z.";
  for (int j = 0; j < count; ++j) {
    const int bit = count - 1 - j;
    panel.column_labels[static_cast<std::size_t>(j)].clear();
    panel.at(0, j).label = std::to_string(bit);
    Cell& picks = panel.at(1, j);
    picks.label = bit < 2 ? "byte" : bit < 7 ? "bank" : "line";
    picks.tone = bit < 2 ? 0 : bit < 7 ? 1 : Cell::no_tone;
    Cell& part = panel.at(2, j);
    const bool in_y = ((y >> bit) & 1) != 0;
    const bool in_z = ((z >> bit) & 1) != 0;
    part.label = in_y ? "Y" : in_z ? "Z" : bit < element_bits ? "elem" : "";
    part.tone = in_y ? 3 : in_z ? 2 : Cell::no_tone;
    part.mark = in_z ? Mark::touched : Mark::none;
    part.text = in_y   ? "bit " + std::to_string(bit) + " is Y: read, and left as it is"
                : in_z ? "bit " + std::to_string(bit) + " is Z: xor-ed with a Y bit"
                       : std::string();
  }
  return panel;
}

Colour tone_colour(int tone, int tones) {
  // Cividis from its light end, without the darkest fifth: lightness falls evenly.
  static constexpr std::array<Colour, 9> stops = {{{254, 232, 56},
                                                   {234, 209, 86},
                                                   {210, 189, 105},
                                                   {187, 170, 118},
                                                   {165, 152, 120},
                                                   {143, 135, 120},
                                                   {122, 119, 119},
                                                   {98, 104, 116},
                                                   {66, 84, 110}}};
  const double place = tones < 2 ? 0 : 8.0 * std::clamp(tone, 0, tones - 1) / (tones - 1);
  const auto first = std::min<std::size_t>(static_cast<std::size_t>(place), stops.size() - 2);
  const double share = place - static_cast<double>(first);
  const auto mix = [&](int Colour::*part) {
    const int a = stops[first].*part;
    return a + static_cast<int>(share * (stops[first + 1].*part - a));
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

std::size_t longest(const std::vector<std::string>& labels) {
  std::size_t length = 0;
  for (const std::string& label : labels) length = std::max(length, label.size());
  return length;
}

}  // namespace cornerturn::lab
