#include "shards/redistribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

#include "shards/pieces.hpp"
#include "support/refusal.hpp"

namespace cornerturn::shards {
namespace {

using test::refusal;
using Values = std::vector<std::int64_t>;

// ---- The reference: every index of every device in a list, and every element on its own.

// The indices along every axis that each device holds.
std::vector<std::vector<Numbers>> held_by_each(const Numbers& shape, const Numbers& mesh,
                                               const Placements& placements) {
  std::vector<std::vector<Numbers>> devices;
  int number = 1;
  for (const std::int64_t extent : mesh) number *= static_cast<int>(extent);
  for (int device = 0; device < number; ++device) {
    std::vector<Numbers> axes;
    for (const std::int64_t extent : shape) {
      axes.emplace_back(static_cast<std::size_t>(extent));
      std::iota(axes.back().begin(), axes.back().end(), 0);
    }
    std::int64_t rest = device, below = number;
    for (std::size_t k = 0; k < mesh.size(); ++k) {
      below /= mesh[k];
      const std::int64_t coordinate = rest / below;
      rest %= below;
      if (placements[k].axis < 0) continue;
      Numbers& axis = axes[static_cast<std::size_t>(placements[k].axis)];
      const auto n = static_cast<std::int64_t>(axis.size());
      Numbers kept;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t block =
            placements[k].block > 0 ? placements[k].block : (n + mesh[k] - 1) / mesh[k];
        const std::int64_t owner = (i / block + placements[k].first) % mesh[k];
        if (owner == coordinate) kept.push_back(axis[static_cast<std::size_t>(i)]);
      }
      axis = kept;
    }
    devices.push_back(axes);
  }
  return devices;
}

// The place in the whole array of every element of a device, in the order of its own array.
Values places(const std::vector<Numbers>& held, const Numbers& shape) {
  Values all{0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Values longer;
    for (const std::int64_t before : all) {
      for (const std::int64_t index : held[i]) longer.push_back(before * shape[i] + index);
    }
    all = longer;
  }
  return all;
}

// For every element of the result, the place in the array that it comes from.
Values permuted(const Numbers& shape, const std::vector<int>& perm) {
  Values from{0};
  for (const int axis : perm) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > static_cast<std::size_t>(axis) + 1;)
      stride *= shape[i];
    Values longer;
    for (const std::int64_t before : from) {
      for (std::int64_t i = 0; i < shape[static_cast<std::size_t>(axis)]; ++i) {
        longer.push_back(before + i * stride);
      }
    }
    from = longer;
  }
  return from;
}

void run(const Problem& problem, Values& dst, const Values& src, std::vector<int>* writes) {
  ASSERT_EQ(problem.src_type.size(), 8);
  Numbers index(static_cast<std::size_t>(problem.rank()));
  for (std::int64_t n = problem.elements(); n > 0; --n) {
    std::int64_t from = problem.src_offset, to = problem.dst_offset;
    for (int k = 0; k < problem.rank(); ++k) {
      from += index[static_cast<std::size_t>(k)] * problem.modes[k].src_stride;
      to += index[static_cast<std::size_t>(k)] * problem.modes[k].dst_stride;
    }
    dst.at(static_cast<std::size_t>(to / 8)) = src.at(static_cast<std::size_t>(from / 8));
    if (writes != nullptr) ++writes->at(static_cast<std::size_t>(to / 8));
    for (int k = problem.rank(); k-- > 0;) {
      if (++index[static_cast<std::size_t>(k)] < problem.modes[k].extent) break;
      index[static_cast<std::size_t>(k)] = 0;
    }
  }
}

// Every device's result, by messages or directly, against the reference.
void check(const Numbers& shape, const Numbers& mesh, const Placements& from, const Placements& to,
           const std::vector<int>& perm) {
  Numbers result_shape;
  for (const int axis : perm) result_shape.push_back(shape[static_cast<std::size_t>(axis)]);
  const Redistribution what(placed(shape, mesh, from, "src"), placed(result_shape, mesh, to, "dst"),
                            perm, 8);
  const auto src_held = held_by_each(shape, mesh, from);
  const auto dst_held = held_by_each(result_shape, mesh, to);
  const Values origin = permuted(shape, perm);
  std::vector<Numbers> all_dst_strides;
  for (const Shard& shard : what.dst().shards) all_dst_strides.push_back(packed(shard.shape(), 8));
  for (int d = 0; d < what.devices(); ++d) {
    const auto to_index = static_cast<std::size_t>(d);
    Values expected;
    for (const std::int64_t place : places(dst_held[to_index], result_shape)) {
      expected.push_back(origin[static_cast<std::size_t>(place)]);
    }
    Values result(expected.size(), -1), direct = result, in_pieces = result;
    std::vector<int> writes(expected.size()), piece_writes = writes;
    for (int s = 0; s < what.devices(); ++s) {
      const Message message = what.message(s, d);
      ASSERT_EQ(message.elements, what.message_elements(s, d));
      if (message.elements == 0) continue;
      const Values shard = places(src_held[static_cast<std::size_t>(s)], shape);
      const Numbers src_strides = packed(what.src().shards[static_cast<std::size_t>(s)].shape(), 8);
      const Numbers dst_strides = packed(what.dst().shards[to_index].shape(), 8);
      Values sent(static_cast<std::size_t>(message.elements), -1);
      std::vector<int> packs(sent.size());
      const auto copy = [&](const Box& box, Side a, Side b) {
        return what.copy(box, a, b, src_strides, dst_strides);
      };
      for (const Box& box : message.boxes) {
        run(copy(box, Side::source, Side::message), sent, shard, &packs);
        run(copy(box, Side::source, Side::destination), direct, shard, nullptr);
      }
      for (const Box& box : message.boxes) {
        run(copy(box, Side::message, Side::destination), result, sent, &writes);
      }
      ASSERT_EQ(packs, std::vector<int>(sent.size(), 1));
      for (const Piece& piece : pieces_of(what, s, src_strides, all_dst_strides, 128)) {
        if (piece.to == d) run(piece.problem, in_pieces, shard, &piece_writes);
      }
    }
    ASSERT_EQ(result, expected) << "device " << d;
    ASSERT_EQ(direct, expected) << "device " << d;
    ASSERT_EQ(in_pieces, expected) << "device " << d;
    ASSERT_EQ(piece_writes, std::vector<int>(expected.size(), 1));
    ASSERT_EQ(writes, std::vector<int>(expected.size(), 1));
  }
}

class RandomLayouts {
 public:
  explicit RandomLayouts(std::uint64_t seed) : random_(seed) {}

  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Numbers mesh(int most_devices) {
    Numbers mesh;
    std::int64_t devices = 1;
    for (std::int64_t dimensions = uniform(1, 3); dimensions > 0; --dimensions) {
      mesh.push_back(uniform(1, std::max<std::int64_t>(1, most_devices / devices)));
      devices *= mesh.back();
    }
    return mesh;
  }

  Numbers shape() {
    Numbers shape;
    std::int64_t elements = 1;
    for (std::int64_t rank = uniform(1, 6); rank > 0; --rank) {
      shape.push_back(uniform(1, std::clamp<std::int64_t>(600 / elements, 1, 40)));
      elements *= shape.back();
    }
    std::shuffle(shape.begin(), shape.end(), random_);
    return shape;
  }

  Placements placements(std::size_t rank, const Numbers& mesh) {
    Placements all;
    for (const std::int64_t extent : mesh) {
      Placement placement;
      placement.axis = static_cast<int>(uniform(-1, static_cast<std::int64_t>(rank) - 1));
      if (placement.axis >= 0 && uniform(0, 2) == 0) {
        placement.block = uniform(1, 5);
        placement.first = uniform(0, extent - 1);
      }
      all.push_back(placement);
    }
    return all;
  }

  std::vector<int> perm(std::size_t rank) {
    std::vector<int> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    return perm;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Redistribution, ValuesTravelAsTheSmallerType) {
  const auto typed = [](Kind src, Kind dst) {
    return Redistribution(placed({8, 4}, {2}, {{0}}, "src"), placed({4, 8}, {2}, {{0}}, "dst"),
                          {1, 0}, Items{ElementType(src), ElementType(dst)});
  };
  for (const auto& [src, dst] :
       {std::pair{Kind::f64, Kind::f16}, std::pair{Kind::f16, Kind::f64}}) {
    const Redistribution what = typed(src, dst);
    EXPECT_EQ(what.item_bytes(Side::message), 2);
    const Message message = what.message(0, 1);
    const auto strides = [&](Side side, std::int64_t columns) {
      return Numbers{columns * what.item_bytes(side), what.item_bytes(side)};
    };
    const auto copy = [&](Side from, Side to) {
      return what.copy(message.boxes.at(0), from, to, strides(Side::source, 4),
                       strides(Side::destination, 8));
    };
    const Problem pack = copy(Side::source, Side::message);
    const Problem unpack = copy(Side::message, Side::destination);
    EXPECT_EQ(pack.src_type, ElementType(src));
    EXPECT_EQ(unpack.dst_type, ElementType(dst));
    EXPECT_EQ(pack.dst_type, ElementType(Kind::f16));
    EXPECT_EQ(unpack.src_type, ElementType(Kind::f16));
    EXPECT_NE(pack.converts(), unpack.converts());
    EXPECT_EQ(pack.src_offset, 2 * what.item_bytes(Side::source));  // the third column
    EXPECT_TRUE(copy(Side::source, Side::destination).converts());
  }
}

TEST(Redistribution, RandomLayoutsArriveAsTheReferenceSays) {
  RandomLayouts random(7);
  for (int round = 0; round < 300; ++round) {
    const Numbers mesh = random.mesh(round % 10 == 0 ? 64 : 12);
    const Numbers shape = random.shape();
    const Placements from = random.placements(shape.size(), mesh);
    const Placements to = random.placements(shape.size(), mesh);
    SCOPED_TRACE(testing::Message()
                 << testing::PrintToString(shape) << " on " << testing::PrintToString(mesh)
                 << " from " << to_string(from) << " to " << to_string(to));
    check(shape, mesh, from, to, random.perm(shape.size()));
    if (HasFatalFailure()) return;
  }
}

// Indices of any kind, also those that no placement gives: every common index once, in its places.
TEST(Redistribution, StretchesAreWhatBothSidesHold) {
  RandomLayouts random(11);
  const auto some = [&] {
    Indices indices;
    for (std::int64_t at = random.uniform(0, 3); at < 40;) {
      const std::int64_t end = at + random.uniform(1, 2);
      indices.push_back({at, end});
      at = end + random.uniform(1, 2);
    }
    return indices;
  };
  const auto listed = [](const Indices& indices) {
    Numbers all;
    for (const Interval& interval : indices) {
      for (std::int64_t i = interval.begin; i < interval.end; ++i) all.push_back(i);
    }
    return all;
  };
  for (int round = 0; round < 500; ++round) {
    const Indices src = some(), dst = some();
    const Numbers src_list = listed(src), dst_list = listed(dst);
    Numbers common, found;
    std::set_intersection(src_list.begin(), src_list.end(), dst_list.begin(), dst_list.end(),
                          std::back_inserter(common));
    for (const Stretches& row : in_common(src, dst)) {
      for (std::int64_t k = 0; k < row.count * row.length; ++k) {
        const std::int64_t stretch = k / row.length, i = k % row.length;
        const auto from = static_cast<std::size_t>(row.src + stretch * row.src_step + i);
        const auto to = static_cast<std::size_t>(row.dst + stretch * row.dst_step + i);
        ASSERT_EQ(src_list.at(from), dst_list.at(to));
        found.push_back(dst_list[to]);
      }
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, common);
  }
}

TEST(Redistribution, EmptyAndScalarArraysMove) {
  check({0, 4}, {3}, {{0}}, {{1}}, {0, 1});
  check({}, {2, 2}, {{}, {}}, {{}, {}}, {});
  check({2, 3}, {8}, {{0}}, {{1}}, {1, 0});  // more devices than rows
}

// A pattern that repeats is a few boxes, however often.
TEST(Redistribution, BlockCyclicLayoutsMeetInFewBoxes) {
  const auto boxes = [](Placement from, Placement to) {
    const Redistribution what(placed({60'010}, {4}, {from}, "src"),
                              placed({60'010}, {4}, {to}, "dst"), {0}, 4);
    std::size_t most = 0;
    for (int d = 0; d < 16; ++d) {
      most = std::max(most, what.message(d / 4, d % 4).boxes.size());
    }
    return most;
  };
  EXPECT_EQ(boxes({0, 1, 0}, {0}), 1U);
  EXPECT_EQ(boxes({0}, {0, 4, 0}), 2U);  // one of them is a part of a block
  EXPECT_EQ(boxes({0, 2, 0}, {0, 4, 0}), 1U);
  EXPECT_LE(boxes({0, 3, 0}, {0, 5, 1}), 6U);
  EXPECT_EQ(boxes({0, 7, 0}, {0, 7, 0}), 1U);
}

TEST(Redistribution, AReplicaIsTakenFromItselfOrSpreadEvenly) {
  // Two rows of four: each row holds all of the array.
  const Redistribution what(placed({8}, {2, 4}, {{}, {0}}, "src"),
                            placed({8}, {2, 4}, {{0}, {}}, "dst"), {0}, 1);
  std::vector<std::int64_t> sent(8);
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from != to) sent[static_cast<std::size_t>(from)] += what.message_elements(from, to);
      if (what.message_elements(from, to) > 0) {
        EXPECT_EQ(from / 4, to / 4);
      }
    }
  }
  EXPECT_EQ(*std::max_element(sent.begin(), sent.end()), 6);

  const Redistribution halves(placed({4, 4}, {2, 2}, {{1}, {}}, "src"),
                              placed({4, 4}, {2, 2}, {{0}, {}}, "dst"), {0, 1}, 1);
  for (int from = 0; from < 4; ++from) {
    int messages = 0;
    for (int to = 0; to < 4; ++to) {
      messages += static_cast<int>(from != to && halves.message_elements(from, to) > 0);
    }
    EXPECT_EQ(messages, 1) << "from " << from;
  }
}

TEST(Redistribution, BoxesAndPlacementsOfOneLayoutAreEqual) {
  const Layout by_boxes =
      boxes({5, 4}, {{{0, 0}, {2, 4}}, {{2, 0}, {4, 4}}, {{4, 0}, {5, 4}}}, "src");
  EXPECT_EQ(by_boxes, placed({5, 4}, {3}, {{0}}, "src"));
}

// ---- Bad input

TEST(Redistribution, BadLayoutsAreRefused) {
  const auto placing = [](const Numbers& shape, const Numbers& mesh, const char* text) {
    return refusal([&] { placed(shape, mesh, parse_placements(text, "src"), "src"); });
  };
  EXPECT_EQ(placing({4, 4}, {2}, "S2"), "src[0] = S2: the axis is out of range for rank 2");
  EXPECT_EQ(placing({4, 4}, {2, 2}, "S0"),
            "src = S0 has 1 placements, but the mesh has 2 dimensions");
  EXPECT_EQ(placing({4, 4}, {2}, "S0:2@2"),
            "src[0] = S0:2@2: the first block is at a coordinate from 0 to 1");
  EXPECT_EQ(placing({4, 4}, {0}, "S0"), "mesh[0] = 0: a mesh has one device at least");
  EXPECT_EQ(placing({4, -4}, {2}, "S0"), "shape[1] = -4: an extent is not negative");
  EXPECT_EQ(placing({std::int64_t{1} << 40}, {2}, "S0:1"),
            "src[0] = S0:1: an axis of 1099511627776 has more than 2^20 such blocks");
  for (const char* text :
       {"", "S", "S0,", "T0", "S0:", "S0:0", "S-1", "S0:2@", "R1", "S0 R", "S99999999999"}) {
    EXPECT_NE(refusal([&] { parse_placements(text, "src"); }).find("as in S0,R"), std::string::npos)
        << text;
  }
  const std::string all = "S0,R,S1:64,S2:3@1";
  EXPECT_EQ(to_string(parse_placements(all, "src")), all);
}

TEST(Redistribution, BadBoxesAreRefused) {
  const auto of = [](const std::vector<Bounds>& devices) {
    return refusal([&] { boxes({4, 4}, devices, "src"); });
  };
  EXPECT_EQ(of({{{0, 0}, {2, 4}}, {{1, 0}, {4, 4}}}),
            "src[1] = [1:4,0:4] overlaps src[0] = [0:2,0:4]: two boxes are the same, or have "
            "nothing in common");
  EXPECT_EQ(of({{{0, 0}, {2, 4}}, {{2, 0}, {4, 3}}}),
            "src has 2 boxes that hold 14 elements of 16: they must cover the array");
  EXPECT_EQ(of({{{0, 0}, {2, 5}}}), "src[0] = [0:2,0:5]: axis 1 is outside of 0:4");
  EXPECT_EQ(of({{{0}, {2}}}), "src[0] has 1 axes, but the array has 2");
  EXPECT_EQ(of({{{0, 0}, {4, 4}}, {{0, 0}, {4, 4}}}), "nothing");
}

TEST(Redistribution, BadPairsAreRefused) {
  const Layout src = placed({4, 6}, {2}, {{0}}, "src");
  const auto of = [&](Layout dst, std::vector<int> perm) {
    return refusal([&] { Redistribution(src, std::move(dst), std::move(perm), 4); });
  };
  EXPECT_EQ(of(placed({4, 6}, {2}, {{0}}, "dst"), {1, 0}),
            "dst is a layout of shape [4, 6], but the result has shape [6, 4]");
  EXPECT_EQ(of(placed({4, 6}, {3}, {{0}}, "dst"), {0, 1}),
            "src is a layout for 2 devices, but dst is one for 3");
  EXPECT_EQ(of(src, {0, 0}), "perm[1] = 0 repeats perm[0]");
  EXPECT_EQ(of(src, {0, 2}), "perm[1] = 2 is out of range for rank 2");
  EXPECT_EQ(of(src, {0}), "perm has 1 entries, but the array has 2 axes");
}

}  // namespace
}  // namespace cornerturn::shards
