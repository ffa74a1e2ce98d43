// Any bytes: parse_npy_header() throws Error, or what it says survives being written and read
// again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cornerturn/error.hpp"
#include "io/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const io::NpyHeader header = io::parse_npy_header(bytes);
    io::NpyHeader again = io::parse_npy_header(io::format_npy_header(header));
    if (again.version == 2) again.version = header.version;  // too long for version 1
    if (!(again == header)) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
