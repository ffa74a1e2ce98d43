#include "plan/gpu/device_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "plan/fields.hpp"

namespace cornerturn::plan::gpu {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

}  // namespace

DeviceInfo parse_device(std::string_view text, std::string_view file) {
  Fields fields(text, "device file", file);
  const auto whole = [&](const char* name, std::int64_t least, std::int64_t most) {
    return static_cast<int>(fields.whole(name, least, most));
  };
  DeviceInfo device;
  device.name = fields.line("name");
  device.arch = whole("arch", 50, 999);
  device.sm_count = whole("sm_count", 1, 4096);
  device.clock_hz = fields.number("clock_hz", 1e6, 1e11);
  device.copy_bandwidth = fields.number("copy_bandwidth", 1e6, 1e15);
  device.launch_seconds = fields.number("launch_seconds", 0, 1);
  device.l2_bytes = fields.whole("l2_bytes", 0, std::int64_t{1} << 40);
  device.shared_per_sm = whole("shared_per_sm", 1 << 10, 1 << 24);
  device.shared_per_block = whole("shared_per_block", 1 << 10, 1 << 24);
  device.threads_per_sm = whole("threads_per_sm", 32, 1 << 20);
  device.blocks_per_sm = whole("blocks_per_sm", 1, 1 << 20);
  device.registers_per_sm = whole("registers_per_sm", 1 << 10, 1 << 30);
  LinkRates& link = device.link;
  const auto optional = [&](const char* name, double& value, double least, double most) {
    if (fields.has(name)) value = fields.number(name, least, most);
  };
  optional("link_into", link.into, 1e6, 1e13);
  optional("link_out", link.out, 1e6, 1e13);
  optional("link_kernel_into", link.kernel_into, 0.01, 1);
  optional("link_kernel_out", link.kernel_out, 0.01, 1);
  optional("link_latency", link.latency, 0, 1);
  optional("link_copy_seconds", link.copy_seconds, 0, 1);
  if (device.shared_per_block > device.shared_per_sm) {
    fields.refuse_value("shared_per_block",
                        fmt::format("is more than shared_per_sm = {}", device.shared_per_sm));
  }
  fields.refuse_others();
  return device;
}

const std::vector<DeviceInfo>& known_devices() {
  static const auto& devices = *[] {
    auto* list = new std::vector<DeviceInfo>;
    for (const EmbeddedDevice& device : embedded_devices()) {
      list->push_back(parse_device(device.text, fmt::format("{}.json", device.name)));
    }
    return list;
  }();
  return devices;
}

DeviceInfo device_named(const std::string& name_or_path, std::string_view argument) {
  std::string names;
  for (std::size_t i = 0; i < embedded_devices().size(); ++i) {
    const std::string_view name = embedded_devices()[i].name;
    if (lower(name_or_path) == name) return known_devices()[i];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  const auto refuse = [&](Status status, const std::string& rule) {
    throw Error(status, fmt::format("{} = '{}' {}", argument, name_or_path, rule));
  };
  const bool path =
      name_or_path.find('/') != std::string::npos || lower(name_or_path).ends_with(".json");
  if (!path) {
    refuse(Status::invalid_argument,
           fmt::format("is no described GPU: use one of {}, or a JSON file", names));
  }
  return parse_device(files::read_text(name_or_path, std::string(argument)), name_or_path);
}

}  // namespace cornerturn::plan::gpu
