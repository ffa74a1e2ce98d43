// Plans for blocks of 32 and for reductions, made for memory of the test's own and run in the
// emulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/buffers.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "support.hpp"
#include "workshop/simt/execute.hpp"

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

inline plan::Plan plan_for(const Problem& problem, const Buffers& buffers,
                           const std::string& kernel = {}) {
  const auto of = [](const void* p) { return p == nullptr ? 16 : alignment_of(p); };
  const BlockBuffers& blocks = buffers.blocks;
  const Alignment alignment{true,
                            of(buffers.src),
                            of(buffers.dst),
                            of(blocks.scales),
                            of(blocks.second),
                            of(blocks.second_scales)};
  return plan::make_plan(problem, plan::gpu::device_named("h200"), {1, kernel, alignment});
}

/// Gaps between elements need not be written; that nothing else is is seen from the bytes.
inline void run(const plan::Plan& plan, const Buffers& buffers,
                std::initializer_list<const Memory*> read,
                std::initializer_list<const Memory*> written) {
  Emulator emulator;
  for (const Memory* memory : read) {
    if (memory->size > 0) emulator.input("read", memory->at, memory->size);
  }
  for (const Memory* memory : written) {
    if (memory->size > 0) emulator.output("written", memory->at, memory->size);
  }
  execute(emulator, plan, buffers, Mode::recording);
  for (const Finding& finding : emulator.findings()) {
    if (finding.kind != FindingKind::never_written) ADD_FAILURE() << finding.message();
  }
}

}  // namespace cornerturn::simt
