#include "cpu/transpose_lines.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "cpu/block_codes.hpp"
#include "cpu/parallel.hpp"
#include "cpu/threads.hpp"

namespace cornerturn::cpu {
namespace {

// The code of exactly value * scale / wanted; nothing where there is none.
template <class T>
std::optional<std::uint8_t> rescaled(T code, double scale, double wanted) {
  const double number = static_cast<double>(values::widen(code)) * scale;
  T found = code;
  if constexpr (std::is_same_v<T, values::E2M1>) {
    found = values::narrow_e2m1(static_cast<float>(number / wanted));
  } else {
    found = values::narrow<T>(static_cast<float>(number / wanted), Overflow::standard);
  }
  const double result = static_cast<double>(values::widen(found)) * wanted;
  const bool same = std::isnan(number) ? std::isnan(result) : number == result;
  return same ? std::optional(found.bits) : std::nullopt;
}

// The squares of a matrix, each as high as a block is long.
template <class T>
class Squares {
 public:
  Squares(const BlockRow& row, const LineBlocks& dst, const LineBlocks& src)
      : row_(row),
        dst_(dst),
        src_(src),
        bits_(static_cast<std::size_t>(row.along)),
        codes_(static_cast<std::size_t>(row.along * row.along)) {}

  // Reads the square; its codes are then those of its one scale.
  std::optional<Inexact> read(std::int64_t i, std::int64_t j) {
    read_scales(i, j);
    for (int r = 0; r < row_.along; ++r) {
      const bool moves = bits_[at(r)] == wanted_;
      const double scale = factor(bits_[at(r)]);
      for (int k = 0; k < row_.along; ++k) {
        const T code = source_code(i * row_.along + r, j * row_.along + k);
        std::optional<std::uint8_t> found = code.bits;
        if (!moves) found = rescaled(code, scale, factor(wanted_));
        if (!found) return Inexact{i * row_.along + r, j * row_.along + k};
        codes_[at(k * row_.along + r)] = T{*found};
      }
    }
    return std::nullopt;
  }

  // Do codes stay what they are?
  bool has_one_scale(std::int64_t i, std::int64_t j) {
    read_scales(i, j);
    return std::all_of(bits_.begin(), bits_.end(), [&](auto bits) { return bits == wanted_; });
  }

  void write(std::int64_t i, std::int64_t j) const {
    const int units = row_.along / row_.values_per_unit();
    std::vector<std::byte> line(static_cast<std::size_t>(units));
    for (int k = 0; k < row_.along; ++k) {
      const std::int64_t c = j * row_.along + k;
      put_codes<T>(line.data(), row_.along, [&](int r) { return codes_[at(k * row_.along + r)]; });
      std::byte* to = dst_.values + c * dst_.value_strides[0] + i * units * dst_.value_strides[1];
      for (int u = 0; u < units; ++u) to[u * dst_.value_strides[1]] = line[at(u)];
      put_scale(dst_.scales + c * dst_.scale_strides[0] + i * dst_.scale_strides[1], wanted_,
                row_.scale_bytes());
    }
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  double factor(std::uint32_t bits) const {
    return static_cast<double>(block_factor(row_, bits, 1.0F));
  }

  void read_scales(std::int64_t i, std::int64_t j) {
    double largest = -1;
    for (int r = 0; r < row_.along; ++r) {
      const std::byte* const from =
          src_.scales + (i * row_.along + r) * src_.scale_strides[0] + j * src_.scale_strides[1];
      bits_[at(r)] = get_scale(from, row_.scale_bytes());
      if (r == 0) wanted_ = bits_[0];
      const double scale = std::abs(factor(bits_[at(r)]));
      if (!std::isfinite(scale) || scale <= largest) continue;
      largest = scale;
      wanted_ = bits_[at(r)];
    }
  }

  T source_code(std::int64_t i, std::int64_t j) const {
    const int of_unit = row_.values_per_unit();
    const std::byte* const unit =
        src_.values + i * src_.value_strides[0] + j / of_unit * src_.value_strides[1];
    return code_at<T>(unit, j % of_unit);
  }

  const BlockRow& row_;
  const LineBlocks& dst_;
  const LineBlocks& src_;
  std::vector<std::uint32_t> bits_;  // the scales of the lines
  std::uint32_t wanted_ = 0;         // the largest of them
  std::vector<T> codes_;             // of the transpose
};

template <class T>
std::optional<Inexact> transpose(const BlockRow& row, const LineBlocks& dst, const LineBlocks& src,
                                 std::int64_t rows, std::int64_t columns, int threads) {
  const std::int64_t across = columns / row.along;
  const std::int64_t all = rows / row.along * across;
  const auto for_all = [&](const auto& visit) {
    parallel_ranges(resolve_threads(threads), all, 16, [&](std::int64_t first, std::int64_t last) {
      Squares<T> squares(row, dst, src);
      for (std::int64_t n = first; n < last; ++n) visit(squares, n / across, n % across);
    });
  };
  std::mutex one;
  std::optional<Inexact> inexact;
  for_all([&](Squares<T>& squares, std::int64_t i, std::int64_t j) {
    if (squares.has_one_scale(i, j)) return;
    const std::optional<Inexact> found = squares.read(i, j);
    if (!found) return;
    const std::scoped_lock lock(one);
    const auto place = [](const Inexact& x) { return std::pair(x.row, x.column); };
    if (!inexact || place(*found) < place(*inexact)) inexact = found;
  });
  if (inexact) return inexact;
  for_all([](Squares<T>& squares, std::int64_t i, std::int64_t j) {
    squares.read(i, j);
    squares.write(i, j);
  });
  return std::nullopt;
}

}  // namespace

std::optional<Inexact> transpose_lines(const BlockRow& row, const LineBlocks& dst,
                                       const LineBlocks& src, std::int64_t rows,
                                       std::int64_t columns, int threads) {
  switch (row.element) {
    case BlockElement::e5m2:
      return transpose<values::E5M2>(row, dst, src, rows, columns, threads);
    case BlockElement::e2m1:
      return transpose<values::E2M1>(row, dst, src, rows, columns, threads);
    case BlockElement::e4m3:
    case BlockElement::packed:
      break;
  }
  return transpose<values::E4M3>(row, dst, src, rows, columns, threads);
}

}  // namespace cornerturn::cpu
