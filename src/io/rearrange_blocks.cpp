#include "io/rearrange_blocks.hpp"

#include <algorithm>
#include <numeric>

#include "core/divide.hpp"
#include "io/boxes.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t mapped_piece = std::int64_t{32} << 20;
// Places of parts in a buffer: as a GPU aligns what it allocates.
constexpr std::int64_t part_alignment = 256;

std::int64_t aligned(std::int64_t bytes) {
  return ceil_div(bytes, part_alignment) * part_alignment;
}

Extents scaled(Extents shape, std::size_t axis, std::int64_t factor) {
  shape[axis] *= factor;
  return shape;
}

BlockOperand source_operand(ElementType type, const Extents& shape, const FileOrder& file,
                            std::int64_t per_block) {
  return {type, file_problem(shape, type.size(), file.fortran_order, file.order), per_block};
}

BlockOperand result_operand(ElementType type, const Extents& shape, std::int64_t per_block) {
  FileOrder as_it_is;
  as_it_is.order.resize(shape.size());
  std::iota(as_it_is.order.begin(), as_it_is.order.end(), 0);
  return source_operand(type, shape, as_it_is, per_block);
}

// Elements of the values' array that make a block.
std::int64_t stored_per_block(ElementType stored) {
  return stored.kind() == Kind::bytes ? 1 : block_values;
}

std::int64_t block_bytes(const std::vector<BlockOperand>& operands) {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : operands) bytes += operand.per_block * operand.type.size();
  return bytes;
}

std::int64_t part_bytes(const BlockTask& task, const std::vector<BlockOperand>& operands,
                        const Box& piece) {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : operands) {
    bytes = aligned(bytes) + operand.bytes(operand.part(piece, task.axis));
  }
  return bytes;
}

Extents source_strides(const Problem& problem) {
  Extents strides;
  for (const Mode& mode : problem.modes) strides.push_back(mode.src_stride);
  return strides;
}

// The length of a run that is no shorter for being counted in blocks.
std::int64_t run_goal(const BlockTask& task, Side side) {
  for (const int m : fastest_first(task.blocks, side)) {
    if (task.blocks.modes[m].extent > 1) return m == task.axis ? 1 : block_values;
  }
  return 1;
}

class BlockRearrangement {
 public:
  BlockRearrangement(const BlockTask& task, const BlockSchedule& schedule,
                     const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                     Progress& progress)
      : task_(task), schedule_(schedule), sources_(sources), sinks_(sinks), progress_(progress) {}

  // Times the candidates; the winner is remembered for all pieces of this shape.
  void measure(const BlockStage& stage) const {
    BlockOptions options = stage.options();
    options.effort = Effort::measure;
    stage.with_piece(brought(stage, schedule_.pieces.box(0)),
                     [&](const BlockPiece& there) { piece_plan(task_, there, options); });
  }

  void move(const BlockStage& stage, std::int64_t index) {
    try {
      const Box box = schedule_.pieces.box(index);
      const BlockPiece piece = brought(stage, box);
      stage.with_piece(piece,
                       [&](const BlockPiece& there) { make_piece(task_, there, stage.options()); });
      if (!schedule_.in_order) return write(box, piece);
      in_order_.take(index, [&] { write(box, piece); });
    } catch (...) {
      in_order_.abandon();
      throw;
    }
  }

 private:
  // Its parts are in the stage, or where they lie.
  BlockPiece brought(const BlockStage& stage, const Box& box) const {
    BlockPiece piece = block_piece(task_, box, stage.in(), stage.out());
    for (std::size_t i = 0; i < piece.from.size(); ++i) {
      const Problem& problem = task_.from[i].problem;
      const Box part = task_.from[i].part(box, task_.axis);
      ConstView& view = piece.from[i];
      if (stage.in() != nullptr) {
        std::byte* place = stage.in() + (static_cast<const std::byte*>(view.data) - stage.in());
        read_box(problem, sources_[i], part, place, progress_);
      } else {
        view.data = sources_[i].memory + offset_of(problem, part, Side::source);
        view.strides = source_strides(problem);
      }
    }
    return piece;
  }

  void write(const Box& box, const BlockPiece& piece) {
    for (std::size_t i = 0; i < piece.to.size(); ++i) {
      const BlockOperand& operand = task_.to[i];
      const Box part = operand.part(box, task_.axis);
      const auto* data = static_cast<const std::byte*>(piece.to[i].data);
      if (schedule_.in_order) {
        sinks_[i].file->write(data, operand.bytes(part));
        progress_.wrote(operand.bytes(part));
      } else {
        write_converted_box(operand.problem, sinks_[i], part, data, {}, progress_);
      }
    }
  }

  const BlockTask& task_;
  const BlockSchedule& schedule_;
  const std::vector<Source>& sources_;
  const std::vector<Sink>& sinks_;
  Progress& progress_;
  InOrder in_order_;
};

class CpuBlockStage : public BlockStage {
 public:
  CpuBlockStage(std::int64_t bytes_out, const BlockOptions& options)
      : out_(bytes_out), options_(options) {}
  std::byte* in() const override { return nullptr; }
  std::byte* out() const override { return out_.data(); }
  void with_piece(const BlockPiece& piece,
                  const std::function<void(const BlockPiece&)>& work) const override {
    work(piece);
  }
  BlockOptions options() const override { return options_; }

 private:
  Buffer out_;
  BlockOptions options_;
};

}  // namespace

Box BlockOperand::part(const Box& piece, int axis) const {
  Box part = piece;
  const auto a = static_cast<std::size_t>(axis);
  part.start[a] *= per_block;
  part.extent[a] =
      std::min(piece.extent[a] * per_block, problem.modes[axis].extent - part.start[a]);
  return part;
}

std::int64_t BlockTask::result_bytes() const {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : to) bytes += operand.problem.bytes();
  return bytes;
}

BlockTask task_to_blocks(ElementType stored, ElementType values, const Extents& shape,
                         const FileOrder& file) {
  BlockTask task;
  task.stored = stored;
  task.axis = static_cast<int>(shape.size()) - 1;
  const auto along = static_cast<std::size_t>(file.order.back());
  Extents blocks = shape;
  blocks[along] = ceil_div(shape[along], std::int64_t{block_values});
  task.blocks = file_problem(blocks, 1, file.fortran_order, file.order);
  task.from = {source_operand(values, shape, file, block_values)};

  const Extents permuted_blocks = permuted(blocks, file.order);
  const std::int64_t per_block = stored_per_block(stored);
  task.to = {result_operand(stored, scaled(permuted_blocks, permuted_blocks.size() - 1, per_block),
                            per_block)};
  if (task.is_mxfp8()) task.to.push_back(result_operand(ElementType(Kind::u8), permuted_blocks, 1));
  return task;
}

BlockTask task_from_blocks(ElementType stored, ElementType values, const Extents& blocks,
                           const FileOrder& file, bool scales_fortran_order) {
  BlockTask task;
  task.stored = stored;
  task.back = true;
  const std::size_t along = blocks.size() - 1;
  const auto axis = std::find(file.order.begin(), file.order.end(), static_cast<int>(along));
  task.axis = static_cast<int>(axis - file.order.begin());
  task.blocks = file_problem(blocks, 1, file.fortran_order, file.order);

  const std::int64_t per_block = stored_per_block(stored);
  task.from = {source_operand(stored, scaled(blocks, along, per_block), file, per_block)};
  if (task.is_mxfp8()) {
    const FileOrder scales{scales_fortran_order, file.order};
    task.from.push_back(source_operand(ElementType(Kind::u8), blocks, scales, 1));
  }
  const Extents permuted_blocks = permuted(blocks, file.order);
  const auto to = static_cast<std::size_t>(task.axis);
  task.to = {result_operand(values, scaled(permuted_blocks, to, block_values), block_values)};
  return task;
}

Grid block_pieces(const BlockTask& task, std::int64_t most, bool in_order) {
  if (!in_order) {
    return balanced_grid(task.blocks, most, run_goal(task, Side::source),
                         run_goal(task, Side::destination));
  }
  std::int64_t side_by_side = 1;
  for (int m = task.axis + 1; m < task.blocks.rank(); ++m) {
    side_by_side *= task.blocks.modes[m].extent;
  }
  return contiguous_grid(task.blocks, std::max(most, side_by_side), Side::destination);
}

BlockSchedule make_block_schedule(const BlockTask& task, int threads) {
  BlockSchedule schedule;
  schedule.threads = threads;
  schedule.pieces = block_pieces(task, mapped_piece / block_bytes(task.to), true);
  return schedule;
}

BlockSchedule make_staged_block_schedule(const BlockTask& task, int stages, std::int64_t memory,
                                         bool in_order) {
  require_memory(memory);
  BlockSchedule schedule;
  schedule.route = Route::one_pass;
  schedule.in_order = in_order;
  schedule.threads = stages;
  const std::int64_t budget = (memory - program_memory) / stages;
  const std::int64_t most = budget / (block_bytes(task.from) + block_bytes(task.to));
  schedule.pieces = block_pieces(task, most, in_order);
  return schedule;
}

ScheduleSummary summary_of(const BlockTask& task, const BlockSchedule& schedule) {
  const Box first = schedule.pieces.box(0);
  const BlockOperand& from = task.from[0];
  const BlockOperand& to = task.to[0];
  const Box from_part = from.part(first, task.axis);
  ScheduleSummary summary;
  summary.route = schedule.route;
  summary.threads = schedule.threads;
  summary.boxes = schedule.pieces.size();
  summary.box_bytes = from.bytes(from_part);
  summary.read_run = run_bytes(from.problem, from_part.extent, Side::source);
  summary.write_run = run_bytes(to.problem, to.part(first, task.axis).extent, Side::destination);
  const std::int64_t out = part_bytes(task, task.to, first);
  summary.buffer_bytes = schedule.route == Route::mapped
                             ? out
                             : schedule.threads * (part_bytes(task, task.from, first) + out);
  for (const BlockOperand& operand : task.from) summary.bytes_read += operand.problem.bytes();
  summary.bytes_written = task.result_bytes();
  return summary;
}

BlockPiece block_piece(const BlockTask& task, const Box& piece, const std::byte* in,
                       std::byte* out) {
  BlockPiece made;
  for (const BlockOperand& operand : task.from) {
    const Box part = operand.part(piece, task.axis);
    made.bytes_in = aligned(made.bytes_in);
    made.from.emplace_back(in == nullptr ? nullptr : in + made.bytes_in, operand.type, part.extent,
                           packed_like(operand.problem, part.extent, Side::source));
    made.bytes_in += operand.bytes(part);
  }
  for (const BlockOperand& operand : task.to) {
    const Box part = operand.part(piece, task.axis);
    made.bytes_out = aligned(made.bytes_out);
    made.to.emplace_back(out == nullptr ? nullptr : out + made.bytes_out, operand.type,
                         part.extent);
    made.bytes_out += operand.bytes(part);
  }
  return made;
}

Box whole_piece(const BlockTask& task) {
  Box whole;
  for (const Mode& mode : task.blocks.modes) {
    whole.start.push_back(0);
    whole.extent.push_back(mode.extent);
  }
  return whole;
}

void make_piece(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options) {
  const std::vector<ConstView>& from = piece.from;
  const std::vector<View>& to = piece.to;
  BlockOptions some = options;
  with_kernel(options.kernel, [&](const std::string& kernel) {
    some.kernel = kernel;
    if (task.back) {
      task.is_mxfp8() ? dequantise_mxfp8(to[0], from[0], from[1], task.axis, some)
                      : dequantise_q8_0(to[0], from[0], task.axis, some);
    } else {
      task.is_mxfp8() ? quantise_mxfp8(to[0], to[1], from[0], task.axis, some)
                      : quantise_q8_0(to[0], from[0], task.axis, some);
    }
  });
}

Plan piece_plan(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options) {
  const std::vector<ConstView>& from = piece.from;
  const std::vector<View>& to = piece.to;
  if (task.back) {
    return task.is_mxfp8() ? plan_dequantise_mxfp8(to[0], from[0], from[1], task.axis, options)
                           : plan_dequantise_q8_0(to[0], from[0], task.axis, options);
  }
  return task.is_mxfp8() ? plan_quantise_mxfp8(to[0], to[1], from[0], task.axis, options)
                         : plan_quantise_q8_0(to[0], from[0], task.axis, options);
}

Plan block_plan(const BlockTask& task, const BlockSchedule& schedule, const BlockOptions& options) {
  BlockPiece first = block_piece(task, schedule.pieces.box(0), nullptr, nullptr);
  if (schedule.route == Route::mapped) {
    for (std::size_t i = 0; i < first.from.size(); ++i) {
      first.from[i].strides = source_strides(task.from[i].problem);
    }
  }
  BlockOptions estimating = options;
  estimating.effort = Effort::estimate;
  return piece_plan(task, first, estimating);
}

void rearrange_blocks(const BlockTask& task, const BlockSchedule& schedule,
                      const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                      const std::vector<std::unique_ptr<BlockStage>>& stages, Progress& progress,
                      bool measure) {
  BlockRearrangement work(task, schedule, sources, sinks, progress);
  if (measure) work.measure(*stages[0]);
  run_workers(static_cast<int>(stages.size()), schedule.pieces.size(),
              [&](int worker, std::int64_t index) {
                work.move(*stages[static_cast<std::size_t>(worker)], index);
              });
}

void rearrange_blocks_on_cpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress) {
  const std::int64_t bytes = part_bytes(task, task.to, schedule.pieces.box(0));
  BlockOptions estimating = options;
  estimating.effort = Effort::estimate;
  std::vector<std::unique_ptr<BlockStage>> stages;
  stages.push_back(std::make_unique<CpuBlockStage>(bytes, estimating));
  rearrange_blocks(task, schedule, sources, sinks, stages, progress,
                   options.effort == Effort::measure);
}

}  // namespace cornerturn::io
