#include "workshop/cuda_source/run/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "workshop/cuda_source/run/config.hpp"
#include "workshop/cuda_source/run/counts.hpp"
#include "workshop/cuda_source/run/device_memory.hpp"
#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/places.hpp"
#include "workshop/cuda_source/run/running.hpp"

namespace cornerturn::cuda_source {

namespace {

using Json = nlohmann::ordered_json;
using simt::Op;

Json numbers(const Dim3& of) {
  return Json::array({of.x, of.y, of.z});
}

const char* word(Op op) {
  switch (op) {
    case Op::global_load:
      return "global_load";
    case Op::global_store:
      return "global_store";
    case Op::shared_load:
      return "shared_load";
    case Op::shared_store:
      return "shared_store";
    case Op::prefetch:
      return "prefetch";
    case Op::async_copy:
      return "async_copy";
    case Op::ldmatrix:
      return "ldmatrix";
    case Op::stmatrix:
      return "stmatrix";
    case Op::global_atomic:
      return "global_atomic";
    case Op::shared_atomic:
      return "shared_atomic";
  }
  return "";
}

// Everything that is a place in the code, asked for at once.
class Lines {
 public:
  void want(const Where& where) {
    if (where.code != 0) wanted_.push_back(where);
  }
  void resolve() {
    const std::vector<SourceLine> lines = source_lines(wanted_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) known_[wanted_[i].code] = lines[i];
  }
  SourceLine of(const Where& where) const {
    if (where.code == 0)
      return where.file == nullptr ? SourceLine{} : SourceLine{where.file, where.line};
    const auto found = known_.find(where.code);
    return found == known_.end() ? SourceLine{} : found->second;
  }

 private:
  std::vector<Where> wanted_;
  std::map<std::uintptr_t, SourceLine> known_;
};

// Counts
// ----------------------------------------------------------------------------------------------

// The legs of one line, operation and width: the compiler may have made several of it.
struct Line {
  Leg sum;
  std::uint64_t lanes = 0;
  const WorstRequest* worst = nullptr;
  std::string memory;
};

Json worst_request(const WorstRequest& worst, const Leg& leg) {
  const WarpRequest& lanes = worst.request.lanes;
  Json json{{"block", numbers(worst.block)}, {"warp", worst.warp}, {"active", lanes.active}};
  json["addresses"] = lanes.address;
  if (worst.request.op == Op::async_copy) json["sources"] = worst.request.source;
  json[leg.is_shared() ? "wavefronts" : "sectors"] = worst.cost;
  if (!leg.is_shared() || worst.request.op == Op::async_copy) return json;
  const SharedOp op = worst.request.op == Op::shared_load ? SharedOp::load
                      : worst.request.op == Op::ldmatrix  ? SharedOp::ldmatrix
                      : worst.request.op == Op::stmatrix  ? SharedOp::stmatrix
                                                          : SharedOp::store;
  const SharedCost cost = shared_cost(lanes, op);
  if (cost.clean()) return json;
  json["lanes"] = Json::array({cost.collision.lane_a, cost.collision.lane_b});
  json["bank"] = cost.collision.bank;
  return json;
}

Json line_json(const SourceLine& at, const Line& line) {
  const Leg& sum = line.sum;
  Json json{{"file", at.file},    {"line", at.line},          {"op", word(sum.op)},
            {"width", sum.width}, {"requests", sum.requests}, {"lanes", line.lanes}};
  if (sum.is_global()) {
    json["sectors"] = {
        {"actual", sum.sectors}, {"ideal", sum.sectors_ideal}, {"again", sum.sectors_again}};
    json["bytes"] = sum.bytes_used;
  }
  if (sum.is_shared()) {
    json["wavefronts"] = {{"actual", sum.wavefronts}, {"ideal", sum.wavefronts_ideal}};
  }
  if (line.worst != nullptr) json["worst"] = worst_request(*line.worst, sum);
  if (!line.memory.empty()) json["memory"] = line.memory;
  return json;
}

void add(Line& line, const KernelCounts& counts, std::size_t leg) {
  const Leg& one = counts.report.legs[leg];
  Leg& sum = line.sum;
  sum.op = one.op;
  sum.width = one.width;
  sum.requests += one.requests;
  sum.sectors += one.sectors;
  sum.sectors_ideal += one.sectors_ideal;
  sum.sectors_again += one.sectors_again;
  sum.bytes_used += one.bytes_used;
  sum.wavefronts += one.wavefronts;
  sum.wavefronts_ideal += one.wavefronts_ideal;
  line.lanes += counts.lanes[leg];
  if (line.worst == nullptr || counts.worst[leg].cost > line.worst->cost) {
    line.worst = &counts.worst[leg];
  }
  if (line.memory.empty()) line.memory = counts.memory[leg];
}

Json kernel_json(const KernelCounts& counts, const Lines& lines) {
  const SourceLine at = lines.of(counts.launched);
  Json json{{"name", counts.name},
            {"file", at.file},
            {"line", at.line},
            {"launches", counts.launches},
            {"grid", numbers(counts.launch.grid)},
            {"block", numbers(counts.launch.block)},
            {"dynamic_shared", counts.launch.dynamic_shared},
            {"static_shared", counts.static_shared},
            {"blocks", counts.blocks},
            {"counted_blocks", counts.counted_blocks},
            {"threads", counts.blocks * counts.launch.block.count()}};
  if (counts.uncounted > 0) json["uncounted"] = counts.uncounted;
  using Key = std::tuple<std::string, unsigned, Op, int>;
  std::map<Key, Line> by_line;
  for (std::size_t leg = 0; leg < counts.report.legs.size(); ++leg) {
    const Leg& one = counts.report.legs[leg];
    const SourceLine line = lines.of(where_of(one.site));
    add(by_line[{line.file, line.line, one.op, one.width}], counts, leg);
  }
  json["lines"] = Json::array();
  for (const auto& [key, line] : by_line) {
    json["lines"].push_back(line_json({std::get<0>(key), std::get<1>(key)}, line));
  }
  return json;
}

// Findings
// ----------------------------------------------------------------------------------------------

Json place_json(const FindingPlace& place, const Lines& lines) {
  const SourceLine at = lines.of(place.where);
  Json json = Json::object();
  if (!(place.where == Where{})) json = {{"file", at.file}, {"line", at.line}};
  if (place.of_thread) {
    json["thread"] = numbers(place.thread);
    json["block"] = numbers(place.block);
  }
  if (!place.action.empty()) json["action"] = place.action;
  if (place.bytes > 0) json["bytes"] = place.bytes;
  return json;
}

// One line that the compiler has made twice is no two places to meet at.
bool is_one_place(const ProgramFinding& finding, const Lines& lines) {
  return finding.kind == "divergent_barrier" && finding.places.size() == 2 &&
         finding.places[1].action == "waits" && finding.message.find("mask") == std::string::npos &&
         lines.of(finding.places[0].where) == lines.of(finding.places[1].where);
}

// Where threads race for a byte, one may read it before anyone has written it. The race says it
// all.
bool comes_of_race(const ProgramFinding& finding, const Lines& lines) {
  if (finding.kind != "unwritten_read") return false;
  const SourceLine at = lines.of(finding.places[0].where);
  for (const ProgramFinding& other : program_findings()) {
    if (other.kind != "race" || other.kernel != finding.kernel || other.memory != finding.memory) {
      continue;
    }
    for (const FindingPlace& place : other.places) {
      if (lines.of(place.where) == at) return true;
    }
  }
  return false;
}

// The severe ones first; those that differ in nothing but the compiler's copy of a line are one.
void write_findings(Json& report, const Lines& lines) {
  report["findings"] = Json::array();
  report["host"] = Json::array();
  std::map<std::string, Json*> known;
  for (const bool warning : {false, true}) {
    for (const ProgramFinding& finding : program_findings()) {
      if (finding.warning != warning || is_one_place(finding, lines)) continue;
      if (comes_of_race(finding, lines)) continue;
      Json json{{"kind", finding.kind},     {"severity", warning ? "warning" : "error"},
                {"kernel", finding.kernel}, {"memory", finding.memory},
                {"byte", finding.byte},     {"message", finding.message},
                {"count", finding.count}};
      json["places"] = Json::array();
      std::string key = finding.kind + '\n' + finding.kernel + '\n' + finding.memory;
      if (finding.kernel.empty()) key += finding.message;
      for (const FindingPlace& place : finding.places) {
        json["places"].push_back(place_json(place, lines));
        const SourceLine at = lines.of(place.where);
        key += '\n' + at.file + ':' + std::to_string(at.line) + place.action;
      }
      const auto found = known.find(key);
      if (found != known.end()) {
        (*found->second)["count"] = (*found->second)["count"].get<std::uint64_t>() + finding.count;
        continue;
      }
      Json& all = report[finding.kernel.empty() ? "host" : "findings"];
      all.get_ref<Json::array_t&>().reserve(1024);  // so that pointers to its entries stay
      all.push_back(std::move(json));
      known[key] = &all.back();
    }
  }
}

Json whole_report() {
  Lines lines;
  for (const ProgramFinding& finding : program_findings()) {
    for (const FindingPlace& place : finding.places) lines.want(place.where);
  }
  for (const KernelCounts* counts : all_counts()) {
    for (const Leg& leg : counts->report.legs) lines.want(where_of(leg.site));
  }
  lines.resolve();
  Json report;
  report["kernels"] = Json::array();
  for (const KernelCounts* counts : all_counts()) {
    report["kernels"].push_back(kernel_json(*counts, lines));
  }
  write_findings(report, lines);
  report["allocations"] = allocation_count();
  return report;
}

}  // namespace

void write_report(bool ended) {
  static bool written = false;
  const std::string& path = config().report;
  if (written || path.empty()) return;
  written = true;
  if (!ended) run_last_checks();
  const std::string part = path + ".part";
  {
    std::ofstream stream(part);
    stream << whole_report().dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    if (!stream.flush()) return;
  }
  std::rename(part.c_str(), path.c_str());
}

void report_at_exit() {
  std::atexit([] { write_report(false); });
}

}  // namespace cornerturn::cuda_source
