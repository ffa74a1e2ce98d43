#include "io/rearrange_blocks_gpu.hpp"

#include <algorithm>

#include "cuda/lane.hpp"
#include "io/rearrange_gpu.hpp"
#include "plan/gpu/quantise.hpp"

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

  void make(const BlockTask& task, const BlockPiece& piece) const override {
    BlockPiece there;
    for (const ConstView& view : piece.from) {
      there.from.push_back(moved(view, in(), lane_.device_in()));
    }
    for (const View& view : piece.to) there.to.push_back(moved(view, out(), lane_.device_out()));
    lane_.run(piece.bytes_in, piece.bytes_out, [&] { make_piece(task, there, options_); });
  }

 private:
  cuda::Lane lane_;
  BlockOptions options_;
};

// A place that suits any kernel: nothing is read or written there.
std::byte* any_place() {
  alignas(256) static std::byte place[1];
  return place;
}

template <class Void>
PlainArray plain_array(const BasicView<Void>& values) {
  return {any_place(), values.type, values.shape, values.strides};
}

template <class Void>
BlockArrays block_arrays(const std::vector<BasicView<Void>>& blocks, int axis) {
  BlockArrays arrays;
  arrays.values = any_place();
  arrays.value_strides = blocks[0].strides;
  if (blocks.size() > 1) {
    arrays.scales = any_place();
    arrays.scale_strides = blocks[1].strides;
  }
  arrays.axis = axis;
  return arrays;
}

values::BlockFormat format_of(ElementType stored) {
  if (stored.kind() == Kind::bytes) return values::BlockFormat::q8_0;
  return stored.kind() == Kind::f8_e4m3 ? values::BlockFormat::mx_e4m3
                                        : values::BlockFormat::mx_e5m2;
}

}  // namespace

BlockSchedule make_gpu_block_schedule(const BlockTask& task, std::int64_t memory, bool in_order) {
  return make_staged_block_schedule(task, gpu_lanes, memory > 0 ? memory : usual_gpu_memory,
                                    in_order);
}

std::string gpu_block_kernel(const BlockTask& task, const BlockSchedule& schedule) {
  const BlockPiece piece = block_piece(task, schedule.pieces.box(0), nullptr, nullptr);
  const values::BlockFormat format = format_of(task.stored);
  if (task.back) {
    return plan::gpu::dequantise_work(plain_array(piece.to[0]), block_arrays(piece.from, task.axis),
                                      format)
        .kernel();
  }
  return plan::gpu::quantise_works(plain_array(piece.from[0]), block_arrays(piece.to, task.axis),
                                   nullptr, {format})
      .front()
      .kernel();
}

void rearrange_blocks_on_gpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress) {
  const BlockPiece largest = block_piece(task, schedule.pieces.box(0), nullptr, nullptr);
  std::vector<std::unique_ptr<BlockStage>> stages;
  for (int i = 0; i < std::min<std::int64_t>(schedule.threads, schedule.pieces.size()); ++i) {
    stages.push_back(std::make_unique<GpuBlockStage>(largest.bytes_in, largest.bytes_out, options));
  }
  rearrange_blocks(task, schedule, sources, sinks, stages, progress);
}

}  // namespace cornerturn::io
