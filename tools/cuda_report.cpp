#include "cuda_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "cuda_hints.hpp"

namespace cornerturn::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double rounding = 1e-9;

double number(const Json& of, const char* key) {
  return of.contains(key) && of[key].is_number() ? of[key].get<double>() : 0;
}

std::string text(const Json& of, const char* key) {
  return of.contains(key) && of[key].is_string() ? of[key].get<std::string>() : "";
}

std::int64_t whole(const Json& of, const char* key) {
  return static_cast<std::int64_t>(number(of, key));
}

bool has_count(const Json& line, const char* what) {
  return line.contains(what) && line[what].is_object() && number(line[what], "ideal") > 0;
}

double ratio(const Json& line, const char* what) {
  return has_count(line, what) ? number(line[what], "actual") / number(line[what], "ideal") : 1;
}

// "race" of "race", "read of unwritten memory" of "unwritten_read".
std::string kind_text(const Json& finding) {
  std::string kind = text(finding, "kind");
  if (kind == "unwritten_read") return "read of unwritten memory";
  if (kind == "never_ends") return "endless loop";
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

std::string place_text(const Json& place) {
  return text(place, "file").empty()
             ? "?"
             : fmt::format("{}:{}", text(place, "file"), whole(place, "line"));
}

std::string triple(const Json& of) {
  if (!of.is_array() || of.size() != 3) return "";
  return fmt::format("({},{},{})", of[0].get<std::int64_t>(), of[1].get<std::int64_t>(),
                     of[2].get<std::int64_t>());
}

// A line of the source in a table, which has little room.
std::string shortened(const std::string& line) {
  constexpr std::size_t most = 90;
  return line.size() <= most ? line : line.substr(0, most - 3) + "...";
}

// The lines of files, as far as they are there.
class SourceLines {
 public:
  std::string line(const std::string& file, std::int64_t number) {
    auto [known, is_new] = files_.try_emplace(file);
    if (is_new) {
      std::ifstream in(file);
      for (std::string one; std::getline(in, one);) known->second.push_back(one);
    }
    if (number < 1 || number > static_cast<std::int64_t>(known->second.size())) return "";
    std::string found = known->second[static_cast<std::size_t>(number - 1)];
    const std::size_t from = found.find_first_not_of(" \t");
    found = from == std::string::npos ? "" : found.substr(from);
    while (!found.empty() && (found.back() == ' ' || found.back() == '\r')) found.pop_back();
    return found;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

std::string finding_text(const Json& finding, SourceLines& sources) {
  std::string out = fmt::format("{}: {}", text(finding, "severity"), kind_text(finding));
  if (!text(finding, "memory").empty()) {
    out += fmt::format(" in {} at byte {}", text(finding, "memory"), whole(finding, "byte"));
  }
  if (!text(finding, "message").empty()) out += ": " + text(finding, "message");
  if (!text(finding, "kernel").empty()) out += fmt::format(" [{}]", text(finding, "kernel"));
  if (number(finding, "count") > 1) out += fmt::format(" ({} times)", whole(finding, "count"));
  out += "\n";
  if (!finding.contains("places")) return out;
  for (const Json& place : finding["places"]) {
    out += " ";
    if (whole(place, "line") > 0) out += fmt::format(" {}:", place_text(place));
    if (place.contains("thread") && !triple(place["thread"]).empty()) {
      out += fmt::format(" thread {}", triple(place["thread"]));
      if (place.contains("block") && !triple(place["block"]).empty()) {
        out += fmt::format(" of block {}", triple(place["block"]));
      }
    }
    if (!text(place, "action").empty()) out += " " + text(place, "action");
    if (number(place, "bytes") > 0) out += fmt::format(" {} B", whole(place, "bytes"));
    out += "\n";
    const std::string line = sources.line(text(place, "file"), whole(place, "line"));
    if (!line.empty()) out += "      " + line + "\n";
  }
  return out;
}

std::string op_text(const Json& line) {
  std::string op = text(line, "op");
  std::replace(op.begin(), op.end(), '_', ' ');
  return op;
}

std::string per_request(const Json& line, const char* what) {
  const double requests = number(line, "requests");
  if (!has_count(line, what) || requests == 0) return "-";
  return fmt::format("{:.3g} ({:.3g})", number(line[what], "actual") / requests,
                     number(line[what], "ideal") / requests);
}

std::string table_of(const Json& kernel, SourceLines& sources) {
  std::vector<std::vector<std::string>> rows = {{"line", "access", "bytes", "requests", "lanes",
                                                 "sectors (ideal)", "wavefronts (ideal)",
                                                 "source"}};
  const std::string file = text(kernel, "file");
  for (const Json& line : kernel["lines"]) {
    const double requests = std::max(number(line, "requests"), 1.0);
    const std::string where =
        text(line, "file") == file ? std::to_string(whole(line, "line")) : place_text(line);
    rows.push_back({where, op_text(line), std::to_string(whole(line, "width")),
                    std::to_string(whole(line, "requests")),
                    fmt::format("{:.3g}", number(line, "lanes") / requests),
                    per_request(line, "sectors"), per_request(line, "wavefronts"),
                    shortened(sources.line(text(line, "file"), whole(line, "line")))});
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string one = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_left = i == 1 || i == 7;
      one += i == 7    ? fmt::format("  {}", row[i])
             : is_left ? fmt::format(" {:<{}}", row[i], widths[i])
                       : fmt::format(" {:>{}}", row[i], widths[i]);
    }
    while (one.back() == ' ') one.pop_back();
    out += one + "\n";
  }
  return out;
}

// Lanes with what each of them wants: banks of shared memory, sectors of global memory.
std::string lanes_drawn(const Json& worst, bool is_shared) {
  const auto active = static_cast<std::uint32_t>(number(worst, "active"));
  std::uint64_t first = ~std::uint64_t{0};
  const auto address = [&](std::size_t lane) {
    return worst["addresses"][lane].get<std::uint64_t>();
  };
  for (std::size_t lane = 0; lane < worst["addresses"].size(); ++lane) {
    if ((active >> lane & 1U) != 0) first = std::min(first, address(lane));
  }
  std::string out;
  for (std::size_t from = 0; from < worst["addresses"].size(); from += 16) {
    std::string lanes = "    lane  ";
    std::string wanted = is_shared ? "    bank  " : "    sector";
    for (std::size_t lane = from; lane < std::min(from + 16, worst["addresses"].size()); ++lane) {
      const bool is_active = (active >> lane & 1U) != 0;
      const std::uint64_t value =
          is_shared ? address(lane) / 4 % 32 : address(lane) / 32 - first / 32;
      const std::string shown = is_active ? std::to_string(value) : ".";
      const std::size_t width = std::max<std::size_t>(shown.size(), 2) + 1;
      lanes += fmt::format("{:>{}}", lane, width);
      wanted += fmt::format("{:>{}}", shown, width);
    }
    out += lanes + "\n" + wanted + "\n";
  }
  return out;
}

// The request of all lines that takes the most times what it needs.
std::string worst_request(const Json& kernel) {
  const Json* worst = nullptr;
  bool is_shared = false;
  double most = 1 + rounding;
  for (const Json& line : kernel["lines"]) {
    if (!line.contains("worst") || !line["worst"].contains("addresses")) continue;
    for (const char* what : {"wavefronts", "sectors"}) {
      if (ratio(line, what) <= most) continue;
      most = ratio(line, what);
      worst = &line;
      is_shared = std::string_view(what) == "wavefronts";
    }
  }
  if (worst == nullptr) return "";
  const Json& request = (*worst)["worst"];
  std::string out = fmt::format(
      "The worst request, a {} at {}, warp {} of block {}: {} {}", op_text(*worst),
      place_text(*worst), whole(request, "warp"), triple(request["block"]),
      whole(request, is_shared ? "wavefronts" : "sectors"), is_shared ? "wavefronts" : "sectors");
  if (is_shared && request.contains("lanes") && request["lanes"].size() == 2) {
    out += fmt::format("; lanes {} and {} want different words of bank {}",
                       request["lanes"][0].get<int>(), request["lanes"][1].get<int>(),
                       whole(request, "bank"));
  }
  return out + "\n" + lanes_drawn(request, is_shared);
}

std::string kernel_text(const Json& kernel, SourceLines& sources) {
  std::string out = fmt::format(
      "{} ({}): {} of {} blocks of {} threads", text(kernel, "name"), place_text(kernel),
      number(kernel, "launches") == 1 ? "a launch"
                                      : fmt::format("{} launches", whole(kernel, "launches")),
      triple(kernel["grid"]), triple(kernel["block"]));
  const std::int64_t shared = whole(kernel, "static_shared") + whole(kernel, "dynamic_shared");
  if (shared > 0) out += fmt::format(", {} B of shared memory", shared);
  out += "\n" + table_of(kernel, sources);
  const std::string worst = worst_request(kernel);
  if (!worst.empty()) out += "\n" + worst;
  for (const std::string& hint : hints_of(kernel)) out += "\nHint: " + hint + "\n";
  return out;
}

// Which lines a finding is about, whichever of its threads came first.
std::string lines_key(const Json& finding) {
  std::vector<std::string> places;
  for (const Json& place : finding["places"]) places.push_back(place_text(place));
  std::sort(places.begin(), places.end());
  return fmt::format("{} {} {} {} {}", text(finding, "kind"), text(finding, "severity"),
                     text(finding, "kernel"), text(finding, "memory"), fmt::join(places, " "));
}

// Each pair of lines once.
Json without_mirrored(const Json& findings) {
  Json out = Json::array();
  std::map<std::string, std::size_t> known;
  for (const Json& finding : findings) {
    const auto [at, is_new] = known.try_emplace(lines_key(finding), out.size());
    if (is_new) {
      out.push_back(finding);
    } else {
      Json& first = out[at->second];
      first["count"] = std::max(whole(first, "count"), whole(finding, "count"));
    }
  }
  return out;
}

}  // namespace

void judge(Json& report, const ReportLimits& limits) {
  report["findings"] = without_mirrored(report["findings"]);
  Json over = Json::array();
  for (const Json& kernel : report["kernels"]) {
    for (const Json& line : kernel["lines"]) {
      for (const auto& [what, limit] :
           {std::pair("wavefronts", limits.wavefronts), std::pair("sectors", limits.sectors)}) {
        if (ratio(line, what) <= limit + rounding) continue;
        over.push_back(
            {{"kind", std::string("too_many_") + what},
             {"severity", "error"},
             {"kernel", kernel["name"]},
             {"message",
              fmt::format("the {} takes {:.3g} times the {} it needs; {} allows {:.3g}",
                          op_text(line), ratio(line, what), what,
                          limits.set_by.empty() ? fmt::format("--max-{}", what) : limits.set_by,
                          limit)},
             {"count", 1},
             {"places", Json::array({{{"file", line["file"]}, {"line", line["line"]}}})}});
      }
    }
  }
  report["over"] = over;
  for (Json& kernel : report["kernels"]) kernel["hints"] = hints_of(kernel);
  bool failed = !over.empty();
  for (const char* list : {"findings", "host"}) {
    for (const Json& finding : report.value(list, Json::array())) {
      failed = failed || text(finding, "severity") == "error";
    }
  }
  if (!failed && whole(report, "exit_code") != 0) {
    // What the program says of itself counts as well.
    report["host"].push_back({{"kind", "exit_code"},
                              {"severity", "error"},
                              {"message", fmt::format("the program ended with exit code {}",
                                                      whole(report, "exit_code"))},
                              {"count", 1},
                              {"places", Json::array()}});
    failed = true;
  }
  report["failed"] = failed;
}

std::string finding_text(const Json& finding) {
  SourceLines sources;
  return finding_text(finding, sources);
}

std::string report_text(const Json& report) {
  SourceLines sources;
  std::string out;
  int findings = 0;
  int warnings = 0;
  for (const char* list : {"findings", "host", "over"}) {
    for (const Json& finding : report.value(list, Json::array())) {
      out += finding_text(finding, sources) + "\n";
      ++(text(finding, "severity") == "error" ? findings : warnings);
    }
  }
  for (const Json& kernel : report["kernels"]) out += kernel_text(kernel, sources) + "\n";
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  out += fmt::format("{}: {}", text(report, "file"),
                     findings == 0 ? "nothing is wrong" : counted(findings, "error"));
  if (warnings > 0) out += ", " + counted(warnings, "warning");
  if (report["kernels"].empty()) out += "; no kernel has run";
  return out + "\n";
}

}  // namespace cornerturn::cli
