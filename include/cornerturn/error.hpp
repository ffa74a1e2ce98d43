// The one exception type of the library, with a status that the C API returns as it is.
#pragma once

#include <stdexcept>
#include <string>

#include "cornerturn/export.hpp"

namespace cornerturn {

/// What went wrong. The values are those of `ct_status` in cornerturn.h.
enum class Status : int {
  ok = 0,
  invalid_argument =
      1,              ///< an argument breaks a rule; the message names it, its value and the rule
  overflow = 2,       ///< an array is, or reaches over, more than 2^60 bytes
  unsupported = 3,    ///< the arguments are right, but this build or this machine cannot do it
  out_of_memory = 4,  ///< there is too little memory, disk space or device memory
  io_error = 5,       ///< a file could not be read or written
  interrupted = 6,    ///< the caller asked to stop
  internal = 7,       ///< a defect in Cornerturn
  device_error = 8,   ///< CUDA reports an error, of this call or from before it
};

/// Every function of the library throws this. `what()` is one line that names the argument, its
/// value and the rule.
class CT_API Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

}  // namespace cornerturn
