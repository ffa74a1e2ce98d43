#include "cuda/place.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "core/fork.hpp"
#include "cornerturn/error.hpp"
#include "cuda/driver_numbers.hpp"

namespace cornerturn::cuda {
namespace {

// The driver's functions that are asked here.
struct Driver {
  int (*pointer_attributes)(unsigned count, const int* attributes, void** data,
                            std::uintptr_t pointer) = nullptr;
  int (*context_device)(int* device) = nullptr;
  int (*error_text)(int error, const char** text) = nullptr;
};

// The system's list of loaded libraries. Its lock is not given back in a forked child, so nobody
// here is to hold it while the process forks.
class LoadedLibraries {
 public:
  // How many the process has loaded so far.
  unsigned long long count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    unsigned long long count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          *static_cast<unsigned long long*>(to) = info->dlpi_adds;
          return 1;  // the first one knows it
        },
        &count);
    return count;
  }

  // For forks (core/fork.hpp).
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void renew() { std::construct_at(&mutex_); }

 private:
  std::mutex mutex_;
};

LoadedLibraries& loaded_libraries() {
  static LoadedLibraries& instance = []() -> LoadedLibraries& {
    auto& made = *new LoadedLibraries;  // never destroyed: calls may come from destructors
    hold_over_forks(made);
    return made;
  }();
  return instance;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Driver> look() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  Driver driver;
  const bool whole = find(library, "cuPointerGetAttributes", driver.pointer_attributes) &&
                     find(library, "cuCtxGetDevice", driver.context_device) &&
                     find(library, "cuGetErrorString", driver.error_text);
  return whole ? std::optional(driver) : std::nullopt;
}

// Null as long as the process has loaded none.
const Driver* loaded_driver() {
  static std::atomic<const Driver*> known = nullptr;
  static std::atomic<unsigned long long> looked_at = 0;
  if (const Driver* driver = known.load(std::memory_order_acquire)) return driver;
  const unsigned long long now = loaded_libraries().count();
  if (now == looked_at.load(std::memory_order_relaxed)) return nullptr;
  if (const std::optional<Driver> driver = look()) {
    static const Driver instance = *driver;
    known.store(&instance, std::memory_order_release);
    return &instance;
  }
  looked_at.store(now, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace

bool driver_is_loaded() {
  return loaded_driver() != nullptr;
}

Place place_of(const void* pointer) {
  const Driver* driver = pointer == nullptr ? nullptr : loaded_driver();
  if (driver == nullptr) return {};
  int type = 0;
  int device = 0;
  int managed = 0;
  constexpr std::array attributes = {numbers::memory_type, numbers::device_ordinal,
                                     numbers::is_managed};
  std::array<void*, 3> data = {&type, &device, &managed};
  const int result =
      driver->pointer_attributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                 data.data(), reinterpret_cast<std::uintptr_t>(pointer));
  switch (result) {
    case numbers::success:
      break;
    case numbers::not_initialized:  // nobody has asked for device memory yet, or no more
    case numbers::deinitialized:
    case numbers::invalid_value:
      return {};
    default:
      const char* text = nullptr;
      driver->error_text(result, &text);
      throw Error(Status::device_error, fmt::format("a CUDA error from before this call: {}",
                                                    text != nullptr ? text : "unknown"));
  }
  if (managed != 0) return {Place::Kind::managed, device};
  if (type == numbers::device_memory) return {Place::Kind::device, device};
  return {Place::Kind::host, 0, type == numbers::host_memory};
}

void* pool_of(const void* pointer) {
  const Driver* driver = pointer == nullptr ? nullptr : loaded_driver();
  if (driver == nullptr) return nullptr;
  void* pool = nullptr;
  constexpr int attribute = numbers::memory_pool;
  void* to = &pool;
  const int result =
      driver->pointer_attributes(1, &attribute, &to, reinterpret_cast<std::uintptr_t>(pointer));
  return result == numbers::success ? pool : nullptr;
}

std::optional<int> device_of_context() {
  const Driver* driver = loaded_driver();
  int device = 0;
  if (driver == nullptr || driver->context_device(&device) != numbers::success) return std::nullopt;
  return device;
}

}  // namespace cornerturn::cuda
