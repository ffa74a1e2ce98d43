// Runs one launch of the kernels for blocks of 32 in the emulator, over memory of the test's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "plan/gpu/quantise.hpp"
#include "simt/emulator.hpp"
#include "support.hpp"

namespace cornerturn::simt {

/// Memory whose first byte lies at a multiple of 16.
struct Memory {
  explicit Memory(const std::vector<std::byte>& contents) : storage(contents.size() + 32) {
    at = storage.data() + (16 - reinterpret_cast<std::uintptr_t>(storage.data()) % 16);
    size = contents.size();
    std::copy(contents.begin(), contents.end(), at);
  }
  std::vector<std::byte> bytes() const { return {at, at + size}; }

  std::vector<std::byte> storage;
  std::byte* at;
  std::size_t size;
};

/// Gaps between elements need not be written; that nothing else is is seen from the bytes.
inline void run(const plan::gpu::BlocksWork& work, std::initializer_list<const Memory*> read,
                std::initializer_list<const Memory*> written) {
  Emulator emulator;
  for (const Memory* memory : read) {
    if (memory->size > 0) emulator.input("read", memory->at, memory->size);
  }
  for (const Memory* memory : written) {
    if (memory->size > 0) emulator.output("written", memory->at, memory->size);
  }
  std::visit(
      [&](const auto& args) {
        kernels::dispatch(args, [&]<class Kernel>() {
          emulator.launch(work.kernel(), Mode::recording, work.launch,
                          [&](auto& ctx) { Kernel::run(ctx, args); });
        });
      },
      work.args);
  for (const Finding& finding : emulator.findings()) {
    if (finding.kind != FindingKind::never_written) ADD_FAILURE() << finding.message();
  }
}

}  // namespace cornerturn::simt
