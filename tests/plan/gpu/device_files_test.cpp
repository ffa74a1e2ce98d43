#include "plan/gpu/device_files.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"

namespace cornerturn::plan::gpu {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_device(text, "d.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    return error.what();
  }
  return "";
}

nlohmann::json h200() {
  for (const EmbeddedDevice& device : embedded_devices()) {
    if (device.name == "h200") return nlohmann::json::parse(device.text);
  }
  return {};
}

std::string with(const std::string& field, const nlohmann::json& value) {
  nlohmann::json json = h200();
  json[field] = value;
  return json.dump();
}

TEST(DeviceFiles, TheDescribedDevicesAreThere) {
  std::vector<std::string> names;
  for (const EmbeddedDevice& device : embedded_devices()) names.emplace_back(device.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a100", "b200", "h100", "h200", "rtx4090"}));
  ASSERT_EQ(known_devices().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(device_named(names[i]), known_devices()[i]);
  }
  const DeviceInfo device = device_named("H200");
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.arch, 90);
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_DOUBLE_EQ(device.copy_bandwidth, 4.25e12);
  EXPECT_DOUBLE_EQ(device.launch_seconds, 2.5e-6);
  EXPECT_EQ(device.shared_per_block, 227 * 1024);
  EXPECT_EQ(device_named("rtx4090").threads_per_sm, 1536);
}

// An H200 was measured; what could not be is said to be assumed.
TEST(DeviceFiles, SayWhereTheirNumbersAreFrom) {
  for (const EmbeddedDevice& device : embedded_devices()) {
    const nlohmann::json json = nlohmann::json::parse(device.text);
    const char* list = device.name == "h200" ? "measured" : "assumed";
    for (const char* field : {"copy_bandwidth", "launch_seconds"}) {
      const auto& names = json[list];
      EXPECT_NE(std::find(names.begin(), names.end(), field), names.end()) << device.name;
    }
  }
}

TEST(DeviceFiles, ErrorsNameFileFieldValueAndRule) {
  EXPECT_EQ(refusal(with("sm_count", 0)),
            "device file 'd.json': sm_count = 0 must be a whole number from 1 to 4096");
  EXPECT_EQ(refusal(with("sm_count", 1.5)),
            "device file 'd.json': sm_count = 1.5 must be a whole number from 1 to 4096");
  EXPECT_EQ(refusal(with("sm_count", "many")),
            "device file 'd.json': sm_count = \"many\" must be a whole number from 1 to 4096");
  EXPECT_NE(refusal(with("l2_bytes", 18446744073709551615U)).find("l2_bytes = 184467"),
            std::string::npos);
  EXPECT_EQ(refusal(with("copy_bandwidth", -1)),
            "device file 'd.json': copy_bandwidth = -1 must be a number from 1e+06 to 1e+15");
  EXPECT_EQ(refusal(with("shared_per_block", 300000)),
            "device file 'd.json': shared_per_block = 300000 is more than shared_per_sm = 233472");
  EXPECT_EQ(refusal(with("name", "a\tb")),
            "device file 'd.json': name = \"a\\tb\" must be one line, without tabs");
  EXPECT_EQ(refusal(with("measured", {"speed"})),
            "device file 'd.json': measured = [\"speed\"] must be a list of fields of this file");
  EXPECT_NE(refusal(with("sm_cuont", 5)).find("has the field 'sm_cuont', which is none of name, "),
            std::string::npos);
  EXPECT_EQ(refusal("[1]"), "device file 'd.json' holds no JSON object");
  EXPECT_EQ(refusal("{\"name\": "), "device file 'd.json' is no JSON: byte 10 breaks its syntax");
  nlohmann::json json = h200();
  json.erase("clock_hz");
  EXPECT_EQ(refusal(json.dump()), "device file 'd.json' has no field 'clock_hz'");
  json = h200();
  for (const char* optional : {"measured", "assumed", "note"}) json.erase(optional);
  EXPECT_EQ(parse_device(json.dump(), "d.json"), device_named("h200"));
}

TEST(DeviceFiles, APathIsRead) {
  const auto message = [](const std::string& name) -> std::string {
    try {
      device_named(name, "--on");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("h300"),
            "--on = 'h300' is no described GPU: use one of a100, b200, h100, h200, rtx4090, or a "
            "JSON file");
  EXPECT_EQ(message("/nonexistent/x"),
            "--on = '/nonexistent/x' cannot be opened: No such file or directory");
  const auto path =
      std::filesystem::temp_directory_path() / ("device_" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << with("name", "My GPU");
  EXPECT_EQ(device_named(path.string()).name, "My GPU");
  std::ofstream(path) << "";
  EXPECT_NE(message(path.string()).find("is empty"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cornerturn::plan::gpu
