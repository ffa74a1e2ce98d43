// Values of the CUDA driver's interface, which never change, under their own names: for builds
// without CUDA's headers. backend.cpp compares them with those.
#pragma once

namespace cornerturn::cuda::numbers {

inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int not_initialized = 3;
inline constexpr int deinitialized = 4;

inline constexpr int memory_type = 2;  // attributes of a pointer
inline constexpr int is_managed = 8;
inline constexpr int device_ordinal = 9;
inline constexpr int memory_pool = 17;

inline constexpr int host_memory = 1;  // values of memory_type
inline constexpr int device_memory = 2;

}  // namespace cornerturn::cuda::numbers
