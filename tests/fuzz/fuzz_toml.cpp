// A file for `cornerturn check`, any text: it is refused with an Error, or small layouts in it are
// checked and reported.
#include <cstdint>
#include <string_view>

#include "check_file.hpp"
#include "cornerturn/error.hpp"
#include "fuzz/stop.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"

namespace {

using namespace cornerturn;

// Checking walks over all elements, and this target is about reading.
bool small(const cli::CheckFile& file) {
  for (const lab::CheckedLayout& layout : file.layouts) {
    try {
      if (parse_swizzled_layout(layout.layout).size() > 1024) return false;
    } catch (const Error&) {
    }
  }
  return file.layouts.size() <= 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const cli::CheckFile file = cli::parse_check_file(text, "layouts.toml");
    if (file.layouts.empty()) fuzz::stop("no layout");
    if (!small(file)) return 0;
    static const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
    const lab::CheckReport report = lab::check(file.layouts, device);
    if (report.to_text().empty() || report.to_json().empty()) fuzz::stop("no words");
  } catch (const Error&) {
  }
  return 0;
}
