#include "workshop/cuda_source/run/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cornerturn::cuda_source {

namespace {

Config read_config() {
  Config config;
  const char* path = std::getenv("CORNERTURN_CHECK_CONFIG");
  if (path == nullptr) return config;
  std::ifstream stream(path);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object()) return config;
  const auto read = [](const nlohmann::json& from, const char* name, auto& value) {
    const auto found = from.find(name);
    if (found == from.end()) return;
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (found->is_string()) value = found->template get<std::string>();
    } else {
      if (found->is_number()) value = found->template get<Value>();
    }
  };
  read(json, "report", config.report);
  read(json, "steps", config.steps);
  read(json, "blocks", config.blocks);
  read(json, "recorded", config.recorded);
  const auto device = json.find("device");
  if (device == json.end() || !device->is_object()) return config;
  DeviceModel& model = config.device;
  read(*device, "name", model.name);
  read(*device, "warp", model.warp);
  read(*device, "shared_block", model.shared_block);
  read(*device, "shared_block_optin", model.shared_block_optin);
  read(*device, "shared_sm", model.shared_sm);
  read(*device, "threads_block", model.threads_block);
  read(*device, "threads_sm", model.threads_sm);
  read(*device, "sms", model.sms);
  // The library has room for this much and no more.
  model.shared_block_optin = std::min<std::size_t>(model.shared_block_optin, 227 << 10);
  model.threads_block = std::min(model.threads_block, 1024U);
  return config;
}

}  // namespace

int blocks_on_one(const DeviceModel& device, unsigned threads, std::size_t shared) {
  if (threads > device.threads_block || shared > device.shared_block_optin) return 0;
  const auto warp = static_cast<unsigned>(device.warp);
  const unsigned by_threads = device.threads_sm / ((threads + warp - 1) / warp * warp);
  const std::size_t by_shared = device.shared_sm / (shared + reserved_shared);
  return std::min({static_cast<int>(by_threads), static_cast<int>(by_shared), most_blocks_sm});
}

const Config& config() {
  static const Config& it = *new Config(read_config());
  return it;
}

}  // namespace cornerturn::cuda_source
