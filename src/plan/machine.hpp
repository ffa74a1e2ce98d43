// The machine that a plan is for: a CPU, a GPU, or both with the link between them, here or only
// described.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "plan/cpu/cpu_info.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/link/link_info.hpp"

namespace cornerturn::plan {

namespace gpu {
struct Costs;
const Costs& standard_costs();
}  // namespace gpu

/// A value that is cheap to copy.
class Machine {
 public:
  Machine() : of_(undescribed()) {}
  Machine(const CpuInfo& cpu)  // NOLINT: a processor is a machine
      : of_(std::make_shared<const Info>(cpu)) {}
  /// `costs` outlives the machine.
  Machine(const gpu::DeviceInfo& device,  // NOLINT: so is a GPU
          const gpu::Costs& costs = gpu::standard_costs())
      : of_(std::make_shared<const Info>(device)), gpu_costs_(&costs) {}

  Machine(const link::LinkInfo& link,  // NOLINT: so is a link with both its ends
          const gpu::Costs& costs = gpu::standard_costs())
      : of_(std::make_shared<const Info>(link)), gpu_costs_(&costs) {}

  /// Null when it is another kind of machine.
  const CpuInfo* cpu() const { return std::get_if<CpuInfo>(of_.get()); }
  const gpu::DeviceInfo* gpu() const { return std::get_if<gpu::DeviceInfo>(of_.get()); }
  const link::LinkInfo* link() const { return std::get_if<link::LinkInfo>(of_.get()); }
  /// What the kernels of a GPU cost.
  const gpu::Costs& gpu_costs() const { return *gpu_costs_; }

  /// "cpu", or the name of the GPU, also of one at the end of a link.
  std::string name() const {
    if (link() != nullptr) return link()->gpu.name;
    return gpu() != nullptr ? gpu()->name : "cpu";
  }

  friend bool operator==(const Machine& a, const Machine& b) {
    return a.of_ == b.of_ || *a.of_ == *b.of_;
  }

 private:
  using Info = std::variant<CpuInfo, gpu::DeviceInfo, link::LinkInfo>;

  static const std::shared_ptr<const Info>& undescribed() {
    static const auto& info = *new auto(std::make_shared<const Info>(CpuInfo()));
    return info;
  }

  std::shared_ptr<const Info> of_;
  const gpu::Costs* gpu_costs_ = nullptr;
};

}  // namespace cornerturn::plan
