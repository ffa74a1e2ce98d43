#include "io/rearrange_gpu.hpp"

#include <deque>

#include "cuda/lane.hpp"
#include "io/boxes.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t usual_memory = std::int64_t{400} << 20;

class GpuRearrangement {
 public:
  GpuRearrangement(const Schedule& schedule, const Source& source, const Sink& sink,
                   const Options& options, Progress& progress)
      : schedule_(schedule),
        problem_(schedule.problem),
        source_(source),
        sink_(sink),
        options_(options),
        progress_(progress) {
    options_.device = "gpu";
  }

  void run() {
    if (problem_.bytes() == 0) return;
    const std::int64_t count = schedule_.boxes.size();
    for (int i = 0; i < std::min<std::int64_t>(schedule_.workers, count); ++i) {
      lanes_.emplace_back(schedule_.boxes.tile_elements() * problem_.dst_type.size());
    }
    if (options_.effort == Effort::measure) measure();
    run_workers(static_cast<int>(lanes_.size()), count, [&](int worker, std::int64_t index) {
      try {
        move(lanes_[static_cast<std::size_t>(worker)], index);
      } catch (...) {
        turns_.abandon();
        throw;
      }
    });
  }

 private:
  View result_in(const cuda::Lane& lane, const Box& box) const {
    return View(lane.device_out(), problem_.dst_type, box.extent);
  }
  ConstView source_in(const cuda::Lane& lane, const ConstView& read) const {
    return ConstView(lane.device_in(), read.type, read.shape, read.strides);
  }
  Options options_for(const cuda::Lane& lane) const {
    Options options = options_;
    options.stream = lane.stream();
    return options;
  }

  // Times the candidates on the first box; the winner is remembered for all others of its shape.
  void measure() {
    const cuda::Lane& lane = lanes_.front();
    const Box box = schedule_.boxes.box(0);
    const ConstView read = read_box(problem_, source_, box, lane.in(), progress_);
    lane.run(box.elements() * problem_.dst_type.size(),
             [&] { make_plan(result_in(lane, box), source_in(lane, read), options_for(lane)); });
    options_.effort = Effort::estimate;
  }

  void move(const cuda::Lane& lane, std::int64_t index) {
    const Box box = schedule_.boxes.box(index);
    const ConstView read = read_box(problem_, source_, box, lane.in(), progress_);
    const std::int64_t bytes = box.elements() * problem_.dst_type.size();
    lane.run(bytes,
             [&] { copy_box(result_in(lane, box), source_in(lane, read), options_for(lane)); });
    if (schedule_.in_order) {
      turns_.take(index, [&] {
        sink_.file->write(lane.out(), bytes);
        progress_.bytes_written += bytes;
      });
    } else {
      write_box(problem_, sink_, box, lane.out(), progress_);
    }
  }

  const Schedule& schedule_;
  const Problem& problem_;
  Source source_;
  Sink sink_;
  Options options_;
  Progress& progress_;
  std::deque<cuda::Lane> lanes_;
  Turns turns_;
};

}  // namespace

Schedule make_gpu_schedule(const Problem& problem, std::int64_t memory, bool in_order) {
  Limits limits;
  limits.threads = gpu_lanes;
  limits.at_once = gpu_lanes;
  limits.memory = memory > 0 ? memory : usual_memory;
  limits.in_order = in_order;
  limits.one_pass = true;
  return make_schedule(problem, limits);
}

Plan gpu_box_plan(const Schedule& schedule, const Options& options) {
  const Problem& problem = schedule.problem;
  const Extents& shape = schedule.boxes.tile;
  Options on_gpu = options;
  on_gpu.device = "gpu";
  on_gpu.effort = Effort::estimate;
  return make_plan(
      View(nullptr, problem.dst_type, shape),
      ConstView(nullptr, problem.src_type, shape, packed_like(problem, shape, Side::source)),
      on_gpu);
}

void rearrange_on_gpu(const Schedule& schedule, const Source& source, const Sink& sink,
                      const Options& options, Progress& progress) {
  GpuRearrangement(schedule, source, sink, options, progress).run();
}

}  // namespace cornerturn::io
