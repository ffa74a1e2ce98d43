// What `cornerturn ladder` prints of a GPU's figures, from figures made up here.
#include "workshop/ladder/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace cornerturn::ladder {
namespace {

ReportRow row(const char* name, double cold, double warm) {
  ReportRow row;
  row.name = name;
  row.shows = "something";
  row.predicted = predict(*find_rung(name), {64, 64, 4});
  cuda::Measurement m;
  m.verified = true;
  m.cold = {cold, 0.01, 9};
  m.warm = {warm, 0.01, 9};
  m.copy_cold = {1e-4, 0.01, 9};
  m.copy_warm = {8e-5, 0.01, 9};
  m.copy_cold_by = "vector copy";
  row.measured = m;
  return row;
}

// 1000 x 1000 x 4 bytes each side: 8 MB in 0.1 ms are 80 GB/s.
Report on_a_gpu() {
  Report report;
  report.matrix = {1000, 1000, 4};
  report.dtype = "f32";
  report.device = cuda::DeviceInfo{};
  report.device->name = "Some GPU";
  report.device->clocks.memory_bandwidth = 90e9;
  report.device->l2_bytes = 50'000'000;
  report.rows = {row("naive_read", 4e-4, 4e-4), row("smem_pad", 1.25e-4, 1e-4)};
  ReportRow other;
  other.name = "cute_other";
  other.why_not = "its strides are no multiples of 16 bytes";
  report.rows.push_back(other);
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LadderReport, ShowsTheFiguresOfAGpu) {
  const std::string text = to_text(on_a_gpu());
  EXPECT_TRUE(has(text, "timed on Some GPU")) << text;
  EXPECT_TRUE(has(text, "naive_read      yes    400.0 us      20      25.0      20.0         1.00"))
      << text;
  EXPECT_TRUE(has(text, "smem_pad        yes    125.0 us      64      80.0      80.0         3.20"))
      << text;
  EXPECT_TRUE(has(text, "cute_other does not apply: its strides are no multiples of 16 bytes"))
      << text;
  EXPECT_TRUE(has(text, "as found at 64 x 64")) << text;
  EXPECT_FALSE(has(text, "With a warm L2")) << text;
}

TEST(LadderReport, SaysWhyWarmFiguresPassTheMemory) {
  Report report = on_a_gpu();
  report.rows[1].measured->warm.seconds = 5e-5;
  EXPECT_TRUE(has(to_text(report), "some pass the 90 GB/s of the memory"));
}

TEST(LadderReport, AWrongResultIsAComplaint) {
  Report report = on_a_gpu();
  EXPECT_TRUE(report.verified());
  report.rows[1].measured->verified = false;
  report.rows[1].measured->wrong = "element (3, 4) is not there";
  EXPECT_FALSE(report.verified());
  EXPECT_EQ(report.complaints()[0], "smem_pad: element (3, 4) is not there");
  EXPECT_TRUE(has(to_text(report), "smem_pad      WRONG"));
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_FALSE(json["verified"]);
  EXPECT_FALSE(json["rungs"][1]["verified"]);
}

TEST(LadderReport, JsonHasWhatTheTableHas) {
  const auto json = nlohmann::json::parse(to_json(on_a_gpu()));
  EXPECT_EQ(json["verified_by"], "GPU");
  EXPECT_EQ(json["gpu"]["name"], "Some GPU");
  const auto& smem = json["rungs"][1]["measured"];
  EXPECT_DOUBLE_EQ(smem["share_of_copy"], 0.8);
  EXPECT_DOUBLE_EQ(smem["speed_up_over_naive_read"], 3.2);
  EXPECT_DOUBLE_EQ(smem["cold"]["bytes_per_second"], 64e9);
  EXPECT_EQ(smem["copy_cold"]["by"], "vector copy");
  EXPECT_EQ(json["rungs"][2]["why_not"], "its strides are no multiples of 16 bytes");
}

TEST(LadderReport, ThePictureHasABarForEachMeasuredRung) {
  const std::string picture = to_svg(on_a_gpu());
  EXPECT_TRUE(has(picture, "64, 80.0 % of the copy")) << picture;
  EXPECT_TRUE(has(picture, ">naive_read</text>"));
  EXPECT_FALSE(has(picture, "cute_other"));
}

}  // namespace
}  // namespace cornerturn::ladder
