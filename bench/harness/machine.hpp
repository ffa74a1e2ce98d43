// Where and with what a benchmark ran. No host names, no user names, no paths.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cornerturn::bench {

/// Commit, date, CPU, caches, kernel, compiler and library versions, as JSON.
nlohmann::ordered_json provenance();

/// Bytes of the largest cache of the first processor; 32 MiB when the system does not say.
std::int64_t last_level_cache_bytes();

/// The processor's model, e.g. "AMD EPYC 9554 64-Core Processor".
std::string cpu_model();

/// Processors that this process may run on.
int usable_processors();

}  // namespace cornerturn::bench
