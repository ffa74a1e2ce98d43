// Values in a file that become blocks in files, and blocks that become values: in pieces. Scales
// that have an array of their own lie there without gaps, in rows or in columns.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/block_format.hpp"
#include "cornerturn/blocks.hpp"
#include "io/rearrange.hpp"

namespace cornerturn::io {

/// One of the arrays that take part.
struct BlockOperand {
  ElementType type;
  Problem problem;    ///< how its file and the result are ordered; modes of the result
  Extents per_block;  ///< steps along each of the modes that one block takes

  /// What belongs to a piece that is counted in blocks.
  Box part(const Box& piece) const;
  std::int64_t bytes(const Box& part) const { return part.elements() * type.size(); }
};

struct BlockTask {
  BlockFormat format = BlockFormat::q8_0;
  bool back = false;  ///< from blocks to values
  /// Modes of the result, in the order in which blocks are stored: the last one is their axis, and
  /// their lines follow the one before it.
  std::vector<int> stored_order;
  Problem blocks;                  ///< the order of the blocks on both sides; one is one byte here
  std::vector<BlockOperand> from;  ///< the values; or the blocks, and their scales
  std::vector<BlockOperand> to;

  const BlockRow& row() const { return row_of(format); }
  std::int64_t result_bytes() const;
};

/// An array as a file holds it. Axis i of the result is axis order[i] of the file.
struct FileOrder {
  bool fortran_order = false;
  std::vector<int> order;
};

/// The type of scales in a file: f32, or u8 for codes of a byte.
ElementType scales_type(const BlockRow& row);

/// `values`, of real values, of `shape` in the file: blocks along the last axis of the result.
BlockTask task_to_blocks(BlockFormat format, ElementType values, const Extents& shape,
                         const FileOrder& file);
/// `blocks` is the shape in the file counted in blocks, which lie along its last axis.
BlockTask task_from_blocks(BlockFormat format, ElementType values, const Extents& blocks,
                           const FileOrder& file, bool scales_fortran_order);

struct BlockSchedule {
  Route route = Route::mapped;
  bool in_order = true;
  int threads = 1;
  Grid pieces;  ///< of BlockTask::blocks
};

/// Pieces of at most `most` blocks. With `in_order` they are contiguous in the result, and one has
/// at least all blocks that lie side by side there.
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

/// All of the array, as one piece.
Box whole_piece(const BlockTask& task);

/// Quantises or dequantises the piece, wherever it lies. A forced kernel that refuses it, as it may
/// a sliver at the edge, leaves it to another.
void make_piece(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options);

/// The plan of make_piece(). Throws Error when options.kernel is unknown or refuses the piece. The
/// piece needs memory only where candidates are timed.
Plan piece_plan(const BlockTask& task, const BlockPiece& piece, const BlockOptions& options);

/// The plan of the first piece, which is a whole one. Nothing is timed.
Plan block_plan(const BlockTask& task, const BlockSchedule& schedule, const BlockOptions& options);

class BlockStage {
 public:
  virtual ~BlockStage() = default;
  /// Null where parts are worked on in the memory of the source.
  virtual std::byte* in() const = 0;
  virtual std::byte* out() const = 0;
  /// Calls work(the piece where it is made): what the stage moves there is there before, and what
  /// becomes of it is in out() after.
  virtual void with_piece(const BlockPiece& piece,
                          const std::function<void(const BlockPiece& there)>& work) const = 0;
  virtual BlockOptions options() const = 0;
};

/// One thread a stage. in() and out() have room for what block_piece() says of the first piece.
/// `sources` belong to task.from, `sinks` to task.to. With `measure` the candidates of the first
/// piece are timed before the work begins; the winner makes all pieces of that shape.
void rearrange_blocks(const BlockTask& task, const BlockSchedule& schedule,
                      const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                      const std::vector<std::unique_ptr<BlockStage>>& stages, Progress& progress,
                      bool measure = false);

/// Rearranges on the CPU, timed where options.effort asks for it; sources lie in memory.
void rearrange_blocks_on_cpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress);

/// Compares all that was written with blocks, or values, that plain loops make of the sources, in
/// pieces. `results` belong to task.to; their files are named in errors, also where they lie in
/// memory. `memory` bounds the buffers; 0 means little. Throws Error that names the first
/// difference found.
void verify_blocks(const BlockTask& task, const std::vector<Source>& sources,
                   const std::vector<Source>& results, const BlockOptions& options,
                   std::int64_t memory, Progress& progress);

}  // namespace cornerturn::io
