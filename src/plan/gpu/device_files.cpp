#include "plan/gpu/device_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "files/file.hpp"

namespace cornerturn::plan::gpu {
namespace {

using nlohmann::json;

class DeviceFile {
 public:
  DeviceFile(std::string_view text, std::string_view file) : file_(file) {
    if (text.empty()) refuse("is empty");
    try {
      json_ = json::parse(text);
    } catch (const json::parse_error& error) {
      refuse(fmt::format("is no JSON: byte {} breaks its syntax", error.byte));
    } catch (const json::exception& error) {  // a number that no double holds
      refuse(fmt::format("is no JSON: {}", error.what()));
    }
    if (!json_.is_object()) refuse("holds no JSON object");
  }

  DeviceInfo read() {
    DeviceInfo device;
    if (!field("name").is_string()) refuse_value("name", "must be a text");
    device.name = field("name").get<std::string>();
    // Names are columns of other files.
    if (device.name.empty() || device.name.find_first_of("\t\n") != std::string::npos) {
      refuse_value("name", "must be one line, without tabs");
    }
    whole("arch", 50, 999, device.arch);
    whole("sm_count", 1, 4096, device.sm_count);
    number("clock_hz", 1e6, 1e11, device.clock_hz);
    number("copy_bandwidth", 1e6, 1e15, device.copy_bandwidth);
    number("launch_seconds", 0, 1, device.launch_seconds);
    whole("l2_bytes", 0, std::int64_t{1} << 40, device.l2_bytes);
    whole("shared_per_sm", 1 << 10, 1 << 24, device.shared_per_sm);
    whole("shared_per_block", 1 << 10, 1 << 24, device.shared_per_block);
    whole("threads_per_sm", 32, 1 << 20, device.threads_per_sm);
    whole("blocks_per_sm", 1, 1 << 20, device.blocks_per_sm);
    whole("registers_per_sm", 1 << 10, 1 << 30, device.registers_per_sm);
    if (device.shared_per_block > device.shared_per_sm) {
      refuse_value("shared_per_block",
                   fmt::format("is more than shared_per_sm = {}", device.shared_per_sm));
    }
    refuse_others();
    return device;
  }

 private:
  [[noreturn]] void refuse(const std::string& rule) const {
    throw Error(Status::invalid_argument, fmt::format("device file '{}' {}", file_, rule));
  }
  [[noreturn]] void refuse_value(const char* name, const std::string& rule) const {
    const std::string value = json_[name].dump(-1, ' ', true, json::error_handler_t::replace);
    throw Error(Status::invalid_argument, fmt::format("device file '{}': {} = {} {}", file_, name,
                                                      value.substr(0, 60), rule));
  }

  const json& field(const char* name) {
    if (!json_.contains(name)) refuse(fmt::format("has no field '{}'", name));
    if (std::find(fields_.begin(), fields_.end(), name) == fields_.end())
      fields_.emplace_back(name);
    return json_[name];
  }

  template <class Integer>
  void whole(const char* name, std::int64_t least, std::int64_t most, Integer& to) {
    const json& value = field(name);
    // A number too large for 64 bits with a sign comes as one without.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <=
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
      refuse_value(name, fmt::format("must be a whole number from {} to {}", least, most));
    }
    to = value.get<Integer>();
  }

  void number(const char* name, double least, double most, double& to) {
    const json& value = field(name);
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
      refuse_value(name, fmt::format("must be a number from {:g} to {:g}", least, most));
    }
    to = value.get<double>();
  }

  // What is left over: where the numbers come from, and nothing else.
  void refuse_others() {
    const auto known = [this](const std::string& name) {
      return std::find(fields_.begin(), fields_.end(), name) != fields_.end();
    };
    for (const auto& [key, value] : json_.items()) {
      if (known(key)) continue;
      if (key == "note") {
        if (!value.is_string()) refuse_value("note", "must be a text");
      } else if (key == "measured" || key == "assumed") {
        const bool names =
            value.is_array() && std::all_of(value.begin(), value.end(), [&](const json& name) {
              return name.is_string() && known(name.get<std::string>());
            });
        if (!names) refuse_value(key.c_str(), "must be a list of fields of this file");
      } else {
        refuse(fmt::format("has the field '{}', which is none of {}, measured, assumed, note",
                           key.substr(0, 60), fmt::join(fields_, ", ")));
      }
    }
  }

  std::string file_;
  json json_;
  std::vector<std::string> fields_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

}  // namespace

DeviceInfo parse_device(std::string_view text, std::string_view file) {
  return DeviceFile(text, file).read();
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
