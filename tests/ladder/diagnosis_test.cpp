// What limits a rung, what is advised and what is promised: all of it from the ledger.
#include "workshop/ladder/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "plan/gpu/device_files.hpp"

namespace cornerturn::ladder {
namespace {

const plan::gpu::DeviceInfo& h200() {
  static const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  return device;
}

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Told {
  const Rung* rung;
  Prediction run;
  Outlook outlook;
};

Told told(std::string_view name, int bytes = 4) {
  const Rung& rung = *find_rung(name);
  Told result{&rung, predict(rung, {256, 256, bytes}), {}};
  result.outlook = outlook_of(result.run, predicted_matrix(bytes), h200()).value();
  return result;
}

template <class Visit>
void for_each_rung(Visit visit) {
  for (const Rung& rung : rungs()) {
    for (const int bytes : {1, 2, 4, 8}) {
      if (why_not(rung, {256, 256, bytes})) continue;
      SCOPED_TRACE(std::string(rung.name) + " of " + std::to_string(bytes) + " B");
      visit(told(rung.name, bytes));
    }
  }
}

TEST(Diagnosis, TheLimitIsTheLedgersLargestPart) {
  const std::map<std::string, std::string> words = {{"memory", "memory"},
                                                    {"shared", "shared memory: "},
                                                    {"issue", "the issue of instructions"},
                                                    {"latency", "latency"},
                                                    {"starts", "the start of blocks"}};
  for_each_rung([&](const Told& t) {
    const std::string largest = t.outlook.ledger.largest().name;
    EXPECT_TRUE(tells(t.outlook.diagnosis.limit, words.at(largest))) << t.outlook.diagnosis.limit;
  });
}

TEST(Diagnosis, NothingIsAdvisedThatAKernelDoesAlready) {
  for_each_rung([](const Told& t) {
    const std::string& advice = t.outlook.diagnosis.advice;
    const auto& legs = t.run.report.legs;
    const bool wide =
        std::all_of(legs.begin(), legs.end(), [](const Leg& leg) { return leg.width == 16; });
    const bool staged =
        std::any_of(legs.begin(), legs.end(), [](const Leg& leg) { return leg.is_shared(); });
    const bool arranged = t.run.report.tile == TileKind::arranged;
    EXPECT_FALSE(arranged && tells(advice, "pad the rows")) << advice;
    EXPECT_FALSE(wide && tells(advice, "16 B a lane")) << advice;
    EXPECT_FALSE(staged && tells(advice, "by transposing a tile")) << advice;
  });
}

// A tile that the copy engine arranges: it is told neither to pad nor to swizzle, even where its
// conflicts are made the limit.
TEST(Diagnosis, ATileOfTheCopyEngineIsNotPadded) {
  Told t = told("cute_tma");
  EXPECT_TRUE(tells(t.outlook.diagnosis.limit, "the memory itself")) << t.outlook.diagnosis.limit;
  for (LedgerPart& part : t.outlook.ledger.parts) {
    if (std::string(part.name) == "shared") part.seconds = 1;
  }
  const Diagnosis shared = diagnose(t.run, t.outlook.ledger);
  EXPECT_TRUE(tells(shared.sentence(), "4.0 wavefronts a request, 1.0 would do"))
      << shared.sentence();
  EXPECT_TRUE(tells(shared.advice, "lanes along diagonals")) << shared.advice;
  EXPECT_FALSE(tells(shared.advice, "swizzle them")) << shared.advice;
}

TEST(Diagnosis, SomeRungsByHand) {
  EXPECT_TRUE(tells(told("smem").outlook.diagnosis.sentence(), "32.0 wavefronts a request"));
  EXPECT_TRUE(tells(told("smem").outlook.diagnosis.advice, "pad the rows of the tile"));
  EXPECT_TRUE(tells(told("naive_read").outlook.diagnosis.limit, "global store takes 16.0 sectors"));
  EXPECT_TRUE(tells(told("naive_read").outlook.diagnosis.advice, "by transposing a tile"));
  EXPECT_TRUE(tells(told("copy").outlook.diagnosis.limit, "the memory itself"));
  EXPECT_EQ(told("copy").outlook.diagnosis.advice, "");
}

TEST(WhatIf, NamesWhatARungDoesNotDoYet) {
  const auto of = [](std::string_view name) {
    std::map<std::string, WhatIf> found;
    for (const WhatIf& change : told(name).outlook.what_ifs) found[change.change] = change;
    return found;
  };
  const auto smem = of("smem");
  ASSERT_TRUE(smem.contains("without its bank conflicts"));
  const double padded = told("smem_pad").outlook.ledger.share_of_copy();
  EXPECT_NEAR(smem.at("without its bank conflicts").share, padded, 0.05);
  EXPECT_GT(smem.at("without its bank conflicts").points, 30);
  // Two wavefronts instead of one take less time than the memory does.
  EXPECT_LT(of("cute_smem_swizzle_2way").at("without its bank conflicts").points, 3);
  EXPECT_GT(of("smem_pad").at("with 16 B a lane everywhere").points, 3);
  // Blocks of 64 threads start too slowly; those of 1024 are bound by their scattered stores.
  EXPECT_GT(of("naive_read_8").at("with 256 threads a block").points, 10);
  EXPECT_LT(of("naive_read_32").at("with 256 threads a block").points, 2);
  EXPECT_FALSE(of("naive_read").contains("with 16 B a lane everywhere"));
  EXPECT_TRUE(of("smem_chunk_xor").empty());
}

// Four accesses that are written out waste as much as one that is repeated four times.
TEST(Diagnosis, ALoopThatIsWrittenOutHasTheLimitOfTheLoop) {
  const Matrix odd{253, 251, 4};
  const auto limit = [&](const char* name) {
    return outlook_of(predict(*find_rung(name), odd), predicted_matrix(4), h200())->diagnosis.limit;
  };
  EXPECT_TRUE(tells(limit("cpy_rows"), "sectors a request")) << limit("cpy_rows");
  EXPECT_EQ(limit("cpy_by_hand").substr(0, 20), limit("cpy_rows").substr(0, 20));
}

TEST(WhatIf, IsWrittenWithItsPoints) {
  EXPECT_EQ(to_text({{"without its bank conflicts", 0.84, 46.7}, {"with luck", 0.3, -1.2}}),
            "without its bank conflicts 84 % (+47 points); with luck 30 % (-1 point)");
  EXPECT_EQ(to_text({}), "");
}

TEST(Outlook, NoneOfAKernelThatMovesNothing) {
  Told t = told("smem");
  EXPECT_FALSE(outlook_of(t.run, {0, 5, 4}, h200()));
  std::erase_if(t.run.report.legs, [](const Leg& leg) { return leg.op == simt::Op::global_load; });
  EXPECT_FALSE(outlook_of(t.run, predicted_matrix(4), h200()));
  t.run.report.legs.clear();
  EXPECT_FALSE(outlook_of(t.run, predicted_matrix(4), h200()));
}

// Where no speed is predicted no change of one is.
TEST(Outlook, NoPointsOfASmallMatrix) {
  const Prediction run = predict(*find_rung("smem"), {256, 256, 4});
  const auto small = outlook_of(run, {256, 256, 4}, h200());
  ASSERT_TRUE(small);
  EXPECT_NE(small->ledger.why_not(), "");
  EXPECT_TRUE(small->what_ifs.empty());
  EXPECT_TRUE(tells(small->diagnosis.limit, "the launch")) << small->diagnosis.limit;
  EXPECT_FALSE(outlook_of(run, {4096, 4096, 4}, h200())->what_ifs.empty());
}

}  // namespace
}  // namespace cornerturn::ladder
