// What becomes of a program that crashes, or runs longer than it may: a finding.
#pragma once

namespace cornerturn::cuda_source {

/// From now on signals that end the program write the report first.
void catch_crashes();

}  // namespace cornerturn::cuda_source
