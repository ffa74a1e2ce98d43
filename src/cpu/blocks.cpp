// blocks: a box after the other is brought into a stage as f32, quantisation blocks one after the
// other; scales and codes are made there. The other way round they are read, and values computed.
#include <algorithm>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/block_codes.hpp"
#include "cpu/engine.hpp"
#include "cpu/kernel.hpp"
#include "cpu/list_places.hpp"
#include "cpu/scratch.hpp"
#include "plan/cpu/block_boxes.hpp"
#include "plan/cpu/blocks.hpp"
#include "values/blocks.hpp"

namespace cornerturn::cpu {
namespace {

using plan::BlockStage;
using plan::BoxGrid;
using values::E2M1;
using values::E4M3;
using values::E5M2;

// An array of quantisation blocks.
struct BlockArray {
  const BlockLayout& layout;
  std::byte* values;  // not written to when they are dequantised
  std::byte* scales;  // the same; packed blocks have none
};

// Where a box begins in an array that has a place for each index of its modes but for `axis`, of
// which it has one for `per_place` indices.
std::int64_t start_of(const BoxGrid::Box& box, const Extents& strides, int axis, int per_place) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t first = box.first[i];
    offset += (static_cast<int>(i) == axis ? first / per_place : first) * strides[i];
  }
  return offset;
}

// A stripe of blocks: where it begins in its stage, in elements, and in both arrays, in bytes.
struct Stripe {
  std::int64_t staged = 0;
  std::int64_t values = 0;
  std::int64_t scales = 0;  // without the mode across
  std::int64_t line = 0;    // of blocks, along the mode across
};

// The stripes of blocks that a box has, in the order of its stage.
class Stripes {
 public:
  Stripes(const BoxGrid::Box& box, const BlockLayout& layout, const BlockRow& row,
          const BlockStage& stage)
      : box_(box), layout_(layout), row_(row), stage_(stage) {}

  template <class Visit>
  void for_each(const Visit& visit) const {
    const Extents& of_values = layout_.value_strides;
    const auto rank = static_cast<int>(of_values.size());
    const int across = layout_.across;
    Stripe at;
    at.values = start_of(box_, of_values, layout_.axis, row_.values_per_unit());
    for (int i = 0; i < rank; ++i) {
      if (row_.has_scales() && !in_block(i)) at.scales += box_.first[slot(i)] * scale_stride(i);
    }
    if (across >= 0) at.line = box_.first[slot(across)] / row_.across;
    BoxGrid::PerMode index;
    std::fill_n(index.begin(), rank, 0);
    const std::int64_t all = stage_.stripes / row_.across;
    for (std::int64_t n = 0; n < all; ++n) {
      visit(at);
      for (int i = rank; i-- > 0;) {
        if (i == layout_.axis) continue;
        const int lines = i == across ? row_.across : 1;
        const std::int64_t count = ceil_div(box_.count[slot(i)], std::int64_t{lines});
        step(at, i, lines, 1);
        if (++index[slot(i)] < count) break;
        index[slot(i)] = 0;
        step(at, i, lines, -count);
      }
    }
  }

  // The block that the stage has at the box's axis.
  std::int64_t first_block() const { return box_.first[slot(layout_.axis)] / row_.along; }
  std::int64_t blocks() const { return stage_.pitch / row_.along; }
  // Where the scale of block `j` of the stripe's array is.
  std::int64_t scale_at(const Stripe& stripe, std::int64_t line, std::int64_t j) const {
    const std::int64_t of_line = layout_.across >= 0 ? scale_stride(layout_.across) : 0;
    return stripe.scales + values::scale_place(layout_.order, row_.scale_bytes(), line, j, of_line,
                                               scale_stride(layout_.axis));
  }

 private:
  bool in_block(int mode) const { return mode == layout_.axis || mode == layout_.across; }
  std::int64_t scale_stride(int mode) const { return layout_.scale_strides[slot(mode)]; }
  void step(Stripe& at, int mode, int lines, std::int64_t steps) const {
    at.staged += steps * lines * stage_.stride[slot(mode)];
    at.values += steps * lines * layout_.value_strides[slot(mode)];
    if (mode == layout_.across) {
      at.line += steps;
    } else if (row_.has_scales()) {
      at.scales += steps * scale_stride(mode);
    }
  }

  const BoxGrid::Box& box_;
  const BlockLayout& layout_;
  const BlockRow& row_;
  const BlockStage& stage_;
};

class Worker {
 public:
  Worker(const plan::BlocksConfig& config, const Problem& normal, const Buffers& buffers)
      : boxes_(*config.boxes),
        modes_(normal),
        normal_(modes_.problem),
        blocks_(*normal.blocks),
        row_(blocks_.row()),
        grid_(plan::block_grid(boxes_.extent, normal_)),
        dst_(static_cast<std::byte*>(buffers.dst)),
        src_(static_cast<const std::byte*>(buffers.src)),
        others_(buffers.blocks),
        first_{blocks_.first, blocks_.back ? const_cast<std::byte*>(src_) : dst_,
               static_cast<std::byte*>(others_.scales)},
        random_(blocks_.rule.seed) {
    if (modes_.list >= 0) {
      const ListsOf lists(normal, buffers);
      places_ = blocks_.back ? lists.dst : lists.src;
    }
    // The stages of the largest box: of both results, then of codes.
    const std::int64_t first = stage_of(grid_.extent, blocks_.first).elements();
    const std::int64_t second =
        blocks_.second ? stage_of(grid_.extent, *blocks_.second).elements() : 0;
    const std::int64_t codes = row_.has_scales() ? std::max(first, second) : 0;
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
  BlockStage stage_of(const BoxGrid::PerMode& count, const BlockLayout& layout) const {
    return plan::block_stage(count, grid_.rank, layout, row_);
  }

  void move(const plan::BoxMoves& moves, const BoxGrid::Box& box, void* dst, const void* src) {
    run_move(moves.of_shape[slot(box.shape)], static_cast<std::byte*>(dst),
             static_cast<const std::byte*>(src));
  }

  template <class Call>
  void with_element(const Call& call) {
    switch (row_.element) {
      case BlockElement::e5m2:
        return call(E5M2{});
      case BlockElement::e2m1:
        return call(E2M1{});
      case BlockElement::e4m3:
      case BlockElement::packed:
        break;
    }
    return call(E4M3{});
  }

  void quantise(const BoxGrid::Box& box) {
    const BlockStage stage = stage_of(box.count, blocks_.first);
    fill_up(stage, numbers_);
    read_plain(box, stage);
    encode(box, first_, stage, numbers_, boxes_.codes);
    if (!blocks_.second) return;
    const BlockArray second{*blocks_.second, static_cast<std::byte*>(others_.second),
                            static_cast<std::byte*>(others_.second_scales)};
    const BlockStage across = stage_of(box.count, second.layout);
    fill_up(across, transposed_);
    move(boxes_.transposed, box, transposed_, numbers_);
    encode(box, second, across, transposed_, boxes_.second_codes);
  }

  void dequantise(const BoxGrid::Box& box) {
    const BlockStage stage = stage_of(box.count, blocks_.first);
    const Stripes stripes(box, blocks_.first, row_, stage);
    if (row_.has_scales()) {
      move(boxes_.codes, box, codes_, first_.values + values_start(box, blocks_.first));
      with_element([&]<class T>(T) { decode<T>(stripes, stage); });
    } else {
      const std::int64_t step = unit_step(blocks_.first);
      stripes.for_each([&](const Stripe& at) {
        for (std::int64_t b = 0; b < stripes.blocks(); ++b) {
          decode_packed(row_.format, first_.values + at.values + b * step,
                        numbers_ + at.staged + b * row_.along);
        }
      });
    }
    if (modes_.list < 0) return move(boxes_.plain, box, dst_ + box.dst_offset, numbers_);
    const std::int64_t base = without_list(box, box.dst_offset, &Mode::dst_stride);
    for_each_step(box, stage, [&](std::int64_t k, float* staged) {
      if (places_.is_missing(k)) return;
      move(boxes_.plain, box, dst_ + base + places_.offset(k), staged);
    });
  }

  void read_plain(const BoxGrid::Box& box, const BlockStage& stage) {
    if (modes_.list < 0) return move(boxes_.plain, box, numbers_, src_ + box.src_offset);
    const std::int64_t base = without_list(box, box.src_offset, &Mode::src_stride);
    bool any_missing = false;
    for_each_step(box, stage,
                  [&](std::int64_t k, float*) { any_missing |= places_.is_missing(k); });
    if (any_missing) std::fill(numbers_, numbers_ + stage.elements(), 0.0F);
    for_each_step(box, stage, [&](std::int64_t k, float* staged) {
      if (places_.is_missing(k)) return;
      move(boxes_.plain, box, staged, src_ + base + places_.offset(k));
    });
  }

  // Calls visit(entry, where it lies in the first stage) for the steps of the list in a box.
  template <class Visit>
  void for_each_step(const BoxGrid::Box& box, const BlockStage& stage, const Visit& visit) {
    const std::size_t list = slot(modes_.list);
    for (std::int64_t k = 0; k < box.count[list]; ++k) {
      visit(box.first[list] + k, numbers_ + k * stage.stride[list]);
    }
  }
  std::int64_t without_list(const BoxGrid::Box& box, std::int64_t offset,
                            std::int64_t Mode::*stride) const {
    return offset - box.first[slot(modes_.list)] * (normal_.modes[modes_.list].*stride);
  }

  // Blocks at the far end are filled up with zeros.
  static void fill_up(const BlockStage& stage, float* numbers) {
    if (stage.is_padded) std::fill(numbers, numbers + stage.elements(), 0.0F);
  }

  static std::int64_t unit_step(const BlockLayout& layout) {
    return layout.value_strides[slot(layout.axis)];
  }
  std::int64_t values_start(const BoxGrid::Box& box, const BlockLayout& layout) const {
    return start_of(box, layout.value_strides, layout.axis, row_.values_per_unit());
  }

  void encode(const BoxGrid::Box& box, const BlockArray& array, const BlockStage& stage,
              const float* numbers, const plan::BoxMoves& moves) {
    const Stripes stripes(box, array.layout, row_, stage);
    if (row_.has_scales()) {
      with_element([&]<class T>(T) { encode<T>(stripes, array, stage, numbers); });
      if (array.layout.order != ScaleOrder::strided) pad_scales(box, array, stripes);
      move(moves, box, array.values + values_start(box, array.layout), codes_);
      return;
    }
    const std::int64_t step = unit_step(array.layout);
    stripes.for_each([&](const Stripe& at) {
      for (std::int64_t b = 0; b < stripes.blocks(); ++b) {
        encode_packed(row_.format, numbers + at.staged + b * row_.along,
                      array.values + at.values + b * step);
      }
    });
  }

  template <class T>
  void encode(const Stripes& stripes, const BlockArray& array, const BlockStage& stage,
              const float* numbers) {
    const StagedBlock block = staged_block(array.layout, stage);
    const bool random = blocks_.rule.rounding == Rounding::stochastic;
    stripes.for_each([&](const Stripe& at) {
      for (std::int64_t b = 0; b < stripes.blocks(); ++b) {
        const float* const x = numbers + at.staged + b * row_.along;
        const values::StoredScale scale =
            block_scale<T>(row_, blocks_.rule.scale, largest_of(x, block), others_.tensor_scale);
        put_scale(array.scales + stripes.scale_at(at, at.line, stripes.first_block() + b),
                  scale.bits, row_.scale_bytes());
        for (int r = 0; r < block.across; ++r) {
          const float* const line = x + block.line(r);
          std::byte* const codes = codes_ + (line - numbers) / row_.values_per_unit();
          if (random) {
            const std::int64_t place = place_of(array.layout, at, r, b);
            put_codes<T>(codes, row_.along, [&](int k) {
              return values::mx_value_stochastic<T>(line[k], scale.inverse,
                                                    random_bits(array.layout, place, k));
            });
          } else {
            put_codes<T>(codes, row_.along,
                         [&](int k) { return values::mx_value<T>(line[k], scale.inverse); });
          }
        }
      }
    });
  }

  template <class T>
  void decode(const Stripes& stripes, const BlockStage& stage) {
    const StagedBlock block = staged_block(blocks_.first, stage);
    stripes.for_each([&](const Stripe& at) {
      for (std::int64_t b = 0; b < stripes.blocks(); ++b) {
        const std::byte* const scale =
            first_.scales + stripes.scale_at(at, at.line, stripes.first_block() + b);
        const float factor =
            block_factor(row_, get_scale(scale, row_.scale_bytes()), others_.tensor_scale);
        for (int r = 0; r < block.across; ++r) {
          const std::int64_t i = at.staged + b * row_.along + block.line(r);
          const std::byte* const codes = codes_ + i / row_.values_per_unit();
          for (int k = 0; k < row_.along; ++k) {
            numbers_[i + k] = values::block_dequantised(code_at<T>(codes, k), factor);
          }
        }
      }
    });
  }

  StagedBlock staged_block(const BlockLayout& layout, const BlockStage& stage) const {
    const bool lines = row_.across > 1;
    return {row_.along, row_.across, lines ? stage.stride[slot(layout.across)] : 0};
  }

  // Where the first value of line `r` of a block lies from the first of the array, in bytes.
  std::int64_t place_of(const BlockLayout& layout, const Stripe& at, int r, std::int64_t b) const {
    const std::int64_t of_line = row_.across > 1 ? layout.value_strides[slot(layout.across)] : 0;
    return at.values + r * of_line + b * (row_.along / row_.values_per_unit()) * unit_step(layout);
  }
  // For a value of a line: places count values, of which a byte may have two.
  std::uint32_t random_bits(const BlockLayout& layout, std::int64_t line, int k) const {
    const int of_unit = row_.values_per_unit();
    const std::int64_t byte = line + k / of_unit * unit_step(layout);
    return random_.at(static_cast<std::uint64_t>(byte * of_unit + k % of_unit));
  }

  // Scales that come in fours or in tiles are filled up with zeros at the far ends of a matrix.
  void pad_scales(const BoxGrid::Box& box, const BlockArray& array, const Stripes& stripes) {
    const BlockLayout& layout = array.layout;
    const bool tiled = layout.order == ScaleOrder::tiles_128x4;
    // From and to which line or block a box reaches, and to which with what fills up.
    struct Reach {
      std::int64_t first = 0, last = 1, padded = 1;
    };
    const auto reach = [&](int mode, int of_block, int multiple) {
      if (mode < 0) return Reach{};
      const std::int64_t end = box.first[slot(mode)] + box.count[slot(mode)];
      const std::int64_t last = ceil_div(end, std::int64_t{of_block});
      const bool is_end = end == normal_.modes[mode].extent;
      return Reach{box.first[slot(mode)] / of_block, last,
                   is_end ? ceil_div(last, std::int64_t{multiple}) * multiple : last};
    };
    const Reach lines = reach(layout.across, row_.across, tiled ? 128 : 1);
    const Reach along = reach(layout.axis, row_.along, 4);
    if (lines.padded == lines.last && along.padded == along.last) return;
    stripes.for_each([&](const Stripe& at) {
      const auto clear = [&](std::int64_t line, std::int64_t first) {
        for (std::int64_t j = first; j < along.padded; ++j) {
          put_scale(array.scales + stripes.scale_at(at, line, j), 0, row_.scale_bytes());
        }
      };
      clear(layout.across < 0 ? 0 : at.line, along.last);
      if (at.line != lines.last - 1) return;  // once for the lines of a matrix
      for (std::int64_t i = lines.last; i < lines.padded; ++i) clear(i, along.first);
    });
  }

  const plan::BlockBoxes& boxes_;
  const plan::BlockModes modes_;
  const Problem& normal_;
  const Blocks& blocks_;
  const BlockRow& row_;
  const BoxGrid grid_;
  std::byte* const dst_;
  const std::byte* const src_;
  const BlockBuffers& others_;
  const BlockArray first_;
  const values::RandomBits random_;
  ListPlaces places_;
  float* numbers_;
  float* transposed_;
  std::byte* codes_;
};

std::int64_t pieces(const plan::BlocksConfig& config, const Problem& normal) {
  return plan::block_grid(config.boxes->extent, plan::BlockModes(normal).problem).count;
}

void run(const plan::BlocksConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  Worker worker(config, normal, buffers);
  for (std::int64_t i = first; i < last; ++i) worker.run(i);
}

}  // namespace

extern const Kernel blocks_kernel = kernel_in_pieces<plan::BlocksConfig, pieces, run>;

}  // namespace cornerturn::cpu
