// A build without device code: says so.
#include "cornerturn/error.hpp"
#include "gpu/engine_subject.hpp"

namespace cornerturn::bench {

std::unique_ptr<GpuSubject> engine_subject(const std::string&) {
  throw Error(Status::unsupported, "no GPU: built without device code");
}

}  // namespace cornerturn::bench
