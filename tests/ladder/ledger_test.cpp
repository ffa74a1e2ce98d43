// Where the ledger says that the time of a rung goes.
#include "workshop/ladder/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/gpu/device_files.hpp"
#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/explain.hpp"

namespace cornerturn::ladder {
namespace {

Ledger ledger(const char* name, const Matrix& matrix) {
  return ledger_of(predict(*find_rung(name), representative(matrix)), matrix,
                   plan::gpu::device_named("h200"));
}

double seconds_of(const Ledger& ledger, std::string_view part) {
  for (const LedgerPart& p : ledger.parts) {
    if (p.name == part) return p.seconds;
  }
  ADD_FAILURE() << part;
  return 0;
}

// 64 threads a block and an element a thread: so many blocks that a GPU cannot begin them in the
// time that their bytes take, however they are accessed.
TEST(Ledger, BlocksTakeTimeToBegin) {
  const Matrix matrix{16384, 16384, 4};
  for (const char* name : {"naive_read_8", "cpy_flat"}) {
    const Ledger of = ledger(name, matrix);
    EXPECT_STREQ(of.largest().name, "starts") << name;
    EXPECT_NEAR(seconds_of(of, "starts"), 16384.0 * 16384 / 64 / access_costs.starts, 1e-12);
  }
  EXPECT_STRNE(ledger("naive_read", matrix).largest().name, "starts");
  // An element of one byte takes a block as long to begin, and a plain copy a quarter of the time.
  EXPECT_NEAR(seconds_of(ledger("cpy_flat", {16384, 16384, 1}), "starts"),
              seconds_of(ledger("cpy_flat", matrix), "starts"), 1e-12);
}

TEST(Ledger, PredictsNothingBelowWhatItWasFittedTo) {
  EXPECT_EQ(ledger("smem_pad", {4096, 4096, 4}).why_not(), "");
  const Ledger small = ledger("smem_pad", {1024, 1024, 4});
  EXPECT_NE(small.why_not().find("1024 x 1024"), std::string::npos);
  EXPECT_EQ(small.text(), small.why_not());
  // It is the elements of the whole stack that count.
  EXPECT_EQ(ledger("cpy_transpose", {1024, 1024, 4, 64}).why_not(), "");
}

// Another GPU has its own memory and SMs, and so its own blocks at a time. What they are worth
// there follows: two thirds of the threads are missed by a kernel that waits for single loads, not
// by one whose stores scatter.
TEST(Ledger, AnotherGpuHasItsOwnBlocksAndMemory) {
  const Matrix matrix{16384, 16384, 4};
  const auto on = [&](const char* name, const char* gpu, const Change& change = {}) {
    return ledger_of(predict(*find_rung(name), representative(matrix)), matrix,
                     plan::gpu::device_named(gpu), access_costs, change);
  };
  for (const Rung& rung : rungs()) {
    const int blocks = residency(predict(rung, representative(matrix)), sms.front()).blocks;
    EXPECT_EQ(on(rung.name.data(), "h200").resident, std::max(1, blocks)) << rung.name;
  }
  EXPECT_EQ(on("naive_read_32", "h200").resident, 2);
  EXPECT_EQ(on("naive_read_32", "rtx4090").resident, 1);
  EXPECT_EQ(on("naive_read", "rtx4090").resident, 6);
  EXPECT_STREQ(on("smem", "h200").largest().name, "shared");
  EXPECT_STREQ(on("smem", "rtx4090").largest().name, "memory");
  const auto gain = [&](const char* name) {
    return on(name, "rtx4090", {.threads = 256}).share_of_copy() -
           on(name, "rtx4090").share_of_copy();
  };
  EXPECT_LT(gain("naive_read_32"), 0.01);
  EXPECT_GT(gain("cpy_one_element"), 0.05);
}

// A stack has an instance of the kernel of its own. It keeps as many blocks on an SM as that of one
// matrix, and its further matrices cost it less than the first.
TEST(Ledger, AStackCostsNoMoreThanItsMatrices) {
  for (const int bytes : {1, 2, 4}) {
    const CompiledRung* one = find_compiled("cpy_transpose", Matrix{64, 64, bytes});
    const CompiledRung* many = find_compiled("cpy_transpose", Matrix{64, 64, bytes, 8});
    ASSERT_TRUE(one != nullptr && many != nullptr && one != many) << bytes;
    const Launch launch{{1, 1, 1}, {256, 1, 1}};
    EXPECT_EQ(residency(launch, 4224, many->registers[0], sms.front()).blocks, 8) << bytes;
    EXPECT_EQ(many->vectors.trips, 1) << bytes << ": it waits for its loads one by one";
    EXPECT_GT(many->vectors.turn, 0) << bytes;
    EXPECT_LT(many->vectors.turn, one->vectors.instructions) << bytes;
    const double alone = ledger("cpy_transpose", {16384, 16384, bytes}).share_of_copy();
    EXPECT_GT(ledger("cpy_transpose", {4096, 4096, bytes, 16}).share_of_copy(), alone - 0.05);
  }
  // Of rungs that take no stacks there is no such instance.
  EXPECT_EQ(find_compiled("smem_pad", Matrix{64, 64, 4, 8}), nullptr);
}

}  // namespace
}  // namespace cornerturn::ladder
