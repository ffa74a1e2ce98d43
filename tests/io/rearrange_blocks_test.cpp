// Blocks made in pieces, and taken apart in pieces, against one call for the whole array.
#include "io/rearrange_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "io/rearrange_blocks_gpu.hpp"
#include "io/rearrange_gpu.hpp"
#include "support/draws.hpp"

namespace cornerturn::io {
namespace {

using Memory = std::vector<std::byte>;

constexpr std::int64_t start_of_file = 37;  // arrays start anywhere in their files

std::size_t size_of(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> choices) {
  return choices.begin()[random() % choices.size()];
}

BlockFormat random_format(std::mt19937& random) {
  return block_rows[random() % std::size(block_rows)].format;
}

ElementType random_values(std::mt19937& random) {
  return ElementType(one_of(random, {Kind::f32, Kind::bf16, Kind::f64, Kind::i16}));
}

std::vector<int> random_order(std::mt19937& random, std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

Extents random_shape(std::mt19937& random, BlockFormat format, std::int64_t most) {
  Extents shape;
  std::int64_t elements = 1;
  const unsigned least = row_of(format).across > 1 ? 2 : 1;
  for (auto rank = least + random() % (5 - least); rank > 0; --rank) {
    const auto room = std::clamp<std::int64_t>(most / elements, 1, 100);
    shape.push_back(1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(room)));
    elements *= shape.back();
  }
  return shape;
}

BlockTask random_task_to_blocks(std::mt19937& random) {
  const BlockFormat format = random_format(random);
  const Extents shape = random_shape(random, format, 8000);
  const FileOrder file{random() % 2 == 0, random_order(random, shape.size())};
  return task_to_blocks(format, random_values(random), shape, file);
}

BlockTask random_task_from_blocks(std::mt19937& random) {
  const BlockFormat format = random_format(random);
  const std::int64_t of_block = row_of(format).along * row_of(format).across;
  const Extents blocks = random_shape(random, format, std::max<std::int64_t>(3, 9600 / of_block));
  const FileOrder file{random() % 2 == 0, random_order(random, blocks.size())};
  return task_from_blocks(format, random_values(random), blocks, file, random() % 2 == 0);
}

// The array of an operand as it lies in its file.
template <class Data>
ConstView whole(const BlockOperand& operand, Data* data) {
  Extents shape, strides;
  for (const Mode& mode : operand.problem.modes) {
    shape.push_back(mode.extent);
    strides.push_back(mode.src_stride);
  }
  return {data, operand.type, shape, strides};
}

std::vector<Memory> random_sources(std::mt19937& random, const BlockTask& task) {
  std::vector<Memory> sources;
  for (const BlockOperand& operand : task.from) {
    Memory& bytes = sources.emplace_back(size_of(operand.problem.bytes()));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }
  return sources;
}

std::vector<Memory> empty_results(const BlockTask& task) {
  std::vector<Memory> results;
  for (const BlockOperand& operand : task.to) {
    results.emplace_back(size_of(operand.problem.bytes()));
  }
  return results;
}

BlockOptions padding() {
  BlockOptions options;
  options.pad = true;
  options.threads = 1;
  return options;
}

std::vector<Memory> made_at_once(const BlockTask& task, const std::vector<Memory>& sources) {
  std::vector<Memory> results = empty_results(task);
  BlockPiece all;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    all.from.push_back(whole(task.from[i], sources[i].data()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ConstView shaped = whole(task.to[i], results[i].data());
    all.to.emplace_back(results[i].data(), shaped.type, shaped.shape);
  }
  make_piece(task, all, padding());
  return results;
}

// Does what a GPU does with a piece.
class HostStage : public BlockStage {
 public:
  HostStage(std::int64_t bytes_in, std::int64_t bytes_out) : in_(bytes_in), out_(bytes_out) {}
  std::byte* in() const override { return in_.data(); }
  std::byte* out() const override { return out_.data(); }

  void with_piece(const BlockPiece& piece,
                  const std::function<void(const BlockPiece&)>& work) const override {
    EXPECT_LE(piece.bytes_in, in_.size());
    EXPECT_LE(piece.bytes_out, out_.size());
    work(piece);
  }
  BlockOptions options() const override { return padding(); }

 private:
  Buffer in_;
  Buffer out_;
};

std::vector<std::unique_ptr<BlockStage>> host_stages(const BlockTask& task,
                                                     const BlockSchedule& schedule) {
  const BlockPiece largest = block_piece(task, schedule.pieces.box(0), nullptr, nullptr);
  std::vector<std::unique_ptr<BlockStage>> stages;
  for (int i = 0; i < schedule.threads; ++i) {
    stages.push_back(std::make_unique<HostStage>(largest.bytes_in, largest.bytes_out));
  }
  return stages;
}

struct Files {
  std::vector<Source> sources;
  std::vector<Sink> sinks;
  Progress progress;
};

// What rearrange(files) writes to files.
std::vector<Memory> made_in_files(const BlockTask& task, bool in_order,
                                  const std::vector<Memory>& arrays, bool in_memory,
                                  const std::function<void(Files&)>& rearrange) {
  std::vector<File> inputs, outputs;
  Files files;
  inputs.reserve(arrays.size());
  outputs.reserve(task.to.size());
  for (const Memory& array : arrays) {
    inputs.push_back(files::temporary_file(::testing::TempDir(), 0));
    inputs.back().write_at(array.data(), static_cast<std::int64_t>(array.size()), start_of_file);
    files.sources.push_back(in_memory ? Source{array.data(), nullptr, 0}
                                      : Source{nullptr, &inputs.back(), start_of_file});
  }
  for (std::size_t i = 0; i < task.to.size(); ++i) {
    outputs.push_back(files::temporary_file(::testing::TempDir(), 0));
    files.sinks.push_back({&outputs.back(), in_order ? 0 : start_of_file});
  }
  rearrange(files);
  EXPECT_EQ(files.progress.bytes_written, task.result_bytes());
  std::vector<Memory> results = empty_results(task);
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs[i].read_at(results[i].data(), static_cast<std::int64_t>(results[i].size()),
                       files.sinks[i].offset);
  }
  return results;
}

void expect_pieces_make(std::mt19937& random, const BlockTask& task,
                        const std::vector<Memory>& sources, const std::vector<Memory>& expected) {
  for (const bool in_order : {false, true}) {
    BlockSchedule schedule = make_staged_block_schedule(task, 3, least_memory, in_order);
    schedule.pieces = block_pieces(task, 1 + random() % 40, in_order);
    const auto stages = host_stages(task, schedule);
    const bool in_memory = random() % 2 == 0;
    const bool measure = random() % 8 == 0;
    const auto staged = [&](Files& files) {
      rearrange_blocks(task, schedule, files.sources, files.sinks, stages, files.progress, measure);
    };
    EXPECT_EQ(made_in_files(task, in_order, sources, in_memory, staged), expected)
        << to_string(summary_of(task, schedule)) << ", " << to_string(task.blocks);
  }
  BlockSchedule mapped = make_block_schedule(task, 1);
  mapped.pieces = block_pieces(task, 1 + random() % 40, true);
  const auto on_cpu = [&](Files& files) {
    rearrange_blocks_on_cpu(task, mapped, files.sources, files.sinks, padding(), files.progress);
  };
  EXPECT_EQ(made_in_files(task, true, sources, true, on_cpu), expected)
      << to_string(summary_of(task, mapped)) << ", " << to_string(task.blocks);
}

TEST(RearrangeBlocks, PiecesMakeTheBlocksOfTheWhole) {
  std::mt19937 random(21);
  for (int i = 0; i < ::cornerturn::test::draws(200); ++i) {
    const BlockTask task = random_task_to_blocks(random);
    const std::vector<Memory> sources = random_sources(random, task);
    expect_pieces_make(random, task, sources, made_at_once(task, sources));
  }
}

TEST(RearrangeBlocks, PiecesMakeTheValuesOfTheWhole) {
  std::mt19937 random(22);
  for (int i = 0; i < ::cornerturn::test::draws(200); ++i) {
    const BlockTask task = random_task_from_blocks(random);
    const std::vector<Memory> sources = random_sources(random, task);
    expect_pieces_make(random, task, sources, made_at_once(task, sources));
  }
}

TEST(RearrangeBlocks, PiecesStayWithinTheMemory) {
  const std::int64_t mib = 1 << 20;
  const ElementType f32(Kind::f32);
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3}) {
    for (const BlockTask& task :
         {task_to_blocks(format, f32, {100'000, 30'000}, {false, {1, 0}}),
          task_to_blocks(format, f32, {1, 3, 1'000'000'000}, {false, {0, 1, 2}}),
          task_from_blocks(format, f32, {30'000, 3'000}, {false, {0, 1}}, false),
          task_from_blocks(format, f32, {10'000, 3'000}, {false, {1, 0}}, false)}) {
      for (const std::int64_t memory : {least_memory, 100 * mib, 1000 * mib}) {
        for (const bool in_order : {false, true}) {
          const BlockSchedule schedule = make_gpu_block_schedule(task, memory, in_order);
          const ScheduleSummary summary = summary_of(task, schedule);
          EXPECT_EQ(summary.threads, gpu_lanes);
          EXPECT_LE(summary.buffer_bytes, memory) << to_string(summary);
          EXPECT_EQ(summary.bytes_written, task.result_bytes());
          EXPECT_GE(summary.buffer_bytes, memory / 8) << to_string(summary);
        }
      }
      const ScheduleSummary usual = summary_of(task, make_gpu_block_schedule(task, 0, false));
      EXPECT_LE(usual.buffer_bytes, usual_gpu_memory);
    }
  }
  const BlockTask task = task_to_blocks(BlockFormat::q8_0, f32, {64}, {false, {0}});
  EXPECT_THROW(make_gpu_block_schedule(task, mib, false), Error);
}

TEST(RearrangeBlocks, RunsAreLongOnBothSides) {
  const BlockTask turned =
      task_to_blocks(BlockFormat::q8_0, ElementType(Kind::f32), {1 << 20, 64}, {false, {1, 0}});
  const ScheduleSummary summary = summary_of(turned, make_gpu_block_schedule(turned, 0, false));
  EXPECT_GE(summary.read_run, 64);
  EXPECT_GE(summary.write_run, 64);
}

TEST(RearrangeBlocks, TheKernelIsThatOfAWholePiece) {
  const auto kernel = [](const BlockTask& task) {
    BlockOptions options = padding();
    options.device = "h200";
    return block_plan(task, make_gpu_block_schedule(task, 0, false), options).kernel();
  };
  const BlockFormat q8 = BlockFormat::q8_0;
  const BlockFormat e4m3 = BlockFormat::mxfp8_e4m3;
  const ElementType f32(Kind::f32);
  EXPECT_EQ(kernel(task_to_blocks(q8, f32, {4096, 4096}, {false, {1, 0}})), "quantise");
  EXPECT_EQ(kernel(task_to_blocks(e4m3, f32, {4096, 4096}, {false, {0, 1}})), "quantise");
  EXPECT_EQ(kernel(task_to_blocks(q8, f32, {255, 512}, {false, {1, 0}})), "blocks");
  EXPECT_EQ(kernel(task_to_blocks(q8, ElementType(Kind::f64), {256, 512}, {false, {1, 0}})),
            "blocks");
  EXPECT_EQ(kernel(task_from_blocks(e4m3, f32, {256, 8}, {false, {1, 0}}, false)), "dequantise");
  EXPECT_EQ(
      kernel(task_from_blocks(e4m3, ElementType(Kind::f64), {256, 8}, {false, {1, 0}}, false)),
      "blocks");
}

TEST(RearrangeBlocks, AKernelThatIsUnknownIsRefused) {
  const BlockTask task =
      task_to_blocks(BlockFormat::mxfp8_e5m2, ElementType(Kind::f32), {64}, {false, {0}});
  BlockOptions options = padding();
  options.kernel = "nothing";
  EXPECT_THROW(block_plan(task, make_block_schedule(task, 1), options), Error);
}

// Arrays in memory, and results in files: what verify_blocks() reads.
class Verified {
 public:
  Verified(const BlockTask& task, const std::vector<Memory>& sources,
           const std::vector<Memory>& results)
      : task_(task) {
    for (const Memory& source : sources) sources_.push_back({source.data(), nullptr, 0});
    files_.reserve(results.size());
    for (const Memory& result : results) {
      files_.push_back(files::temporary_file(::testing::TempDir(), 0));
      files_.back().write_at(result.data(), static_cast<std::int64_t>(result.size()),
                             start_of_file);
      results_.push_back({nullptr, &files_.back(), start_of_file});
    }
  }

  // Changes a byte of a result.
  void spoil(std::size_t result, std::int64_t place) const {
    std::byte byte{};
    files_[result].read_at(&byte, 1, start_of_file + place);
    byte ^= std::byte{1};
    files_[result].write_at(&byte, 1, start_of_file + place);
  }

  // What the check finds; nothing when all is right.
  std::string difference(int threads) const {
    BlockOptions options = padding();
    options.threads = threads;
    Progress progress;
    try {
      verify_blocks(task_, sources_, results_, options, least_memory, progress);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::internal);
      return error.what();
    }
    EXPECT_EQ(progress.bytes_compared, task_.result_bytes());
    return "";
  }

 private:
  const BlockTask& task_;
  std::vector<File> files_;
  std::vector<Source> sources_, results_;
};

// "block at index (2, 0)": what has the byte at `place`.
std::string place_text(const BlockTask& task, std::size_t result, std::int64_t place) {
  const BlockOperand& operand = task.to[result];
  std::string index;
  std::int64_t element = place / operand.type.size();
  for (int m = operand.problem.rank(); m-- > 0; element /= operand.problem.modes[m].extent) {
    const std::string step = std::to_string(element % operand.problem.modes[m].extent);
    index = index.empty() ? step : step + ", " + index;
  }
  const bool whole = operand.type.kind() == Kind::bytes;
  return std::string(result == 1 ? "scale"
                     : whole     ? "block"
                                 : "value") +
         " at index (" + index + ")";
}

void expect_verified(std::mt19937& random, const BlockTask& task) {
  const std::vector<Memory> sources = random_sources(random, task);
  const std::vector<Memory> results = made_at_once(task, sources);
  const Verified verified(task, sources, results);
  EXPECT_EQ(verified.difference(1 + static_cast<int>(random() % 2)), "") << to_string(task.blocks);
  const std::size_t spoilt = random() % results.size();
  const auto place = static_cast<std::int64_t>(random() % results[spoilt].size());
  verified.spoil(spoilt, place);
  EXPECT_NE(verified.difference(1).find("wrong " + place_text(task, spoilt, place)),
            std::string::npos)
      << verified.difference(1) << ": " << place_text(task, spoilt, place) << " in "
      << to_string(task.blocks);
}

TEST(RearrangeBlocks, VerifyFindsEveryChangedByte) {
  std::mt19937 random(23);
  for (int i = 0; i < ::cornerturn::test::draws(200); ++i) {
    expect_verified(random, random_task_to_blocks(random));
    expect_verified(random, random_task_from_blocks(random));
  }
}

TEST(RearrangeBlocks, VerifyWorksInPieces) {
  std::mt19937 random(24);
  const ElementType f32(Kind::f32);
  const BlockFormat q8 = BlockFormat::q8_0;
  const BlockTask task = task_to_blocks(q8, f32, {1 << 13, 3001}, {false, {1, 0}});
  const std::vector<Memory> sources = random_sources(random, task);
  const Verified verified(task, sources, made_at_once(task, sources));
  EXPECT_EQ(verified.difference(2), "");
  const std::int64_t place = task.result_bytes() - 1;
  verified.spoil(0, place);
  EXPECT_NE(verified.difference(2).find("wrong " + place_text(task, 0, place)), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::io
