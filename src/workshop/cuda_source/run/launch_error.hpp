// The error that a launch leaves for cudaGetLastError, as CUDA numbers them.
#pragma once

#include <cstddef>

namespace cornerturn::cuda_source {

inline constexpr int invalid_value = 1;
inline constexpr int invalid_configuration = 9;
inline constexpr int illegal_address = 700;
inline constexpr int launch_out_of_resources = 701;
inline constexpr int misaligned_address = 716;
inline constexpr int launch_failure = 719;
inline constexpr int assert_failed = 710;
inline constexpr int cooperative_too_large = 720;

/// After an error that stays a GPU does nothing more for the program.
bool stays(int error);
/// The last launch's error, if it had one.
void set_launch_error(int error);
int launch_error();
/// Returns it, and forgets one that does not stay.
int take_launch_error();

/// cudaFuncSetAttribute has allowed as much for every kernel.
void allow_dynamic_shared_memory(std::size_t bytes);

}  // namespace cornerturn::cuda_source
