// GPUs described by JSON files: those of devices/, compiled in, and any other. A file holds the
// fields of DeviceInfo under their names, all of them needed, and says where its numbers are from:
//
//   "measured": ["copy_bandwidth"]   fields that were measured on such a GPU
//   "assumed": ["launch_seconds"]    fields that were not, nor published; the note says why
//   "note": "any text"               the three are optional
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/gpu/device_info.hpp"

namespace cornerturn::plan::gpu {

/// A file of devices/: its name without ".json", and what is in it.
struct EmbeddedDevice {
  std::string_view name;
  std::string_view text;
};
const std::vector<EmbeddedDevice>& embedded_devices();

/// The devices of devices/, in the order of embedded_devices().
const std::vector<DeviceInfo>& known_devices();

/// "h200", or the path of a JSON file. Throws an Error that begins with `argument`.
DeviceInfo device_named(const std::string& name_or_path, std::string_view argument = "device");

/// The device that `text`, the contents of `file`, describes. Throws an Error that names the file,
/// the field, its value and the rule.
DeviceInfo parse_device(std::string_view text, std::string_view file);

}  // namespace cornerturn::plan::gpu
