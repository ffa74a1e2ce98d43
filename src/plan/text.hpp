// Words that plans for every kind of machine print themselves in.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/choice.hpp"

namespace cornerturn::plan {

std::string time_text(double ns);
std::string bytes_text(std::int64_t bytes);
std::string_view choice_text(Choice choice);
/// Why this kernel: what the kernel does, how it was chosen, and, where a model chose, how much
/// longer the best of the other kernels would take. `other` is empty when nothing else applies.
std::string why_text(std::string_view idea, Choice choice, std::string_view other, double ratio);
nlohmann::json modes_json(const Problem& problem);

}  // namespace cornerturn::plan
