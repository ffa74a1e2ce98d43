// ggml's tensors as views: checked, and brought to one shape.
#include "cornerturn/ggml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/checked.hpp"
#include "core/problem.hpp"
#include "core/refuse.hpp"

namespace cornerturn {
namespace {

[[noreturn]] void unsupported(const std::string& message) {
  throw Error(Status::unsupported, message);
}

// A row of ggml's table of types.
struct Type {
  int number;
  std::string_view name;
  int values;  // of a block; 1: no blocks
  int bytes;   // of a block or an element
  Kind kind;   // bytes: moved unread

  bool in_blocks() const { return values > 1; }
  bool is(GgmlType type) const { return number == static_cast<int>(type); }
  /// Of blocks whose values are converted.
  std::optional<BlockFormat> format() const {
    switch (static_cast<GgmlType>(number)) {
      case GgmlType::q4_0:
        return BlockFormat::q4_0;
      case GgmlType::q4_1:
        return BlockFormat::q4_1;
      case GgmlType::q5_0:
        return BlockFormat::q5_0;
      case GgmlType::q5_1:
        return BlockFormat::q5_1;
      case GgmlType::q8_0:
        return BlockFormat::q8_0;
      case GgmlType::iq4_nl:
        return BlockFormat::iq4_nl;
      case GgmlType::mxfp4:
        return BlockFormat::ggml_mxfp4;
      case GgmlType::nvfp4:
        return BlockFormat::ggml_nvfp4;
      default:
        return std::nullopt;
    }
  }
};

// All that tensors are stored in: q8_1 and q8_K exist within ggml's products only.
constexpr auto types = std::to_array<Type>({
    {0, "f32", 1, 4, Kind::f32},
    {1, "f16", 1, 2, Kind::f16},
    {2, "q4_0", 32, 18, Kind::bytes},
    {3, "q4_1", 32, 20, Kind::bytes},
    {6, "q5_0", 32, 22, Kind::bytes},
    {7, "q5_1", 32, 24, Kind::bytes},
    {8, "q8_0", 32, 34, Kind::bytes},
    {10, "q2_K", 256, 84, Kind::bytes},
    {11, "q3_K", 256, 110, Kind::bytes},
    {12, "q4_K", 256, 144, Kind::bytes},
    {13, "q5_K", 256, 176, Kind::bytes},
    {14, "q6_K", 256, 210, Kind::bytes},
    {16, "iq2_xxs", 256, 66, Kind::bytes},
    {17, "iq2_xs", 256, 74, Kind::bytes},
    {18, "iq3_xxs", 256, 98, Kind::bytes},
    {19, "iq1_s", 256, 50, Kind::bytes},
    {20, "iq4_nl", 32, 18, Kind::bytes},
    {21, "iq3_s", 256, 110, Kind::bytes},
    {22, "iq2_s", 256, 82, Kind::bytes},
    {23, "iq4_xs", 256, 136, Kind::bytes},
    {24, "i8", 1, 1, Kind::i8},
    {25, "i16", 1, 2, Kind::i16},
    {26, "i32", 1, 4, Kind::i32},
    {27, "i64", 1, 8, Kind::i64},
    {28, "f64", 1, 8, Kind::f64},
    {29, "iq1_m", 256, 56, Kind::bytes},
    {30, "bf16", 1, 2, Kind::bf16},
    {34, "tq1_0", 256, 54, Kind::bytes},
    {35, "tq2_0", 256, 66, Kind::bytes},
    {39, "mxfp4", 32, 17, Kind::bytes},
    {40, "nvfp4", 64, 36, Kind::bytes},
    {41, "q1_0", 128, 18, Kind::bytes},
});

// One axis, or several that lie one after the other.
struct Axis {
  std::int64_t extent;
  std::int64_t stride;

  // Makes one axis of its first elements; what is left steps over them.
  void split(std::int64_t first) {
    extent /= first;
    if (extent > 1) stride *= first;
  }
};
using Axes = std::vector<Axis>;  // fastest first

template <class T>
std::string text(const T (&values)[4]) {
  return fmt::format("({})", fmt::join(values, ", "));
}

// A tensor that has been checked.
struct Tensor {
  const char* name;
  const GgmlTensor& given;
  const Type& type;
  std::int64_t values = 1;

  Tensor(const char* argument, const GgmlTensor& tensor)
      : name(argument), given(tensor), type(type_of(argument, tensor)) {
    for (std::size_t d = 0; d < 4; ++d) {
      if (given.ne[d] < 1) refuse(fmt::format("{}.ne[{}] = {} is less than 1", name, d, ne(d)));
      values = checked_mul(values, ne(d), [&] {
        return fmt::format("the number of elements of {}.ne = {}", name, text(given.ne));
      });
    }
    if (ne(0) % type.values != 0) {
      refuse(fmt::format("{}.ne[0] = {} is no multiple of the {} values in a block of {}", name,
                         ne(0), type.values, type.name));
    }
    if (type.in_blocks() && given.nb[0] != size()) {
      refuse(
          fmt::format("{}.nb[0] = {} is not the {} bytes of a block of {}: blocks lie along "
                      "dimension 0, one after the other",
                      name, given.nb[0], size(), type.name));
    }
    check_strides();
    check_alignment();
  }

  std::int64_t ne(std::size_t d) const { return given.ne[d]; }
  std::size_t size() const { return static_cast<std::size_t>(type.bytes); }
  ElementType element() const {
    return type.kind == Kind::bytes ? ElementType::bytes(type.bytes) : ElementType(type.kind);
  }

  // In elements or blocks, without extents of 1, and merged where one goes on where another ends.
  Axes axes() const {
    Axes result;
    for (std::size_t d = 0; d < 4; ++d) {
      const std::int64_t extent = steps(d);
      if (extent == 1) continue;
      const auto stride = static_cast<std::int64_t>(given.nb[d]);
      if (!result.empty() && stride % result.back().extent == 0 &&
          stride / result.back().extent == result.back().stride) {
        result.back().extent *= extent;
      } else {
        result.push_back({extent, stride});
      }
    }
    return result;
  }

 private:
  static const Type& type_of(const char* argument, const GgmlTensor& tensor) {
    const auto* found =
        std::find_if(types.begin(), types.end(), [&](const Type& t) { return t.is(tensor.type); });
    if (found == types.end()) {
      std::string known;
      for (const Type& t : types) known += fmt::format(", {} ({})", t.number, t.name);
      refuse(fmt::format("{}.type = {} is unknown: use one of {}", argument,
                         static_cast<int>(tensor.type), known.substr(2)));
    }
    return *found;
  }

  std::int64_t steps(std::size_t d) const { return d == 0 ? ne(0) / type.values : ne(d); }

  // Strides of extents of 1 are not used, and may be anything.
  void check_strides() const {
    std::int64_t reach = type.bytes;
    for (std::size_t d = 0; d < 4; ++d) {
      if (steps(d) == 1) continue;
      if (given.nb[d] % size() != 0) {
        refuse(fmt::format("{}.nb[{}] = {} is no multiple of the {} bytes of {}", name, d,
                           given.nb[d], type.bytes, type.name));
      }
      const auto what = [&] {
        return fmt::format("the last offset of {}.ne = {} with {}.nb = {}", name, text(given.ne),
                           name, text(given.nb));
      };
      if (given.nb[d] > std::numeric_limits<std::int64_t>::max()) throw_overflow(what());
      const auto stride = static_cast<std::int64_t>(given.nb[d]);
      reach = checked_add(reach, checked_mul(steps(d) - 1, stride, what), what);
    }
  }

  // Blocks are made of numbers of 2 bytes and of single ones.
  void check_alignment() const {
    const int alignment = !type.in_blocks() ? type.bytes : type.is(GgmlType::q8_0) ? 2 : 1;
    if (reinterpret_cast<std::uintptr_t>(given.data) % static_cast<std::size_t>(alignment) != 0) {
      refuse(fmt::format("{}.data = {} is no multiple of {}, the alignment of {}", name, given.data,
                         alignment, type.name));
    }
  }
};

// ggml reads any strides; what is written must be written once.
void check_written_once(const Tensor& dst) {
  for (std::size_t d = 0; d < 4; ++d) {
    if (dst.ne(d) > 1 && dst.given.nb[d] == 0) {
      refuse(fmt::format("dst.nb[{}] = 0 with dst.ne[{}] = {} would write elements more than once",
                         d, d, dst.ne(d)));
    }
  }
}

GgmlCopy::What what_to_do(const Tensor& dst, const Tensor& src) {
  if (dst.type.number == src.type.number) return GgmlCopy::What::copy;
  for (const Tensor* tensor : {&dst, &src}) {
    if (tensor->type.in_blocks() && !tensor->type.format()) {
      unsupported(fmt::format(
          "dst.type = {} ({}) with src.type = {} ({}): {} is copied to its own type "
          "only",
          dst.type.number, dst.type.name, src.type.number, src.type.name, tensor->type.name));
    }
  }
  if (dst.type.in_blocks() && src.type.in_blocks()) {
    unsupported(
        fmt::format("dst.type = {} ({}) with src.type = {} ({}): blocks are made of plain values, "
                    "not of other blocks",
                    dst.type.number, dst.type.name, src.type.number, src.type.name));
  }
  if (dst.type.in_blocks()) return GgmlCopy::What::quantise;
  return src.type.in_blocks() ? GgmlCopy::What::dequantise : GgmlCopy::What::copy;
}

// The axis along which the values of a block lie: one of `block` values is taken off it, whose
// stride is returned.
std::int64_t take_block(const Tensor& plain, const Tensor& blocks, Axes& axes) {
  const auto values = std::int64_t{blocks.type.values};
  const Axis first = axes.front();
  if (first.extent % values != 0) {
    unsupported(
        fmt::format("{}.ne = {} with {}.nb = {}: its first {} elements lie evenly, which "
                    "is no multiple of the {} values in a block of {}.type = {} ({})",
                    plain.name, text(plain.given.ne), plain.name, text(plain.given.nb),
                    first.extent, values, blocks.name, blocks.type.number, blocks.type.name));
  }
  axes.front().split(values);
  if (axes.front().extent == 1) axes.erase(axes.begin());
  return first.stride;
}

// The axes of both sides cut where either side needs it. Fastest first; `unit` values an element.
std::vector<Mode> common_modes(const Tensor& src, Axes from, const Tensor& dst, Axes to,
                               std::int64_t unit) {
  std::vector<Mode> modes;
  std::int64_t passed = unit;
  auto a = from.begin();
  auto b = to.begin();
  while (a != from.end() && b != to.end()) {
    const std::int64_t extent = std::min(a->extent, b->extent);
    if (a->extent % extent != 0 || b->extent % extent != 0) {
      unsupported(fmt::format(
          "dst.ne = {} with dst.nb = {} and src.ne = {} with src.nb = {}: the steps of src change "
          "after {} elements, those of dst after {}, and neither is a multiple of the other: no "
          "single copy does that; make one of the two contiguous",
          text(dst.given.ne), text(dst.given.nb), text(src.given.ne), text(src.given.nb),
          passed * a->extent, passed * b->extent));
    }
    modes.push_back({extent, a->stride, b->stride});
    passed *= extent;
    a->split(extent);
    b->split(extent);
    if (a->extent == 1) ++a;
    if (b->extent == 1) ++b;
  }
  return modes;
}

// What both views are made of, slowest axis first.
struct Layout {
  Extents shape;
  Extents strides;

  void add(std::int64_t extent, std::int64_t stride) {
    shape.push_back(extent);
    strides.push_back(stride);
  }
};
struct Layouts {
  Layout src;
  Layout dst;

  explicit Layouts(const std::vector<Mode>& modes) {
    for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
      src.add(mode->extent, mode->src_stride);
      dst.add(mode->extent, mode->dst_stride);
    }
  }

  GgmlCopy views(GgmlCopy::What what, const Tensor& to, const Tensor& from) const {
    const Type& blocks = what == GgmlCopy::What::quantise ? to.type : from.type;
    return {what, View(to.given.data, to.element(), dst.shape, dst.strides),
            ConstView(from.given.data, from.element(), src.shape, src.strides),
            blocks.format().value_or(BlockFormat::q8_0)};
  }
};

// Both sides with the values of a block, or of several blocks in line, as the last axis.
GgmlCopy in_blocks(GgmlCopy::What what, const Tensor& dst, const Tensor& src) {
  const bool quantises = what == GgmlCopy::What::quantise;
  const Tensor& blocks = quantises ? dst : src;
  const std::int64_t values = blocks.type.values;
  Axes from = src.axes();
  Axes to = dst.axes();
  const std::int64_t step = take_block(quantises ? src : dst, blocks, quantises ? from : to);
  Layouts layouts(common_modes(src, from, dst, to, values));
  Layout& plain = quantises ? layouts.src : layouts.dst;
  if (!plain.shape.empty() && plain.strides.back() == values * step) {
    plain.shape.back() *= values;
    plain.strides.back() = step;
  } else {
    plain.add(values, step);
    (quantises ? layouts.dst : layouts.src).add(1, blocks.type.bytes);
  }
  return layouts.views(what, dst, src);
}

}  // namespace

GgmlCopy ggml_views(const GgmlTensor& dst, const GgmlTensor& src) {
  const Tensor to("dst", dst);
  const Tensor from("src", src);
  if (to.values != from.values) {
    refuse(fmt::format("dst.ne = {} has {} elements, src.ne = {} has {}: they must be as many",
                       text(dst.ne), to.values, text(src.ne), from.values));
  }
  check_written_once(to);
  const GgmlCopy::What what = what_to_do(to, from);
  if (what != GgmlCopy::What::copy) return in_blocks(what, to, from);
  return Layouts(common_modes(from, from.axes(), to, to.axes(), from.type.values))
      .views(what, to, from);
}

}  // namespace cornerturn
