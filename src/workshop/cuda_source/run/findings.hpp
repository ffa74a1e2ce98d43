// What was found in the program, until the report is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/context.hpp"
#include "workshop/cuda_source/run/where.hpp"

namespace cornerturn::cuda_source {

/// One end of a finding: a thread of a kernel, or a line of the host's.
struct FindingPlace {
  Where where;
  std::string action;  ///< "loads", "stores", "copies", "waits", "has ended", ...
  int bytes = 0;
  bool of_thread = false;
  Dim3 block;
  Dim3 thread;
};

struct ProgramFinding {
  std::string kind;  ///< "race", "out_of_bounds", ...
  bool warning = false;
  std::string kernel;  ///< empty: the host's
  std::string memory;  ///< the array or allocation, or empty
  std::uint64_t byte = 0;
  std::string message;  ///< what is wrong, without the places
  std::uint64_t count = 1;
  std::vector<FindingPlace> places;
};

/// Enters a finding; one of a kind and places that are known only adds to its count.
void add_finding(ProgramFinding finding);

/// One in host code: `cudaMemcpy copies 4096 B, but the destination has 2048 B`.
void add_host_finding(std::string kind, bool warning, std::string message, Where where);

const std::vector<ProgramFinding>& program_findings();

/// What is called once before the report is written, to find what only shows at the end.
void before_report(void (*check)());
/// Not where the program was ended: then it could not do what is asked for.
void run_last_checks();

}  // namespace cornerturn::cuda_source
