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
nlohmann::json modes_json(const Problem& problem);

}  // namespace cornerturn::plan
