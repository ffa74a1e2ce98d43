#include "files/checksum.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace cornerturn::files {
namespace {

constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t prime3 = 0x165667B19E3779F9U;
constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5U;

// Numbers are little-endian.
template <class Number>
std::uint64_t number_at(const std::byte* data) {
  std::array<std::byte, sizeof(Number)> bytes;
  std::memcpy(bytes.data(), data, bytes.size());
  std::uint64_t number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&number, bytes.data(), bytes.size());
  } else {
    for (std::size_t i = bytes.size(); i-- > 0;) {
      number = number << 8 | static_cast<std::uint64_t>(bytes[i]);
    }
  }
  return number;
}

std::uint64_t mixed(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

std::uint64_t merged(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ mixed(0, lane)) * prime1 + prime4;
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> data, std::uint64_t seed) {
  const std::byte* at = data.data();
  std::size_t left = data.size();
  std::uint64_t hash = seed + prime5;
  if (left >= 32) {
    std::array<std::uint64_t, 4> lanes = {seed + prime1 + prime2, seed + prime2, seed,
                                          seed - prime1};
    for (; left >= 32; at += 32, left -= 32) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        lanes[i] = mixed(lanes[i], number_at<std::uint64_t>(at + 8 * i));
      }
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
           std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = merged(hash, lane);
  }
  hash += data.size();
  for (; left >= 8; at += 8, left -= 8) {
    hash = std::rotl(hash ^ mixed(0, number_at<std::uint64_t>(at)), 27) * prime1 + prime4;
  }
  for (; left >= 4; at += 4, left -= 4) {
    hash = std::rotl(hash ^ number_at<std::uint32_t>(at) * prime1, 23) * prime2 + prime3;
  }
  for (; left > 0; ++at, --left) {
    hash = std::rotl(hash ^ static_cast<std::uint64_t>(*at) * prime5, 11) * prime1;
  }
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

}  // namespace cornerturn::files
