// units: what the caches hold goes unit by unit through the registers, from where it lies to where
// it belongs, with no table; with no stage, unless lines of one side share few sets of the caches.
// Columns shorter than a vector are stored by shorter ones;
// the last unit either way is moved back to end with its mode: what it repeats stays the same.
#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/kernel.hpp"
#include "plan/cpu/units.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/units.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/transpose_block.hpp"

#ifndef CORNERTURN_CPU_UNITS_ONCE
#define CORNERTURN_CPU_UNITS_ONCE
namespace cornerturn::cpu {

// The matrices of a problem: `rows` that lie `row_pitch` bytes apart in the source become columns
// that lie `column_pitch` bytes apart in the destination. The other modes number them.
struct UnitsProblem {
  std::int64_t rows, columns;
  std::int64_t row_pitch, column_pitch;
  std::int64_t matrices = 1;
  std::int64_t a_group = 1;  // so many indices of `group` are moved at a time
  Mode group{1, 0, 0};
  int batch_modes = 0;
  Mode batch[ModeList::capacity];  // fastest first, without `group`

  std::int64_t groups() const { return (group.extent + a_group - 1) / a_group; }
};

inline UnitsProblem units_problem(const plan::UnitsConfig& config, const Problem& normal) {
  UnitsProblem problem;
  const Mode& rows = normal.modes.back();
  const Mode& columns = normal.modes[config.columns];
  problem.rows = rows.extent;
  problem.columns = columns.extent;
  problem.row_pitch = rows.src_stride;
  problem.column_pitch = columns.src_stride < 0 ? -columns.dst_stride : columns.dst_stride;
  problem.a_group = config.group;
  if (config.group_mode >= 0) problem.group = normal.modes[config.group_mode];
  for (int i = normal.rank() - 1; i-- > 0;) {
    if (i == config.columns || i == config.group_mode) continue;
    problem.batch[problem.batch_modes++] = normal.modes[i];
    problem.matrices *= normal.modes[i].extent;
  }
  return problem;
}

inline int vector_bytes_of(std::int64_t rows, std::int64_t width, int vector_bytes) {
  return plan::units::column_bytes(rows * width, vector_bytes);
}

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_UNITS_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {
namespace {

using u8 = std::uint8_t;

// Where a unit is read and written.
struct Place {
  const u8* src;
  u8* dst;
  std::int64_t row_pitch, column_pitch;

  HWY_INLINE Place at(std::int64_t row, std::int64_t column, int width) const {
    return {src + row * row_pitch + column * width, dst + column * column_pitch + row * width,
            row_pitch, column_pitch};
  }
};

// The compiler knows nothing of `value` from here on.
HWY_INLINE void hide(std::int64_t& value) {
  asm("" : "+r"(value));
}

template <int width, int bytes, int across>
HWY_INLINE void move_unit(Place place) {
  if constexpr (unit_columns<width>() >= 8) {
    // Its many addresses are counted out anew: kept over a loop, they would fill up the stack.
    hide(place.row_pitch);
    hide(place.column_pitch);
  }
  transpose_unit<width, false, bytes, across>(
      [=](int i) { return place.src + i * place.row_pitch; },
      [=](int k) { return place.dst + k * place.column_pitch; });
}

// As many columns, from `column` on, as units side by side take; returns the first that is left.
template <int width, int bytes, int across>
HWY_INLINE std::int64_t move_across(Place place, std::int64_t column, std::int64_t columns) {
  constexpr std::int64_t step = unit_columns<width>() * across;
  for (; column + step <= columns; column += step) {
    move_unit<width, bytes, across>(place.at(0, column, width));
  }
  return column;
}

template <int width>
HWY_INLINE void move_elements(Place place, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(place.dst + c * place.column_pitch + r * width,
                  place.src + r * place.row_pitch + c * width, width);
    }
  }
}

// So few bytes of a row or a column are left that they go by elements.
constexpr std::int64_t few_bytes = 2;

// The rows of one unit. The last unit is moved back to end with the columns.
template <int width, int bytes>
HWY_INLINE void move_units(Place place, std::int64_t columns) {
  constexpr std::int64_t V = unit_rows<width, bytes>(), K = unit_columns<width>();
  constexpr int most_across = vector_bytes / bytes;
  std::int64_t c = 0;
  if constexpr (most_across >= 4) c = move_across<width, bytes, 4>(place, c, columns);
  if constexpr (most_across >= 2) c = move_across<width, bytes, 2>(place, c, columns);
  c = move_across<width, bytes, 1>(place, c, columns);
  if (c == columns) return;
  if ((columns - c) * width <= few_bytes) {
    move_elements<width>(place.at(0, c, width), V, columns - c);
  } else {
    move_unit<width, bytes, 1>(place.at(0, columns - K, width));
  }
}

// Rows [first, last) of one matrix: what is left of them by the shortest units that do.
template <int width, int bytes>
void move_rows(const UnitsProblem& problem, u8* dst, const u8* src, std::int64_t first,
               std::int64_t last) {
  const Place place{src, dst, problem.row_pitch, problem.column_pitch};
  const std::int64_t columns = problem.columns;
  std::int64_t row = first;
  for (constexpr std::int64_t V = unit_rows<width, bytes>(); row + V <= last; row += V) {
    move_units<width, bytes>(place.at(row, 0, width), columns);
  }
  const std::int64_t left = (last - row) * width;
  if (left == 0) return;
  const auto end = [&]<int part>(std::integral_constant<int, part>) HWY_ATTR {
    move_units<width, part>(place.at(last - unit_rows<width, part>(), 0, width), columns);
  };
  if (left <= few_bytes) {
    move_elements<width>(place.at(row, 0, width), last - row, columns);
  } else if (bytes == 16 || left <= 16) {
    end(std::integral_constant<int, 16>());
  } else if (bytes == 32 || left <= 32) {
    if constexpr (bytes >= 32) end(std::integral_constant<int, 32>());
  } else {
    if constexpr (bytes >= 64) end(std::integral_constant<int, 64>());
  }
}

// Walks over the matrices, or over groups of them.
class Matrices {
 public:
  Matrices(const UnitsProblem& problem, u8* dst, const u8* src, std::int64_t number)
      : problem_(problem), dst_(dst), src_(src) {
    for (int k = 0; k < problem.batch_modes; ++k) {
      const Mode& mode = problem.batch[k];
      index_[k] = number % mode.extent;
      number /= mode.extent;
      src_ += index_[k] * mode.src_stride;
      dst_ += index_[k] * mode.dst_stride;
    }
  }

  u8* dst() const { return dst_; }
  const u8* src() const { return src_; }

  void next() {
    for (int k = 0; k < problem_.batch_modes; ++k) {
      const Mode& mode = problem_.batch[k];
      src_ += mode.src_stride;
      dst_ += mode.dst_stride;
      if (++index_[k] < mode.extent) break;
      index_[k] = 0;
      src_ -= mode.extent * mode.src_stride;
      dst_ -= mode.extent * mode.dst_stride;
    }
  }

 private:
  const UnitsProblem& problem_;
  u8* dst_;
  const u8* src_;
  std::int64_t index_[ModeList::capacity];
};

// Pieces [first, last): whole units of rows, the last of a matrix with what is left of it.
template <int width, int bytes>
void run_matrices(const UnitsProblem& problem, u8* dst, const u8* src, std::int64_t first,
                  std::int64_t last) {
  constexpr std::int64_t V = unit_rows<width, bytes>();
  const std::int64_t a_matrix = problem.rows / V;
  last = std::min(last, problem.matrices * a_matrix);
  Matrices matrix(problem, dst, src, first / a_matrix);
  std::int64_t block = first % a_matrix;
  for (std::int64_t piece = first; piece < last; matrix.next()) {
    const std::int64_t end = std::min(a_matrix, block + last - piece);
    move_rows<width, bytes>(problem, matrix.dst(), matrix.src(), block * V,
                            end == a_matrix ? problem.rows : end * V);
    piece += end - block;
    block = 0;
  }
}

// All `bytes` >= 16 of a run, not one more: the last move is moved back to end with it.
HWY_INLINE void copy_run(u8* to, const u8* from, std::int64_t bytes) {
  std::int64_t b = 0;
  for (; b + vector_bytes <= bytes; b += vector_bytes) copy_vector(to + b, from + b);
  for (; b < bytes; b += 16) {
    const std::int64_t at = std::max<std::int64_t>(0, std::min(b, bytes - 16));
    std::memcpy(to + at, from + at, 16);
  }
}

// A line that ends an even number of them is added: rows then spread over the cache's sets.
constexpr std::int64_t staged_pitch(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64 | 64;
}

// A piece is the whole group of matrices.
template <int width, int bytes>
void run_groups(const UnitsProblem& problem, u8* dst, const u8* src, std::int64_t first,
                std::int64_t last) {
  using plan::units::staged_bytes;
  using plan::units::staged_runs;
  const Mode& group = problem.group;
  const std::int64_t in_bytes = problem.columns * width, out_bytes = problem.rows * width;
  const std::int64_t groups = problem.groups();
  last = std::min(last, problem.matrices * groups);
  constexpr std::int64_t stage_bytes = staged_bytes + staged_runs * staged_pitch(0) * 2;
  alignas(64) u8 in[stage_bytes];
  alignas(64) u8 out[stage_bytes];
  Matrices matrix(problem, dst, src, first / groups);
  for (std::int64_t piece = first; piece < last; ++piece) {
    const std::int64_t begin = piece % groups * problem.a_group;
    const std::int64_t count = std::min(problem.a_group, group.extent - begin);
    const u8* const from = matrix.src() + begin * group.src_stride;
    u8* const to = matrix.dst() + begin * group.dst_stride;
    UnitsProblem staged = problem;
    staged.row_pitch = staged_pitch(count * in_bytes);
    staged.column_pitch = staged_pitch(count * out_bytes);
    const bool joined = group.src_stride == in_bytes;
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      u8* const row = in + r * staged.row_pitch;
      const u8* const at = from + r * problem.row_pitch;
      if (joined) {
        copy_run(row, at, count * in_bytes);
        continue;
      }
      for (std::int64_t g = 0; g < count; ++g) {
        copy_run(row + g * in_bytes, at + g * group.src_stride, in_bytes);
      }
    }
    for (std::int64_t g = 0; g < count; ++g) {
      move_rows<width, bytes>(staged, out + g * out_bytes, in + g * in_bytes, 0, problem.rows);
    }
    for (std::int64_t c = 0; c < problem.columns; ++c) {
      copy_run(to + c * problem.column_pitch, out + c * staged.column_pitch, count * out_bytes);
    }
    if ((piece + 1) % groups == 0) matrix.next();
  }
}

template <int width, int bytes>
void run_pieces(const UnitsProblem& problem, u8* dst, const u8* src, std::int64_t first,
                std::int64_t last) {
  if (problem.a_group > 1) return run_groups<width, bytes>(problem, dst, src, first, last);
  run_matrices<width, bytes>(problem, dst, src, first, last);
}

template <int width>
void run_width(const plan::UnitsConfig& config, const Problem& normal, u8* dst, const u8* src,
               std::int64_t first, std::int64_t last) {
  const UnitsProblem problem = units_problem(config, normal);
  const Mode& columns = normal.modes[config.columns];
  if (columns.src_stride < 0) {
    src += (columns.extent - 1) * columns.src_stride;
    dst += (columns.extent - 1) * columns.dst_stride;
  }
  const int bytes = vector_bytes_of(problem.rows, width, vector_bytes);
  if constexpr (vector_bytes >= 64) {
    if (bytes == 64) return run_pieces<width, 64>(problem, dst, src, first, last);
  }
  if constexpr (vector_bytes >= 32) {
    if (bytes == 32) return run_pieces<width, 32>(problem, dst, src, first, last);
  }
  run_pieces<width, 16>(problem, dst, src, first, last);
}

void run_units(const plan::UnitsConfig& config, const Problem& normal, u8* dst, const u8* src,
               std::int64_t first, std::int64_t last) {
  switch (normal.dst_type.size()) {
    case 1:
      return run_width<1>(config, normal, dst, src, first, last);
    case 2:
      return run_width<2>(config, normal, dst, src, first, last);
    case 4:
      return run_width<4>(config, normal, dst, src, first, last);
    case 8:
      return run_width<8>(config, normal, dst, src, first, last);
    default:
      return run_width<16>(config, normal, dst, src, first, last);
  }
}

std::int64_t count_pieces(const plan::UnitsConfig& config, const Problem& normal) {
  const UnitsProblem problem = units_problem(config, normal);
  if (problem.a_group > 1) return problem.matrices * problem.groups();
  const std::int64_t width = normal.dst_type.size();
  return problem.matrices *
         (problem.rows / (vector_bytes_of(problem.rows, width, vector_bytes) / width));
}

}  // namespace
}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_units);
HWY_EXPORT(count_pieces);

namespace {

std::int64_t pieces(const plan::UnitsConfig& config, const Problem& normal) {
  return HWY_DYNAMIC_DISPATCH(count_pieces)(config, normal);
}

void run(const plan::UnitsConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_units)
  (config, normal, static_cast<std::uint8_t*>(buffers.dst),
   static_cast<const std::uint8_t*>(buffers.src), first, last);
}

}  // namespace

extern const Kernel units_kernel = [] {
  Kernel kernel = kernel_in_pieces<plan::UnitsConfig, pieces, run>;
  kernel.stops_at_last = true;
  return kernel;
}();

}  // namespace cornerturn::cpu
#endif
