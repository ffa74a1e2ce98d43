// Two functions of the CUDA driver, found in the process if something has loaded it: asking them
// creates no context, as the runtime's would.
#pragma once

#include <cuda.h>

namespace cornerturn::cuda {

struct Driver {
  CUresult (*pointer_attributes)(unsigned count, CUpointer_attribute* attributes, void** data,
                                 CUdeviceptr pointer) = nullptr;
  CUresult (*current_device)(CUdevice* device) = nullptr;  ///< that of the current context
  CUresult (*error_text)(CUresult error, const char** text) = nullptr;
};

/// Null as long as the process has not loaded a driver. Costs some ten nanoseconds.
const Driver* loaded_driver();

}  // namespace cornerturn::cuda
