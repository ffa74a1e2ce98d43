// gather: walks the destination in order and copies one element a step.
#include <cstring>

#include "cpu/convert_run.hpp"
#include "cpu/kernel.hpp"
#include "plan/cpu/gather.hpp"

namespace cornerturn::cpu {
namespace {

// Elements of the last mode done by one piece; the other modes are counted one by one.
constexpr std::int64_t elements_per_piece = 1 << 15;

struct Shape {
  std::int64_t run;           // extent of the last mode
  std::int64_t runs;          // product of all other extents
  std::int64_t runs_a_piece;  // at least 1
};

Shape shape_of(const Problem& normal) {
  const std::int64_t run = normal.modes.empty() ? 1 : normal.modes.back().extent;
  const std::int64_t runs = run == 0 ? 0 : normal.elements() / run;
  return {run, runs,
          std::max<std::int64_t>(1, elements_per_piece / std::max<std::int64_t>(run, 1))};
}

// Writes an element `count` times: at least plan::gather::shortest_filled bytes. The last move
// overlaps the one before it, and is short: it seldom reaches into two lines.
template <int width>
void fill(std::byte* dst, const std::byte* element, std::int64_t count) {
  constexpr std::int64_t line = 64, part = 16;
  std::byte filled[line];
  for (std::int64_t k = 0; k < line; k += width) std::memcpy(filled + k, element, width);
  const std::int64_t bytes = count * width;
  std::int64_t k = 0;
  for (; k + line <= bytes; k += line) std::memcpy(dst + k, filled, line);
  for (; k + part <= bytes; k += part) std::memcpy(dst + k, filled, part);
  if (k < bytes) std::memcpy(dst + bytes - part, filled, part);
}

template <int width>
void run_width(const Problem& normal, std::byte* dst, const std::byte* src, std::int64_t first_run,
               std::int64_t last_run, std::int64_t run) {
  const int outer_rank = normal.rank() > 0 ? normal.rank() - 1 : 0;
  const Mode inner = normal.modes.empty() ? Mode{1, 0, 0} : normal.modes.back();
  // The index of the first run, by division; the others by counting.
  std::int64_t index[ModeList::capacity] = {};
  std::int64_t rest = first_run;
  for (int i = outer_rank; i-- > 0;) {
    const Mode& mode = normal.modes[i];
    index[i] = rest % mode.extent;
    rest /= mode.extent;
    src += index[i] * mode.src_stride;
    dst += index[i] * mode.dst_stride;
  }
  const bool fills = plan::gather::is_filled(inner, width);
  for (std::int64_t r = first_run; r < last_run; ++r) {
    if (fills) {
      fill<width>(dst, src, run);
    } else {
      for (std::int64_t k = 0; k < run; ++k) {
        std::memcpy(dst + k * inner.dst_stride, src + k * inner.src_stride, width);
      }
    }
    for (int i = outer_rank; i-- > 0;) {
      const Mode& mode = normal.modes[i];
      src += mode.src_stride;
      dst += mode.dst_stride;
      if (++index[i] < mode.extent) break;
      index[i] = 0;
      src -= mode.extent * mode.src_stride;
      dst -= mode.extent * mode.dst_stride;
    }
  }
}

// One vector's value at index `index` of its mode, if that is not the run's own.
const float* at(const float* data, const ModeVector& vector, const std::int64_t* index,
                int outer_rank) {
  if (!vector.present) return nullptr;
  const bool outer = vector.mode >= 0 && vector.mode < outer_rank;
  return data + vector.first + (outer ? vector.step * index[vector.mode] : 0);
}

std::int64_t pieces(const plan::GatherConfig&, const Problem& normal) {
  const Shape shape = shape_of(normal);
  return (shape.runs + shape.runs_a_piece - 1) / shape.runs_a_piece;
}

void move(const Problem& normal, std::byte* dst, const std::byte* src, std::int64_t first,
          std::int64_t last) {
  const Shape shape = shape_of(normal);
  const std::int64_t first_run = first * shape.runs_a_piece;
  const std::int64_t last_run = std::min(last * shape.runs_a_piece, shape.runs);
  switch (normal.dst_type.size()) {
    case 1:
      return run_width<1>(normal, dst, src, first_run, last_run, shape.run);
    case 2:
      return run_width<2>(normal, dst, src, first_run, last_run, shape.run);
    case 4:
      return run_width<4>(normal, dst, src, first_run, last_run, shape.run);
    case 8:
      return run_width<8>(normal, dst, src, first_run, last_run, shape.run);
    default:
      return run_width<16>(normal, dst, src, first_run, last_run, shape.run);
  }
}

void convert(const Problem& normal, std::byte* dst, const std::byte* src, const Vectors& vectors,
             std::int64_t first, std::int64_t last) {
  const Shape shape = shape_of(normal);
  const ConvertFunction convert = convert_function(normal.dst_type, normal.src_type);
  const int outer_rank = normal.rank() > 0 ? normal.rank() - 1 : 0;
  const Mode inner = normal.modes.empty() ? Mode{1, 0, 0} : normal.modes.back();
  ConvertRun run;
  run.src_step = inner.src_stride;
  run.dst_step = run.place_step = inner.dst_stride;
  run.scale_step = step_along(normal.scale, outer_rank);
  run.bias_step = step_along(normal.bias, outer_rank);
  run.count = shape.run;
  const std::int64_t last_run = std::min(last * shape.runs_a_piece, shape.runs);
  for (std::int64_t r = first * shape.runs_a_piece; r < last_run; ++r) {
    std::int64_t index[ModeList::capacity] = {};
    std::int64_t rest = r;
    run.src = src;
    run.dst_offset = 0;
    for (int i = outer_rank; i-- > 0;) {
      const Mode& mode = normal.modes[i];
      index[i] = rest % mode.extent;
      rest /= mode.extent;
      run.src += index[i] * mode.src_stride;
      run.dst_offset += index[i] * mode.dst_stride;
    }
    run.dst = dst + run.dst_offset;
    run.scale = at(vectors.scale, normal.scale, index, outer_rank);
    run.bias = at(vectors.bias, normal.bias, index, outer_rank);
    convert(normal, run);
  }
}

void run(const plan::GatherConfig&, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  std::byte* const dst = dst_of(buffers);
  const std::byte* const src = src_of(buffers);
  if (!normal.converts()) return move(normal, dst, src, first, last);
  convert(normal, dst, src, buffers.vectors, first, last);
}

}  // namespace

extern const Kernel gather_kernel = kernel_in_pieces<plan::GatherConfig, pieces, run>;

}  // namespace cornerturn::cpu
