#include "workshop/lab/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_words.hpp"
#include "workshop/lab/rung_access.hpp"

namespace cornerturn::lab {
namespace {

CheckFinding judged(const CheckedLayout& layout, const CheckedAccess& checked,
                    const Explanation& e) {
  CheckFinding finding{layout.name, checked.access, true, {}};
  for (const AccessExplanation& access : e.accesses) {
    const SharedCost& worst = access.worst_request().cost;
    const int allowed = checked.wavefronts.value_or(worst.wavefronts - worst.conflicts);
    std::string message = access.verdict;
    if (worst.wavefronts > allowed) {
      finding.passed = false;
      message = fmt::format("{} in one request, {} allowed", counted(worst.wavefronts, "wavefront"),
                            allowed);
      if (!access.why.empty()) message += ": " + access.why;
      if (e.remedy) message += "; " + e.remedy->text;
    }
    finding.message += fmt::format("{}{}", finding.message.empty() ? "" : "; ", message);
  }
  return finding;
}

void check_layout(const CheckedLayout& layout, const plan::gpu::DeviceInfo& device,
                  std::vector<CheckFinding>& findings) {
  SwizzledLayout parsed;
  TileShape tile;
  try {
    int bytes = layout.bytes;
    parsed = parse_layout_of(layout.layout, bytes);
    parsed.layout = tile_layout(parsed.layout);
    tile = tile_shape(parsed.layout, layout.bytes);
    const Explanation alone = explain(parsed, layout.bytes, {}, device);
    if (alone.same_place && layout.injective) {
      const SamePlace& same = *alone.same_place;
      findings.push_back(
          {layout.name, "", false,
           fmt::format("not injective: ({},{}) and ({},{}) both lie at offset {}", same.a.row,
                       same.a.column, same.b.row, same.b.column, same.offset)});
    }
  } catch (const Error& error) {
    findings.push_back({layout.name, "", false, error.what()});
    return;
  }
  for (const CheckedAccess& checked : layout.accesses) {
    try {
      const std::vector<Access> accesses = parse_accesses(checked.access, tile, {});
      findings.push_back(judged(layout, checked, explain(parsed, layout.bytes, accesses, device)));
    } catch (const Error& error) {
      findings.push_back({layout.name, checked.access, false, error.what()});
    }
  }
}

std::string subject(const CheckFinding& finding) {
  return finding.access.empty() ? finding.layout
                                : fmt::format("{}, {}", finding.layout, finding.access);
}

}  // namespace

std::size_t CheckReport::failed() const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const CheckFinding& finding) { return !finding.passed; }));
}

std::string CheckReport::to_text() const {
  std::string out;
  for (const CheckFinding& finding : findings) {
    out += fmt::format("{}  {}: {}\n", finding.passed ? "ok    " : "FAILED", subject(finding),
                       finding.message);
  }
  return out + fmt::format("{} of {} failed\n", failed(), findings.size());
}

std::string CheckReport::to_json() const {
  nlohmann::ordered_json out = {{"passed", failed() == 0}, {"failed", failed()}};
  out["findings"] = nlohmann::ordered_json::array();
  for (const CheckFinding& finding : findings) {
    nlohmann::ordered_json row = {{"layout", finding.layout}};
    if (!finding.access.empty()) row["access"] = finding.access;
    row["passed"] = finding.passed;
    row["message"] = finding.message;
    out["findings"].push_back(row);
  }
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

CheckReport check(const std::vector<CheckedLayout>& layouts, const plan::gpu::DeviceInfo& device) {
  CheckReport report;
  for (const CheckedLayout& layout : layouts) check_layout(layout, device, report.findings);
  return report;
}

}  // namespace cornerturn::lab
