#include "gpu/nvml.hpp"

#include <dlfcn.h>

namespace cornerturn::bench {
namespace {

// The few functions of nvml.h that are used; 0 is success.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    int (*init)() = nullptr;
    ready_ = find("nvmlInit_v2", init) && init() == 0;
  }
  ~Nvml() {
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  nlohmann::ordered_json facts() const {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (!ready_) return out;
    int (*driver)(char*, unsigned) = nullptr;
    char text[96] = "";
    if (find("nvmlSystemGetDriverVersion", driver) && driver(text, sizeof text) == 0) {
      out["driver"] = text;
    }
    int (*device)(unsigned, void**) = nullptr;
    void* handle = nullptr;
    if (!find("nvmlDeviceGetHandleByIndex_v2", device) || device(0, &handle) != 0) return out;
    constexpr int sm = 1;
    constexpr int memory = 2;
    add_clock(out, "sm_clock_mhz", "nvmlDeviceGetClockInfo", handle, sm);
    add_clock(out, "memory_clock_mhz", "nvmlDeviceGetClockInfo", handle, memory);
    add_clock(out, "most_sm_clock_mhz", "nvmlDeviceGetMaxClockInfo", handle, sm);
    add_clock(out, "most_memory_clock_mhz", "nvmlDeviceGetMaxClockInfo", handle, memory);
    out["clocks"] = "as found, not locked; read after the last run";
    return out;
  }

 private:
  template <class Function>
  bool find(const char* name, Function& function) const {
    if (library_ == nullptr) return false;
    function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr;
  }

  void add_clock(nlohmann::ordered_json& out, const char* key, const char* name, void* handle,
                 int which) const {
    int (*clock)(void*, int, unsigned*) = nullptr;
    unsigned mhz = 0;
    if (find(name, clock) && clock(handle, which, &mhz) == 0) out[key] = mhz;
  }

  void* library_;
  bool ready_ = false;
};

}  // namespace

nlohmann::ordered_json nvml_facts() {
  return Nvml().facts();
}

}  // namespace cornerturn::bench
