// The swizzle lab's notation, any text: it is refused with an Error, or what it says survives being
// written and read again. Small tiles are explained as well.
#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/error.hpp"
#include "fuzz/input.hpp"
#include "fuzz/stop.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/access.hpp"
#include "workshop/lab/convert.hpp"
#include "workshop/lab/explain.hpp"

namespace cornerturn::fuzz {
namespace {

template <class Parse>
void survives(const Parse& parse, std::string_view text) {
  const auto value = parse(text);
  const std::string written = to_string(value);
  const std::string again = to_string(parse(written));
  if (again != written) stop("'" + written + "' becomes '" + again + "'");
}

void explain_text(Input& input) {
  constexpr int sizes[] = {1, 2, 4, 8, 16};
  const int bytes = input.of(sizes);
  const SwizzledLayout layout = parse_swizzled_layout(input.line());
  const lab::TileShape tile = lab::tile_shape(layout.layout, bytes);
  if (tile.rows * tile.columns > 4096) return;
  std::vector<lab::Access> accesses;
  while (!input.empty() && accesses.size() < 3) {
    lab::Access access = lab::parse_access(input.line(), tile, {});
    const std::string text = lab::access_text(access, tile);
    const lab::Access again = lab::parse_access(text, tile, {});
    if (access.requests.size() != again.requests.size()) stop("the access " + text);
    accesses.push_back(std::move(access));
  }
  static const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  const lab::Explanation explanation =
      lab::explain(layout, bytes, accesses, device, tile.rows * tile.columns <= 512);
  if (explanation.to_text().empty() || explanation.to_json().empty()) stop("no words");
}

void read(Input& input) {
  switch (input.uniform(0, 4)) {
    case 0:
      return survives([](std::string_view text) { return parse_layout(text); }, input.rest());
    case 1:
      return survives([](std::string_view text) { return parse_swizzled_layout(text); },
                      input.rest());
    case 2:
      return survives([](std::string_view text) { return parse_swizzle(text); }, input.rest());
    case 3: {
      const int bytes = static_cast<int>(input.uniform(1, 16));
      const std::int64_t row = input.uniform(0, 1024);
      const AnySwizzle swizzle = lab::parse_any_swizzle(input.rest(), bytes, row);
      if (lab::convert(swizzle, bytes, row * bytes).to_json().empty()) stop("no words");
      return;
    }
    default:
      return explain_text(input);
  }
}

}  // namespace
}  // namespace cornerturn::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cornerturn::fuzz::Input input(data, size);
  try {
    cornerturn::fuzz::read(input);
  } catch (const cornerturn::Error&) {
  }
  return 0;
}
