// What planning needs to know of a GPU: a plain struct, so that plans can be made and tested for
// devices that are not there.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::plan::gpu {

/// The link between a GPU and its host's memory. What a device file does not say is that of PCIe 4
/// with 16 lanes.
struct LinkRates {
  double into = 25e9;          ///< bytes a second of a large dense copy from pinned memory
  double out = 25e9;           ///< and to it
  double kernel_into = 0.92;   ///< share of that which kernels reach that load over the link
  double kernel_out = 0.945;   ///< and those that store over it
  double latency = 2e-6;       ///< seconds from a load over the link to its data
  double copy_seconds = 2e-6;  ///< that each copy of the copy engine takes beyond its bytes

  friend bool operator==(const LinkRates&, const LinkRates&) = default;
};

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
  LinkRates link;

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

}  // namespace cornerturn::plan::gpu
