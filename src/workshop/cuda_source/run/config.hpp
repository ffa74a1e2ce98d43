// What the command that started the program has told it: by a JSON file, which the environment
// variable CORNERTURN_CHECK_CONFIG names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::cuda_source {

/// The GPU that the program believes to run on.
struct DeviceModel {
  std::string name = "Cornerturn's emulator";
  int warp = 32;
  std::size_t shared_block = 48 << 10;         ///< that a launch may have without asking
  std::size_t shared_block_optin = 227 << 10;  ///< after cudaFuncSetAttribute
  std::size_t shared_sm = 228 << 10;
  unsigned threads_block = 1024;
  unsigned threads_sm = 2048;
  int sms = 132;
};

struct Config {
  std::string report;        ///< where the report goes; empty: nowhere
  std::uint64_t steps = 0;   ///< accesses and waits that a thread may make; 0: any number
  std::uint64_t blocks = 0;  ///< that are counted of a launch; 0: all
  std::uint64_t recorded = 150'000'000;  ///< accesses of a launch until its rest runs fast
  DeviceModel device;
};

/// What every GPU of today has, whatever the model says: blocks of a multiprocessor, and shared
/// memory that each of them takes beside its own.
inline constexpr int most_blocks_sm = 32;
inline constexpr std::size_t reserved_shared = 1024;

/// How many blocks of so many threads a multiprocessor holds at once. Registers are not known here,
/// so that only threads and shared memory limit the number.
int blocks_on_one(const DeviceModel& device, unsigned threads, std::size_t shared);

/// Read when it is asked for first.
const Config& config();

}  // namespace cornerturn::cuda_source
