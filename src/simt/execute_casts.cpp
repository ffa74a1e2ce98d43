#include "simt/execute_args.hpp"

namespace cornerturn::simt {

void run(const Run& run, const kernels::RowsConvertArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::TileConvertArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::StructuresConvertArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::SkewConvertArgs& args) {
  dispatched(run, args);
}

}  // namespace cornerturn::simt
