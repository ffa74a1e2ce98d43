// One model of a picture for the terminal, SVG and the page: grids of cells, each of which has a
// tone, a label, a mark and, for who points at it, a note.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workshop/lab/placement.hpp"

namespace cornerturn::lab {

/// What sets a cell apart besides its tone. Each is drawn so that it shows without colours, too.
enum class Mark : std::uint8_t {
  none,
  touched,   ///< by the request that the picture is about
  conflict,  ///< costs a wavefront, or a transfer, that need not be
};

struct Cell {
  static constexpr int no_tone = -1;

  std::int16_t tone = no_tone;  ///< a step of the panel's ramp
  Mark mark = Mark::none;
  std::string label;

  // What the note is made of; -1 where it does not apply.
  std::int64_t row = -1;
  std::int64_t column = -1;
  std::int64_t offset = -1;  ///< elements
  int bank = -1;
  std::string lanes;  ///< "5" or "0-3, 8"
  std::string text;   ///< whatever else there is to say

  bool empty() const { return tone == no_tone && label.empty() && mark == Mark::none; }
};

struct Panel {
  std::string title;
  std::string description;  ///< in words what there is to see: the text alternative
  std::string row_axis;     ///< what the rows count: "row"
  std::string column_axis;
  std::vector<std::string> row_labels;  ///< one a row
  std::vector<std::string> column_labels;
  int tones = 32;           ///< steps of the ramp
  std::vector<Cell> cells;  ///< row after row

  int rows() const { return static_cast<int>(row_labels.size()); }
  int columns() const { return static_cast<int>(column_labels.size()); }
  const Cell& at(int row, int column) const {
    return cells[static_cast<std::size_t>(row) * column_labels.size() +
                 static_cast<std::size_t>(column)];
  }
  Cell& at(int row, int column) {
    return const_cast<Cell&>(static_cast<const Panel&>(*this).at(row, column));
  }
};

/// Panels of one line stand side by side.
struct Picture {
  std::string title;
  std::string description;
  std::vector<std::vector<Panel>> lines;
};

/// An empty grid whose rows and columns are numbered from 0.
Panel make_panel(std::string title, int rows, int columns, int rows_step = 1, int columns_step = 1);

/// "(3,5) at offset 197, bank 5, lane 2", of what is known.
std::string note(const Cell& cell);

/// What tiles are drawn with.
struct TileView {
  int unit = 1;          ///< elements a cell: their first one decides
  int max_rows = 64;     ///< larger tiles are cut, and the title says so
  int max_columns = 64;  ///< cells
  bool offsets = false;  ///< cells are labelled with offsets instead of banks
};

/// How many elements are drawn as one cell: those of an access of `vector` elements, but at least a
/// word of 4 bytes; fewer when they do not lie together.
int drawn_unit(const Placement& placed, int bytes, int vector);

/// The tile, each cell in the tone of the bank in which its first element lies.
Panel tile_panel(std::string title, const Placement& placed, int bytes, const TileView& view);

/// The layout without its swizzle and under it, side by side, and the bits that the swizzle moves.
/// A layout without a swizzle stands alone. Throws Error when offsets are negative or elements are
/// not of 1 to 16 bytes.
Picture tile_picture(const SwizzledLayout& layout, int bytes, int vector, bool offsets);

/// The bits of a byte address: those that pick the byte and the bank, and the swizzle's Y and Z.
Panel bits_panel(const AnySwizzle& swizzle, int bytes);

// Drawing.

/// Red, green and blue of step `tone` of `tones`: from light to dark, so that the order also shows
/// in grey, through colours that differ for colour-blind eyes, too.
struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;

  /// White letters are better read on it than black ones.
  bool dark() const { return 299 * red + 587 * green + 114 * blue < 117500; }
};
Colour tone_colour(int tone, int tones);

/// The letters of the longest one.
std::size_t longest(const std::vector<std::string>& labels);

/// A file of its own, with <title> and <desc> for those who do not see it.
std::string to_svg(const Picture& picture);

struct Terminal {
  bool colours = false;
  int width = 100;  ///< characters
};
/// Lines of text. Without colours marks are letters: * touched, ! conflict.
std::string to_text(const Picture& picture, const Terminal& terminal);

}  // namespace cornerturn::lab
