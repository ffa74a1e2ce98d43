// The ladder as a picture.
#include <fmt/format.h>

#include <algorithm>

#include "workshop/ladder/report.hpp"

namespace cornerturn::ladder {
namespace {

constexpr double left = 180;
constexpr double bars = 560;  // the longest bar
constexpr double pitch = 26;
constexpr double top = 64;

struct Part {
  double length = 0;  // share of the longest bar
  const char* colour = "";
};

struct Bar {
  std::string name;
  std::string label;
  std::vector<Part> parts;
};

struct LadderPicture {
  std::string title;
  std::string legend;
  std::vector<Bar> bars;
  double mark = 0;  // a line at this share, 0 for none
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string drawn(const LadderPicture& picture) {
  const double height = top + pitch * static_cast<double>(picture.bars.size()) + 20;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 {0:.0f}\" width=\"900\" "
      "height=\"{0:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"20\" y=\"26\" font-size=\"16\">{1}</text>\n"
      "<text x=\"20\" y=\"46\" fill=\"#666\">{2}</text>\n",
      height, escaped(picture.title), escaped(picture.legend));
  for (std::size_t i = 0; i < picture.bars.size(); ++i) {
    const Bar& bar = picture.bars[i];
    const double y = top + pitch * static_cast<double>(i);
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                       y + 15, escaped(bar.name));
    double x = left;
    for (const Part& part : bar.parts) {
      const double width = std::max(part.length * bars, 0.0);
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n", x,
          y + 2, width, pitch - 8, part.colour);
      x += width;
    }
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#333\">{}</text>\n", x + 6, y + 15,
                       escaped(bar.label));
  }
  if (picture.mark > 0) {
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#c33\" "
        "stroke-dasharray=\"4 3\"/>\n",
        left + picture.mark * bars, top - 4, height - 18);
  }
  return out + "</svg>\n";
}

LadderPicture measured(const Report& report) {
  LadderPicture picture;
  const double bytes = 2.0 * static_cast<double>(report.matrix.size());
  double best = 0;
  double copy = 0;
  for (const ReportRow& row : report.rows) {
    if (!row.measured || row.measured->cold.runs == 0) continue;
    copy = std::max(copy, bytes / row.measured->copy_cold.seconds);
    best = std::max({best, copy, bytes / row.measured->cold.seconds});
  }
  picture.title = fmt::format("{} x {} of {} on {}", report.matrix.rows, report.matrix.cols,
                              report.dtype, report.device->name);
  picture.legend =
      fmt::format("GB/s with a cold L2 cache; dashed: the plain copy, {:.0f}", copy / 1e9);
  picture.mark = best > 0 ? copy / best : 0;
  for (const ReportRow& row : report.rows) {
    if (!row.measured || row.measured->cold.runs == 0) continue;
    const double rate = bytes / row.measured->cold.seconds;
    picture.bars.push_back(
        {row.name,
         fmt::format("{:.0f}, {:.1f} % of the copy", rate / 1e9,
                     100 * row.measured->copy_cold.seconds / row.measured->cold.seconds),
         {{rate / best, "#3778b8"}}});
  }
  return picture;
}

LadderPicture predicted(const Report& report) {
  LadderPicture picture;
  picture.title = fmt::format("{}: predicted for an H200, nothing was measured", report.dtype);
  picture.legend = "share of a plain copy's speed, and what the time goes to; dashed: the copy";
  double best = 1;
  for (const ReportRow& row : report.rows) {
    if (row.outlook) best = std::max(best, row.outlook->ledger.share_of_copy());
  }
  picture.mark = 1 / best;
  for (const ReportRow& row : report.rows) {
    if (!row.outlook) continue;
    const Ledger& ledger = row.outlook->ledger;
    picture.title =
        fmt::format("{} x {} of {}: predicted for {}, nothing was measured", ledger.matrix.rows,
                    ledger.matrix.cols, report.dtype, ledger.device);
    const double share = ledger.share_of_copy();
    picture.bars.push_back({row.name,
                            fmt::format("{:.0f} %, {}", 100 * share, ledger.largest().name),
                            {{share / best, "#3778b8"}}});
  }
  return picture;
}

}  // namespace

std::string to_svg(const Report& report) {
  const bool timed = std::any_of(report.rows.begin(), report.rows.end(), [](const ReportRow& row) {
    return row.measured && row.measured->cold.runs > 0;
  });
  return drawn(timed ? measured(report) : predicted(report));
}

}  // namespace cornerturn::ladder
