#include "io/rearrange_blocks.hpp"

#include <algorithm>
#include <numeric>

#include "core/blocks.hpp"
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

Extents scaled(Extents shape, const Extents& factors) {
  for (std::size_t m = 0; m < shape.size(); ++m) shape[m] *= factors[m];
  return shape;
}

// An array of `shape` in a file, of which a block takes so many steps along each of its axes.
BlockOperand source_operand(ElementType type, const Extents& shape, const FileOrder& file,
                            const Extents& per_block) {
  return {type, file_problem(shape, type.size(), file.fortran_order, file.order),
          permuted(per_block, file.order)};
}

BlockOperand result_operand(ElementType type, const Extents& shape, const Extents& per_block) {
  FileOrder as_it_is;
  as_it_is.order.resize(shape.size());
  std::iota(as_it_is.order.begin(), as_it_is.order.end(), 0);
  return source_operand(type, shape, as_it_is, per_block);
}

// What a block takes along each axis of an array that stores blocks along its last axis: in values,
// in elements of the array of values, and in scales.
struct PerBlock {
  Extents values, stored, scales;

  PerBlock(const BlockRow& row, std::size_t rank)
      : values(rank, 1), stored(rank, 1), scales(rank, 1) {
    values.back() = row.along;
    stored.back() = row.along / row.values_per_unit();
    if (row.across > 1) values[rank - 2] = stored[rank - 2] = row.across;
  }
};

std::int64_t product_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t block_bytes(const std::vector<BlockOperand>& operands) {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : operands) {
    bytes += product_of(operand.per_block) * operand.type.size();
  }
  return bytes;
}

std::int64_t part_bytes(const std::vector<BlockOperand>& operands, const Box& piece) {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : operands) {
    bytes = aligned(bytes) + operand.bytes(operand.part(piece));
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
  const BlockOperand& values = task.back ? task.to[0] : task.from[0];
  for (const int m : fastest_first(task.blocks, side)) {
    if (task.blocks.modes[m].extent == 1) continue;
    return std::max(std::int64_t{1}, block_values / values.per_block[static_cast<std::size_t>(m)]);
  }
  return 1;
}

// The views of a piece in the order in which blocks are stored, along the last axis.
struct StoredPiece {
  std::vector<ConstView> from;
  std::vector<View> to;
  int axis;

  StoredPiece(const BlockTask& task, const BlockPiece& piece)
      : axis(static_cast<int>(task.stored_order.size()) - 1) {
    for (const ConstView& view : piece.from) from.push_back(view.permuted(task.stored_order));
    for (const View& view : piece.to) to.push_back(view.permuted(task.stored_order));
  }
  const ConstView* scales_in() const { return from.size() > 1 ? &from[1] : nullptr; }
  const View* scales_out() const { return to.size() > 1 ? &to[1] : nullptr; }
};

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
      const Box part = task_.from[i].part(box);
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
      const Box part = operand.part(box);
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

Box BlockOperand::part(const Box& piece) const {
  Box part = piece;
  for (int m = 0; m < problem.rank(); ++m) {
    const auto at = static_cast<std::size_t>(m);
    part.start[at] *= per_block[at];
    part.extent[at] =
        std::min(piece.extent[at] * per_block[at], problem.modes[m].extent - part.start[at]);
  }
  return part;
}

std::int64_t BlockTask::result_bytes() const {
  std::int64_t bytes = 0;
  for (const BlockOperand& operand : to) bytes += operand.problem.bytes();
  return bytes;
}

ElementType scales_type(const BlockRow& row) {
  return ElementType(row.scale == ScaleType::f32 ? Kind::f32 : Kind::u8);
}

BlockTask task_to_blocks(BlockFormat format, ElementType values, const Extents& shape,
                         const FileOrder& file) {
  BlockTask task;
  task.format = format;
  const BlockRow& row = task.row();
  task.stored_order.resize(shape.size());
  std::iota(task.stored_order.begin(), task.stored_order.end(), 0);
  const PerBlock per_block(row, shape.size());
  const Extents result = permuted(shape, file.order);
  Extents blocks(result.size()), of_values(result.size()), in_file(result.size());
  for (std::size_t m = 0; m < result.size(); ++m) {
    const auto axis = static_cast<std::size_t>(file.order[m]);
    blocks[m] = in_file[axis] = ceil_div(result[m], per_block.values[m]);
    of_values[axis] = per_block.values[m];
  }
  task.blocks = file_problem(in_file, 1, file.fortran_order, file.order);
  task.from = {source_operand(values, shape, file, of_values)};
  task.to = {
      result_operand(type_of_blocks(format), scaled(blocks, per_block.stored), per_block.stored)};
  if (row.has_scales()) {
    task.to.push_back(result_operand(scales_type(row), blocks, per_block.scales));
  }
  return task;
}

BlockTask task_from_blocks(BlockFormat format, ElementType values, const Extents& blocks,
                           const FileOrder& file, bool scales_fortran_order) {
  BlockTask task;
  task.format = format;
  task.back = true;
  const BlockRow& row = task.row();
  task.stored_order.resize(blocks.size());
  for (std::size_t m = 0; m < blocks.size(); ++m) {
    task.stored_order[static_cast<std::size_t>(file.order[m])] = static_cast<int>(m);
  }
  task.blocks = file_problem(blocks, 1, file.fortran_order, file.order);
  const PerBlock per_block(row, blocks.size());
  task.from = {source_operand(type_of_blocks(format), scaled(blocks, per_block.stored), file,
                              per_block.stored)};
  if (row.has_scales()) {
    const FileOrder scales{scales_fortran_order, file.order};
    task.from.push_back(source_operand(scales_type(row), blocks, scales, per_block.scales));
  }
  const Extents of_values = permuted(per_block.values, file.order);
  task.to = {result_operand(values, scaled(permuted(blocks, file.order), of_values), of_values)};
  return task;
}

Grid block_pieces(const BlockTask& task, std::int64_t most, bool in_order) {
  if (!in_order) {
    return balanced_grid(task.blocks, most, run_goal(task, Side::source),
                         run_goal(task, Side::destination));
  }
  // Behind the first mode of which a block takes several steps, there are whole ones.
  const Extents& steps = task.to[0].per_block;
  const auto first = std::find_if(steps.begin(), steps.end(), [](auto n) { return n > 1; });
  std::int64_t side_by_side = 1;
  for (auto m = static_cast<int>(first - steps.begin()) + 1; m < task.blocks.rank(); ++m) {
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
  const Box from_part = from.part(first);
  ScheduleSummary summary;
  summary.route = schedule.route;
  summary.threads = schedule.threads;
  summary.boxes = schedule.pieces.size();
  summary.box_bytes = from.bytes(from_part);
  summary.read_run = run_bytes(from.problem, from_part.extent, Side::source);
  summary.write_run = run_bytes(to.problem, to.part(first).extent, Side::destination);
  const std::int64_t out = part_bytes(task.to, first);
  summary.buffer_bytes = schedule.route == Route::mapped
                             ? out
                             : schedule.threads * (part_bytes(task.from, first) + out);
  for (const BlockOperand& operand : task.from) summary.bytes_read += operand.problem.bytes();
  summary.bytes_written = task.result_bytes();
  return summary;
}

BlockPiece block_piece(const BlockTask& task, const Box& piece, const std::byte* in,
                       std::byte* out) {
  BlockPiece made;
  for (const BlockOperand& operand : task.from) {
    const Box part = operand.part(piece);
    made.bytes_in = aligned(made.bytes_in);
    made.from.emplace_back(in == nullptr ? nullptr : in + made.bytes_in, operand.type, part.extent,
                           packed_like(operand.problem, part.extent, Side::source));
    made.bytes_in += operand.bytes(part);
  }
  for (const BlockOperand& operand : task.to) {
    const Box part = operand.part(piece);
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
  const StoredPiece stored(task, piece);
  BlockOptions some = options;
  with_kernel(options.kernel, [&](const std::string& kernel) {
    some.kernel = kernel;
    task.back ? dequantise(task.format, stored.to[0], stored.from[0], stored.scales_in(),
                           stored.axis, some)
              : quantise(task.format, stored.to[0], stored.scales_out(), stored.from[0],
                         stored.axis, some);
  });
}

Plan piece_plan(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options) {
  const StoredPiece stored(task, piece);
  return task.back ? plan_dequantise(task.format, stored.to[0], stored.from[0], stored.scales_in(),
                                     stored.axis, options)
                   : plan_quantise(task.format, stored.to[0], stored.scales_out(), stored.from[0],
                                   stored.axis, options);
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
  const std::int64_t bytes = part_bytes(task.to, schedule.pieces.box(0));
  BlockOptions estimating = options;
  estimating.effort = Effort::estimate;
  std::vector<std::unique_ptr<BlockStage>> stages;
  stages.push_back(std::make_unique<CpuBlockStage>(bytes, estimating));
  rearrange_blocks(task, schedule, sources, sinks, stages, progress,
                   options.effort == Effort::measure);
}

}  // namespace cornerturn::io
