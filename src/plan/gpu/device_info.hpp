// What planning needs to know of a GPU: a plain struct, so that plans can be made and tested for
// devices that are not there.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::plan::gpu {

struct DeviceInfo {
  std::string name;              ///< as the driver names it
  int arch = 80;                 ///< compute capability x 10
  int sm_count = 1;              ///< streaming multiprocessors
  double clock_hz = 1e9;         ///< of an SM under load
  double copy_bandwidth = 1e12;  ///< bytes read and written a second by a large plain copy
  double launch_seconds = 2e-6;  ///< from the start of a kernel without work to its end
  std::int64_t l2_bytes = 0;
  int shared_per_sm = 64 << 10;     ///< bytes
  int shared_per_block = 48 << 10;  ///< bytes, when asked for
  int threads_per_sm = 1024;
  int blocks_per_sm = 16;
  int registers_per_sm = 65536;  ///< of 32 bits

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

}  // namespace cornerturn::plan::gpu
