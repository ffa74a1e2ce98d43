#include "workshop/ladder/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/explain.hpp"

namespace cornerturn::ladder {
namespace {

using simt::Op;

constexpr std::size_t line_width = 100;

const char* name(Family family) {
  return family == Family::cute ? "cute" : "cuda";
}

double per_request(std::uint64_t total, const Leg& leg) {
  return leg.requests == 0 ? 0 : static_cast<double>(total) / static_cast<double>(leg.requests);
}

std::string one_decimal(double value) {
  const std::string text = fmt::format("{:.1f}", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

// "32 (1)": the figure, and the ideal where it is another.
std::string against(double actual, double ideal) {
  const std::string text = one_decimal(actual);
  const std::string best = one_decimal(ideal);
  return text == best ? text : fmt::format("{} ({})", text, best);
}

std::string sectors(const Leg& leg) {
  if (leg.requests == 0) return "-";
  return against(per_request(leg.sectors, leg), per_request(leg.sectors_ideal, leg));
}

std::string wavefronts(const Leg& leg) {
  if (leg.requests == 0) return "-";
  return against(per_request(leg.wavefronts, leg), per_request(leg.wavefronts_ideal, leg));
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

double rate(const Report& report, const cuda::Timing& timing) {
  return timing.seconds > 0 ? 2.0 * static_cast<double>(report.matrix.size()) / timing.seconds : 0;
}

const cuda::Measurement* measurement(const Report& report, std::string_view name) {
  for (const ReportRow& row : report.rows) {
    if (row.name == name && row.measured && row.measured->cold.runs > 0) return &*row.measured;
  }
  return nullptr;
}

std::string verdict(const ReportRow& row) {
  if (row.measured) return row.measured->verified ? "yes" : "WRONG";
  if (row.emulated) return row.emulated->empty() ? "yes" : "WRONG";
  return "-";
}

// Words in lines of at most `line_width`, all but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (column > indent && column + 1 + length > line_width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, length);
    column += length;
    at = end + 1;
  }
  return out;
}

std::size_t name_width(const Report& report) {
  std::size_t width = 4;
  for (const ReportRow& row : report.rows) width = std::max(width, row.name.size());
  return width;
}

std::string heading(const Report& report) {
  const Matrix& m = report.matrix;
  std::string what = fmt::format("{} x {} of {}, {:.1f} MB each side", m.rows, m.cols, report.dtype,
                                 static_cast<double>(m.size()) / 1e6);
  if (m.batch > 1) {
    what = fmt::format("{} matrices of {}{}", m.batch, what,
                       m.fused ? ", row 0 of each before row 1 of each" : "");
  }
  if (report.device) {
    return fmt::format("{}; verified, every element, and timed on {}\n", what, report.device->name);
  }
  return fmt::format("{}; verified in the emulator, every element, all detectors on\n{}\n", what,
                     report.why_no_gpu.empty() ? "" : "no GPU: " + report.why_no_gpu);
}

std::string measured_table(const Report& report) {
  const std::size_t width = name_width(report);
  std::string out = fmt::format("\n{:<{}} {:>8} {:>11} {:>7} {:>9} {:>9} {:>12}\n", "rung", width,
                                "verified", "time", "GB/s", "% of copy", "L2 warm", "x naive_read");
  const cuda::Measurement* naive = measurement(report, "naive_read");
  for (const ReportRow& row : report.rows) {
    if (!row.measured) continue;
    const cuda::Measurement& m = *row.measured;
    if (m.cold.runs == 0) {
      out += fmt::format("{:<{}} {:>8}\n", row.name, width, verdict(row));
      continue;
    }
    const std::string speed_up =
        naive == nullptr ? "-" : fmt::format("{:.2f}", naive->cold.seconds / m.cold.seconds);
    out += fmt::format("{:<{}} {:>8} {:>11} {:>7.0f} {:>9.1f} {:>9.1f} {:>12}\n", row.name, width,
                       verdict(row), time_text(m.cold.seconds), rate(report, m.cold) / 1e9,
                       100 * m.copy_cold.seconds / m.cold.seconds,
                       100 * m.copy_warm.seconds / std::max(m.warm.seconds, 1e-12), speed_up);
  }
  const double limit = report.device->clocks.memory_bandwidth;
  const bool passes = std::any_of(report.rows.begin(), report.rows.end(), [&](const ReportRow& r) {
    return r.measured && r.measured->warm.runs > 0 && rate(report, r.measured->warm) > limit;
  });
  if (limit > 0 && passes) {
    out += wrapped(fmt::format("With a warm L2 cache ({:.0f} MB) some pass the {:.0f} GB/s of the "
                               "memory: what the cache still holds is not read again.",
                               static_cast<double>(report.device->l2_bytes) / 1e6, limit / 1e9),
                   0) +
           "\n";
  }
  return out;
}

std::string predicted_table(const Report& report) {
  const std::size_t width = name_width(report);
  const auto row_text = [&](auto... cells) {
    const std::string text =
        fmt::format("{:<{}} {:>6} {:>10} {:>10} {:>10} {:>10} {:>6} {:>9} {:>8}", cells...);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out = "\n" + row_text("", width, "bytes", "global", "shared", "shared", "global",
                                    "shared", "resident", "");
  out += row_text("rung", width, "a lane", "load", "store", "load", "store", "bytes", "threads",
                  report.device ? "" : "verified");
  for (const ReportRow& row : report.rows) {
    if (!row.predicted) continue;
    const KernelReport& legs = row.predicted->report;
    const Leg async = legs.total(Op::async_copy);  // both loads and fills the tile
    const Leg load = async.requests > 0 ? async : legs.total(Op::global_load);
    const Leg fill = async.requests > 0 ? async : legs.total(Op::shared_store);
    const Leg read = legs.total(Op::shared_load);
    const Leg store = legs.total(Op::global_store);
    std::string lane = fmt::format("{}", load.width);
    if (fill.requests > 0 && fill.width != load.width) lane += fmt::format("/{}", fill.width);
    const auto shared = row.predicted->shared_bytes;
    std::string resident;
    for (const Sm& sm : sms) {
      resident +=
          fmt::format("{}{}", resident.empty() ? "" : "/", residency(*row.predicted, sm).threads);
    }
    out += row_text(row.name, width, lane, sectors(load), wavefronts(fill), wavefronts(read),
                    sectors(store), shared == 0 ? "-" : fmt::format("{}", shared), resident,
                    report.device ? "" : verdict(row));
  }
  std::string note =
      "Global: sectors of 32 B, shared: wavefronts, for one request of a warp, (the ideal) where "
      "it "
      "is less";
  const auto shrunk = std::find_if(report.rows.begin(), report.rows.end(), [&](const ReportRow& r) {
    return r.predicted && !(r.predicted->matrix == report.matrix);
  });
  if (shrunk != report.rows.end()) {
    note += fmt::format(", {}as found at {} x {}", report.device ? "" : "CuTe's ",
                        shrunk->predicted->matrix.rows, shrunk->predicted->matrix.cols);
  }
  note += "; resident threads those that fit an SM of compute capability";
  for (const Sm& sm : sms) note += fmt::format("{}{}", &sm == sms.data() ? " " : "/", sm.name);
  return out + wrapped(note + ".", 0) + "\n";
}

std::string reasons(const Report& report) {
  const std::size_t indent = name_width(report) + 1;
  std::string out = "\n";
  for (const ReportRow& row : report.rows) {
    std::string text;
    if (!row.why_not.empty()) {
      text = wrapped("does not apply: " + row.why_not, indent);
    } else {
      text = wrapped(row.shows, indent);
      const auto line = [&](const std::string& more) {
        text += "\n" + std::string(indent, ' ') + wrapped(more, indent);
      };
      if (!row.otherwise.empty()) line(fmt::format("against {}: {}", row.after, row.otherwise));
      if (row.outlook) {
        line("limit: " + row.outlook->diagnosis.limit);
        line("predicted: " + row.outlook->ledger.text());
        if (!row.outlook->what_ifs.empty()) line("what if: " + to_text(row.outlook->what_ifs));
      }
    }
    out += fmt::format("{:<{}}{}\n", row.name, indent, text);
  }
  out += "\nFigures against another rung are for 128 B of the matrix, a request of 4 B a lane.\n";
  out += "Predictions were fitted to an H200, to 4096 squared and above, and to a cold L2 cache.\n";
  return out;
}

}  // namespace

std::vector<std::string> Report::complaints() const {
  std::vector<std::string> lines;
  for (const ReportRow& row : rows) {
    if (row.measured && row.measured->why_not.empty() && !row.measured->verified) {
      lines.push_back(fmt::format("{}: {}", row.name, row.measured->wrong));
    }
    for (const std::string& what : row.emulated.value_or(std::vector<std::string>())) {
      lines.push_back(fmt::format("{}: {}", row.name, what));
    }
  }
  return lines;
}

bool Report::verified() const {
  return complaints().empty();
}

std::string to_text(const Report& report) {
  std::string out = heading(report);
  const auto has = [&](auto member) {
    return std::any_of(report.rows.begin(), report.rows.end(),
                       [&](const ReportRow& row) { return (row.*member).has_value(); });
  };
  if (has(&ReportRow::measured)) out += measured_table(report);
  if (has(&ReportRow::predicted)) out += predicted_table(report);
  out += reasons(report);
  if (!report.device) {
    out += "CuTe rungs run on a GPU only; their figures follow from their layouts.\n";
  } else if (!report.why_no_cute.empty()) {
    out += "CuTe rungs are not measured: " + report.why_no_cute + "\n";
  }
  return out;
}

namespace {

nlohmann::ordered_json json_of(const Launch& launch) {
  const auto dim = [](const Dim3& d) { return nlohmann::ordered_json{d.x, d.y, d.z}; };
  return {{"grid", dim(launch.grid)}, {"block", dim(launch.block)}};
}

nlohmann::ordered_json json_of(const cuda::Timing& timing, const Report& report) {
  return {{"seconds", timing.seconds},
          {"noise", timing.noise},
          {"runs", timing.runs},
          {"bytes_per_second", rate(report, timing)}};
}

nlohmann::ordered_json json_of(const cuda::Measurement& m, const Report& report) {
  nlohmann::ordered_json out = {{"verified", m.verified}};
  if (!m.wrong.empty()) out["wrong"] = m.wrong;
  if (m.cold.runs == 0) return out;
  out["cold"] = json_of(m.cold, report);
  out["warm"] = json_of(m.warm, report);
  out["copy_cold"] = json_of(m.copy_cold, report);
  out["copy_cold"]["by"] = m.copy_cold_by;
  out["copy_warm"] = json_of(m.copy_warm, report);
  out["copy_warm"]["by"] = m.copy_warm_by;
  out["share_of_copy"] = m.copy_cold.seconds / m.cold.seconds;
  if (const cuda::Measurement* naive = measurement(report, "naive_read")) {
    out["speed_up_over_naive_read"] = naive->cold.seconds / m.cold.seconds;
  }
  out["occupancy"] = {{"blocks", m.occupancy.blocks},
                      {"threads", m.occupancy.threads},
                      {"registers", m.occupancy.registers},
                      {"local_bytes", m.occupancy.local_bytes},
                      {"shared_bytes", m.occupancy.shared_bytes},
                      {"blocks_per_sm", m.occupancy.blocks_per_sm}};
  return out;
}

nlohmann::ordered_json json_of(const Ledger& ledger) {
  nlohmann::ordered_json out = {{"device", ledger.device},
                                {"shape", {ledger.matrix.rows, ledger.matrix.cols}},
                                {"share_of_copy", ledger.share_of_copy()},
                                {"seconds", ledger.seconds},
                                {"start_seconds", ledger.start_seconds},
                                {"resident_blocks", ledger.resident}};
  if (const std::string why = ledger.why_not(); !why.empty()) {
    out["share_of_copy"] = nullptr;
    out["seconds"] = nullptr;
    out["why_not"] = why;
  }
  for (const LedgerPart& part : ledger.parts) out["parts"][part.name] = part.seconds;
  return out;
}

void add(nlohmann::ordered_json& out, const Outlook& outlook) {
  out["limit"] = outlook.diagnosis.limit;
  out["place"] = outlook.diagnosis.place;
  out["advice"] = outlook.diagnosis.advice;
  out["sentence"] = outlook.diagnosis.sentence();
  out["ledger"] = json_of(outlook.ledger);
  out["what_if"] = nlohmann::ordered_json::array();
  for (const WhatIf& change : outlook.what_ifs) {
    out["what_if"].push_back(
        {{"change", change.change}, {"share_of_copy", change.share}, {"points", change.points}});
  }
}

nlohmann::ordered_json json_of(const Prediction& run) {
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(run.report.json());
  out.erase("kernel");
  out["shape"] = {run.matrix.rows, run.matrix.cols};
  out["launch"] = json_of(run.launch);
  out["shared_bytes"] = run.shared_bytes;
  const CompiledRung* compiled = find_compiled(run.report.kernel, run.matrix);
  if (compiled != nullptr && compiled->instructions > 0) {
    out["instructions"] = compiled->instructions;
  }
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const Residency resident = residency(run, sms[i]);
    nlohmann::ordered_json& entry =
        out["resident"][fmt::format("compute capability {}", sms[i].name)];
    entry = {{"blocks", resident.blocks}, {"threads", resident.threads}, {"bound", resident.bound}};
    if (compiled != nullptr) entry["registers"] = compiled->registers[i];
  }
  return out;
}

}  // namespace

std::string to_json(const Outlook& outlook) {
  nlohmann::ordered_json out;
  add(out, outlook);
  return out.dump();
}

std::string to_json(const Prediction& predicted, const std::optional<Outlook>& outlook) {
  nlohmann::ordered_json out = json_of(predicted);
  if (outlook) add(out, *outlook);
  return out.dump();
}

std::string to_json(const Report& report) {
  nlohmann::ordered_json out;
  out["shape"] = {report.matrix.rows, report.matrix.cols};
  out["dtype"] = report.dtype;
  if (report.matrix.batch > 1) out["batch"] = report.matrix.batch;
  if (report.matrix.fused) out["fused"] = true;
  out["bytes"] = report.matrix.size();
  out["verified_by"] = report.device ? "GPU" : "emulator";
  out["verified"] = report.verified();
  if (report.device) {
    out["gpu"] = {
        {"name", report.device->name},
        {"compute_capability", fmt::format("{}.{}", report.device->major, report.device->minor)},
        {"sm_count", report.device->sm_count},
        {"l2_bytes", report.device->l2_bytes},
        {"memory_bandwidth", report.device->clocks.memory_bandwidth},
        {"driver", report.device->driver},
        {"runtime", report.device->runtime}};
  } else if (!report.why_no_gpu.empty()) {
    out["why_no_gpu"] = report.why_no_gpu;
  }
  if (!report.why_no_cute.empty()) out["why_no_cute"] = report.why_no_cute;
  out["complaints"] = report.complaints();
  out["rungs"] = nlohmann::ordered_json::array();
  for (const ReportRow& row : report.rows) {
    nlohmann::ordered_json entry = {
        {"name", row.name}, {"shows", row.shows}, {"family", name(row.family)}};
    if (!row.after.empty()) entry["after"] = row.after;
    if (!row.why_not.empty()) {
      entry["why_not"] = row.why_not;
    } else {
      if (row.measured || row.emulated) entry["verified"] = verdict(row) == "yes";
      if (!row.otherwise.empty()) entry["than_after"] = row.otherwise;
      if (row.predicted) entry["predicted"] = json_of(*row.predicted);
      if (row.outlook) add(entry["predicted"], *row.outlook);
      if (row.measured) entry["measured"] = json_of(*row.measured, report);
    }
    out["rungs"].push_back(std::move(entry));
  }
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn::ladder
