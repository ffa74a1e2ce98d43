// A picture as SVG. Cells of one tone are one path, so that a tile of 4096 elements stays small.
#include <algorithm>
#include <cstdio>
#include <map>

#include "workshop/lab/picture.hpp"

namespace cornerturn::lab {
namespace {

constexpr int cell_height = 18;
constexpr int letter = 7;  // width of a letter of 11 px
constexpr int gap = 32;
constexpr int margin = 20;
constexpr int line_height = 16;
constexpr int title_letter = 9;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

std::string css(const Colour& c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(c.red & 255),
                static_cast<unsigned>(c.green & 255), static_cast<unsigned>(c.blue & 255));
  return text;
}

std::string number(int value) {
  return std::to_string(value);
}

/// Words in lines of at most `letters`.
std::vector<std::string> wrapped(const std::string& text, std::size_t letters) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > letters) {
      lines.push_back(line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

struct Measures {
  int cell = 0;  // width
  int head = 0;  // width of the row labels
  int width = 0;
  std::vector<std::string> words;
  int top = 0;  // from the panel's upper edge to its first row
  int height = 0;
};

Measures measure(const Panel& panel) {
  Measures m;
  std::size_t letters = std::max<std::size_t>(2, longest(panel.column_labels));
  for (const Cell& cell : panel.cells) letters = std::max(letters, cell.label.size());
  m.cell = static_cast<int>(letters) * letter + 6;
  m.head =
      static_cast<int>(std::max(longest(panel.row_labels), panel.row_axis.size())) * letter + 8;
  const int grid = m.head + m.cell * panel.columns();
  m.width = std::max({grid, static_cast<int>(panel.title.size()) * title_letter, 300});
  m.words = wrapped(panel.description, static_cast<std::size_t>(m.width / letter));
  m.top = 22 + line_height * static_cast<int>(m.words.size()) + 8;
  const bool numbered = longest(panel.column_labels) > 0;
  if (numbered) m.top += line_height;
  if (!panel.column_axis.empty()) m.top += line_height;
  m.height = m.top + cell_height * panel.rows() + 6;
  return m;
}

std::string text(int x, int y, const std::string& words, const std::string& more = {}) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" + escaped(words) +
         "</text>\n";
}

std::string box(int x, int y, int width, int height) {
  return "M" + number(x) + " " + number(y) + "h" + number(width) + "v" + number(height) + "h" +
         number(-width) + "z";
}

// The axes' names and numbers around the cells, which begin at (x0, y0).
std::string drawn_axes(const Panel& panel, const Measures& m, int x0, int y0) {
  std::string out;
  int above = y0 - 5;
  if (longest(panel.column_labels) > 0) {
    for (int j = 0; j < panel.columns(); ++j) {
      out += text(x0 + j * m.cell + m.cell / 2, above,
                  panel.column_labels[static_cast<std::size_t>(j)], " class=\"m\"");
    }
    above -= line_height;
  }
  if (!panel.column_axis.empty()) out += text(x0, above, panel.column_axis);
  if (!panel.row_axis.empty()) {
    out += text(x0 - 6, y0 - 5, panel.row_axis, " text-anchor=\"end\"");
  }
  for (int i = 0; i < panel.rows(); ++i) {
    out += text(x0 - 6, y0 + i * cell_height + 13, panel.row_labels[static_cast<std::size_t>(i)],
                " text-anchor=\"end\"");
  }
  return out;
}

/// What the cells of a panel put into each of its paths, and their labels.
struct Paths {
  std::map<int, std::string> tones;
  std::string outline;
  std::string touched;
  std::string conflicts;
  std::string corners;
  std::string light;
  std::string dark;
};

void add_cell(Paths& paths, const Cell& cell, int tones, int x, int y, int width) {
  const std::string whole = box(x, y, width, cell_height);
  if (cell.tone != Cell::no_tone) paths.tones[cell.tone] += whole;
  if (!cell.empty()) paths.outline += whole;  // it is as white as the background
  const std::string frame = box(x + 1, y + 1, width - 2, cell_height - 2);
  if (cell.mark == Mark::touched) paths.touched += frame;
  if (cell.mark == Mark::conflict) {
    paths.conflicts += frame;
    paths.corners += "M" + number(x + 1) + " " + number(y + 1) + "h7l-7 7z";
  }
  if (cell.label.empty()) return;
  const bool on_dark = cell.tone != Cell::no_tone && tone_colour(cell.tone, tones).dark();
  (on_dark ? paths.light : paths.dark) += text(x + width / 2, y + 13, cell.label);
}

std::string drawn_cells(const Panel& panel, const Measures& m, int x0, int y0) {
  Paths paths;
  for (int i = 0; i < panel.rows(); ++i) {
    for (int j = 0; j < panel.columns(); ++j) {
      add_cell(paths, panel.at(i, j), panel.tones, x0 + j * m.cell, y0 + i * cell_height, m.cell);
    }
  }
  std::string out;
  for (const auto& [tone, path] : paths.tones) {
    out += "<path fill=\"" + css(tone_colour(tone, panel.tones)) + "\" d=\"" + path + "\"/>\n";
  }
  out += "<path class=\"o\" d=\"" + paths.outline + "\"/>\n";
  // White beside the frames sets them off from every tone, also where colours look alike.
  if (!paths.touched.empty() || !paths.conflicts.empty()) {
    out += "<path class=\"h\" d=\"" + paths.touched + paths.conflicts + "\"/>\n";
  }
  if (!paths.touched.empty()) out += "<path class=\"a\" d=\"" + paths.touched + "\"/>\n";
  if (!paths.conflicts.empty()) {
    out += "<path class=\"c\" d=\"" + paths.conflicts + "\"/>\n<path class=\"k\" d=\"" +
           paths.corners + "\"/>\n";
  }
  out += "<g class=\"m\">\n" + paths.dark + "</g>\n";
  if (!paths.light.empty()) out += "<g class=\"m\" fill=\"#fff\">\n" + paths.light + "</g>\n";
  return out;
}

std::string drawn(const Panel& panel, const Measures& m, int left, int upper) {
  std::string out = "<g role=\"img\" aria-label=\"" + escaped(panel.title) + "\">\n<title>" +
                    escaped(panel.title) + "</title>\n<desc>" + escaped(panel.description) +
                    "</desc>\n";
  out += text(left, upper + 14, panel.title, " class=\"t\"");
  int y = upper + 22;
  for (const std::string& line : m.words) out += text(left, y += line_height, line, " class=\"d\"");
  const int x0 = left + m.head;
  const int y0 = upper + m.top;
  return out + drawn_axes(panel, m, x0, y0) + drawn_cells(panel, m, x0, y0) + "</g>\n";
}

}  // namespace

std::string to_svg(const Picture& picture) {
  int width = static_cast<int>(picture.title.size()) * 10;
  int height = margin + 24;
  std::string body;
  for (const auto& line : picture.lines) {
    int x = margin;
    int tallest = 0;
    int top = 0;  // panels of a line have their first rows at one height
    std::vector<Measures> measures;
    for (const Panel& panel : line) {
      measures.push_back(measure(panel));
      top = std::max(top, measures.back().top);
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      Measures& m = measures[i];
      m.height += top - m.top;
      m.top = top;
      body += drawn(line[i], m, x, height);
      x += m.width + gap;
      tallest = std::max(tallest, m.height);
    }
    width = std::max(width, x - gap);
    height += tallest + gap;
  }
  width += margin;
  const std::string summary =
      picture.description.empty() ? picture.title : picture.title + ". " + picture.description;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) +
                    " " + number(height) + "\" width=\"" + number(width) + "\" height=\"" +
                    number(height) +
                    "\" role=\"img\" aria-labelledby=\"title desc\" "
                    "font-family=\"DejaVu Sans Mono, Consolas, monospace\" font-size=\"11\">\n"
                    "<title id=\"title\">" +
                    escaped(picture.title) + "</title>\n<desc id=\"desc\">" + escaped(summary) +
                    "</desc>\n"
                    "<style>.t{font:bold 14px sans-serif}.d{font:12px sans-serif;fill:#333}"
                    ".m{text-anchor:middle}.o{fill:none;stroke:#fff;stroke-width:1}"
                    ".a{fill:none;stroke:#000;stroke-width:2}"
                    ".h{fill:none;stroke:#fff;stroke-width:3.6}"
                    ".c{fill:none;stroke:#b00000;stroke-width:2}"
                    ".k{fill:#b00000;stroke:#fff}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  out += text(margin, margin + 6, picture.title, " style=\"font:bold 16px sans-serif\"");
  return out + body + "</svg>\n";
}

}  // namespace cornerturn::lab
