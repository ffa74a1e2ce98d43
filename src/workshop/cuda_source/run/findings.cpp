#include "workshop/cuda_source/run/findings.hpp"

#include <algorithm>
#include <utility>

namespace cornerturn::cuda_source {

namespace {

constexpr std::size_t most_findings = 200;

// Never destroyed: the report is written when the program ends.
std::vector<ProgramFinding>& all() {
  static auto& it = *new std::vector<ProgramFinding>;
  return it;
}

std::vector<void (*)()>& checks() {
  static auto& it = *new std::vector<void (*)()>;
  return it;
}

bool same(const ProgramFinding& a, const ProgramFinding& b) {
  return a.kind == b.kind && a.warning == b.warning && a.kernel == b.kernel &&
         a.memory == b.memory && (!a.kernel.empty() || a.message == b.message) &&
         std::equal(
             a.places.begin(), a.places.end(), b.places.begin(), b.places.end(),
             [](const FindingPlace& x, const FindingPlace& y) { return x.where == y.where; });
}

}  // namespace

void add_finding(ProgramFinding finding) {
  for (ProgramFinding& known : all()) {
    if (!same(known, finding)) continue;
    known.count += finding.count;
    return;
  }
  if (all().size() < most_findings) all().push_back(std::move(finding));
}

void add_host_finding(std::string kind, bool warning, std::string message, Where where) {
  ProgramFinding finding;
  finding.kind = std::move(kind);
  finding.warning = warning;
  finding.message = std::move(message);
  if (where != Where{}) {
    finding.places.emplace_back();
    finding.places.back().where = where;
  }
  add_finding(std::move(finding));
}

const std::vector<ProgramFinding>& program_findings() {
  return all();
}

void before_report(void (*check)()) {
  checks().push_back(check);
}

void run_last_checks() {
  for (void (*check)() : std::exchange(checks(), {})) check();
}

}  // namespace cornerturn::cuda_source
