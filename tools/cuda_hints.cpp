#include "cuda_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cornerturn::cli {
namespace {

using Json = nlohmann::ordered_json;

// How far the addresses of neighbouring lanes lie apart, where that is the same for all of them.
std::optional<std::int64_t> lane_stride(const Json& line) {
  if (!line.contains("worst") || !line["worst"].contains("addresses")) return std::nullopt;
  const Json& worst = line["worst"];
  const auto active = worst.value("active", std::uint32_t{0});
  const Json& addresses = worst["addresses"];
  std::optional<std::int64_t> stride;
  for (std::size_t lane = 1; lane < addresses.size() && lane < 32; ++lane) {
    if ((active >> lane & 1U) == 0 || (active >> (lane - 1) & 1U) == 0) continue;
    const auto step = static_cast<std::int64_t>(addresses[lane].get<std::uint64_t>() -
                                                addresses[lane - 1].get<std::uint64_t>());
    if (stride && *stride != step) return std::nullopt;
    stride = step;
  }
  return stride;
}

bool takes_more(const Json& line, const char* what) {
  return line.contains(what) &&
         line[what].value("actual", 0.0) > 1.01 * line[what].value("ideal", 0.0);
}

// Where in memory the first active lane of the worst request is.
std::uint64_t first_address(const Json& line) {
  const auto active = line["worst"].value("active", std::uint32_t{1});
  return line["worst"]["addresses"][static_cast<std::size_t>(std::countr_zero(active))]
      .get<std::uint64_t>();
}

// Lines of which each takes another part of the same bytes in the same warp, so that all of them
// together are one access as wide as neighbouring lanes lie apart; the line alone if there are
// none.
std::vector<const Json*> parts_of_one_access(const Json& kernel, const Json& line) {
  const auto apart = static_cast<std::uint64_t>(lane_stride(line).value_or(0));
  const auto width = line.value("width", std::uint64_t{1});
  if (apart != 8 && apart != 16) return {&line};
  std::map<std::uint64_t, const Json*> parts;
  for (const Json& other : kernel["lines"]) {
    const bool alike = other["op"] == line["op"] && other["width"] == line["width"] &&
                       other["file"] == line["file"] && other["requests"] == line["requests"] &&
                       lane_stride(other) == lane_stride(line) &&
                       other["worst"]["block"] == line["worst"]["block"] &&
                       other["worst"]["warp"] == line["worst"]["warp"] &&
                       other["worst"]["active"] == line["worst"]["active"];
    if (!alike || first_address(other) / apart != first_address(line) / apart) continue;
    parts.emplace(first_address(other) % apart / width, &other);
  }
  if (parts.size() * width != apart) return {&line};
  std::vector<const Json*> out;
  out.reserve(parts.size());
  for (const auto& [part, other] : parts) out.push_back(other);
  return out;
}

std::string hint_of(const Json& line) {
  const auto stride = lane_stride(line);
  const std::int64_t width = line.value("width", std::int64_t{0});
  if (!stride || *stride == 0) return "";
  const std::int64_t apart = *stride < 0 ? -*stride : *stride;
  if (takes_more(line, "wavefronts")) {
    if (apart % 128 != 0) return "";
    return fmt::format(
        "neighbouring lanes lie {} B apart, in one bank: rows that are one element longer, or "
        "an xor of the column with the row, spread them over all banks",
        apart);
  }
  if (!takes_more(line, "sectors")) return "";
  if ((apart == 8 || apart == 16) && apart > width) {
    return fmt::format(
        "neighbouring lanes take {} B each and lie {} B apart: the {} accesses of a thread to "
        "neighbours could be one of {} B",
        width, apart, apart / width, apart);
  }
  if (apart < 32) return "";
  return fmt::format(
      "neighbouring lanes lie {} B apart, so that each of them moves a sector of its own: "
      "neighbouring lanes should take neighbouring elements",
      apart);
}

}  // namespace

std::vector<std::string> hints_of(const Json& kernel) {
  std::vector<std::string> out;
  std::set<const Json*> told;
  for (const Json& line : kernel["lines"]) {
    const std::string hint = hint_of(line);
    if (hint.empty() || told.count(&line) != 0) continue;
    const std::vector<const Json*> parts = parts_of_one_access(kernel, line);
    if (parts.size() > 1) {
      told.insert(parts.begin(), parts.end());
      std::string lines;
      for (const Json* part : parts) {
        lines += fmt::format("{}{}", lines.empty() ? "" : ", ", part->value("line", 0));
      }
      out.push_back(fmt::format(
          "{}:{}: the accesses of lines {} are of {} B each, to neighbours: they could be one of "
          "{} B",
          line.value("file", ""), line.value("line", 0), lines,
          line.value("width", std::int64_t{0}), *lane_stride(line)));
      continue;
    }
    std::string with_place =
        fmt::format("{}:{}: {}", line.value("file", ""), line.value("line", 0), hint);
    // A line that loads and stores in one way needs one hint.
    if (std::find(out.begin(), out.end(), with_place) == out.end()) {
      out.push_back(std::move(with_place));
    }
  }
  return out;
}

}  // namespace cornerturn::cli
