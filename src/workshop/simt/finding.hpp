// What the emulator finds wrong in a kernel, and how it says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/context.hpp"
#include "workshop/simt/site.hpp"

namespace cornerturn::simt {

enum class FindingKind {
  race,               ///< two threads touch a byte, one of them writes, nothing orders them
  unwritten_read,     ///< memory that nobody wrote
  out_of_bounds,      ///< outside every buffer, or a store into an input
  misaligned,         ///< not a multiple of the access's width
  divergent_barrier,  ///< not all threads meet at it
  written_twice,      ///< two stores into one place of an output
  never_written,      ///< a place of an output that no store reached
  never_ends,         ///< a thread that takes more steps than it may
};

const char* name(FindingKind kind);

enum class Action : std::uint8_t { load, store, update, async_copy, wait, end };

/// One of the threads involved: where it stands in the source and what it does there.
struct Party {
  Dim3 block;
  Dim3 thread;
  Site site;
  Action action = Action::load;
  int bytes = 0;
};

struct Finding {
  FindingKind kind = FindingKind::race;
  std::string kernel;
  std::string memory;         ///< "shared memory" or the buffer's name
  std::uint64_t address = 0;  ///< byte in that memory
  std::optional<Party> first;
  std::optional<Party> second;
  std::string detail;    ///< what is wrong with it, one clause
  bool warning = false;  ///< it may be meant so
  std::uint64_t count = 1;

  /// One line: kernel, block, both threads, both places, the address, the reason.
  std::string message() const;
};

}  // namespace cornerturn::simt
