// The ladder as data: every rung of the registry, verified in the emulator, and explained.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cornerturn/error.hpp"
#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/emulate.hpp"
#include "workshop/ladder/explain.hpp"
#include "workshop/ladder/rung.hpp"

namespace cornerturn::ladder {
namespace {

const Rung& rung(std::string_view name) {
  const Rung* found = find_rung(name);
  if (found == nullptr) throw std::out_of_range(std::string(name));
  return *found;
}

Emulation run(std::string_view name, const Matrix& matrix) {
  return emulate(rung(name), matrix);
}

TEST(Rungs, EachIsComparedWithOneBeforeIt) {
  for (std::size_t i = 1; i < rungs().size(); ++i) {
    const auto before = rungs().first(i);
    const std::string_view after = rungs()[i].after;
    EXPECT_TRUE(std::any_of(before.begin(), before.end(),
                            [&](const Rung& earlier) { return earlier.name == after; }))
        << rungs()[i].name << " after '" << after << "'";
  }
  EXPECT_EQ(rungs()[0].name, "copy");
  EXPECT_EQ(find_rung("smem_"), nullptr);
}

TEST(Rungs, SayWhichElementsTheyTake) {
  EXPECT_EQ(why_not(rung("smem"), {8, 8, 2}), "it takes elements of 4 B, not of 2 B");
  EXPECT_EQ(why_not(rung("shuffle"), {8, 8, 16}), "it takes elements of 1, 2, 4, 8 B, not of 16 B");
  EXPECT_EQ(why_not(rung("shuffle"), {8, 8, 1}), std::nullopt);
  EXPECT_THROW(run("smem", {8, 8, 2}), Error);
  EXPECT_THROW(make_matrix(std::int64_t{1} << 40, std::int64_t{1} << 22, 4), Error);
}

// The obvious loop is tests/simt's; here that each type is known by its name.
TEST(Rungs, GgmlsConvert) {
  const std::vector<float> src = {1.5F, -2.25F, 3, 4, 1e9F, -6.75F};
  const ElementType f32(Kind::f32), i32(Kind::i32), f16(Kind::f16), f64(Kind::f64);
  for (const char* name : {"cpy_flat", "cpy_transpose"}) {
    std::vector<std::int32_t> dst(6);
    emulate(rung(name), 2, 3, {f32, i32}, src.data(), dst.data());
    EXPECT_EQ(dst, (std::vector<std::int32_t>{1, 4, -2, 1000000000, 3, -6}));
    std::vector<std::uint16_t> half(6);
    emulate(rung(name), 2, 3, {f32, f16}, src.data(), half.data());
    EXPECT_EQ(half, (std::vector<std::uint16_t>{0x3e00, 0x4400, 0xc080, 0x7c00, 0x4200, 0xc6c0}));
    EXPECT_EQ(why_not(rung(name), Conversion{f64, f32}),
              "it converts f32, f16, bf16 and i32 into each other, not f64 into f32");
    EXPECT_THROW(emulate(rung(name), 2, 3, {f64, f32}, src.data(), dst.data()), Error);
    emulate(rung(name), 0, 3, {f32, i32}, nullptr, nullptr);
  }
  EXPECT_EQ(why_not(rung("smem"), Conversion{f32, i32}), "it moves elements, and converts none");
}

TEST(Rungs, EveryRungIsVerifiedForEverySize) {
  for (const Rung& each : rungs()) {
    for (const RungBody& body : each.bodies) {
      for (const Matrix& matrix : {Matrix{96, 64, body.bytes}, Matrix{33, 130, body.bytes},
                                   Matrix{0, 7, body.bytes}, Matrix{1, 1, body.bytes}}) {
        const Emulation result = emulate(each, matrix);
        EXPECT_TRUE(result.verified()) << each.name << ": " << result.mismatch;
        EXPECT_EQ(result.report.legs.empty(), matrix.size() == 0);
      }
    }
  }
}

TEST(Rungs, MoveWhatTheCallerHas) {
  const std::vector<std::uint16_t> src = {1, 2, 3, 4, 5, 6};
  std::vector<std::uint16_t> dst(6);
  emulate(rung("smem_chunk_xor"), {2, 3, 2}, src.data(), dst.data());
  EXPECT_EQ(dst, (std::vector<std::uint16_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_THROW(emulate(rung("smem"), {2, 3, 2}, src.data(), dst.data()), Error);
  EXPECT_THROW(emulate(rung("cute_smem"), {2, 3, 4}, src.data(), dst.data()), Error);

  Rung half = rung("copy");
  half.bodies = {*rung("copy").body(2)};
  half.bodies[0].run = [](simt::Emulator& emulator, simt::Mode mode, const void* from, void* to,
                          const Matrix& matrix, const simt::Visitor& visitor) {
    rung("copy").body(2)->run(emulator, mode, from, to, {1, matrix.cols, 2}, visitor);
  };
  try {
    emulate(half, {2, 3, 2}, src.data(), dst.data());
    ADD_FAILURE() << "half of the output is missing";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("6 of its 12 B"), std::string::npos) << error.what();
  }
}

// A rung that forgets to transpose, and one that forgets the second half.
TEST(Rungs, AWrongResultIsNotVerified) {
  Rung broken = rung("copy");
  broken.transposes = true;
  const Emulation result = emulate(broken, {8, 16, 4});
  EXPECT_FALSE(result.verified());
  EXPECT_EQ(result.mismatch, "element (0, 1) of the source is not at element 8 of the destination");

  Rung half = rung("smem_chunk_xor");
  for (RungBody& body : half.bodies) {
    body.run = [](simt::Emulator& emulator, simt::Mode mode, const void* src, void* dst,
                  const Matrix& matrix, const simt::Visitor& visitor) {
      const Matrix upper{matrix.rows, matrix.cols / 2, matrix.bytes};
      rung("copy").body(matrix.bytes)->run(emulator, mode, src, dst, upper, visitor);
    };
  }
  const Emulation unfinished = emulate(half, {16, 16, 4});
  ASSERT_FALSE(unfinished.findings.empty());
  EXPECT_NE(unfinished.findings[0].find("512 of its 1024 B"), std::string::npos)
      << unfinished.findings[0];
}

TEST(Rungs, WhatIsStoredIsCounted) {
  std::atomic<std::int64_t> stored = 0;
  emulate(rung("smem_pad"), {65, 33, 4}, &stored);
  EXPECT_EQ(stored, 65 * 33 * 4);
}

TEST(Representative, KeepsEdgesAndAlignment) {
  EXPECT_EQ(representative({32768, 32768, 4}), (Matrix{256, 256, 4}));
  EXPECT_EQ(representative({1, 8191, 2}), (Matrix{1, 511, 2}));
  EXPECT_EQ(representative({100, 511, 1}), (Matrix{100, 511, 1}));
  for (const std::string_view name : {"naive_read", "smem", "smem_chunk_xor", "shuffle"}) {
    const Matrix large{1024, 768, 4};
    const Emulation whole = run(name, large);
    const Emulation part = run(name, representative(large));
    ASSERT_EQ(whole.report.legs.size(), part.report.legs.size());
    for (std::size_t i = 0; i < whole.report.legs.size(); ++i) {
      const Leg& a = whole.report.legs[i];
      const Leg& b = part.report.legs[i];
      EXPECT_EQ(a.sectors * b.requests, b.sectors * a.requests) << name;
      EXPECT_EQ(a.wavefronts * b.requests, b.wavefronts * a.requests) << name;
    }
  }
}

TEST(Explain, EachRungByWhatItDoesOtherwise) {
  const Matrix matrix{256, 256, 4};
  const auto from = [&](std::string_view now, std::string_view before) {
    return difference(run(now, matrix), run(before, matrix));
  };
  EXPECT_EQ(from("smem", "naive_read"),
            "stores 4 sectors instead of 16; but fills a tile in 1 wavefront and reads it in 32 "
            "wavefronts, takes 4 requests instead of 2");
  EXPECT_EQ(from("smem_pad", "smem"),
            "reads the tile in 1 wavefront instead of 32; but has 4220 B of shared memory a block "
            "instead of 4096");
  EXPECT_EQ(from("block_order_hilbert", "smem_chunk_xor"), "makes the same accesses");
}

std::string first_lines(std::string_view name, int bytes, int count) {
  const std::string picture = bank_picture(*rung(name).body(bytes)->tile);
  std::size_t end = 0;
  for (int i = 0; i < count; ++i) end = picture.find('\n', end) + 1;
  return picture.substr(0, end);
}

TEST(PathPicture, FollowsTheFirstWarp) {
  EXPECT_EQ(path_picture(run("smem_pad", {64, 96, 4}), rung("smem_pad")),
            "lane                0       1       2       3       7       8      16      31\n"
            "global load       0,0     0,1     0,2     0,3     0,7     0,8    0,16    0,31\n"
            "shared store        0       1       2       3       7       8      16      31\n"
            "shared load         0      33      66      99     231     264     528    1023\n"
            "global store      0,0     0,1     0,2     0,3     0,7     0,8    0,16    0,31\n");
  EXPECT_EQ(path_picture(run("naive_read_8", {5, 3, 4}), rung("naive_read_8")),
            "lane                0       1       2       3       7       8      16      31\n"
            "global load       0,0     0,1     0,2       -       -     1,0     2,0       -\n"
            "global store      0,0     1,0     2,0       -       -     0,1     0,2       -\n");
}

// Every row and column up to where they repeat.
TEST(BankPicture, ShowsWhatTheMapDoes) {
  const std::string padded = bank_picture(*rung("smem_pad").body(4)->tile);
  EXPECT_EQ(first_lines("smem_pad", 4, 3).substr(0, 7 + 6 * 3), "row\\col  0  1  2  3  4  5");
  EXPECT_EQ(std::count(padded.begin(), padded.end(), '\n'), 1 + 32) << padded;
  EXPECT_EQ(padded.find('\n'), 7U + 3 * 32);
  EXPECT_TRUE(padded.ends_with(" 27 28 29 30\n")) << padded;  // row 31, column 31
  EXPECT_EQ(bank_picture(*rung("smem_chunk_xor").body(4)->tile),
            "row\\col  0  4  8 12 16 20 24 28\n"
            "      0  0  4  8 12 16 20 24 28\n"
            "      4  4  0 12  8 20 16 28 24\n"
            "      8  8 12  0  4 24 28 16 20\n"
            "     12 12  8  4  0 28 24 20 16\n"
            "     16 16 20 24 28  0  4  8 12\n"
            "     20 20 16 28 24  4  0 12  8\n"
            "     24 24 28 16 20  8 12  0  4\n"
            "     28 28 24 20 16 12  8  4  0\n"
            "(rows 32 to 63 repeat these)\n(columns 32 to 63 repeat these)\n");
  EXPECT_EQ(bank_picture(*rung("smem").body(4)->tile).find("row\\col  0"), 0U);
  EXPECT_FALSE(rung("naive_read").body(4)->tile);
  EXPECT_FALSE(rung("shuffle").body(4)->tile);
}

TEST(Residency, IsBoundedByThreadsBlocksRegistersAndSharedMemory) {
  const Sm& large = sms[0];
  const Sm& small = sms[1];
  const auto of = [](unsigned threads, std::int64_t shared, const Sm& sm) {
    return residency({{1, 1, 1}, {threads, 1, 1}}, shared, 0, sm);
  };
  EXPECT_EQ(of(1024, 0, large).threads, 2048);
  EXPECT_EQ(of(1024, 0, small).threads, 1024);
  EXPECT_EQ(of(256, 0, small).threads, 1536);
  EXPECT_EQ(of(33, 0, large).threads, 2048);
  EXPECT_EQ(of(32, 0, small).blocks, 24);
  EXPECT_EQ(of(256, 64 * 1024, large).blocks, 3);
  // Blocks of 256 threads that the driver reported to be resident on an H200.
  const std::pair<int, int> reported[] = {{32, 8}, {36, 6}, {40, 6}, {58, 4}, {96, 2}, {254, 1}};
  for (const auto& [registers, blocks] : reported) {
    const Residency fits = residency({{1, 1, 1}, {256, 1, 1}}, 0, registers, large);
    EXPECT_EQ(fits.blocks, blocks) << registers;
    EXPECT_STREQ(fits.bound, blocks == 8 ? "threads" : "registers");
  }
}

TEST(CompiledRungs, HaveEveryRungAndSize) {
  for (const Rung& rung : rungs()) {
    for (const int bytes : {1, 2, 4, 8}) {
      const bool taken = !why_not(rung, {64, 64, bytes});
      EXPECT_EQ(find_compiled(rung.name, bytes) != nullptr, taken) << rung.name << " " << bytes;
    }
  }
  // A tile with the same accesses costs no more instructions than padding by more than a
  // little, however the place is computed.
  EXPECT_LT(find_compiled("smem_rotate", 4)->instructions,
            find_compiled("smem_pad", 4)->instructions * 5 / 4);
  EXPECT_LE(find_compiled("smem_rotate", 4)->registers[0], 32);
}

}  // namespace
}  // namespace cornerturn::ladder
