#include "workshop/lab/tile_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "maps/tile_maps.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/convert.hpp"

namespace cornerturn::lab {
namespace {

constexpr int bank_row = bank_count * bank_bytes;

const char* cuda_type(int bytes) {
  switch (bytes) {
    case 1:
      return "uint8_t";
    case 2:
      return "__half";
    case 4:
      return "float";
    case 8:
      return "double";
    default:
      return "float4";
  }
}

// "(_64,_64)" as CuTe's types or values: _64, Int<24>.
std::string tuple(const char* open, const Layout& layout, bool extents) {
  std::string out = open;
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.leaf[i];
    // The outermost parentheses are `open` and ">".
    const int opens = leaf.opens - (i == 0 ? 1 : 0);
    const int closes = leaf.closes - (i == layout.leaves - 1 ? 1 : 0);
    if (i > 0) out += ", ";
    for (int k = 0; k < opens; ++k) out += open;
    out += fmt::format("Int<{}>", extents ? leaf.extent : leaf.stride);
    out.append(static_cast<std::size_t>(closes), '>');
  }
  return out + ">";
}

std::string python_tuple(const Layout& layout, bool extents) {
  std::string out;
  for (int i = 0; i < layout.leaves; ++i) {
    const Layout::Leaf& leaf = layout.leaf[i];
    if (i > 0) out += ", ";
    out.append(static_cast<std::size_t>(leaf.opens), '(');
    out += fmt::format("{}", extents ? leaf.extent : leaf.stride);
    out.append(static_cast<std::size_t>(leaf.closes), ')');
  }
  return out;
}

// The widest access, in elements.
int widest(const TileShape& tile) {
  return std::max(1, 16 / tile.bytes);
}

// Elements that the banks hold side by side.
int bank_row_elements(const TileShape& tile) {
  return std::max(1, bank_row / tile.bytes);
}

void add_swizzles(const TileChoice& plain, std::vector<TileChoice>& all) {
  const auto elements = static_cast<std::uint64_t>(plain.tile.rows * plain.tile.columns);
  const auto width = static_cast<int>(std::bit_width(elements - 1));
  for (int b = 1; b <= 5; ++b) {
    for (int m = 0; (1 << m) < bank_row_elements(plain.tile); ++m) {
      for (int s = b; s + m + b <= width; ++s) {
        TileChoice& choice = all.emplace_back(plain);
        choice.family = Family::swizzle;
        choice.swizzle = {b, m, s};
      }
    }
  }
}

void add_chunk_xors(const TileChoice& plain, std::vector<TileChoice>& all) {
  const TileShape& tile = plain.tile;
  if (is_power_of_two(tile.columns)) return;  // these are among the swizzles
  for (std::int64_t chunk = 1; chunk <= bank_row_elements(tile); chunk *= 2) {
    if (tile.columns % chunk != 0 || tile.columns / chunk % 2 != 0) continue;
    for (std::int64_t every = 1; every <= widest(tile) * 2 && every < tile.rows; every *= 2) {
      TileChoice& choice = all.emplace_back(plain);
      choice.family = Family::chunk_xor;
      choice.chunk = chunk;
      choice.every = every;
    }
  }
}

void add_rotations(const TileChoice& plain, std::vector<TileChoice>& all) {
  const TileShape& tile = plain.tile;
  for (std::int64_t step = 1; step <= bank_row_elements(tile) && step < tile.columns; ++step) {
    for (std::int64_t every = 1; every <= widest(tile) && every < tile.rows; every *= 2) {
      TileChoice& choice = all.emplace_back(plain);
      choice.family = Family::rotation;
      choice.step = step;
      choice.every = every;
    }
  }
}

void add_paddings(const TileChoice& plain, std::vector<TileChoice>& all) {
  for (int pad = 1; pad <= bank_row_elements(plain.tile); ++pad) {
    TileChoice& choice = all.emplace_back(plain);
    choice.family = Family::padding;
    choice.pad = pad;
  }
}

void add_boxes_of_tma(const TileChoice& plain, std::vector<TileChoice>& all) {
  const TileShape& tile = plain.tile;
  if (tile.bytes > 16 || tile.rows > 256) return;
  for (int b = 0; b <= 3; ++b) {
    const std::int64_t box = (std::int64_t{16} << b) / tile.bytes;
    if (tile.columns % box != 0) continue;
    TileChoice& choice = all.emplace_back(plain);
    choice.family = Family::tma;
    choice.box = box;
    if (b > 0) choice.swizzle = to_elements({b, 4, 3}, tile.bytes);
  }
}

}  // namespace

const char* name(Family family) {
  switch (family) {
    case Family::plain:
      return "plain";
    case Family::swizzle:
      return "swizzle";
    case Family::tma:
      return "TMA boxes";
    case Family::chunk_xor:
      return "chunk xor";
    case Family::rotation:
      return "rotation";
    default:
      return "padding";
  }
}

std::int64_t TileChoice::shared_bytes() const {
  const std::int64_t elements = tile.rows * tile.columns;
  if (family == Family::swizzle || family == Family::tma) {
    return swizzle.span(elements) * tile.bytes;
  }
  // Nothing stands behind the last row's padding.
  if (family == Family::padding) return (elements + (tile.rows - 1) * pad) * tile.bytes;
  return elements * tile.bytes;
}

bool TileChoice::keeps(int vector) const {
  switch (family) {
    case Family::swizzle:
    case Family::tma:  // whose boxes are 16 bytes wide at least
      return swizzle.bits == 0 || 1 << swizzle.base >= vector;
    case Family::chunk_xor:
      return chunk % vector == 0;
    case Family::rotation:
      return step % vector == 0;
    default:
      return true;
  }
}

bool TileChoice::linear() const {
  return is_power_of_two(tile.rows) && is_power_of_two(tile.columns) &&
         family != Family::rotation && family != Family::padding;
}

int TileChoice::address_instructions() const {
  switch (family) {
    case Family::swizzle:
      return 2;  // shift; and-xor
    case Family::tma:
      return swizzle.bits > 0 ? 4 : 2;  // and which box, and where in it
    case Family::chunk_xor:
      return 2;  // shift; and-xor
    case Family::rotation:
      return is_power_of_two(tile.columns) ? 2 : 4;  // add; and, or modulo
    default:
      return 0;
  }
}

bool TileChoice::fits_tma() const {
  if (family == Family::tma) return true;
  // Its rows are multiples of 16 bytes, and a box has at most 256 elements a side.
  const bool boxed = tile.columns * tile.bytes % 16 == 0 && tile.rows <= 256 && tile.columns <= 256;
  return family == Family::plain && boxed;
}

std::optional<SwizzledLayout> TileChoice::layout() const {
  switch (family) {
    case Family::plain:
      return SwizzledLayout{{}, 0, row_major(tile.rows, tile.columns)};
    case Family::swizzle:
      return composition(swizzle, row_major(tile.rows, tile.columns));
    case Family::tma: {
      if (box == tile.columns) return composition(swizzle, row_major(tile.rows, tile.columns));
      const Layout columns =
          make_layout({make_leaf(box, 1), make_leaf(tile.columns / box, box * tile.rows)});
      return composition(swizzle, make_layout({make_leaf(tile.rows, box), columns}));
    }
    case Family::padding:
      return SwizzledLayout{
          {},
          0,
          make_layout({make_leaf(tile.rows, tile.columns + pad), make_leaf(tile.columns, 1)})};
    default:
      return std::nullopt;
  }
}

std::string TileChoice::text() const {
  if (const auto cute = layout()) {
    std::string text = to_string(*cute);
    if (family != Family::tma) return text;
    return fmt::format("{}, TMA {}", text,
                       tma_mode(to_bytes(swizzle, tile.bytes)).value_or("none"));
  }
  if (family == Family::chunk_xor) {
    return fmt::format("rows of {}, chunk of {} ^ (row / {}) % {}", tile.columns, chunk, every,
                       xor_steps());
  }
  return fmt::format("rows of {}, rotated by {} every {}", tile.columns, step,
                     every == 1 ? "row" : fmt::format("{} rows", every));
}

std::vector<TileChoice::Form> TileChoice::forms() const {
  return {{"cute_cpp", "CuTe, C++", cute_cpp()},
          {"cute_python", "CuTe, Python", cute_python()},
          {"gluon", "Triton, Gluon", gluon()},
          {"cuda", "CUDA", cuda()}};
}

std::string TileChoice::cute_cpp() const {
  const auto cute = layout();
  if (!cute) return {};
  const std::string plain = fmt::format("Layout<{}, {}>{{}}", tuple("Shape<", cute->layout, true),
                                        tuple("Stride<", cute->layout, false));
  if (cute->swizzle.bits == 0) return fmt::format("auto tile = {};", plain);
  return fmt::format("auto tile = composition(Swizzle<{}, {}, {}>{{}}, {});", swizzle.bits,
                     swizzle.base, swizzle.shift, plain);
}

std::string TileChoice::cute_python() const {
  const auto cute = layout();
  if (!cute) return {};
  const std::string plain =
      fmt::format("cute.make_layout({}, stride={})", python_tuple(cute->layout, true),
                  python_tuple(cute->layout, false));
  if (cute->swizzle.bits == 0) return "tile = " + plain;
  return fmt::format("tile = cute.make_composed_layout(cute.make_swizzle({}, {}, {}), 0, {})",
                     swizzle.bits, swizzle.base, swizzle.shift, plain);
}

std::string TileChoice::gluon() const {
  // Triton's tensors have sides of powers of two, and elements of 8 bytes at most.
  if (!is_power_of_two(tile.rows) || !is_power_of_two(tile.columns) || tile.bytes > 8) return {};
  if (family == Family::padding) {
    if (!is_power_of_two(pad)) return {};  // nor any other paddings
    return fmt::format(
        "tile = gl.PaddedSharedLayout.with_identity_for([[{}, {}]], [{}, {}], [1, 0])",
        tile.columns, pad, tile.rows, tile.columns);
  }
  if (family == Family::tma && swizzle.bits > 0) {
    if (tile.rows < 8) return {};  // its swizzles are of eight rows at least
    return fmt::format(
        "tile = gl.NVMMASharedLayout(swizzle_byte_width={}, element_bitwidth={}, rank=2)",
        16 << swizzle.bits, 8 * tile.bytes);
  }
  // Without a swizzle its boxes are as wide as the tile.
  if (family == Family::tma && box != tile.columns) return {};
  if (family == Family::chunk_xor || family == Family::rotation) return {};
  const TritonAnswer triton = to_triton(swizzle, tile.columns);
  if (!triton.swizzle) return {};
  return fmt::format(
      "tile = gl.SwizzledSharedLayout(vec={}, per_phase={}, max_phase={}, "
      "order=[1, 0])",
      triton.swizzle->vec, triton.swizzle->per_phase, triton.swizzle->max_phase);
}

std::string TileChoice::cuda() const {
  std::string body = fmt::format("return row * {} + column;", tile.columns + pad);
  const auto xored = [&](const std::string& x) {
    if (swizzle.bits == 0) return fmt::format("return {};", x);
    return fmt::format("const int x = {}; return x ^ (x & {:#x}) {} {};", x, swizzle.y_mask(),
                       swizzle.shift < 0 ? "<<" : ">>", std::abs(swizzle.shift));
  };
  switch (family) {
    case Family::swizzle:
      body = xored(fmt::format("row * {} + column", tile.columns));
      break;
    case Family::tma:
      body =
          xored(fmt::format("column / {0} * {1} + row * {0} + column % {0}", box, box * tile.rows));
      break;
    case Family::chunk_xor:
      body =
          fmt::format("return row * {0} + (column / {1} ^ (row / {2} & {3})) * {1} + column % {1};",
                      tile.columns, chunk, every, xor_steps() - 1);
      break;
    case Family::rotation:
      body = fmt::format("return row * {0} + (column + row / {1} * {2}) % {0};", tile.columns,
                         every, step);
      break;
    default:
      break;
  }
  // More than 48 KiB a kernel has to ask for at its launch. Behind `extern __shared__` nvcc takes
  // no alignas.
  const bool dynamic = shared_bytes() > 48 * 1024;
  const std::string declared =
      dynamic ? fmt::format("alignas(1024) extern __shared__ {} tile[];  // {} B, dynamic",
                            cuda_type(tile.bytes), shared_bytes())
              : fmt::format("__shared__ alignas(1024) {} tile[{}];", cuda_type(tile.bytes),
                            shared_bytes() / tile.bytes);
  return declared +
         fmt::format("\n__device__ constexpr int at(int row, int column) {{ {} }}", body);
}

std::vector<TileChoice> tile_choices(const TileShape& tile, bool only_tma, bool only_padding) {
  std::vector<TileChoice> all;
  TileChoice plain;
  plain.tile = tile;
  if (!only_padding) all.push_back(plain);
  if (!only_tma && !only_padding) {
    add_swizzles(plain, all);
    add_chunk_xors(plain, all);
    add_rotations(plain, all);
  }
  if (!only_tma) add_paddings(plain, all);
  if (!only_padding) add_boxes_of_tma(plain, all);
  return all;
}

}  // namespace cornerturn::lab
