// The vector instruction sets that kernels are built for, by Highway's names.
#pragma once

#include <string>
#include <vector>

namespace cornerturn::cpu {

/// Those that this build has and this processor runs, best first: "AVX3_DL", "AVX2", ...
std::vector<std::string> targets();

/// Makes every kernel use the target called `name`; empty: the best one again. For tests and bug
/// reports, not while kernels run. Throws when it is not among targets().
void use_target(const std::string& name);

}  // namespace cornerturn::cpu
