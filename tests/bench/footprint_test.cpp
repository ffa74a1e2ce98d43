// Which sectors or lines hold elements, against marking every byte.
#include "harness/footprint.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace cornerturn::bench {
namespace {

TEST(Footprint, GranulesAreCountedOnceEach) {
  Case c;
  c.element_bytes = 4;
  c.shape = {5, 3};
  c.src_strides = {1, 5};
  c.dst_strides = {4, 1};
  c.dst_offset = 2;
  // Bytes 0-59 of the source; twelve out of sixteen from byte 8 to byte 83 of the destination.
  EXPECT_EQ(footprint_of(c, 32).bytes(), 32 * (2 + 3));
  EXPECT_EQ(footprint_of(c, 64).bytes(), 64 * (1 + 2));
  EXPECT_EQ(footprint_of(c, 64).moved_bytes(), 64 * (1 + 2 + 2));
  c.src_strides = {100, -5};
  c.src_offset = 10;
  // Elements 0, 5, 10 + 100 i: bytes 0-43, 400-443, 800-843, 1200-1243, 1600-1643.
  EXPECT_EQ(footprint_of(c, 32).bytes(), 32 * (2 + 2 + 2 + 2 + 2 + 3));
  c.src_strides = {0, 100};
  c.src_offset = 0;
  EXPECT_EQ(footprint_of(c, 32).bytes(), 32 * (3 + 3)) << "a repeated element is read once";
  c.shape = {1, 1};
  EXPECT_EQ(footprint_of(c, 32).bytes(), 32 * 2);
}

// A transposition of whole lines moves each of them once.
TEST(Footprint, WholeLinesAreNotReadBefore) {
  Case c;
  c.element_bytes = 4;
  c.shape = {32, 48};
  c.src_strides = {1, 32};
  c.dst_strides = {48, 1};
  EXPECT_EQ(footprint_of(c, 64).moved_bytes(), 2 * c.payload_bytes());
  c.dst_strides = {50, 1};  // some lines have a gap
  const Footprint gaps = footprint_of(c, 64);
  EXPECT_EQ(gaps.read, 96);
  EXPECT_EQ(gaps.moved_bytes(), gaps.bytes() + 64 * gaps.partly);
  EXPECT_GT(gaps.partly, 0);
}

TEST(Footprint, MatchesAByteByByteCount) {
  std::uint64_t state = 1;
  const auto random = [&](std::int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 200; ++round) {
    const int granule = round % 2 == 0 ? sector_of_gpu : line_of_cpu;
    Case c;
    c.element_bytes = static_cast<int>(1 << random(5));
    for (int k = 0; k < 3; ++k) {
      c.shape.push_back(1 + random(6));
      c.src_strides.push_back(random(41) - 20);
      c.dst_strides.push_back(1 + random(40));
      if (c.src_strides.back() < 0) c.src_offset -= c.src_strides.back() * (c.shape.back() - 1);
    }
    std::map<std::int64_t, std::set<std::int64_t>> src;  // bytes that are touched, by granule
    std::map<std::int64_t, std::set<std::int64_t>> dst;
    for (std::int64_t i = 0; i < c.elements(); ++i) {
      std::int64_t rest = i;
      std::int64_t from = c.src_offset;
      std::int64_t to = c.dst_offset;
      for (std::size_t k = 0; k < 3; rest /= c.shape[k++]) {
        from += rest % c.shape[k] * c.src_strides[k];
        to += rest % c.shape[k] * c.dst_strides[k];
      }
      for (int b = 0; b < c.element_bytes; ++b) {
        src[(from * c.element_bytes + b) / granule].insert(from * c.element_bytes + b);
        dst[(to * c.element_bytes + b) / granule].insert(to * c.element_bytes + b);
      }
    }
    std::int64_t written = 0;
    std::int64_t partly = 0;
    for (const auto& [at, bytes] : dst) {
      written += static_cast<std::int64_t>(bytes.size());
      partly += static_cast<int>(bytes.size()) < granule ? 1 : 0;
    }
    const Footprint found = footprint_of(c, granule);
    EXPECT_EQ(found.bytes(), granule * static_cast<std::int64_t>(src.size() + dst.size())) << round;
    // A destination whose elements overlap is none that a case has.
    if (written != c.payload_bytes()) continue;
    EXPECT_EQ(found.partly, partly) << round;
  }
}

TEST(Footprint, IsNotedInResults) {
  const auto path = std::filesystem::path(testing::TempDir()) / "footprint.json";
  std::ofstream(path) << R"({"kind": "any", "cases": [
    {"suite": "small", "case": "matrix_64", "element_bytes": 4, "seconds": 1}]})";
  note_least_bytes(path.string(), line_of_cpu);
  std::ifstream file(path);
  const auto noted = nlohmann::json::parse(file);
  EXPECT_EQ(noted.at("kind"), "any");
  EXPECT_EQ(noted.at("cases").at(0).at("seconds"), 1);
  EXPECT_EQ(noted.at("cases").at(0).at("least_bytes"), 2 * 64 * 64 * 4);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cornerturn::bench
