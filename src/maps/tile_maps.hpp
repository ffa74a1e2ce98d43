// Where the element (row, column) of a tile lies in shared memory. Each map is a type: rows,
// columns, at(row, column) and the elements it needs, required_span_size(); `linear` says that at()
// is linear over bits, at(a ^ b) = at(a) ^ at(b), so that proofs need only look at powers of two.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "maps/composed.hpp"
#include "maps/host_device.hpp"
#include "maps/layout.hpp"
#include "maps/swizzle.hpp"

namespace cornerturn {

constexpr bool is_power_of_two(std::int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
}

/// Rows one after the other. Pad elements stay free after every Every rows.
template <int Rows, int Columns, int Pad = 0, int Every = 1>
struct Padded {
  static_assert(Rows > 0 && Columns > 0 && Pad >= 0 && Every > 0);
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr bool linear = Pad == 0 && is_power_of_two(Rows) && is_power_of_two(Columns);

  CT_HOST_DEVICE static constexpr std::int64_t at(int row, int column) {
    // Unsigned: a division by a power of two is one shift then.
    return std::int64_t{row} * Columns +
           static_cast<int>(static_cast<unsigned>(row) / Every * Pad) + column;
  }
  static constexpr std::int64_t required_span_size() { return at(Rows - 1, Columns - 1) + 1; }
};

template <int Rows, int Columns>
using RowMajor = Padded<Rows, Columns>;

/// Each row is rotated by Step places further than the one before: column + row * Step mod Columns.
/// The remainder is one of unsigned numbers of 32 bits: where Columns is a power of two it is one
/// instruction, and a signed one of 64 bits would be several for each access.
template <int Rows, int Columns, int Step = 1>
struct Rotated {
  static_assert(Rows > 0 && Columns > 0 && Step >= 0);
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr bool linear = false;

  CT_HOST_DEVICE static constexpr std::int64_t at(int row, int column) {
    const auto place = static_cast<std::uint32_t>(row) * Step + static_cast<std::uint32_t>(column);
    return std::int64_t{row} * Columns + place % Columns;
  }
  static constexpr std::int64_t required_span_size() { return std::int64_t{Rows} * Columns; }
};

/// Chunks of Chunk elements stay whole; their place in the row is xor-ed with row / RowsPerStep, of
/// which as many bits are used as the row's number of chunks allows. The defaults suit V x V
/// register blocks, whose lanes are V rows apart; Chunk = 1 is the plain column ^ row.
template <int Rows, int Columns, int Chunk, int RowsPerStep = Chunk>
struct ChunkXor {
  static_assert(Rows > 0 && Chunk > 0 && RowsPerStep > 0);
  static_assert(Columns % Chunk == 0, "ChunkXor: a row is no whole number of chunks");
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int chunks = Columns / Chunk;
  static constexpr int steps = chunks & -chunks;
  static constexpr bool linear = is_power_of_two(Rows) && is_power_of_two(Columns) &&
                                 is_power_of_two(Chunk) && is_power_of_two(RowsPerStep);

  CT_HOST_DEVICE static constexpr std::int64_t at(int row, int column) {
    const int chunk = column / Chunk ^ (row / RowsPerStep & (steps - 1));
    return std::int64_t{row} * Columns + chunk * Chunk + column % Chunk;
  }
  static constexpr std::int64_t required_span_size() { return std::int64_t{Rows} * Columns; }
};

/// Rows one after the other, under a swizzle.
template <class Swizzling, int Rows, int Columns>
struct SwizzledRows {
  static_assert(Rows > 0 && Columns > 0);
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr bool linear = is_power_of_two(Rows) && is_power_of_two(Columns);

  CT_HOST_DEVICE static constexpr std::int64_t at(int row, int column) {
    return Swizzling{}(std::int64_t{row} * Columns + column);
  }
  static constexpr std::int64_t required_span_size() {
    return Swizzling::value.span(std::int64_t{Rows} * Columns);
  }
};

/// Any layout of two modes, rows and columns, under a swizzle.
template <class Swizzling, Layout L>
struct Swizzled {
  static_assert(L.rank() == 2, "Swizzled: the layout's modes are the rows and the columns");
  static constexpr int rows = static_cast<int>(L.mode(0).size());
  static constexpr int columns = static_cast<int>(L.mode(1).size());
  static constexpr bool linear = is_linear(L);

  CT_HOST_DEVICE static constexpr std::int64_t at(int row, int column) {
    return Swizzling{}(sum(row, column, std::make_integer_sequence<int, L.leaves>()));
  }
  static constexpr std::int64_t required_span_size() {
    return SwizzledLayout{Swizzling::value, 0, L}.span();
  }

 private:
  // One term a leaf, all of whose numbers are constants: device code has no object L to look into.
  template <int I>
  CT_HOST_DEVICE static constexpr std::int64_t term(int row, int column) {
    constexpr bool of_rows = I < L.mode_end(0);
    constexpr bool last = I == L.mode_end(0) - 1 || I == L.leaves - 1;
    constexpr std::int64_t before = extents_before<I>();
    constexpr std::int64_t extent = L.leaf[I].extent;
    constexpr std::int64_t stride = L.leaf[I].stride;
    const std::int64_t index = (of_rows ? row : column) / before;
    return (last ? index : index % extent) * stride;
  }
  template <int I>
  CT_HOST_DEVICE static constexpr std::int64_t extents_before() {
    std::int64_t product = 1;
    for (int i = I < L.mode_end(0) ? 0 : L.mode_end(0); i < I; ++i) product *= L.leaf[i].extent;
    return product;
  }
  template <int... I>
  CT_HOST_DEVICE static constexpr std::int64_t sum(int row, int column,
                                                   std::integer_sequence<int, I...>) {
    return (term<I>(row, column) + ...);
  }
};

}  // namespace cornerturn
