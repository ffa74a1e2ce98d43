// Findings as code hosts read them: SARIF 2.1.0.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cornerturn::cli {

/// Writes the findings of {"files": [...]} to a file that ends in .sarif or .json, whole or not at
/// all.
void write_sarif(const std::string& path, const nlohmann::ordered_json& reports);

}  // namespace cornerturn::cli
