// A redistribution between GPUs in the emulator, where each of them has memory of its own: the
// kernels that the planner chooses store into the receivers' shards, every byte of these once.
#include <cstring>
#include <numeric>

#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "shards/pieces.hpp"
#include "support.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::simt {
namespace {

using Memory = std::vector<std::byte>;
using shards::Numbers;

// The memory of one kind of shards, device by device; each is a multiple of 16 bytes long.
std::vector<Memory> memory_for(const shards::Layout& layout, std::int64_t item, std::byte value) {
  std::vector<Memory> all;
  for (const shards::Shard& shard : layout.shards) {
    all.emplace_back(static_cast<std::size_t>((shard.elements() * item + 15) / 16 * 16), value);
  }
  return all;
}

void copy_by_loop(const Problem& problem, std::byte* dst, const std::byte* src, std::int64_t item) {
  Numbers index(static_cast<std::size_t>(problem.rank()));
  for (std::int64_t n = problem.elements(); n > 0; --n) {
    std::int64_t from = problem.src_offset, to = problem.dst_offset;
    for (int k = 0; k < problem.rank(); ++k) {
      from += index[static_cast<std::size_t>(k)] * problem.modes[k].src_stride;
      to += index[static_cast<std::size_t>(k)] * problem.modes[k].dst_stride;
    }
    std::memcpy(dst + to, src + from, static_cast<std::size_t>(item));
    for (int k = problem.rank(); k-- > 0;) {
      if (++index[static_cast<std::size_t>(k)] < problem.modes[k].extent) break;
      index[static_cast<std::size_t>(k)] = 0;
    }
  }
}

// The plan of the first problem of a group does for all of them, which share a launch on a GPU.
// False: problems are not alike.
bool share_a_launch(const shards::Redistribution& what, const std::vector<Memory>& src,
                    std::vector<Memory>& dst, const std::vector<Numbers>& strides) {
  for (std::size_t s = 0; s < src.size(); ++s) {
    const Numbers own =
        shards::packed(what.src().shards[s].shape(), what.item_bytes(shards::Side::source));
    const auto groups = alike_pieces_of(what, static_cast<int>(s), own, strides);
    if (groups.empty()) return false;
    for (const auto& pieces : groups) {
      const auto place = [&](const shards::Piece& piece) {
        return Buffers{dst[static_cast<std::size_t>(piece.to)].data() + piece.problem.dst_offset,
                       src[s].data() + piece.problem.src_offset};
      };
      std::int64_t alignment = 16;
      for (const auto& piece : pieces) {
        alignment =
            std::min({alignment, alignment_of(place(piece).src), alignment_of(place(piece).dst)});
      }
      Problem problem = pieces[0].problem;
      problem.src_offset = problem.dst_offset = 0;
      const auto plan = plan::make_plan(problem, plan::gpu::device_named("h200", "device"),
                                        {1, "", {true, alignment, alignment}});
      Emulator emulator;
      emulator.input("shard", src[s].data(), src[s].size());
      for (Memory& shard : dst) emulator.output("result", shard.data(), shard.size());
      for (const auto& piece : pieces) execute(emulator, plan, place(piece), Mode::fast);
      for (const Finding& finding : emulator.findings()) {
        if (finding.kind != FindingKind::never_written) ADD_FAILURE() << finding.message();
      }
    }
  }
  return true;
}

// Whole messages by a loop are the reference; that they are right is tested elsewhere. Returns
// whether problems were alike.
bool check_shards(const Numbers& shape, const Numbers& mesh, const char* from, const char* to,
                  const std::vector<int>& perm, std::int64_t item) {
  SCOPED_TRACE(std::string(from) + " to " + to);
  Numbers result;
  for (const int axis : perm) result.push_back(shape[static_cast<std::size_t>(axis)]);
  const shards::Redistribution what(
      shards::placed(shape, mesh, shards::parse_placements(from, "src"), "src"),
      shards::placed(result, mesh, shards::parse_placements(to, "dst"), "dst"), perm, item);
  std::vector<Memory> src = memory_for(what.src(), item, {});
  std::vector<Memory> dst = memory_for(what.dst(), item, std::byte{0xa5}), expected = dst;
  std::vector<Memory> together = dst;
  std::uint64_t state = 7;
  for (Memory& shard : src) {
    for (std::byte& byte : shard) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = static_cast<std::byte>(state >> 56);
    }
  }
  std::vector<Numbers> strides;
  for (const auto& shard : what.dst().shards)
    strides.push_back(shards::packed(shard.shape(), item));
  for (std::size_t s = 0; s < src.size(); ++s) {
    const Numbers own = shards::packed(what.src().shards[s].shape(), item);
    for (std::size_t d = 0; d < dst.size(); ++d) {
      for (const auto& box : what.message(static_cast<int>(s), static_cast<int>(d)).boxes) {
        copy_by_loop(
            what.copy(box, shards::Side::source, shards::Side::destination, own, strides[d]),
            expected[d].data(), src[s].data(), item);
      }
    }
    Emulator emulator;
    if (!src[s].empty()) emulator.input("shard", src[s].data(), src[s].size());
    for (std::size_t d = 0; d < dst.size(); ++d) {
      if (!dst[d].empty()) emulator.output("result", dst[d].data(), dst[d].size());
    }
    for (const auto& piece : pieces_of(what, static_cast<int>(s), own, strides, 16 << 10)) {
      Memory& receiver = dst[static_cast<std::size_t>(piece.to)];
      const auto plan = plan::make_plan(
          piece.problem, plan::gpu::device_named("h200", "device"),
          {1, "", {true, alignment_of(src[s].data()), alignment_of(receiver.data())}});
      execute(emulator, plan, {receiver.data(), src[s].data()}, Mode::fast);
      for (const Finding& finding : emulator.findings()) {
        if (finding.kind != FindingKind::never_written) ADD_FAILURE() << finding.message();
      }
    }
  }
  EXPECT_TRUE(dst == expected);
  if (!share_a_launch(what, src, together, strides)) return false;
  EXPECT_TRUE(together == expected) << "in one launch";
  return true;
}

TEST(ShardsInTheEmulator, KernelsStoreIntoTheReceiversShards) {
  EXPECT_TRUE(check_shards({96, 128}, {2}, "S0", "S0", {1, 0}, 4));
  EXPECT_TRUE(check_shards({70, 93}, {3}, "S0", "S0", {1, 0}, 2));
  EXPECT_FALSE(check_shards({70, 92}, {3}, "S0", "S0", {1, 0}, 2));
  EXPECT_TRUE(check_shards({2, 24, 8, 16}, {4}, "S1", "S2", {0, 1, 2, 3}, 2));
  EXPECT_TRUE(check_shards({2, 24, 8, 16}, {2, 2}, "S1,R", "R,S1", {0, 2, 1, 3}, 1));
  EXPECT_FALSE(check_shards({24, 20, 12}, {2, 2}, "S0,S1", "S1,S2", {2, 0, 1}, 8));
  EXPECT_FALSE(check_shards({130, 40}, {4}, "S0:8", "S0", {0, 1}, 4));
  EXPECT_FALSE(check_shards({130, 40}, {2, 2}, "S0:8,S1:4@1", "S1:16,S0", {1, 0}, 16));
}

}  // namespace
}  // namespace cornerturn::simt
