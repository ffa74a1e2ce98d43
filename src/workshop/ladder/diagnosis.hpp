// What bounds a kernel, what would help, and what that would be worth: all of it from the ledger's
// parts, so that no two answers differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workshop/ladder/ledger.hpp"

namespace cornerturn::ladder {

struct Diagnosis {
  std::string limit;   ///< the largest part, and what fills it: "shared memory: the shared ..."
  std::string place;   ///< in the source; empty where it is no single access
  std::string advice;  ///< what would make it smaller; empty where nothing is known that would

  /// Both as sentences.
  std::string sentence() const;
};

/// Of a run and its ledger. Advises nothing that the kernel does already.
Diagnosis diagnose(const Prediction& run, const Ledger& ledger);

/// One thing that a kernel might do otherwise, and the share of a copy's speed that is predicted
/// then.
struct WhatIf {
  std::string change;  ///< "without the bank conflicts"
  double share = 0;
  double points = 0;  ///< more than now, of 100
};

/// Those that `run` does not do yet. Accesses that are scattered over global memory cannot be wide.
std::vector<WhatIf> what_ifs(const Prediction& run, const Matrix& matrix,
                             const plan::gpu::DeviceInfo& device);

/// "without the bank conflicts 84 % (+47 points); ..."
std::string to_text(const std::vector<WhatIf>& changes);

/// The ledger and all that follows from it, of a kernel that gives the right result.
struct Outlook {
  Ledger ledger;
  Diagnosis diagnosis;
  std::vector<WhatIf> what_ifs;  ///< none where no speed is predicted
};

/// `run` stands for `matrix`. None of a matrix without elements, and of a kernel that does not both
/// load and store.
std::optional<Outlook> outlook_of(const Prediction& run, const Matrix& matrix,
                                  const plan::gpu::DeviceInfo& device);

}  // namespace cornerturn::ladder
