// The linter for layouts: what passes, what fails, and with which words.
#include "workshop/lab/check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/gpu/device_files.hpp"

namespace cornerturn::lab {
namespace {

CheckReport checked(const std::vector<CheckedLayout>& layouts) {
  return check(layouts, plan::gpu::device_named("h200"));
}

CheckedLayout layout(const char* text, const std::vector<CheckedAccess>& accesses) {
  CheckedLayout result;
  result.name = "tile";
  result.layout = text;
  result.accesses = accesses;
  return result;
}

TEST(Check, PassesWhatTakesNoMoreThanAllowed) {
  const CheckReport report = checked(
      {layout("Swizzle<3,2,6> o (64,64):(64,1)", {{"rows:store:16", {}}, {"blocks:load:16", 4}}),
       layout("(64,64):(64,1)", {{"columns", 32}})});
  EXPECT_EQ(report.failed(), 0U);
  EXPECT_EQ(report.findings.size(), 3U);
  EXPECT_NE(report.to_text().find("0 of 3 failed"), std::string::npos);
}

TEST(Check, SaysWhatFailedAndWhatWouldHelp) {
  const CheckReport report =
      checked({layout("(64,64):(64,1)", {{"columns", {}}, {"rows", {}}, {"columns", 31}})});
  EXPECT_EQ(report.failed(), 2U);
  EXPECT_EQ(report.findings[0].message.substr(0, 41), "32 wavefronts in one request, 1 allowed: ");
  EXPECT_NE(report.findings[0].message.find("their rows lie 256 bytes apart"), std::string::npos);
  EXPECT_NE(report.findings[0].message.find("Swizzle<5,0,6>"), std::string::npos);
  EXPECT_NE(report.to_text().find("FAILED  tile, columns: 32 wavefronts"), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(report.to_json());
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["findings"][1]["passed"], true);
}

TEST(Check, LayoutsAndAccessesThatCannotBe) {
  CheckedLayout twice = layout("(4,8):(4,1)", {{"rows", {}}});
  EXPECT_EQ(checked({twice}).findings[0].message,
            "not injective: (0,4) and (1,0) both lie at offset 4");
  twice.injective = false;
  EXPECT_EQ(checked({twice}).failed(), 0U);
  EXPECT_EQ(checked({layout("(4,8:(4,1)", {})}).failed(), 1U);
  EXPECT_EQ(checked({layout("(512,512):(512,1)", {})}).failed(), 1U);
  const CheckReport misaligned =
      checked({layout("(64,64):(65,1)", {{"columns:16", {}}, {"sideways", {}}, {"rows", {}}})});
  EXPECT_EQ(misaligned.failed(), 2U);
  EXPECT_NE(misaligned.findings[0].message.find("lane 1 takes 16 B at byte 260"),
            std::string::npos);
}

}  // namespace
}  // namespace cornerturn::lab
