#include "plan/winners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cornerturn/error.hpp"

namespace cornerturn::plan {
namespace {

constexpr std::string_view first_line = "# cornerturn winners 1";

std::string key_of(const CpuInfo& cpu, const Plan& plan) {
  return fmt::format("{} {}\t{}\t{}", cpu.model, cpu.isa, plan.threads, to_string(plan.normal));
}

std::string key_of(const gpu::Plan& plan) {
  return fmt::format("{} sm_{}\t{}:{}\t{}", plan.device.name, plan.device.arch, plan.alignment.src,
                     plan.alignment.dst, to_string(plan.normal));
}

template <class AnyCandidate>
std::string value_of(const AnyCandidate& candidate, const Problem& normal) {
  return fmt::format("{}\t{}", candidate.row->name, describe(candidate, normal));
}

// The candidate that `value` names; null when it is none of the plan's.
template <class AnyPlan>
auto* named(const AnyPlan& plan, const std::string& value) {
  const auto found = std::find_if(plan.candidates.begin(), plan.candidates.end(),
                                  [&](const auto& c) { return value_of(c, plan.normal) == value; });
  return found == plan.candidates.end() ? nullptr : &*found;
}

}  // namespace

void Winners::parse(const std::string& text, const std::string& name) {
  std::map<std::string, std::string> read;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto refuse = [&](std::string_view rule) {
      throw Error(Status::invalid_argument,
                  fmt::format("winners file '{}' line {}: {}", name, number, rule));
    };
    if (number == 1 && line != first_line) {
      refuse(fmt::format("'{}' is not '{}'", line.substr(0, 40), first_line));
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

void Winners::remember(const CpuInfo& cpu, const Plan& plan) {
  remember(key_of(cpu, plan), value_of(plan.chosen, plan.normal));
}

void Winners::remember(const gpu::Plan& plan) {
  remember(key_of(plan), value_of(plan.chosen, plan.normal));
}

void Winners::apply(const CpuInfo& cpu, Plan& plan) const {
  if (empty()) return;
  const auto value = find(key_of(cpu, plan));
  const Candidate* winner = value ? named(plan, *value) : nullptr;
  if (winner == nullptr) return;
  plan.chosen = *winner;
  plan.choice = Choice::remembered;
}

void Winners::apply(gpu::Plan& plan) const {
  if (empty()) return;
  const auto value = find(key_of(plan));
  const gpu::Candidate* winner = value ? named(plan, *value) : nullptr;
  if (winner != nullptr) plan.choose(gpu::Candidate(*winner), Choice::remembered);
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
