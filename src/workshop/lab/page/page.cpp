// What the page asks of the core: explanations, sectors and their pictures, as JSON. Compiled to
// WebAssembly.
#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>

#include "maps/sectors.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain_picture.hpp"
#include "workshop/lab/warp_picture.hpp"

namespace {

using namespace cornerturn;

lab::Picture shown;  // what note() is asked about

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out + '"';
}

template <class Range, class Text>
std::string list(const Range& range, const Text& text) {
  std::string out = "[";
  for (const auto& item : range) {
    if (out.size() > 1) out += ',';
    out += text(item);
  }
  return out + "]";
}

std::string member(const char* name, const std::string& value) {
  return quoted(name) + ":" + value + ",";
}

std::string json_of(const lab::Panel& panel) {
  std::string colours = "[";
  for (int tone = 0; tone < panel.tones; ++tone) {
    const lab::Colour c = lab::tone_colour(tone, panel.tones);
    if (tone > 0) colours += ',';
    colours += "[" + std::to_string(c.red) + "," + std::to_string(c.green) + "," +
               std::to_string(c.blue) + "," + (c.dark() ? "1" : "0") + "]";
  }
  std::string marks;
  std::string labels;
  for (const lab::Cell& cell : panel.cells) {
    marks += static_cast<char>('0' + static_cast<int>(cell.mark));
    labels += cell.label;
    labels += '|';
  }
  return "{" + member("title", quoted(panel.title)) +
         member("description", quoted(panel.description)) +
         member("rowAxis", quoted(panel.row_axis)) +
         member("columnAxis", quoted(panel.column_axis)) +
         member("rowLabels", list(panel.row_labels, quoted)) +
         member("columnLabels", list(panel.column_labels, quoted)) +
         member("colours", colours + "]") +
         member("tones", list(panel.cells,
                              [](const lab::Cell& cell) { return std::to_string(cell.tone); })) +
         member("marks", quoted(marks)) + "\"labels\":" + quoted(labels) + "}";
}

// Of `shown`.
std::string lines() {
  std::string out = "[";
  for (const auto& line : shown.lines) {
    if (out.size() > 1) out += ',';
    out += list(line, [](const lab::Panel& panel) { return json_of(panel); });
  }
  return out + "]";
}

std::string json_of(const lab::AccessExplanation& access) {
  return "{" + member("name", quoted(access.name)) + member("verdict", quoted(access.verdict)) +
         member("why", quoted(access.why)) +
         member("wavefronts", std::to_string(access.wavefronts)) +
         member("floor", std::to_string(access.floor)) +
         member("worst", std::to_string(access.worst)) + "\"requests\":" +
         list(access.requests,
              [](const lab::Request& r) { return std::to_string(r.groups.size()); }) +
         "}";
}

std::vector<lab::Access> accesses_of(std::string_view texts, const lab::TileShape& tile) {
  std::vector<lab::Access> accesses;
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find('\n'), texts.size());
    if (end > 0) accesses.push_back(lab::parse_access(texts.substr(0, end), tile, {}));
    texts.remove_prefix(std::min(end + 1, texts.size()));
  }
  return accesses;
}

// `accesses`: one a line. `request`: -1 for the worst. `group`: -1 for all.
std::string answer(const char* layout_text, int bytes, const char* accesses, int access,
                   int request, int group, bool remedy) {
  static const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  SwizzledLayout layout = parse_layout_of(layout_text, bytes);
  layout.layout = lab::tile_layout(layout.layout);
  const lab::TileShape tile = lab::tile_shape(layout.layout, bytes);
  const lab::Explanation e =
      lab::explain(layout, bytes, accesses_of(accesses, tile), device, remedy);
  const std::size_t at = std::min(static_cast<std::size_t>(std::max(access, 0)),
                                  e.accesses.empty() ? std::size_t{0} : e.accesses.size() - 1);
  std::size_t number = 0;
  if (!e.accesses.empty()) {
    const lab::AccessExplanation& chosen = e.accesses[at];
    number = request < 0 || static_cast<std::size_t>(request) >= chosen.requests.size()
                 ? chosen.worst
                 : static_cast<std::size_t>(request);
    if (group >= static_cast<int>(chosen.requests[number].groups.size())) group = -1;
  }
  shown = lab::picture_of(e, at, number, group);
  const AnySwizzle& s = layout.swizzle;
  std::string out =
      "{" + member("layout", quoted(to_string(layout))) +
      member("rows", std::to_string(e.tile.rows)) +
      member("columns", std::to_string(e.tile.columns)) +
      member("swizzle", "[" + std::to_string(s.bits) + "," + std::to_string(s.base) + "," +
                            std::to_string(s.shift) + "]") +
      member("plain", quoted(to_string(layout.layout))) +
      member("sharedBytes", std::to_string(e.shared_bytes)) +
      member("periodRows", std::to_string(e.period.rows)) +
      member("period", list(std::array{e.period.b, e.period.m, e.period.s}, quoted)) +
      member("clean", e.clean() ? "true" : "false") + member("access", std::to_string(at)) +
      member("request", std::to_string(number)) + member("group", std::to_string(group));
  if (e.remedy) {
    out += member("remedy", quoted(e.remedy->text)) +
           member("remedyLayout", quoted(to_string(e.remedy->layout)));
  }
  if (e.same_place) {
    const lab::SamePlace& same = *e.same_place;
    const auto point = [](const TilePoint& p) {
      return "(" + std::to_string(p.row) + "," + std::to_string(p.column) + ")";
    };
    out += member("collision", quoted(point(same.a) + " and " + point(same.b) +
                                      " both lie at offset " + std::to_string(same.offset)));
  }
  if (e.time) {
    out += member("slowdown", std::to_string(e.time->slowdown())) +
           member("device", quoted(e.time->device));
  }
  return out +
         member("accesses",
                list(e.accesses, [](const lab::AccessExplanation& a) { return json_of(a); })) +
         "\"lines\":" + lines() + "}";
}

// One request to global memory, whose lane i takes `vector` elements from lanes(i) on.
std::string sectors(const char* lanes, int bytes, int vector) {
  const WarpRequest request = lab::warp_request(parse_layout(lanes), bytes, vector);
  const GlobalCost cost = global_cost(request);
  shown = lab::sectors_picture(request);
  return "{" + member("sectors", std::to_string(cost.sectors)) +
         member("ideal", std::to_string(cost.ideal)) +
         member("touched_lines", std::to_string(cost.lines)) +
         member("bytes", std::to_string(cost.bytes)) +
         member("verdict", quoted(shown.description)) + "\"lines\":" + lines() + "}";
}

// What `make` returns, or what is wrong with its arguments.
template <class Make>
const char* answered(const Make& make) {
  static std::string result;
  try {
    result = make();
  } catch (const NotationError& error) {
    result = "{" + member("position", std::to_string(error.position())) +
             "\"error\":" + quoted(error.what()) + "}";
  } catch (const std::exception& error) {
    result = "{\"error\":" + quoted(error.what()) + "}";
  }
  return result.c_str();
}

}  // namespace

extern "C" {

/// JSON; its "error" says what is wrong with the arguments, "position" at which character of the
/// layout. A remedy is sought if `remedy` is not 0. Valid until the next call.
const char* lab_answer(const char* layout, int bytes, const char* accesses, int access, int request,
                       int group, int remedy) {
  return answered(
      [&] { return answer(layout, bytes, accesses, access, request, group, remedy != 0); });
}

/// The same of what the lanes of a warp take of global memory.
const char* lab_sectors(const char* lanes, int bytes, int vector) {
  return answered([&] { return sectors(lanes, bytes, vector); });
}

/// What there is to say of a cell of the last answer's picture.
const char* lab_note(int line, int panel, int row, int column) {
  static std::string result;
  result = note(
      shown.lines[static_cast<std::size_t>(line)][static_cast<std::size_t>(panel)].at(row, column));
  return result.c_str();
}
}
