#include <fmt/format.h>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "harness/report.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::ordered_json;

constexpr int schema = 1;
constexpr const char* kind = "cornerturn-bench";

// Four significant digits are more than a timing has, and they keep the files small.
double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

ordered_json to_json(const CandidateResult& candidate) {
  ordered_json out = {{"kernel", candidate.kernel},
                      {"candidate", candidate.description},
                      {"predicted_seconds", rounded(candidate.predicted_seconds)}};
  if (candidate.wrong.empty()) {
    out["seconds"] = rounded(candidate.seconds);
  } else {
    out["wrong"] = candidate.wrong;
  }
  return out;
}

const char* copy_by(const Result& r) {
  const double best = r.yardstick_seconds();
  return best == r.memcpy_seconds               ? "cudaMemcpyAsync"
         : best == r.gpu->padded_memcpy_seconds ? "cudaMemcpyAsync in whole 4 KiB"
                                                : "vector copy";
}

void add_cpu_fields(ordered_json& out, const Result& r) {
  out["memcpy_seconds"] = rounded(r.memcpy_seconds);
  out["non_temporal_seconds"] = rounded(r.non_temporal_seconds);
  out["share_of_memcpy"] = rounded(r.share());
  out["share_of_best_copy"] = rounded(r.share_of_best_copy());
  if (r.warm) out["warm"] = true;
}

void add_gpu_fields(ordered_json& out, const Result& r) {
  const GpuResult& gpu = *r.gpu;
  out["memcpy_seconds"] = rounded(r.memcpy_seconds);
  out["padded_memcpy_seconds"] = rounded(gpu.padded_memcpy_seconds);
  out["vector_copy_seconds"] = rounded(gpu.vector_copy_seconds);
  out["copy_seconds"] = rounded(r.yardstick_seconds());
  out["copy_by"] = copy_by(r);
  out["share_of_copy"] = rounded(r.share());
  if (gpu.sector_bytes > 0) {
    out["sector_bytes"] = gpu.sector_bytes;
    out["copy_bytes"] = gpu.copy_bytes;
  }
  const auto add_positive = [&](const char* key, double value) {
    if (value > 0) out[key] = rounded(value);
  };
  add_positive("predicted_seconds", gpu.predicted_seconds);
  if (gpu.graph_calls > 0) out["graph_calls"] = gpu.graph_calls;
  add_positive("execute_seconds", gpu.execute_seconds);
  add_positive("first_plan_seconds", gpu.first_plan_seconds);
  add_positive("cached_plan_seconds", gpu.cached_plan_seconds);
}

ordered_json to_json(const Result& r) {
  // The geometry is that of the suite; the record names it.
  ordered_json out = {{"suite", r.c.suite},
                      {"case", r.c.name},
                      {"class", r.c.group},
                      {"element_bytes", r.c.element_bytes},
                      {"payload_bytes", r.c.payload_bytes()},
                      {"outcome", to_string(r.outcome)}};
  if (!r.reason.empty()) out["reason"] = r.reason;
  if (!r.method.empty()) out["method"] = r.method;
  if (r.outcome == Outcome::ok) {
    out["runs"] = r.runs;
    out["seconds"] = rounded(r.seconds);
    out["best_seconds"] = rounded(r.best_seconds);
    out["noise"] = rounded(r.noise);
    r.gpu ? add_gpu_fields(out, r) : add_cpu_fields(out, r);
    for (const CandidateResult& candidate : r.candidates) {
      out["candidates"].push_back(to_json(candidate));
    }
  }
  return out;
}

Outcome parse_outcome(const std::string& text, const std::string& origin) {
  for (const Outcome outcome : {Outcome::ok, Outcome::skipped, Outcome::failed}) {
    if (text == to_string(outcome)) return outcome;
  }
  throw Error(Status::invalid_argument,
              fmt::format("{}: outcome = {} is none of ok, skipped, failed", origin, text));
}

double positive(const nlohmann::json& in, const char* key, const std::string& origin) {
  const double value = in.at(key).get<double>();
  if (value > 0) return value;
  throw Error(Status::invalid_argument,
              fmt::format("{}: {} = {} must be positive", origin, key, value));
}

GpuResult gpu_result_from_json(const nlohmann::json& in, const std::string& origin) {
  GpuResult gpu;
  gpu.padded_memcpy_seconds = positive(in, "padded_memcpy_seconds", origin);
  gpu.vector_copy_seconds = positive(in, "vector_copy_seconds", origin);
  gpu.sector_bytes = in.value("sector_bytes", std::int64_t{0});
  gpu.copy_bytes = in.value("copy_bytes", in.at("payload_bytes").get<std::int64_t>());
  gpu.predicted_seconds = in.value("predicted_seconds", 0.0);
  gpu.graph_calls = in.value("graph_calls", 0);
  gpu.execute_seconds = in.value("execute_seconds", 0.0);
  gpu.first_plan_seconds = in.value("first_plan_seconds", 0.0);
  gpu.cached_plan_seconds = in.value("cached_plan_seconds", 0.0);
  return gpu;
}

CandidateResult candidate_from_json(const nlohmann::json& in) {
  CandidateResult candidate;
  candidate.kernel = in.at("kernel").get<std::string>();
  candidate.description = in.at("candidate").get<std::string>();
  candidate.wrong = in.value("wrong", "");
  candidate.predicted_seconds = in.at("predicted_seconds").get<double>();
  candidate.seconds = in.value("seconds", 0.0);
  return candidate;
}

Result result_from_json(const nlohmann::json& in, const std::string& origin) {
  Result r;
  r.c.suite = in.at("suite").get<std::string>();
  r.c.name = in.at("case").get<std::string>();
  r.c.group = in.at("class").get<std::string>();
  r.c.element_bytes = in.at("element_bytes").get<int>();
  r.outcome = parse_outcome(in.at("outcome").get<std::string>(), origin);
  r.reason = in.value("reason", "");
  r.method = in.value("method", "");
  if (r.outcome == Outcome::ok) {
    r.runs = in.at("runs").get<int>();
    r.seconds = positive(in, "seconds", origin);
    r.best_seconds = positive(in, "best_seconds", origin);
    r.noise = in.at("noise").get<double>();
    r.memcpy_seconds = positive(in, "memcpy_seconds", origin);
    if (in.contains("copy_seconds")) {
      r.gpu = gpu_result_from_json(in, origin);
    } else {
      r.non_temporal_seconds = positive(in, "non_temporal_seconds", origin);
      r.warm = in.value("warm", false);
    }
    for (const auto& item : in.value("candidates", nlohmann::json::array())) {
      r.candidates.push_back(candidate_from_json(item));
    }
  }
  return r;
}

}  // namespace

ordered_json to_json(const Report& report) {
  ordered_json cases = ordered_json::array();
  for (const Result& r : report.results) cases.push_back(to_json(r));
  return {{"kind", kind},
          {"schema", schema},
          {"subject", report.subject},
          {"version", report.version},
          {"details", report.details},
          {"device", report.device},
          {"threads", report.threads},
          {"provenance", report.provenance},
          {"cases", cases}};
}

Report report_from_json(const nlohmann::json& json, const std::string& origin) {
  try {
    if (json.value("kind", "") != kind || json.value("schema", 0) != schema) {
      throw Error(
          Status::invalid_argument,
          fmt::format("{} is not a result of the benchmark: kind and schema must be {} and {}",
                      origin, kind, schema));
    }
    Report report;
    report.subject = json.at("subject").get<std::string>();
    report.version = json.at("version").get<std::string>();
    report.details = json.at("details").get<std::map<std::string, std::string>>();
    report.device = json.value("device", "cpu");
    report.threads = json.at("threads").get<int>();
    report.provenance = json.at("provenance");
    for (const auto& item : json.at("cases")) {
      report.results.push_back(result_from_json(item, origin));
    }
    return report;
  } catch (const nlohmann::json::exception& e) {
    throw Error(Status::invalid_argument, fmt::format("{}: {}", origin, e.what()));
  }
}

Report load_report(const std::string& path) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(files::read_text(path, "--compare"));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Status::invalid_argument, fmt::format("{} is not JSON: {}", path, e.what()));
  }
  return report_from_json(json, path);
}

void save_report(const Report& report, const std::string& path) {
  // One case a line: diffs of results stay readable.
  ordered_json head = to_json(report);
  ordered_json cases;
  cases.swap(head["cases"]);
  head.erase("cases");
  std::string text = head.dump(1);
  text.resize(text.rfind('\n'));
  text += ",\n \"cases\": [";
  const char* separator = "\n  ";
  for (const ordered_json& item : cases) {
    text += separator + item.dump();
    separator = ",\n  ";
  }
  files::write_text(path, text + "\n ]\n}\n", "--json");
}

}  // namespace cornerturn::bench
