// A picture as lines of text, with colours where the terminal has them.
#include <algorithm>

#include "workshop/lab/picture.hpp"

namespace cornerturn::lab {
namespace {

/// A line and how many columns of the terminal it takes.
struct Line {
  std::string text;
  int width = 0;

  void add(const std::string& words) {
    text += words;
    width += static_cast<int>(words.size());
  }
  void pad(int wanted) {
    if (width < wanted) add(std::string(static_cast<std::size_t>(wanted - width), ' '));
  }
};

std::string right(const std::string& words, int width) {
  const int blanks = std::max(0, width - static_cast<int>(words.size()));
  return std::string(static_cast<std::size_t>(blanks), ' ') + words;
}

std::string rgb(const Colour& c) {
  return std::to_string(c.red) + ";" + std::to_string(c.green) + ";" + std::to_string(c.blue);
}

void add_cell(Line& line, const Panel& panel, const Cell& cell, int width, bool colours) {
  const char* mark = cell.mark == Mark::conflict ? "!" : cell.mark == Mark::touched ? "*" : " ";
  const std::string label =
      right(cell.label.empty() && cell.tone == Cell::no_tone ? "." : cell.label, width - 1) + mark;
  if (!colours || cell.tone == Cell::no_tone) return line.add(label);
  const Colour colour = tone_colour(cell.tone, panel.tones);
  const char* bold = cell.mark == Mark::none ? "" : ";1;4";
  line.text += "\x1b[48;2;" + rgb(colour) + (colour.dark() ? ";38;2;255;255;255" : ";38;2;0;0;0") +
               bold + "m" + label + "\x1b[0m";
  line.width += width;
}

std::vector<Line> lines_of(const Panel& panel, const Terminal& terminal) {
  std::vector<Line> lines;
  const auto add = [&](const std::string& words) {
    lines.emplace_back();
    lines.back().add(words);
  };
  std::size_t letters = std::max<std::size_t>(1, longest(panel.column_labels));
  for (const Cell& cell : panel.cells) letters = std::max(letters, cell.label.size());
  const int cell = static_cast<int>(letters) + 2;
  const std::string corner =
      panel.row_axis.empty() ? panel.column_axis : panel.row_axis + "\\" + panel.column_axis;
  const int head = static_cast<int>(std::max(longest(panel.row_labels), corner.size())) + 1;
  const int shown = std::clamp((terminal.width - head) / cell, 1, std::max(1, panel.columns()));
  const int columns = std::min(shown, panel.columns());

  add(panel.title);
  if (longest(panel.column_labels) > 0 || !corner.empty()) {
    lines.emplace_back();
    lines.back().add(right(corner, head - 1) + " ");
    for (int j = 0; j < columns; ++j) {
      lines.back().add(right(panel.column_labels[static_cast<std::size_t>(j)], cell - 1) + " ");
    }
  }
  for (int i = 0; i < panel.rows(); ++i) {
    lines.emplace_back();
    lines.back().add(right(panel.row_labels[static_cast<std::size_t>(i)], head - 1) + " ");
    for (int j = 0; j < columns; ++j) {
      add_cell(lines.back(), panel, panel.at(i, j), cell, terminal.colours);
    }
  }
  if (columns < panel.columns()) {
    add("(" + std::to_string(panel.columns() - columns) +
        " more to the right: for greater widths, or SVG)");
  }
  return lines;
}

int width_of(const std::vector<Line>& lines) {
  int width = 0;
  for (const Line& line : lines) width = std::max(width, line.width);
  return width;
}

}  // namespace

std::string to_text(const Picture& picture, const Terminal& terminal) {
  std::string out;
  for (const auto& row : picture.lines) {
    std::vector<Line> together;
    for (const Panel& panel : row) {
      std::vector<Line> next = lines_of(panel, terminal);
      const int from = width_of(together) + 3;
      if (together.empty()) {
        together = std::move(next);
      } else if (from + width_of(next) <= terminal.width) {
        together.resize(std::max(together.size(), next.size()));
        for (std::size_t i = 0; i < next.size(); ++i) {
          together[i].pad(from);
          together[i].text += next[i].text;
          together[i].width += next[i].width;
        }
      } else {
        together.emplace_back();
        together.insert(together.end(), next.begin(), next.end());
      }
    }
    for (Line& line : together) {
      line.text.erase(line.text.find_last_not_of(' ') + 1);
      out += line.text + "\n";
    }
    out += "\n";
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace cornerturn::lab
