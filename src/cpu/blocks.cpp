#include "cpu/blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/divide.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/parallel.hpp"
#include "plan/planner.hpp"

namespace cornerturn::cpu {
namespace {

using values::block_size;
using values::BlockFormat;
using values::E4M3;
using values::E5M2;
using values::F16;
using values::MxScale;
using values::Q8Block;

constexpr std::int64_t box_elements = 32 << 10;
constexpr std::int64_t box_axis = 512;
constexpr std::int64_t box_source_run = 128;

std::int64_t padded(std::int64_t extent) {
  return ceil_div(extent, std::int64_t{block_size}) * block_size;
}

// A part of the array: where it begins, and its extents.
struct Box {
  Extents start;
  Extents count;
};

// Boxes whose extents at `axes` are multiples of a block, but for the last.
class BoxGrid {
 public:
  BoxGrid(const PlainArray& plain, const std::vector<int>& axes) : shape_(plain.shape) {
    const std::size_t rank = shape_.size();
    extent_.assign(rank, 1);
    for (const int axis : axes)
      take(static_cast<std::size_t>(axis), axes.size() > 1 ? 128 : box_axis);
    // The source's fastest axis next, so that it is read in runs; then the others, last first.
    std::size_t fastest = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      if (std::abs(plain.strides[i]) < std::abs(plain.strides[fastest])) fastest = i;
    }
    if (extent_[fastest] == 1) take(fastest, box_source_run);
    for (std::size_t i = rank; i-- > 0;) {
      if (extent_[i] == 1 && volume() < box_elements) take(i, box_elements / volume());
    }
    for (std::size_t i = 0; i < rank; ++i) count_ *= ceil_div(shape_[i], extent_[i]);
  }

  std::int64_t count() const { return count_; }

  Box box(std::int64_t index) const {
    Box box{Extents(shape_.size()), Extents(shape_.size())};
    for (std::size_t i = shape_.size(); i-- > 0;) {
      const std::int64_t boxes = ceil_div(shape_[i], extent_[i]);
      box.start[i] = index % boxes * extent_[i];
      box.count[i] = std::min(extent_[i], shape_[i] - box.start[i]);
      index /= boxes;
    }
    return box;
  }

 private:
  void take(std::size_t axis, std::int64_t wanted) {
    extent_[axis] = std::min(shape_[axis], wanted);
  }
  std::int64_t volume() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : extent_) product *= extent;
    return product;
  }

  Extents shape_;
  Extents extent_;
  std::int64_t count_ = 1;
};

// Moves boxes between arrays and stages; boxes of one shape share a plan.
class Mover {
 public:
  void move(const void* src, ElementType src_type, const Extents& src_strides, void* dst,
            ElementType dst_type, const Extents& dst_strides, const Extents& count) {
    Problem problem;
    problem.src_type = src_type;
    problem.dst_type = dst_type;
    for (std::size_t i = 0; i < count.size(); ++i) {
      problem.modes.push_back({count[i], src_strides[i], dst_strides[i]});
    }
    const auto known = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const plan::Plan& p) { return p.problem == problem; });
    if (known != plans_.end()) return execute(*known, src, dst);
    plans_.push_back(plan::make_plan(problem, cpu_info(), {1, ""}));
    execute(plans_.back(), src, dst);
  }

 private:
  std::vector<plan::Plan> plans_;
};

// A box in a stage: rows along the axis, whole blocks each, row-major in the other axes.
struct Stage {
  Extents strides;  // in elements
  std::int64_t rows = 1;
  std::int64_t pitch = 0;  // elements of a row

  Stage(const Extents& count, std::size_t axis)
      : strides(count.size()), pitch(padded(count[axis])) {
    strides[axis] = 1;
    for (std::size_t i = count.size(); i-- > 0;) {
      if (i == axis) continue;
      strides[i] = rows * pitch;
      rows *= count[i];
    }
  }

  std::int64_t elements() const { return rows * pitch; }
  Extents in_bytes(std::int64_t size) const {
    Extents result = strides;
    for (std::int64_t& stride : result) stride *= size;
    return result;
  }
};

// Calls visit(row, offset) for all rows of a box in the order of a stage; `offset` is that of the
// row's first element by `strides`.
template <class Visit>
void for_rows(const Box& box, std::size_t axis, const Extents& strides, std::int64_t rows,
              const Visit& visit) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row;
    std::int64_t offset = 0;
    for (std::size_t i = box.count.size(); i-- > 0;) {
      if (i == axis) continue;
      offset += (box.start[i] + rest % box.count[i]) * strides[i];
      rest /= box.count[i];
    }
    visit(row, offset);
  }
}

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
std::uint8_t mx_block(const float* x, MxScale rule, T* out) {
  const std::uint8_t code = values::mx_scale<T>(largest_of(x), rule);
  const float inverse = values::mx_inverse(code);
  for (int i = 0; i < block_size; ++i) out[i] = values::mx_value<T>(x[i], inverse);
  return code;
}

// The start of a box by some strides, but along the axis.
std::int64_t offset_of(const Box& box, const Extents& strides, std::size_t axis) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (i != axis) offset += box.start[i] * strides[i];
  }
  return offset;
}

class Worker {
 public:
  Worker(const PlainArray& plain, const BlockRule& rule) : plain_(plain), rule_(rule) {}

  void quantise(const Box& box, const BlockArrays& blocks, const BlockArrays* turned) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const Stage stage(box.count, axis);
    numbers_.assign(static_cast<std::size_t>(stage.elements()), 0.0F);  // what is padded stays 0
    mover_.move(plain_.data + start_of(box), plain_.type, plain_.strides, numbers_.data(),
                ElementType(Kind::f32), stage.in_bytes(4), box.count);
    encode(box, blocks, stage, numbers_.data());
    if (turned == nullptr) return;
    const auto other = static_cast<std::size_t>(turned->axis);
    const Stage across(box.count, other);
    turned_.assign(static_cast<std::size_t>(across.elements()), 0.0F);
    mover_.move(numbers_.data(), ElementType(Kind::f32), stage.in_bytes(4), turned_.data(),
                ElementType(Kind::f32), across.in_bytes(4), box.count);
    encode(box, *turned, across, turned_.data());
  }

  void dequantise(const Box& box, const BlockArrays& blocks) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const Stage stage(box.count, axis);
    numbers_.resize(static_cast<std::size_t>(stage.elements()));
    decode(box, blocks, stage);
    mover_.move(numbers_.data(), ElementType(Kind::f32), stage.in_bytes(4),
                plain_.data + start_of(box), plain_.type, plain_.strides, box.count);
  }

 private:
  std::int64_t start_of(const Box& box) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < box.start.size(); ++i) offset += box.start[i] * plain_.strides[i];
    return offset;
  }

  void encode(const Box& box, const BlockArrays& blocks, const Stage& stage, const float* numbers) {
    switch (rule_.format) {
      case BlockFormat::q8_0:
        return encode_q8(box, blocks, stage, numbers);
      case BlockFormat::mx_e4m3:
        return encode_mx<E4M3>(box, blocks, stage, numbers);
      case BlockFormat::mx_e5m2:
        return encode_mx<E5M2>(box, blocks, stage, numbers);
    }
  }

  void encode_q8(const Box& box, const BlockArrays& blocks, const Stage& stage,
                 const float* numbers) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const std::int64_t first = box.start[axis] / block_size;
    const std::int64_t step = blocks.value_strides[axis];
    for_rows(box, axis, blocks.value_strides, stage.rows, [&](std::int64_t row, std::int64_t at) {
      for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
        const Q8Block block = q8_block(numbers + row * stage.pitch + b * block_size);
        std::memcpy(blocks.values + at + (first + b) * step, &block, sizeof block);
      }
    });
  }

  template <class T>
  void encode_mx(const Box& box, const BlockArrays& blocks, const Stage& stage,
                 const float* numbers) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const std::int64_t first = box.start[axis] / block_size;
    const std::int64_t step = blocks.scale_strides[axis];
    codes_.resize(static_cast<std::size_t>(stage.elements()));
    auto* codes = reinterpret_cast<T*>(codes_.data());
    for_rows(box, axis, blocks.scale_strides, stage.rows, [&](std::int64_t row, std::int64_t at) {
      for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
        const std::int64_t i = row * stage.pitch + b * block_size;
        const std::uint8_t scale = mx_block(numbers + i, rule_.scale, codes + i);
        blocks.scales[at + (first + b) * step] = static_cast<std::byte>(scale);
      }
    });
    Extents count = box.count;
    count[axis] = stage.pitch;
    mover_.move(codes_.data(), ElementType::bytes(1), stage.strides, values_of(box, blocks),
                ElementType::bytes(1), blocks.value_strides, count);
  }

  std::byte* values_of(const Box& box, const BlockArrays& blocks) const {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    return blocks.values + offset_of(box, blocks.value_strides, axis) +
           box.start[axis] * blocks.value_strides[axis];
  }

  void decode(const Box& box, const BlockArrays& blocks, const Stage& stage) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const std::int64_t first = box.start[axis] / block_size;
    if (rule_.format == BlockFormat::q8_0) {
      const std::int64_t step = blocks.value_strides[axis];
      for_rows(box, axis, blocks.value_strides, stage.rows, [&](std::int64_t row, std::int64_t at) {
        for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
          Q8Block block;
          std::memcpy(&block, blocks.values + at + (first + b) * step, sizeof block);
          float* out = numbers_.data() + row * stage.pitch + b * block_size;
          for (int i = 0; i < block_size; ++i) {
            out[i] = values::q8_dequantised(block.values[i], block.scale);
          }
        }
      });
      return;
    }
    rule_.format == BlockFormat::mx_e4m3 ? decode_mx<E4M3>(box, blocks, stage)
                                         : decode_mx<E5M2>(box, blocks, stage);
  }

  template <class T>
  void decode_mx(const Box& box, const BlockArrays& blocks, const Stage& stage) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const std::int64_t first = box.start[axis] / block_size;
    codes_.resize(static_cast<std::size_t>(stage.elements()));
    Extents count = box.count;
    count[axis] = stage.pitch;
    mover_.move(values_of(box, blocks), ElementType::bytes(1), blocks.value_strides, codes_.data(),
                ElementType::bytes(1), stage.strides, count);
    const auto* codes = reinterpret_cast<const T*>(codes_.data());
    for_rows(box, axis, blocks.scale_strides, stage.rows, [&](std::int64_t row, std::int64_t at) {
      for (std::int64_t b = 0; b < stage.pitch / block_size; ++b) {
        const std::int64_t i = row * stage.pitch + b * block_size;
        const auto scale =
            static_cast<std::uint8_t>(blocks.scales[at + (first + b) * blocks.scale_strides[axis]]);
        for (std::int64_t k = i; k < i + block_size; ++k) {
          numbers_[static_cast<std::size_t>(k)] = values::mx_dequantised(codes[k], scale);
        }
      }
    });
  }

  const PlainArray& plain_;
  BlockRule rule_;
  Mover mover_;
  std::vector<float> numbers_;
  std::vector<float> turned_;
  std::vector<std::byte> codes_;
};

template <class Work>
void for_boxes(const BoxGrid& grid, int threads, const Work& work) {
  if (threads == 1 || grid.count() == 1) return work(0, grid.count());
  const std::int64_t grain = std::max<std::int64_t>(1, grid.count() / (threads * 8L));
  parallel_ranges(threads, grid.count(), grain, std::ref(work));
}

}  // namespace

void quantise(const PlainArray& plain, const BlockArrays& blocks, const BlockArrays* turned,
              const BlockRule& rule, int threads) {
  std::vector<int> axes{blocks.axis};
  if (turned != nullptr) axes.push_back(turned->axis);
  const BoxGrid grid(plain, axes);
  for_boxes(grid, threads, [&](std::int64_t first, std::int64_t last) {
    Worker worker(plain, rule);
    for (std::int64_t i = first; i < last; ++i) worker.quantise(grid.box(i), blocks, turned);
  });
}

void dequantise(const PlainArray& plain, const BlockArrays& blocks, BlockFormat format,
                int threads) {
  const BoxGrid grid(plain, {blocks.axis});
  for_boxes(grid, threads, [&](std::int64_t first, std::int64_t last) {
    Worker worker(plain, {format, MxScale::floor});
    for (std::int64_t i = first; i < last; ++i) worker.dequantise(grid.box(i), blocks);
  });
}

}  // namespace cornerturn::cpu
