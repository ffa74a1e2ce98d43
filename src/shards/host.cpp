#include "shards/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/refuse.hpp"
#include "core/visible.hpp"
#include "files/file.hpp"
#include "plan/fields.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::shards {
namespace {

Host find_host(const std::string& name, const std::string& text, std::string_view argument) {
  std::string names;
  for (const EmbeddedHost& host : embedded_hosts()) {
    if (host.name == name) return parse_host(host.text, fmt::format("{}.json", host.name));
    names += fmt::format("{}<n>x{}", names.empty() ? "" : ", ", host.name);
  }
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) {
    refuse(fmt::format("{} = '{}' is no described host: use one of {}, or <n>xFILE.json", argument,
                       visible(text), names));
  }
  return parse_host(files::read_text(name, std::string(argument)), name);
}

}  // namespace

Host parse_host(std::string_view text, std::string_view file) {
  plan::Fields fields(text, "host file", file);
  Host host;
  host.name = fields.line("name");
  host.gpu = plan::gpu::device_named(fields.line("gpu"), fmt::format("host file '{}': gpu", file));
  host.devices = static_cast<int>(fields.whole("devices", 1, 1 << 20));
  const auto bandwidth = [&](const char* name) { return fields.number(name, 1e6, 1e15); };
  host.copy_engine_bandwidth = bandwidth("copy_engine_bandwidth");
  host.store_bandwidth = bandwidth("store_bandwidth");
  host.transposing_store_bandwidth = bandwidth("transposing_store_bandwidth");
  host.message_bandwidth = bandwidth("message_bandwidth");
  host.store_run_bytes = fields.whole("store_run_bytes", 1, 1 << 30);
  host.copy_engine_run_bytes = fields.whole("copy_engine_run_bytes", 1, 1 << 30);
  fields.refuse_others();
  return host;
}

const Host& host_with(std::string_view gpu) {
  static const std::vector<Host>& known = []() -> const std::vector<Host>& {
    auto& all = *new std::vector<Host>;
    for (const EmbeddedHost& host : embedded_hosts()) {
      all.push_back(parse_host(host.text, fmt::format("{}.json", host.name)));
    }
    return all;
  }();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Host& host) { return host.gpu.name == gpu; });
  return found == known.end() ? known.front() : *found;
}

GpusOfHost host_named(const std::string& text, std::string_view argument) {
  GpusOfHost found;
  const char* end = text.data() + text.size();
  const auto [x, error] = std::from_chars(text.data(), end, found.devices);
  if (error != std::errc() || x == end || *x != 'x' || found.devices < 1) {
    refuse(fmt::format("{} = '{}' is no number of GPUs of a host, as 8xh200", argument,
                       visible(text)));
  }
  found.host = find_host(std::string(x + 1, end), text, argument);
  if (found.devices > found.host.devices) {
    refuse(fmt::format("{} = '{}' asks for {} GPUs, but {} has {}", argument, visible(text),
                       found.devices, found.host.name, found.host.devices));
  }
  return found;
}

}  // namespace cornerturn::shards
