#include "simt/execute_args.hpp"

namespace cornerturn::simt {

void run(const Run& run, const kernels::CopyArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::RowsArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::BoxesArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::StructuresArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::TileArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::SkewArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::PackArgs& args) {
  dispatched(run, args);
}
void run(const Run& run, const kernels::GatherArgs& args) {
  dispatched(run, args);
}

}  // namespace cornerturn::simt
