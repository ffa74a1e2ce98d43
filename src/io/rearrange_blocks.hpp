// Values in a file that become blocks of 32 in files, and blocks that become values: in pieces.
#pragma once

#include <memory>
#include <vector>

#include "cornerturn/blocks.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// One of the arrays that take part.
struct BlockOperand {
  ElementType type;
  Problem problem;             ///< how its file and the result are ordered; modes of the result
  std::int64_t per_block = 1;  ///< steps along the axis of the blocks that one block takes

  /// What belongs to a piece that is counted in blocks along `axis`.
  Box part(const Box& piece, int axis) const;
  std::int64_t bytes(const Box& part) const { return part.elements() * type.size(); }
};

struct BlockTask {
  ElementType stored{Kind::f8_e4m3};  ///< b34: q8_0; f8_e4m3, f8_e5m2: MXFP8
  bool back = false;                  ///< from blocks to values
  int axis = 0;                       ///< of the blocks in the result
  Problem blocks;                  ///< the order of the blocks on both sides; one is one byte here
  std::vector<BlockOperand> from;  ///< the values; or the blocks, and of MXFP8 their scales
  std::vector<BlockOperand> to;

  bool is_mxfp8() const { return stored.kind() != Kind::bytes; }
  std::int64_t result_bytes() const;
};

/// An array as a file holds it. Axis i of the result is axis order[i] of the file.
struct FileOrder {
  bool fortran_order = false;
  std::vector<int> order;
};

/// `values`, of real values, of `shape` in the file: blocks along the last axis of the result.
BlockTask task_to_blocks(ElementType stored, ElementType values, const Extents& shape,
                         const FileOrder& file);
/// `blocks` is the shape in the file counted in blocks, which lie along its last axis.
BlockTask task_from_blocks(ElementType stored, ElementType values, const Extents& blocks,
                           const FileOrder& file, bool scales_fortran_order);

struct BlockSchedule {
  Route route = Route::mapped;
  bool in_order = true;
  int threads = 1;
  Grid pieces;  ///< of BlockTask::blocks
};

/// Pieces of at most `most` blocks. With `in_order` they are contiguous in the result, and one has
/// at least a block of each of the lines that lie side by side there.
Grid block_pieces(const BlockTask& task, std::int64_t most, bool in_order);

/// For the CPU, where sources lie in memory: pieces in the order of the result.
BlockSchedule make_block_schedule(const BlockTask& task, int threads);
/// For stages that work at a time and share `memory` bytes. Throws Error as require_memory() does.
BlockSchedule make_staged_block_schedule(const BlockTask& task, int stages, std::int64_t memory,
                                         bool in_order);

ScheduleSummary summary_of(const BlockTask& task, const BlockSchedule& schedule);

/// A piece in a stage: where its parts are read, and where what becomes of them is put, packed.
struct BlockPiece {
  std::vector<ConstView> from;
  std::vector<View> to;
  std::int64_t bytes_in = 0;  ///< from in() and out() on
  std::int64_t bytes_out = 0;
};

/// The parts at places in `in` and `out` that suit any kernel. Without memory only shapes and
/// strides tell something.
BlockPiece block_piece(const BlockTask& task, const Box& piece, const std::byte* in,
                       std::byte* out);

/// Quantises or dequantises the piece, wherever it lies.
void make_piece(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options);

class BlockStage {
 public:
  virtual ~BlockStage() = default;
  /// Null where parts are worked on in the memory of the source.
  virtual std::byte* in() const = 0;
  virtual std::byte* out() const = 0;
  virtual void make(const BlockTask& task, const BlockPiece& piece) const = 0;
};

/// One thread a stage. in() and out() have room for what block_piece() says of the first piece.
/// `sources` belong to task.from, `sinks` to task.to.
void rearrange_blocks(const BlockTask& task, const BlockSchedule& schedule,
                      const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                      const std::vector<std::unique_ptr<BlockStage>>& stages, Progress& progress);

/// The same on the CPU; sources lie in memory.
void rearrange_blocks_on_cpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress);

}  // namespace cornerturn::io
