#include "io/rearrange_gpu.hpp"

#include <algorithm>
#include <cstring>

#include "api/known_plans.hpp"
#include "core/validate.hpp"
#include "cuda/backend.hpp"
#include "io/boxes.hpp"
#include "io/rearrange_staged.hpp"
#include "plan/planner.hpp"
#include "workshop/cuda/lane.hpp"

namespace cornerturn::io {
namespace {

// Behind a box in memory: the addend.
constexpr std::int64_t bias_space = 64;
constexpr std::int64_t bias_place(std::int64_t box_bytes) {
  return (box_bytes + 15) / 16 * 16;
}

Problem problem_of(const BoxMove& move) {
  Problem problem = make_problem(View(nullptr, move.to, move.from.shape), move.from, move.epilogue);
  problem.values.place = move.place;
  return problem;
}

plan::Plan plan_of(const Problem& problem, const std::string& kernel) {
  plan::Request request;
  request.threads = 1;
  if (kernel != any_kernel) request.kernel = kernel;
  return plan::make_plan(problem, cuda::machine_of(cuda::current_device()), request);
}

class GpuStage : public Stage {
 public:
  GpuStage(std::int64_t bytes_in, std::int64_t bytes_out, const Options& options)
      : lane_(bytes_in + bias_space, bytes_out), options_(options) {
    options_.device = "gpu";
    options_.stream = lane_.stream();
  }

  std::byte* in() const override { return lane_.in(); }
  const std::byte* out() const override { return lane_.out(); }

  void run(const BoxMove& move) const override {
    on_lane(move, [&](const View& to, const ConstView& from, const Epilogue& epilogue) {
      if (epilogue.rounding == Rounding::stochastic) return run_at_place(move, epilogue);
      copy_box(to, from, options_, epilogue);
    });
  }

  // Times the candidates; the winner is remembered for all boxes of this shape.
  void measure(const BoxMove& move) const {
    on_lane(move, [&](const View& to, const ConstView& from, const Epilogue& epilogue) {
      Options options = options_;
      options.effort = Effort::measure;
      make_plan(to, from, epilogue, options);
    });
  }

 private:
  template <class Work>
  void on_lane(const BoxMove& move, const Work& work) const {
    Epilogue epilogue = move.epilogue;
    std::int64_t bytes_in = move.bytes_in();
    if (epilogue.bias != nullptr) {
      const std::int64_t place = bias_place(bytes_in);
      std::memcpy(lane_.in() + place, epilogue.bias, sizeof(float));
      epilogue.bias = reinterpret_cast<const float*>(lane_.device_in() + place);
      bytes_in = place + std::int64_t{sizeof(float)};
    }
    lane_.run(bytes_in, move.bytes_out(), [&] {
      const ConstView& from = move.from;
      work(View(lane_.device_out(), move.to, from.shape),
           ConstView(lane_.device_in(), from.type, from.shape, from.strides), epilogue);
    });
  }

  // By a plan of its own, which knows where in the result the box begins.
  void run_at_place(const BoxMove& move, const Epilogue& epilogue) const {
    const Problem problem = problem_of(move);
    const auto execute = [&](const std::string& kernel) {
      cuda::execute(plan_of(problem, kernel),
                    {lane_.device_out(), lane_.device_in(), {nullptr, epilogue.bias}},
                    static_cast<cuda::Stream>(options_.stream));
    };
    with_kernel(options_.kernel, execute);
  }

  cuda::Lane lane_;
  Options options_;
};

}  // namespace

Schedule make_gpu_schedule(const Problem& problem, std::int64_t memory, bool in_order,
                           const FileConversion& conversion) {
  Limits limits;
  limits.threads = gpu_lanes;
  limits.at_once = gpu_lanes;
  limits.memory = memory > 0 ? memory : usual_gpu_memory;
  if (const std::int64_t wider = conversion.result_bytes(16) / 16; wider > 1) {
    limits.memory = std::max(least_memory, limits.memory * 2 / (1 + wider));
  }
  limits.in_order = in_order || conversion.is_stochastic();
  limits.one_pass = true;
  return make_schedule(problem, limits);
}

Plan gpu_box_plan(const Schedule& schedule, const Options& options,
                  const FileConversion& conversion) {
  const Problem& problem = schedule.problem;
  const Extents& shape = schedule.boxes.tile;
  const BoxMove move = box_move(
      ConstView(nullptr, problem.src_type, shape, packed_like(problem, shape, Side::source)),
      conversion);
  if (move.epilogue.bias != nullptr) {  // which lies on the host still
    return Plan(std::make_shared<const plan::Plan>(plan_of(problem_of(move), options.kernel)));
  }
  Options on_gpu = options;
  on_gpu.device = "gpu";
  on_gpu.effort = Effort::estimate;
  return make_plan(View(nullptr, move.to, move.from.shape), move.from, move.epilogue, on_gpu);
}

void rearrange_on_gpu(const Schedule& schedule, const Source& source, const Sink& sink,
                      const Options& options, Progress& progress,
                      const FileConversion& conversion) {
  const std::int64_t bytes = schedule.boxes.tile_elements() * schedule.problem.dst_type.size();
  Options estimating = options;
  estimating.effort = Effort::estimate;
  std::vector<std::unique_ptr<Stage>> stages;
  for (int i = 0; i < std::min<std::int64_t>(schedule.workers, schedule.boxes.size()); ++i) {
    stages.push_back(std::make_unique<GpuStage>(bytes, conversion.result_bytes(bytes), estimating));
  }
  const auto measure = [](const Stage& stage, const BoxMove& move) {
    static_cast<const GpuStage&>(stage).measure(move);
  };
  const bool measured = options.effort == Effort::measure && !conversion.is_stochastic();
  rearrange_staged(schedule, source, sink, stages, progress, conversion,
                   measured ? measure : std::function<void(const Stage&, const BoxMove&)>());
}

}  // namespace cornerturn::io
