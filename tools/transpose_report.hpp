// What `cornerturn transpose` says when it is done.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/rearrange.hpp"
#include "io/rearrange_indexed.hpp"
#include "io/schedule.hpp"
#include "transpose_arguments.hpp"

namespace cornerturn::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct TransposeReport {
  std::vector<int> permutation;
  io::NpyHeader result;
  std::int64_t moved_bytes = 0;  ///< of elements as IN has them
  std::int64_t result_bytes = 0;
  std::string types;                   ///< "'<f4' to bf16"
  std::string blocks;                  ///< the format of blocks on one side
  std::optional<io::IndexList> index;  ///< of an axis of IN
  std::optional<float> tensor_scale;   ///< of such a format
  /// Nothing had to be moved where there is none.
  std::optional<io::ScheduleSummary> schedule;
  std::string kernel;  ///< empty where there is none to choose
  std::string device = "cpu";
  double seconds = 0;
  double verify_seconds = 0;
  bool synced = false;  ///< OUT is on the disk
  double sync_seconds = 0;

  /// On standard output, unless that is the result's.
  void print(const TransposeArguments& arguments, const io::InputArray& input,
             const io::Progress& progress) const;
};

}  // namespace cornerturn::cli
