// What the driver's management library says about the GPU, without being linked to it.
#pragma once

#include <nlohmann/json.hpp>

namespace cornerturn::bench {

/// Driver version and clocks in MHz, as they are now; nothing where the library is missing.
nlohmann::ordered_json nvml_facts();

}  // namespace cornerturn::bench
