// What would help a line of a CUDA source that takes more than it needs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cornerturn::cli {

/// A sentence for each line of a kernel's report that there is one for: "a.cu:12: lanes are ...".
std::vector<std::string> hints_of(const nlohmann::ordered_json& kernel);

}  // namespace cornerturn::cli
