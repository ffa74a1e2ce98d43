#include "io/rearrange_blocks_gpu.hpp"

#include <algorithm>

#include "io/rearrange_gpu.hpp"
#include "workshop/cuda/lane.hpp"

namespace cornerturn::io {
namespace {

// A view of the host's buffer, in that of the GPU.
template <class Void>
BasicView<Void> moved(const BasicView<Void>& view, const std::byte* host, std::byte* device) {
  const auto place = static_cast<const std::byte*>(view.data) - host;
  return {device + place, view.type, view.shape, view.strides};
}

class GpuBlockStage : public BlockStage {
 public:
  GpuBlockStage(std::int64_t bytes_in, std::int64_t bytes_out, const BlockOptions& options)
      : lane_(bytes_in, bytes_out), options_(options) {
    options_.stream = lane_.stream();
  }

  std::byte* in() const override { return lane_.in(); }
  std::byte* out() const override { return lane_.out(); }

  void with_piece(const BlockPiece& piece,
                  const std::function<void(const BlockPiece&)>& work) const override {
    BlockPiece there;
    for (const ConstView& view : piece.from) {
      there.from.push_back(moved(view, in(), lane_.device_in()));
    }
    for (const View& view : piece.to) there.to.push_back(moved(view, out(), lane_.device_out()));
    lane_.run(piece.bytes_in, piece.bytes_out, [&] { work(there); });
  }
  BlockOptions options() const override { return options_; }

 private:
  cuda::Lane lane_;
  BlockOptions options_;
};

}  // namespace

BlockSchedule make_gpu_block_schedule(const BlockTask& task, std::int64_t memory, bool in_order) {
  return make_staged_block_schedule(task, gpu_lanes, memory > 0 ? memory : usual_gpu_memory,
                                    in_order);
}

void rearrange_blocks_on_gpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress) {
  BlockOptions estimating = options;
  estimating.effort = Effort::estimate;
  const BlockPiece largest = block_piece(task, schedule.pieces.box(0), nullptr, nullptr);
  std::vector<std::unique_ptr<BlockStage>> stages;
  for (int i = 0; i < std::min<std::int64_t>(schedule.threads, schedule.pieces.size()); ++i) {
    stages.push_back(
        std::make_unique<GpuBlockStage>(largest.bytes_in, largest.bytes_out, estimating));
  }
  rearrange_blocks(task, schedule, sources, sinks, stages, progress,
                   options.effort == Effort::measure);
}

}  // namespace cornerturn::io
