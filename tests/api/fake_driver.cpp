// Stands in for the CUDA driver: three of its functions, and memory that is said to be a GPU's.
// Loaded like the real one, it tells apart pointers on machines without any.
#include <cstddef>
#include <cstdint>

namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  int type = 0;  // 2: a device's
  int device = 0;
  int managed = 0;
};
Range ranges[8];
int range_count = 0;
int current = 0;
int broken = 0;

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void fake_memory(void* begin, std::size_t bytes, int device,
                                                        int managed) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  ranges[range_count++] = {address, address + bytes, 2, device, managed};
}
__attribute__((visibility("default"))) void fake_state(int current_device, int error) {
  current = current_device;
  broken = error;
}

__attribute__((visibility("default"))) int cuPointerGetAttributes(unsigned count,
                                                                  const int* attributes,
                                                                  void** data,
                                                                  std::uintptr_t pointer) {
  if (broken != 0) return broken;
  Range found;
  for (const Range& range : ranges) {
    if (pointer >= range.begin && pointer < range.end) found = range;
  }
  for (unsigned i = 0; i < count; ++i) {
    const int value = attributes[i] == 2   ? found.type
                      : attributes[i] == 8 ? found.managed
                      : attributes[i] == 9 ? found.device
                                           : -1;
    *static_cast<int*>(data[i]) = value;
  }
  return 0;
}
__attribute__((visibility("default"))) int cuCtxGetDevice(int* device) {
  *device = current;
  return 0;
}
__attribute__((visibility("default"))) int cuGetErrorString(int, const char** text) {
  *text = "an illegal memory access was encountered";
  return 0;
}
}
