// PyTorch's copies, done by Cornerturn where that is the faster way: kernels that stand before
// those of aten::clone and aten::copy_, and so before all that is made of them, as .contiguous(),
// .reshape() and .to().
#pragma once

#include <cstdint>

#include "torch/shim.hpp"

namespace cornerturn::torch {

enum class Device { cpu, cuda };

/// As long as it lives, tensors on `device` are copied by Cornerturn where their strides differ,
/// their types do not, and the plan is one that PyTorch's own loop would not be. All else goes to
/// PyTorch's kernels. Results and errors are PyTorch's. A PyTorch without CUDA has nothing to copy
/// on it. Throws as shim() does.
class Copies {
 public:
  /// `limit` says how many threads the CPU may use for a call, as Options::threads. Calls use no
  /// more than PyTorch does.
  Copies(Device device, int (*limit)());
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

 private:
  LibraryHandle library_ = nullptr;
};

/// How many copies Cornerturn has done for PyTorch in this process.
std::int64_t copies_done();

}  // namespace cornerturn::torch
