#include "gpu/gpu_session.hpp"

#include "gpu/gpu_runner.hpp"
#include "harness/machine.hpp"

namespace cornerturn::bench {

int run_gpu_session(const SessionOptions& options, GpuSubject& subject, Accelerator& gpu) {
  GpuRunOptions run;
  run.rule = options.stop_rule(gpu_stop_rule());
  run.all_candidates = options.all_candidates;
  run.warm = options.warm;
  GpuRunner runner(gpu, run);
  subject.use_stream(gpu.stream());

  Place place;
  place.device = "gpu";
  place.name = gpu.name();
  place.threads = 1;
  place.measure = [&](const Case& c, const std::atomic<bool>& interrupted) {
    return runner.measure(c, subject, interrupted);
  };
  place.provenance = [&] {
    nlohmann::ordered_json all = provenance();
    all.update(gpu.provenance());
    return all;
  };
  return run_session_at(options, subject, place);
}

}  // namespace cornerturn::bench
