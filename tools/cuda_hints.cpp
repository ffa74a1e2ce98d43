#include "cuda_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
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
  for (const Json& line : kernel["lines"]) {
    const std::string hint = hint_of(line);
    if (hint.empty()) continue;
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
