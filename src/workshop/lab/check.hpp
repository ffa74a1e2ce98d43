// A linter for layouts: how many wavefronts their accesses may take, and whether they do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/gpu/device_info.hpp"

namespace cornerturn::lab {

struct CheckedAccess {
  std::string access;             ///< as parse_access() and `rung:NAME` have it
  std::optional<int> wavefronts;  ///< a request may take; without it what the floor is
};

struct CheckedLayout {
  std::string name;
  std::string layout;
  int bytes = 4;          ///< of an element
  bool injective = true;  ///< no two elements may lie at one place
  std::vector<CheckedAccess> accesses;
};

/// What was found of one access, or of the layout itself, whose access is empty.
struct CheckFinding {
  std::string layout;
  std::string access;
  bool passed = true;
  std::string message;  ///< the verdict; of what failed, why and what would help
};

struct CheckReport {
  std::vector<CheckFinding> findings;

  std::size_t failed() const;
  std::string to_text() const;
  std::string to_json() const;
};

/// Layouts that cannot be, and accesses that they do not allow, are findings that failed.
CheckReport check(const std::vector<CheckedLayout>& layouts, const plan::gpu::DeviceInfo& device);

}  // namespace cornerturn::lab
