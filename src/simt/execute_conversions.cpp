#include "simt/execute_args.hpp"

namespace cornerturn::simt {

void run(const Run& run, const kernels::PackConvertArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::GatherConvertArgs& args) {
  dispatched(run, args);
}

}  // namespace cornerturn::simt
