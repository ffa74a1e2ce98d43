// The check of blocks, and of values made of blocks, against their source: plain loops that share
// only the functions of one value with the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cornerturn/error.hpp"
#include "io/boxes.hpp"
#include "io/rearrange_blocks.hpp"
#include "io/workers.hpp"
#include "values/blocks.hpp"
#include "values/types.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t block_size = block_values;

// An element, or a block of q8_0, that differs: in which of the results, and where in the piece.
struct Difference {
  std::size_t result = 0;
  Extents index;
};

// What stands at one place of a piece.
template <class T, class Void>
T loaded(const BasicView<Void>& view, std::int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(view.data) + offset, sizeof value);
  return value;
}

template <class T>
bool holds(const View& view, std::int64_t offset, const T& expected) {
  // The bits count: NaNs are equal to themselves, and -0 is not 0.
  std::array<std::byte, sizeof(T)> found, wanted;
  std::memcpy(found.data(), static_cast<const std::byte*>(view.data) + offset, found.size());
  std::memcpy(wanted.data(), &expected, wanted.size());
  return found == wanted;
}

// A plain value with its bytes in the other order.
template <class T>
T swapped(const T& value) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, bytes.size());
  std::reverse(bytes.begin(), bytes.end());
  T result;
  std::memcpy(&result, bytes.data(), bytes.size());
  return result;
}

// Compares a piece, block by block. `T` is the type of the plain values.
template <class T>
class Comparison {
 public:
  Comparison(const BlockTask& task, BlockScale scale, const BlockPiece& piece,
             const Extents& blocks)
      : task_(task),
        scale_(scale),
        piece_(piece),
        blocks_(blocks),
        index_(blocks.size(), 0),
        swaps_((task.back ? piece.to[0].type : piece.from[0].type).is_swapped()) {}

  bool finds(Difference& difference) {
    while (true) {
      if (!(task_.back ? values_are_right() : block_is_right())) {
        difference = different_;
        return true;
      }
      std::size_t m = blocks_.size();
      while (m > 0 && ++index_[m - 1] == blocks_[m - 1]) index_[--m] = 0;
      if (m == 0) return false;
    }
  }

 private:
  std::size_t axis() const { return static_cast<std::size_t>(task_.axis); }

  // Where the first of what the block has in an array lies; a block takes `per_block` steps of it.
  template <class Void>
  std::int64_t offset_in(const BasicView<Void>& view, std::int64_t per_block) const {
    std::int64_t offset = 0;
    for (std::size_t m = 0; m < index_.size(); ++m) {
      offset += index_[m] * (m == axis() ? per_block : 1) * view.strides[m];
    }
    return offset;
  }

  // So many values stand in the block, fewer in the last one of a line.
  std::int64_t count_in(const Extents& shape) const {
    return std::min(block_size, shape[axis()] - index_[axis()] * block_size);
  }

  bool wrong(std::size_t result, std::int64_t per_block, std::int64_t step) {
    different_ = {result, index_};
    different_.index[axis()] = index_[axis()] * per_block + step;
    return false;
  }

  bool block_is_right() {
    const ConstView& source = piece_.from[0];
    const std::int64_t first = offset_in(source, block_size);
    float x[block_size] = {};
    std::uint32_t amax = 0;
    for (std::int64_t k = 0; k < count_in(source.shape); ++k) {
      const T element = loaded<T>(source, first + k * source.strides[axis()]);
      x[k] = values::convert<float>(swaps_ ? swapped(element) : element, Overflow::standard);
      amax = std::max(amax, values::magnitude_of(x[k]));
    }
    if (!task_.is_mxfp8()) return q8_is_right(x, amax);
    return task_.stored.kind() == Kind::f8_e4m3 ? mx_is_right<values::E4M3>(x, amax)
                                                : mx_is_right<values::E5M2>(x, amax);
  }

  bool q8_is_right(const float* x, std::uint32_t amax) {
    const values::Q8Scale scale = values::q8_scale(amax);
    values::Q8Block expected{scale.stored, {}};
    for (int k = 0; k < block_size; ++k) {
      expected.values[k] = values::q8_value(x[k], scale.inverse);
    }
    const View& result = piece_.to[0];
    return holds(result, offset_in(result, 1), expected) || wrong(0, 1, 0);
  }

  template <class Element>
  bool mx_is_right(const float* x, std::uint32_t amax) {
    const BlockScale rule = scale_ == BlockScale::ceil ? BlockScale::ceil : BlockScale::floor;
    const std::uint8_t code = values::mx_scale<Element>(amax, rule);
    const float inverse = values::mx_inverse(code);
    const View& result = piece_.to[0];
    const std::int64_t first = offset_in(result, block_size);
    for (int k = 0; k < block_size; ++k) {
      const Element expected = values::mx_value<Element>(x[k], inverse);
      if (!holds(result, first + k * result.strides[axis()], expected)) {
        return wrong(0, block_size, k);
      }
    }
    const View& scales = piece_.to[1];
    return holds(scales, offset_in(scales, 1), code) || wrong(1, 1, 0);
  }

  bool values_are_right() {
    const View& result = piece_.to[0];
    const std::int64_t first = offset_in(result, block_size);
    for (std::int64_t k = 0; k < block_size; ++k) {
      const T expected = values::convert<T>(dequantised(k), Overflow::standard);
      if (!holds(result, first + k * result.strides[axis()],
                 swaps_ ? swapped(expected) : expected)) {
        return wrong(0, block_size, k);
      }
    }
    return true;
  }

  float dequantised(std::int64_t k) const {
    const ConstView& source = piece_.from[0];
    if (!task_.is_mxfp8()) {
      const auto block = loaded<values::Q8Block>(source, offset_in(source, 1));
      return values::q8_dequantised(block.values[k], block.scale);
    }
    const std::int64_t at = offset_in(source, block_size) + k * source.strides[axis()];
    const ConstView& scales = piece_.from[1];
    const auto code = loaded<std::uint8_t>(scales, offset_in(scales, 1));
    return task_.stored.kind() == Kind::f8_e4m3
               ? values::mx_dequantised(loaded<values::E4M3>(source, at), code)
               : values::mx_dequantised(loaded<values::E5M2>(source, at), code);
  }

  const BlockTask& task_;
  BlockScale scale_;
  const BlockPiece& piece_;
  const Extents& blocks_;
  Extents index_;  // of the block in the piece
  bool swaps_;     // the bytes of plain values
  Difference different_;
};

bool finds_difference(const BlockTask& task, BlockScale scale, const BlockPiece& piece,
                      const Extents& blocks, Difference& difference) {
  const Kind plain = task.back ? piece.to[0].type.kind() : piece.from[0].type.kind();
  bool found = false;
  values::with_kind(plain, [&]<class T>(values::Type<T>) {
    if constexpr (!values::is_complex<T>) {
      found = Comparison<T>(task, scale, piece, blocks).finds(difference);
    }
  });
  return found;
}

// "wrong block at index (3, 0) of OUT = 'out.npy'"
std::string text_of(const BlockTask& task, const std::vector<Source>& results,
                    const Difference& difference, const Box& piece) {
  const BlockOperand& operand = task.to[difference.result];
  const Box part = operand.part(piece, task.axis);
  Extents index = difference.index;
  for (std::size_t m = 0; m < index.size(); ++m) index[m] += part.start[m];
  const char* what = operand.type.kind() == Kind::bytes ? "block" : "value";
  if (difference.result == 1) what = "scale";
  return fmt::format("wrong {} at index ({}) of {}", what, fmt::join(index, ", "),
                     results[difference.result].file->label());
}

// Where a stage keeps a part, for it to be filled.
template <class Void>
std::byte* place_in(const Buffer& buffer, const BasicView<Void>& part) {
  return buffer.data() + (static_cast<const std::byte*>(part.data) - buffer.data());
}

}  // namespace

void verify_blocks(const BlockTask& task, const std::vector<Source>& sources,
                   const std::vector<Source>& results, const BlockOptions& options,
                   std::int64_t memory, Progress& progress) {
  if (task.result_bytes() == 0) return;
  const int workers = std::max(1, options.threads);
  const Grid pieces =
      make_staged_block_schedule(task, workers, memory > 0 ? memory : least_memory, false).pieces;
  const BlockPiece largest = block_piece(task, pieces.box(0), nullptr, nullptr);
  std::vector<Buffer> in, out;
  for (int i = 0; i < workers; ++i) {
    in.emplace_back(largest.bytes_in);
    out.emplace_back(largest.bytes_out);
  }
  run_workers(workers, pieces.size(), [&](int worker, std::int64_t index) {
    const Box box = pieces.box(index);
    const Buffer& before = in[static_cast<std::size_t>(worker)];
    const Buffer& after = out[static_cast<std::size_t>(worker)];
    const BlockPiece piece = block_piece(task, box, before.data(), after.data());
    const auto read = [&](const BlockOperand& operand, const Source& source, std::byte* place) {
      const Box part = operand.part(box, task.axis);
      read_box(operand.problem, source, part, place, progress);
      return operand.bytes(part);
    };
    for (std::size_t i = 0; i < sources.size(); ++i) {
      read(task.from[i], sources[i], place_in(before, piece.from[i]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      progress.bytes_compared += read(task.to[i], results[i], place_in(after, piece.to[i]));
    }
    Difference difference;
    if (finds_difference(task, options.scale.value_or(BlockScale::floor), piece, box.extent,
                         difference)) {
      throw Error(Status::internal,
                  "verification found a " + text_of(task, results, difference, box));
    }
  });
}

}  // namespace cornerturn::io
