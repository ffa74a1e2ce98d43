// The check of blocks, and of values made of blocks, against their source: plain loops that share
// only the functions of one value, and of one block whose scale is inside, with the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cornerturn/error.hpp"
#include "cpu/block_codes.hpp"
#include "io/boxes.hpp"
#include "io/rearrange_blocks.hpp"
#include "io/workers.hpp"
#include "values/blocks.hpp"
#include "values/types.hpp"

namespace cornerturn::io {
namespace {

// An element that differs, which may be a whole block: in which of the results, and where in the
// piece.
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

// The bits count: NaNs are equal to themselves, and -0 is not 0.
bool holds_bytes(const View& view, std::int64_t offset, const void* expected, std::size_t count) {
  return std::memcmp(static_cast<const std::byte*>(view.data) + offset, expected, count) == 0;
}
template <class T>
bool holds(const View& view, std::int64_t offset, const T& expected) {
  std::array<std::byte, sizeof(T)> wanted;
  std::memcpy(wanted.data(), &expected, wanted.size());
  return holds_bytes(view, offset, wanted.data(), wanted.size());
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

// The numbers of a block: lines of `along` values, zeros where the array has none.
using Numbers = std::vector<float>;

// Compares a piece, block by block. `T` is the type of the plain values.
template <class T>
class Comparison {
 public:
  Comparison(const BlockTask& task, const BlockOptions& options, const BlockPiece& piece,
             const Extents& blocks)
      : row_(task.row()),
        back_(task.back),
        rule_(options.scale.value_or(row_.standard_rule())),
        tensor_scale_(options.tensor_scale),
        piece_(piece),
        blocks_(blocks),
        index_(blocks.size(), 0),
        axis_(static_cast<std::size_t>(task.stored_order.back())),
        numbers_(static_cast<std::size_t>(row_.along * row_.across)),
        swaps_((back_ ? piece.to[0].type : piece.from[0].type).is_swapped()) {
    if (row_.across > 1) line_axis_ = static_cast<std::size_t>(*(task.stored_order.end() - 2));
  }

  bool finds(Difference& difference) {
    while (true) {
      if (!(back_ ? values_are_right() : block_is_right())) {
        difference = different_;
        return true;
      }
      std::size_t m = blocks_.size();
      while (m > 0 && ++index_[m - 1] == blocks_[m - 1]) index_[--m] = 0;
      if (m == 0) return false;
    }
  }

 private:
  // The index of element `k` in line `r` of the block, in an array that has `per_block` of them in
  // a line.
  Extents index_of(int r, int k, int per_block, int lines) const {
    Extents index = index_;
    index[axis_] = index[axis_] * per_block + k;
    if (row_.across > 1) index[line_axis_] = index[line_axis_] * lines + r;
    return index;
  }
  template <class Void>
  static std::int64_t offset_in(const BasicView<Void>& view, const Extents& index) {
    std::int64_t offset = 0;
    for (std::size_t m = 0; m < index.size(); ++m) offset += index[m] * view.strides[m];
    return offset;
  }
  template <class Void>
  std::int64_t value_offset(const BasicView<Void>& plain, int r, int k) const {
    return offset_in(plain, index_of(r, k, row_.along, row_.across));
  }
  Extents unit_index(int r, int unit) const {
    return index_of(r, unit, row_.along / row_.values_per_unit(), row_.across);
  }

  bool wrong(std::size_t result, Extents index) {
    different_ = {result, std::move(index)};
    return false;
  }

  // Calls visit(line, place in it, number).
  template <class Visit>
  void for_numbers(const Visit& visit) {
    float* number = numbers_.data();
    for (int r = 0; r < row_.across; ++r) {
      for (int k = 0; k < row_.along; ++k) visit(r, k, *number++);
    }
  }

  bool block_is_right() {
    const ConstView& source = piece_.from[0];
    for_numbers([&](int r, int k, float& number) {
      const Extents index = index_of(r, k, row_.along, row_.across);
      number = 0;
      for (std::size_t m = 0; m < index.size(); ++m) {
        if (index[m] >= source.shape[m]) return;
      }
      const T element = loaded<T>(source, offset_in(source, index));
      number = values::convert<float>(swaps_ ? swapped(element) : element, Overflow::standard);
    });
    switch (row_.element) {
      case BlockElement::e4m3:
        return codes_are_right<values::E4M3>();
      case BlockElement::e5m2:
        return codes_are_right<values::E5M2>();
      case BlockElement::e2m1:
        return codes_are_right<values::E2M1>();
      case BlockElement::packed:
        break;
    }
    std::vector<std::byte> expected(static_cast<std::size_t>(row_.packed_bytes));
    cpu::encode_packed(row_.format, numbers_.data(), expected.data());
    return holds_bytes(piece_.to[0], offset_in(piece_.to[0], index_), expected.data(),
                       expected.size()) ||
           wrong(0, index_);
  }

  template <class Element>
  bool codes_are_right() {
    const cpu::StagedBlock block{row_.along, row_.across, row_.along};
    const values::StoredScale scale = cpu::block_scale<Element>(
        row_, rule_, cpu::largest_of(numbers_.data(), block), tensor_scale_);
    const View& result = piece_.to[0];
    std::vector<std::byte> line(static_cast<std::size_t>(row_.along / row_.values_per_unit()));
    for (int r = 0; r < row_.across; ++r) {
      const float* const x = numbers_.data() + block.line(r);
      cpu::put_codes<Element>(line.data(), row_.along, [&](int k) {
        return values::mx_value<Element>(x[k], scale.inverse);
      });
      for (int unit = 0; unit < static_cast<int>(line.size()); ++unit) {
        const Extents index = unit_index(r, unit);
        if (!holds(result, offset_in(result, index), line[static_cast<std::size_t>(unit)])) {
          return wrong(0, index);
        }
      }
    }
    std::array<std::byte, 4> expected;
    cpu::put_scale(expected.data(), scale.bits, row_.scale_bytes());
    const View& scales = piece_.to[1];
    return holds_bytes(scales, offset_in(scales, index_), expected.data(),
                       static_cast<std::size_t>(row_.scale_bytes())) ||
           wrong(1, index_);
  }

  bool values_are_right() {
    switch (row_.element) {
      case BlockElement::e4m3:
        decode<values::E4M3>();
        break;
      case BlockElement::e5m2:
        decode<values::E5M2>();
        break;
      case BlockElement::e2m1:
        decode<values::E2M1>();
        break;
      case BlockElement::packed: {
        const ConstView& source = piece_.from[0];
        const auto* const first = static_cast<const std::byte*>(source.data);
        cpu::decode_packed(row_.format, first + offset_in(source, index_), numbers_.data());
      }
    }
    const View& result = piece_.to[0];
    bool right = true;
    for_numbers([&](int r, int k, float number) {
      const T expected = values::convert<T>(number, Overflow::standard);
      if (right &&
          !holds(result, value_offset(result, r, k), swaps_ ? swapped(expected) : expected)) {
        right = wrong(0, index_of(r, k, row_.along, row_.across));
      }
    });
    return right;
  }

  template <class Element>
  void decode() {
    const ConstView& source = piece_.from[0];
    const ConstView& scales = piece_.from[1];
    const auto* const scale =
        static_cast<const std::byte*>(scales.data) + offset_in(scales, index_);
    const float factor =
        cpu::block_factor(row_, cpu::get_scale(scale, row_.scale_bytes()), tensor_scale_);
    const int of_unit = row_.values_per_unit();
    for_numbers([&](int r, int k, float& number) {
      const auto unit = loaded<std::byte>(source, offset_in(source, unit_index(r, k / of_unit)));
      number = values::block_dequantised(cpu::code_at<Element>(&unit, k % of_unit), factor);
    });
  }

  const BlockRow& row_;
  bool back_;
  BlockScale rule_;
  float tensor_scale_;
  const BlockPiece& piece_;
  const Extents& blocks_;
  Extents index_;              // of the block in the piece
  std::size_t axis_;           // of the values of a block
  std::size_t line_axis_ = 0;  // of its lines, where it has several
  Numbers numbers_;
  bool swaps_;  // the bytes of plain values
  Difference different_;
};

bool finds_difference(const BlockTask& task, const BlockOptions& options, const BlockPiece& piece,
                      const Extents& blocks, Difference& difference) {
  const Kind plain = task.back ? piece.to[0].type.kind() : piece.from[0].type.kind();
  bool found = false;
  values::with_kind(plain, [&]<class T>(values::Type<T>) {
    if constexpr (!values::is_complex<T>) {
      found = Comparison<T>(task, options, piece, blocks).finds(difference);
    }
  });
  return found;
}

// "wrong block at index (3, 0) of OUT = 'out.npy'"
std::string text_of(const BlockTask& task, const std::vector<Source>& results,
                    const Difference& difference, const Box& piece) {
  const BlockOperand& operand = task.to[difference.result];
  const Box part = operand.part(piece);
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
      const Box part = operand.part(box);
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
    if (finds_difference(task, options, piece, box.extent, difference)) {
      throw Error(Status::internal,
                  "verification found a " + text_of(task, results, difference, box));
    }
  });
}

}  // namespace cornerturn::io
