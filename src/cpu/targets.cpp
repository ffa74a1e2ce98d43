#include "cpu/targets.hpp"

#include <fmt/format.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include "cornerturn/error.hpp"

namespace cornerturn::cpu {
namespace {

std::vector<std::int64_t> all_targets() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedAndGeneratedTargets();
}

}  // namespace

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

void use_target(const std::string& name) {
  std::int64_t mask = 0;
  std::string known;
  for (const std::int64_t target : all_targets()) {
    known += known.empty() ? "" : ", ";
    known += hwy::TargetName(target);
    if (name == hwy::TargetName(target)) mask = target;
  }
  if (mask == 0 && !name.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("target = '{}' is not available: use one of {}", name, known));
  }
  hwy::SetSupportedTargetsForTest(mask);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace cornerturn::cpu
