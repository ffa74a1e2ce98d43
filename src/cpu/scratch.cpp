#include "cpu/scratch.hpp"

#include <array>
#include <cstdlib>
#include <memory>

namespace cornerturn::cpu {
namespace {

constexpr std::size_t uses = 3;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct Block {
  std::unique_ptr<std::byte, Free> memory;
  std::size_t size = 0;
};

using Blocks = std::array<Block, uses>;

}  // namespace

std::byte* thread_scratch(Scratch use, std::size_t bytes) {
  Block& block = PerThread<Blocks>::get()[static_cast<std::size_t>(use)];
  if (bytes > block.size) {
    bytes = (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
    block.memory.reset();  // first, so that not both exist
    block.memory.reset(static_cast<std::byte*>(std::aligned_alloc(scratch_alignment, bytes)));
    block.size = block.memory ? bytes : 0;
    if (!block.memory) throw std::bad_alloc();
  }
  return block.memory.get();
}

}  // namespace cornerturn::cpu
