// blocks: a box after the other is brought into a stage as f32, quantisation blocks one after the
// other; scales and codes are made there. The other way round they are read, and values computed.
#include <algorithm>
#include <cstring>

#include "cpu/engine.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"
#include "plan/cpu/block_boxes.hpp"
#include "plan/cpu/blocks.hpp"
#include "values/blocks.hpp"

namespace cornerturn::cpu {
namespace {

using plan::BlockStage;
using plan::BoxGrid;
using values::block_size;
using values::E4M3;
using values::E5M2;
using values::Q8Block;

std::uint32_t largest_of(const float* x) {
  std::uint32_t amax = 0;
  for (int i = 0; i < block_size; ++i) amax = std::max(amax, values::magnitude_of(x[i]));
  return amax;
}

Q8Block q8_block(const float* x) {
  Q8Block block;
  const values::Q8Scale scale = values::q8_scale(largest_of(x));
  block.scale = scale.stored;
  for (int i = 0; i < block_size; ++i) block.values[i] = values::q8_value(x[i], scale.inverse);
  return block;
}

template <class T>
std::uint8_t mx_block(const float* x, BlockScale rule, T* out) {
  const std::uint8_t code = values::mx_scale<T>(largest_of(x), rule);
  const float inverse = values::mx_inverse(code);
  for (int i = 0; i < block_size; ++i) out[i] = values::mx_value<T>(x[i], inverse);
  return code;
}

// An array of quantisation blocks.
struct BlockArray {
  const BlockLayout& layout;
  std::byte* values;  // not written to when they are dequantised
  std::byte* scales;  // the same; q8_0 has none
};

// Where a box begins in an array that has a place for each index of its modes.
std::int64_t start_of(const BoxGrid::Box& box, const Extents& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) offset += box.first[i] * strides[i];
  return offset;
}

// Calls visit(stripe, offset) for all stripes of a box in the order of its stage. Along `axis` the
// array has a place for each quantisation block, along the other modes one for each index.
template <class Visit>
void for_stripes(const BoxGrid::Box& box, int axis, const Extents& strides, std::int64_t stripes,
                 const Visit& visit) {
  const auto rank = static_cast<int>(strides.size());
  const std::int64_t along = box.first[slot(axis)];
  std::int64_t offset = start_of(box, strides) - (along - along / block_size) * strides[slot(axis)];
  BoxGrid::PerMode index;
  std::fill_n(index.begin(), rank, 0);
  for (std::int64_t stripe = 0; stripe < stripes; ++stripe) {
    visit(stripe, offset);
    for (int i = rank; i-- > 0;) {
      if (i == axis) continue;
      offset += strides[slot(i)];
      if (++index[slot(i)] < box.count[slot(i)]) break;
      index[slot(i)] = 0;
      offset -= box.count[slot(i)] * strides[slot(i)];
    }
  }
}

class Worker {
 public:
  Worker(const plan::BlocksConfig& config, const Problem& normal, const Buffers& buffers)
      : boxes_(*config.boxes),
        normal_(normal),
        blocks_(*normal.blocks),
        grid_(plan::block_grid(boxes_.extent, normal)),
        dst_(static_cast<std::byte*>(buffers.dst)),
        src_(static_cast<const std::byte*>(buffers.src)),
        first_{blocks_.first, blocks_.back ? const_cast<std::byte*>(src_) : dst_,
               static_cast<std::byte*>(buffers.blocks.scales)},
        second_(static_cast<std::byte*>(buffers.blocks.second)),
        second_scales_(static_cast<std::byte*>(buffers.blocks.second_scales)) {
    // The stages of the largest box: of both results, then of codes.
    const std::int64_t first = stage_of(grid_.extent, blocks_.first.axis).elements();
    const std::int64_t second =
        blocks_.second ? stage_of(grid_.extent, blocks_.second->axis).elements() : 0;
    const std::int64_t codes =
        blocks_.rule.format == BlockFormat::q8_0 ? 0 : std::max(first, second);
    const std::int64_t bytes = (first + second) * static_cast<std::int64_t>(sizeof(float)) + codes;
    std::byte* const stages = thread_scratch(Scratch::blocks, static_cast<std::size_t>(bytes));
    numbers_ = reinterpret_cast<float*>(stages);
    transposed_ = numbers_ + first;
    codes_ = reinterpret_cast<std::byte*>(transposed_ + second);
  }

  void run(std::int64_t index) {
    const BoxGrid::Box box = grid_.box(normal_, index);
    blocks_.back ? dequantise(box) : quantise(box);
  }

 private:
  BlockStage stage_of(const BoxGrid::PerMode& count, int axis) const {
    return plan::block_stage(count, grid_.rank, axis);
  }

  void move(const plan::BoxMoves& moves, const BoxGrid::Box& box, void* dst, const void* src) {
    run_move(moves.of_shape[slot(box.shape)], static_cast<std::byte*>(dst),
             static_cast<const std::byte*>(src));
  }

  void quantise(const BoxGrid::Box& box) {
    const BlockStage stage = stage_of(box.count, first_.layout.axis);
    fill_up(stage, numbers_);
    move(boxes_.plain, box, numbers_, src_ + box.src_offset);
    encode(box, first_, stage, numbers_, boxes_.codes);
    if (!blocks_.second) return;
    const BlockArray second{*blocks_.second, second_, second_scales_};
    const BlockStage across = stage_of(box.count, second.layout.axis);
    fill_up(across, transposed_);
    move(boxes_.transposed, box, transposed_, numbers_);
    encode(box, second, across, transposed_, boxes_.second_codes);
  }

  void dequantise(const BoxGrid::Box& box) {
    const BlockStage stage = stage_of(box.count, first_.layout.axis);
    switch (blocks_.rule.format) {
      case BlockFormat::q8_0:
        decode_q8(box, stage);
        break;
      case BlockFormat::mxfp8_e4m3:
        decode_mx<E4M3>(box, stage);
        break;
      default:
        decode_mx<E5M2>(box, stage);
        break;
    }
    move(boxes_.plain, box, dst_ + box.dst_offset, numbers_);
  }

  // The last block of a stripe is filled up with zeros.
  static void fill_up(const BlockStage& stage, float* numbers) {
    if (stage.length == stage.pitch) return;
    for (std::int64_t stripe = 0; stripe < stage.stripes; ++stripe) {
      std::fill(numbers + stripe * stage.pitch + stage.length, numbers + (stripe + 1) * stage.pitch,
                0.0F);
    }
  }

  void encode(const BoxGrid::Box& box, const BlockArray& array, const BlockStage& stage,
              const float* numbers, const plan::BoxMoves& moves) {
    switch (blocks_.rule.format) {
      case BlockFormat::q8_0:
        return encode_q8(box, array, stage, numbers);
      case BlockFormat::mxfp8_e4m3:
        return encode_mx<E4M3>(box, array, stage, numbers, moves);
      default:
        return encode_mx<E5M2>(box, array, stage, numbers, moves);
    }
  }

  static void encode_q8(const BoxGrid::Box& box, const BlockArray& array, const BlockStage& stage,
                        const float* numbers) {
    const Extents& strides = array.layout.value_strides;
    const std::int64_t step = strides[slot(array.layout.axis)];
    for_stripes(box, array.layout.axis, strides, stage.stripes,
                [&](std::int64_t stripe, std::int64_t at) {
                  for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
                    const Q8Block block = q8_block(numbers + stripe * stage.pitch + b * block_size);
                    std::memcpy(array.values + at + b * step, &block, sizeof block);
                  }
                });
  }

  template <class T>
  void encode_mx(const BoxGrid::Box& box, const BlockArray& array, const BlockStage& stage,
                 const float* numbers, const plan::BoxMoves& moves) {
    const Extents& strides = array.layout.scale_strides;
    const std::int64_t step = strides[slot(array.layout.axis)];
    auto* const codes = reinterpret_cast<T*>(codes_);
    for_stripes(box, array.layout.axis, strides, stage.stripes,
                [&](std::int64_t stripe, std::int64_t at) {
                  for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
                    const std::int64_t i = stripe * stage.pitch + b * block_size;
                    const std::uint8_t scale = mx_block(numbers + i, blocks_.rule.scale, codes + i);
                    array.scales[at + b * step] = static_cast<std::byte>(scale);
                  }
                });
    move(moves, box, array.values + start_of(box, array.layout.value_strides), codes_);
  }

  void decode_q8(const BoxGrid::Box& box, const BlockStage& stage) {
    const Extents& strides = first_.layout.value_strides;
    const std::int64_t step = strides[slot(first_.layout.axis)];
    for_stripes(box, first_.layout.axis, strides, stage.stripes,
                [&](std::int64_t stripe, std::int64_t at) {
                  for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
                    Q8Block block;
                    std::memcpy(&block, first_.values + at + b * step, sizeof block);
                    float* const out = numbers_ + stripe * stage.pitch + b * block_size;
                    for (int i = 0; i < block_size; ++i) {
                      out[i] = values::q8_dequantised(block.values[i], block.scale);
                    }
                  }
                });
  }

  template <class T>
  void decode_mx(const BoxGrid::Box& box, const BlockStage& stage) {
    move(boxes_.codes, box, codes_, first_.values + start_of(box, first_.layout.value_strides));
    const Extents& strides = first_.layout.scale_strides;
    const std::int64_t step = strides[slot(first_.layout.axis)];
    const auto* const codes = reinterpret_cast<const T*>(codes_);
    for_stripes(box, first_.layout.axis, strides, stage.stripes,
                [&](std::int64_t stripe, std::int64_t at) {
                  for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
                    const std::int64_t i = stripe * stage.pitch + b * block_size;
                    const auto scale = static_cast<std::uint8_t>(first_.scales[at + b * step]);
                    for (std::int64_t k = i; k < i + block_size; ++k) {
                      numbers_[k] = values::mx_dequantised(codes[k], scale);
                    }
                  }
                });
  }

  const plan::BlockBoxes& boxes_;
  const Problem& normal_;
  const Blocks& blocks_;
  const BoxGrid grid_;
  std::byte* const dst_;
  const std::byte* const src_;
  const BlockArray first_;
  std::byte* const second_;
  std::byte* const second_scales_;
  float* numbers_;
  float* transposed_;
  std::byte* codes_;
};

std::int64_t pieces(const plan::BlocksConfig& config, const Problem& normal) {
  return plan::block_grid(config.boxes->extent, normal).count;
}

void run(const plan::BlocksConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  Worker worker(config, normal, buffers);
  for (std::int64_t i = first; i < last; ++i) worker.run(i);
}

}  // namespace

extern const Kernel blocks_kernel = kernel_in_pieces<plan::BlocksConfig, pieces, run>;

}  // namespace cornerturn::cpu
