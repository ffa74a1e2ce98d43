#include "plan/winners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/visible.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::plan {
namespace {

constexpr std::string_view first_line = "# cornerturn winners 1";

std::string alignment_text(const Plan& plan) {
  const Alignment& a = plan.alignment;
  std::string sides = fmt::format("{}:{}", a.src, a.dst);
  if (plan.problem.blocks == nullptr) return sides;
  return fmt::format("{}:{}:{}:{}", sides, a.scales, a.second, a.second_scales);
}

std::string key_of(const Plan& plan) {
  if (const gpu::DeviceInfo* gpu = plan.machine.gpu()) {
    return fmt::format("{} sm_{}\t{}\t{}", gpu->name, gpu->arch, alignment_text(plan),
                       to_string(plan.normal));
  }
  if (const link::LinkInfo* link = plan.machine.link()) {
    return fmt::format("{} {} {}\t{}\t{}", link->gpu.name, link->into_gpu() ? "from" : "to",
                       link->crossing.pinned ? "pinned" : "pageable", alignment_text(plan),
                       to_string(plan.normal));
  }
  const CpuInfo& cpu = *plan.machine.cpu();
  return fmt::format("{} {}\t{}\t{}", cpu.model, cpu.isa, plan.threads, to_string(plan.normal));
}

std::string value_of(const Candidate& candidate, const Problem& normal) {
  return fmt::format("{}\t{}", candidate.row->name, describe(candidate, normal));
}

}  // namespace

void Winners::parse(const std::string& text, const std::string& name) {
  if (text.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("winners file '{}' is empty: its first line is '{}'", visible(name),
                            first_line));
  }
  std::map<std::string, std::string> read;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto refuse = [&](std::string_view rule) {
      throw Error(Status::invalid_argument,
                  fmt::format("winners file '{}' line {}: {}", visible(name), number, rule));
    };
    if (number == 1 && line != first_line) {
      refuse(fmt::format("'{}' is not '{}'", visible(line.substr(0, 40)), first_line));
    }
    if (line.empty() || line[0] == '#') continue;
    if (std::count(line.begin(), line.end(), '\t') != 4) {
      refuse(
          "five fields parted by tabs are expected: processor or GPU, threads or alignment, "
          "problem, kernel, configuration");
    }
    std::size_t third_tab = 0;
    for (int i = 0; i < 3; ++i) third_tab = line.find('\t', third_tab + (i > 0 ? 1 : 0));
    read[line.substr(0, third_tab)] = line.substr(third_tab + 1);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [key, value] : read) winner_of_[key] = value;
}

std::string Winners::to_text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text(first_line);
  text += '\n';
  for (const auto& [key, value] : winner_of_) text += key + '\t' + value + '\n';
  return text;
}

void Winners::remember(const std::string& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  winner_of_[key] = value;
}

std::optional<std::string> Winners::find(const std::string& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = winner_of_.find(key);
  return found == winner_of_.end() ? std::nullopt : std::optional(found->second);
}

void Winners::remember(const Plan& plan) {
  remember(key_of(plan), value_of(plan.chosen, plan.normal));
}

void Winners::apply(Plan& plan) const {
  if (empty()) return;
  const auto value = find(key_of(plan));
  if (!value) return;
  for (const Candidate& candidate : candidates_of(plan)) {
    if (value_of(candidate, plan.normal) != *value) continue;
    return plan.choose(Candidate(candidate), Choice::remembered);
  }
}

void Winners::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  winner_of_.clear();
}

bool Winners::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return winner_of_.empty();
}

}  // namespace cornerturn::plan
