// XXH64 of bytes: tells what was written whole from what was not, or from what somebody changed.
// The algorithm: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace cornerturn::files {

/// The checksum of one part is the seed of the next: so several parts have one checksum.
std::uint64_t checksum_of(std::span<const std::byte> data, std::uint64_t seed = 0);

/// The checksum of all in front of the member `check`, which is the last one.
template <class Block>
std::uint64_t checksum_of_block(const Block& block) {
  static_assert(std::has_unique_object_representations_v<Block>);
  static_assert(offsetof(Block, check) + sizeof block.check == sizeof block);
  return checksum_of({reinterpret_cast<const std::byte*>(&block), offsetof(Block, check)});
}

}  // namespace cornerturn::files
