// Layouts: the limits of meshes and shapes, what each device holds, and that nothing is held twice.
#include "shards/layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/refusal.hpp"

namespace cornerturn::shards {
namespace {

constexpr std::int64_t million = std::int64_t{1} << 20;

TEST(Meshes, HaveAMillionDevicesAtMost) {
  EXPECT_EQ(devices_of({}), 1);
  EXPECT_EQ(devices_of({4, 2, 3}), 24);
  EXPECT_EQ(devices_of({million}), million);
  EXPECT_EQ(devices_of({1024, 1, 1024}), million);
  for (const Numbers& mesh : {Numbers{million + 1},
                              {1024, 1025},
                              {1025, 1024},
                              {million, 2},
                              {2, million},
                              {million, million},
                              {million, million, million, 16},
                              {INT64_MAX},
                              {INT64_MAX, INT64_MAX},
                              {std::int64_t{1} << 32, std::int64_t{1} << 32}}) {
    EXPECT_NE(test::refusal([&] { devices_of(mesh); }).find("has more than 2^20 devices"),
              std::string::npos)
        << testing::PrintToString(mesh);
  }
  for (const Numbers& mesh : {Numbers{0}, {-1}, {2, 0}, {INT64_MIN, 2}, {million, 0}}) {
    EXPECT_NE(test::refusal([&] { devices_of(mesh); }).find("a mesh has one device at least"),
              std::string::npos)
        << testing::PrintToString(mesh);
  }
}

TEST(Layouts, HaveShapesThatCanBeCounted) {
  const auto placing = [](const Numbers& shape) {
    return test::refusal([&] { placed(shape, {2}, {{-1}}, "src"); });
  };
  EXPECT_EQ(placing(Numbers(32, 1)), "nothing");
  EXPECT_NE(placing(Numbers(33, 1)).find("at most 32"), std::string::npos);
  EXPECT_EQ(placing({INT64_MAX}), "nothing");
  EXPECT_NE(placing({std::int64_t{1} << 32, std::int64_t{1} << 31}).find("2^63 elements or more"),
            std::string::npos);
  EXPECT_NE(placing({std::int64_t{1} << 32, 0, std::int64_t{1} << 31}).find("2^63"),
            std::string::npos);
  EXPECT_EQ(placing({0, 5}), "nothing");
}

// The indices of an axis that one coordinate has, one by one.
Numbers listed(const Indices& indices) {
  Numbers all;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    EXPECT_LT(indices[i].begin, indices[i].end);
    if (i > 0) {
      EXPECT_LT(indices[i - 1].end, indices[i].begin) << "they touch";
    }
    for (std::int64_t k = indices[i].begin; k < indices[i].end; ++k) all.push_back(k);
  }
  return all;
}

TEST(Layouts, SplitAnAxisAsTheReferenceDoes) {
  for (std::int64_t n = 0; n < 40; ++n) {
    for (const std::int64_t parts : {1, 2, 3, 4, 7, 50}) {
      for (const std::int64_t block : {0, 1, 2, 3, 5, 64}) {
        for (const std::int64_t first : {std::int64_t{0}, block == 0 ? 0 : parts - 1}) {
          const Layout layout = placed({n}, {parts}, {{0, block, first}}, "src");
          const std::int64_t size = block > 0 ? block : (n + parts - 1) / parts;
          std::vector<Numbers> expected(static_cast<std::size_t>(parts));
          for (std::int64_t i = 0; i < n; ++i) {
            expected[static_cast<std::size_t>((i / size + first) % parts)].push_back(i);
          }
          for (std::size_t d = 0; d < expected.size(); ++d) {
            EXPECT_EQ(listed(layout.shards[d].axes[0]), expected[d])
                << n << " indices, " << parts << " parts, blocks of " << block << " from " << first;
          }
        }
      }
    }
  }
}

// Several dimensions of a mesh: every element is held as often as the replicated ones say.
TEST(Layouts, HoldEveryElementAsOftenAsItIsReplicated) {
  std::mt19937 random(2);
  const auto uniform = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    Numbers shape, mesh;
    for (int axis = uniform(1, 3); axis > 0; --axis) shape.push_back(uniform(0, 9));
    Placements placements;
    std::int64_t replicas = 1;
    for (int k = uniform(1, 3); k > 0; --k) {
      mesh.push_back(uniform(1, 3));
      Placement placement{uniform(-1, static_cast<int>(shape.size()) - 1)};
      if (placement.axis >= 0) placement.block = uniform(0, 3);
      if (placement.block > 0) placement.first = uniform(0, static_cast<int>(mesh.back()) - 1);
      if (placement.axis < 0) replicas *= mesh.back();
      placements.push_back(placement);
    }
    const Layout layout = placed(shape, mesh, placements, "src");
    ASSERT_EQ(layout.devices(), devices_of(mesh));
    std::map<Numbers, std::int64_t> held;
    for (const Shard& shard : layout.shards) {
      std::vector<Numbers> places{{}};
      for (const Indices& axis : shard.axes) {
        std::vector<Numbers> longer;
        for (const Numbers& place : places) {
          for (const std::int64_t index : listed(axis)) {
            longer.push_back(place);
            longer.back().push_back(index);
          }
        }
        places = longer;
      }
      EXPECT_EQ(static_cast<std::int64_t>(places.size()), shard.elements());
      for (const Numbers& place : places) ++held[place];
    }
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    EXPECT_EQ(static_cast<std::int64_t>(held.size()), elements) << layout.text;
    for (const auto& [place, times] : held) EXPECT_EQ(times, replicas) << layout.text;
  }
}

TEST(Layouts, OfBoxesMeetNowhereAndLeaveNothingOut) {
  const auto of = [](const std::vector<Bounds>& devices) {
    return test::refusal([&] { boxes({6, 4}, devices, "src"); });
  };
  const Bounds left{{0, 0}, {6, 2}}, right{{0, 2}, {6, 4}}, none{{3, 3}, {3, 4}};
  EXPECT_EQ(of({left, right}), "nothing");
  EXPECT_EQ(of({right, none, left, right}), "nothing") << "a replica, and a device with nothing";
  EXPECT_NE(of({left, none}).find("must cover the array"), std::string::npos);
  // Boxes that meet in one element, along one axis or both.
  EXPECT_NE(of({left, {{0, 1}, {6, 4}}}).find("src[1] = [0:6,1:4] overlaps src[0]"),
            std::string::npos);
  EXPECT_NE(of({left, right, {{5, 3}, {6, 4}}}).find("src[2] = [5:6,3:4] overlaps src[1]"),
            std::string::npos);
  for (const Bounds& bad : {Bounds{{-1, 0}, {6, 2}}, {{0, 0}, {7, 2}}, {{4, 0}, {3, 2}}}) {
    EXPECT_NE(of({bad, right}).find("axis 0 is outside of 0:6"), std::string::npos);
  }
}

}  // namespace
}  // namespace cornerturn::shards
