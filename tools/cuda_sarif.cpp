#include "cuda_sarif.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "cuda_report.hpp"
#include "io/print.hpp"
#include "picture_output.hpp"

namespace cornerturn::cli {
namespace {

using Json = nlohmann::ordered_json;

Json location(const Json& place) {
  const auto line = place.value("line", std::int64_t{1});
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", place.value("file", std::string())}}},
            {"region", {{"startLine", std::max<std::int64_t>(line, 1)}}}}}};
}

Json result_of(const Json& finding, const std::string& file) {
  Json result = {{"ruleId", finding.value("kind", std::string("finding"))},
                 {"level", finding.value("severity", std::string("error"))},
                 {"message", {{"text", finding.value("message", std::string())}}}};
  Json places = finding.value("places", Json::array());
  if (places.empty()) places.push_back({{"file", file}, {"line", 1}});
  result["locations"] = Json::array({location(places[0])});
  Json related = Json::array();
  for (std::size_t i = 1; i < places.size(); ++i) {
    Json other = location(places[i]);
    other["message"] = {{"text", places[i].value("action", std::string("here, too"))}};
    related.push_back(other);
  }
  if (!related.empty()) result["relatedLocations"] = related;
  return result;
}

}  // namespace

void write_sarif(const std::string& path, const Json& reports) {
  Json results = Json::array();
  std::set<std::string> rules;
  for (const Json& report : reports["files"]) {
    for (const char* list : {"findings", "host", "over"}) {
      for (const Json& finding : report.value(list, Json::array())) {
        results.push_back(result_of(finding, report["file"]));
        rules.insert(results.back()["ruleId"]);
      }
    }
  }
  Json described = Json::array();
  for (const std::string& rule : rules) described.push_back({{"id", rule}});
  const Json driver = {
      {"name", "cornerturn check"}, {"version", CORNERTURN_VERSION}, {"rules", described}};
  const Json sarif = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}};
  write_whole("--sarif", path, ".sarif", io::report_text(sarif));
}

}  // namespace cornerturn::cli
