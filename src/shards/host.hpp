// Hosts with several GPUs, described by JSON files: those of devices/hosts/, compiled in, and any
// other. A file holds the fields of Host under their names, and says where its numbers are from, as
// the files of devices/ do (plan/gpu/device_files.hpp). All bandwidths are bytes that leave a GPU
// in a second while every GPU sends to every other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/gpu/device_info.hpp"

namespace cornerturn::shards {

struct Host {
  std::string name;
  plan::gpu::DeviceInfo gpu;
  int devices = 1;  ///< GPUs of a host, each linked to each
  double copy_engine_bandwidth = 0;
  double store_bandwidth = 0;              ///< of a kernel that copies into the others' memory
  double transposing_store_bandwidth = 0;  ///< of one that transposes into it
  double message_bandwidth = 0;            ///< of grouped sends and receives of whole messages
  std::int64_t store_run_bytes = 0;        ///< shorter runs do not fill the link
  std::int64_t copy_engine_run_bytes = 0;  ///< shorter ones are not worth a copy engine's start
};

/// A file of devices/hosts/: its name without ".json", and what is in it.
struct EmbeddedHost {
  std::string_view name;
  std::string_view text;
};
const std::vector<EmbeddedHost>& embedded_hosts();

/// Some GPUs of one host.
struct GpusOfHost {
  int devices = 1;
  Host host;
};

/// "8xh200": so many GPUs of a host that devices/hosts/ describes, or that the JSON file after the
/// x does. Throws an Error that begins with `argument`.
GpusOfHost host_named(const std::string& text, std::string_view argument);

/// A described host with GPUs of this name; where there is none, the first one.
const Host& host_with(std::string_view gpu);

/// The host that `text`, the contents of `file`, describes. Throws an Error that names the file,
/// the field, its value and the rule.
Host parse_host(std::string_view text, std::string_view file);

}  // namespace cornerturn::shards
