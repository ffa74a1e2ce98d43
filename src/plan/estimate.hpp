// What a candidate should take, and what that time is made of.
#pragma once

namespace cornerturn::plan {

struct Estimate {
  double seconds = 0;    ///< of all; the parts below are those of a GPU
  double src_bytes = 0;  ///< that memory moves
  double dst_bytes = 0;
  double instructions = 0;  ///< of all lanes
  double wavefronts = 0;    ///< of shared memory

  double memory_seconds = 0;
  double issue_seconds = 0;
  double shared_seconds = 0;
  double rounds_seconds = 0;
  double start_seconds = 0;  ///< of the launch, the first and the last block

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

}  // namespace cornerturn::plan
