#include "core/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "core/divide.hpp"
#include "core/refuse.hpp"

namespace cornerturn {
namespace {

template <class Void>
void check_view(const BasicView<Void>& view, std::string_view name) {
  const std::size_t rank = view.shape.size();
  if (rank > static_cast<std::size_t>(max_rank)) {
    refuse(fmt::format("{}.shape has {} extents, at most {} are supported", name, rank, max_rank));
  }
  if (view.strides.size() != rank) {
    refuse(fmt::format("{}.strides has {} entries, {}.shape has {}", name, view.strides.size(),
                       name, rank));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (view.shape[i] < 0) {
      refuse(fmt::format("{}.shape[{}] = {} is negative", name, i, view.shape[i]));
    }
  }
}

// The farthest offsets of one side, every step checked.
template <class Stride>
void check_reach(const Problem& problem, std::string_view name, int element_size, Stride stride) {
  std::int64_t low = 0;
  std::int64_t high = element_size;
  const auto what = [&] { return fmt::format("an offset into {} (strides in bytes)", name); };
  for (const Mode& mode : problem.modes) {
    const std::int64_t last = checked_mul(mode.extent - 1, stride(mode), what);
    std::int64_t& end = last < 0 ? low : high;
    end = checked_add(end, last, what);
  }
  check_bytes(checked_add(high, checked_mul(low, -1, what), what),
              [&] { return fmt::format("what {} reaches over (shape and strides)", name); });
}

// Is `target` = sum of k_i * stride_i for some |k_i| < extent_i, not all zero? Searched from the
// largest stride down; what the remaining modes can still reach bounds every branch.
class OverlapSearch {
 public:
  OverlapSearch(std::vector<Mode> modes, std::int64_t element_size)
      : modes_(std::move(modes)), element_size_(element_size), reach_(modes_.size() + 1) {
    for (std::size_t i = modes_.size(); i-- > 0;) {
      reach_[i] = reach_[i + 1] + modes_[i].dst_stride * (modes_[i].extent - 1);
    }
  }

  // Can two different elements lie less than an element apart?
  bool found() { return search(0, 0, false); }
  bool gave_up() const { return steps_ > limit; }

 private:
  static constexpr std::int64_t limit = 1'000'000;

  bool search(std::size_t i, std::int64_t distance, bool moved) {
    if (++steps_ > limit) return true;
    if (i == modes_.size()) return moved && std::abs(distance) < element_size_;
    const std::int64_t stride = modes_[i].dst_stride;
    const std::int64_t slack = reach_[i + 1] + element_size_ - 1;
    // |distance + k * stride| <= slack
    const std::int64_t last = modes_[i].extent - 1;
    const std::int64_t from = std::max(-last, ceil_div(-slack - distance, stride));
    const std::int64_t to = std::min(last, floor_div(slack - distance, stride));
    // Pairs are unordered: the first mode that differs moves forward.
    for (std::int64_t k = moved ? from : std::max<std::int64_t>(from, 0); k <= to; ++k) {
      if (search(i + 1, distance + k * stride, moved || k != 0)) return true;
    }
    return false;
  }

  std::vector<Mode> modes_;
  std::int64_t element_size_;
  std::vector<std::int64_t> reach_;
  std::int64_t steps_ = 0;
};

void check_destination_is_written_once(const Problem& problem) {
  std::vector<Mode> modes;
  for (int i = 0; i < problem.rank(); ++i) {
    Mode mode = problem.modes[i];
    if (mode.extent < 2) continue;
    if (mode.dst_stride == 0) {
      refuse(fmt::format("dst.strides[{}] = 0 with extent {} would write elements more than once",
                         i, mode.extent));
    }
    mode.dst_stride = std::abs(mode.dst_stride);
    modes.push_back(mode);
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.dst_stride > b.dst_stride; });
  // The usual case, nested modes: each stride passes over everything below it.
  std::int64_t inner = problem.dst_type.size();
  bool nested = true;
  for (std::size_t i = modes.size(); i-- > 0;) {
    nested = nested && modes[i].dst_stride >= inner;
    inner += modes[i].dst_stride * (modes[i].extent - 1);
  }
  if (nested) return;
  OverlapSearch search(modes, problem.dst_type.size());
  if (!search.found()) return;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  for (const Mode& mode : problem.modes) {
    extents.push_back(mode.extent);
    strides.push_back(mode.dst_stride);
  }
  refuse(fmt::format(
      "dst.strides = ({}) {} with shape ({}) and elements of {} bytes: two elements "
      "must not share a byte",
      fmt::join(strides, ","),
      search.gave_up() ? "are too entangled to prove that they don't overlap" : "overlap",
      fmt::join(extents, ","), problem.dst_type.size()));
}

template <class Stride>
Reach reach(const Problem& problem, int element_size, std::int64_t offset, Stride stride) {
  Reach result{offset, offset + element_size};
  for (const Mode& mode : problem.modes) {
    if (mode.extent == 0) return {offset, offset};
    const std::int64_t last = (mode.extent - 1) * stride(mode);
    (last < 0 ? result.low : result.high) += last;
  }
  return result;
}

// Are elements of one type moved as those of the other, unread?
bool same_bits(ElementType a, ElementType b) {
  return a == b || (a.size() == b.size() && (a.kind() == Kind::bytes || b.kind() == Kind::bytes));
}

bool is_complex(ElementType type) {
  return type.kind() == Kind::c64 || type.kind() == Kind::c128;
}

// Values that change need a meaning on both sides.
void check_pair(ElementType src, ElementType dst) {
  const auto unsupported = [&](const std::string& rule) {
    throw Error(Status::unsupported,
                fmt::format("dst.type = {} with src.type = {}: {}; supported are all pairs of "
                            "bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, "
                            "f8_e4m3 and f8_e5m2, and any of these or c64 or c128 to c64 and c128",
                            dst.name(), src.name(), rule));
  };
  if (src.kind() == Kind::bytes || dst.kind() == Kind::bytes) {
    unsupported("plain bytes have no values that could be converted or changed");
  }
  if (is_complex(src) && !is_complex(dst)) {
    unsupported("a complex value would lose its imaginary part");
  }
}

ModeVector vector_of(const char* name, const float* data, int mode, std::size_t rank) {
  if (mode < -1 || mode >= static_cast<int>(rank)) {
    refuse(
        fmt::format("epilogue.{}_mode = {} is out of range for rank {}: 0 to {}, or -1 for one "
                    "value",
                    name, mode, rank, static_cast<int>(rank) - 1));
  }
  ModeVector vector;
  vector.present = data != nullptr || mode >= 0;
  vector.mode = mode;
  return vector;
}

// Values that are nothing but swapped keep every bit, as those that are moved.
bool differs_in_order_alone(const Problem& problem) {
  const Values& values = problem.values;
  return problem.src_type.kind() == problem.dst_type.kind() && values.alpha == 1 &&
         values.beta == 0 && !values.conjugate && !problem.scale.present && !problem.bias.present;
}

// Nothing is kept that has no effect: equal problems are then equal values.
void set_values(Problem& problem, std::size_t rank, const Epilogue& epilogue) {
  problem.scale = vector_of("scale", epilogue.scale, epilogue.scale_mode, rank);
  problem.bias = vector_of("bias", epilogue.bias, epilogue.bias_mode, rank);
  Values& values = problem.values;
  values.alpha = epilogue.alpha;
  values.beta = epilogue.beta;
  values.conjugate = epilogue.conjugate && is_complex(problem.src_type);
  if (!problem.converts() || differs_in_order_alone(problem)) return;
  values.overflow = epilogue.overflow;
  values.rounding = epilogue.rounding;
  if (values.rounding == Rounding::stochastic) values.seed = epilogue.seed;
}

void check_same_shape(const View& dst, const ConstView& src) {
  if (src.shape.size() != dst.shape.size()) {
    refuse(fmt::format("dst has rank {}, src has rank {}: they must be equal", dst.shape.size(),
                       src.shape.size()));
  }
  for (std::size_t i = 0; i < src.shape.size(); ++i) {
    if (src.shape[i] != dst.shape[i]) {
      refuse(fmt::format("dst.shape[{}] = {} differs from src.shape[{}] = {}", i, dst.shape[i], i,
                         src.shape[i]));
    }
  }
}

// The problem of all axes, of which no offset has been checked.
Problem unchecked_problem(const View& dst, const ConstView& src, const Epilogue& epilogue) {
  check_view(src, "src");
  check_view(dst, "dst");
  check_same_shape(dst, src);
  Problem problem;
  problem.src_type = src.type;
  problem.dst_type = same_bits(src.type, dst.type) ? src.type : dst.type;
  set_values(problem, src.shape.size(), epilogue);
  if (problem.converts()) check_pair(src.type, dst.type);
  for (std::size_t i = 0; i < src.shape.size(); ++i) {
    problem.modes.push_back({src.shape[i], src.strides[i], dst.strides[i]});
  }
  return problem;
}

void check_size(const Problem& problem, const Extents& shape, int larger) {
  std::int64_t bytes = larger;
  const auto size = [&] {
    return fmt::format("the size of shape ({}) with elements of {} bytes", fmt::join(shape, ","),
                       larger);
  };
  for (const Mode& mode : problem.modes) bytes = checked_mul(bytes, mode.extent, size);
  check_bytes(bytes, size);
}

void check_places(const Problem& problem, ElementType src, ElementType dst) {
  check_reach(problem, "src", src.size(), [](const Mode& m) { return m.src_stride; });
  check_reach(problem, "dst", dst.size(), [](const Mode& m) { return m.dst_stride; });
  check_destination_is_written_once(problem);
}

// The places of a list's axis on its side.
template <class Void>
Steps steps_of(const BasicListedView<Void>& view, int axis, std::string_view name) {
  const auto at = static_cast<std::size_t>(axis);
  const List& list = view.list;
  if (list.places == Places::strides || list.axis != axis) {
    return {Places::strides, view.view.strides[at]};
  }
  if (list.places != Places::pointers) return {list.places, view.view.strides[at]};
  const std::int64_t alignment = list.alignment == 0 ? view.view.type.size() : list.alignment;
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) {
    refuse(fmt::format("{}.list.alignment = {} is no power of two", name, list.alignment));
  }
  return {list.places, 0, std::min<std::int64_t>(alignment, 16)};
}

template <class Void>
void check_list(const BasicListedView<Void>& view, std::string_view name) {
  const List& list = view.list;
  if (list.places == Places::strides) return;
  const auto rank = static_cast<int>(view.view.shape.size());
  if (list.axis < 0 || list.axis >= rank) {
    refuse(fmt::format("{}.list.axis = {} is out of range for rank {}", name, list.axis, rank));
  }
  if (list.count < 0) refuse(fmt::format("{}.list.count = {} is negative", name, list.count));
}

// As the problem of all axes, but with as many steps as the indices of a side may name.
void spread(Problem& problem, const List& list, std::int64_t Mode::*stride) {
  if (list.places == Places::strides) return;
  Mode& mode = problem.modes[list.axis];
  mode.extent = list.places == Places::pointers ? 1 : list.count;
  if (list.places == Places::pointers) mode.*stride = 0;
}

// Takes the axes with lists out of the modes.
void take_lists_out(Problem& problem, const ListedView& dst, const ConstListedView& src) {
  Lists lists;
  lists.missing = src.list.missing;
  for (int i = problem.rank(); i-- > 0;) {
    const ListMode mode{problem.modes[i].extent, steps_of(src, i, "src"), steps_of(dst, i, "dst")};
    if (!mode.src.from_table() && !mode.dst.from_table()) continue;
    lists.modes.insert(lists.modes.begin(), mode);
    problem.modes.erase(i);
    for (auto [name, vector] :
         {std::pair{"scale", &problem.scale}, std::pair{"bias", &problem.bias}}) {
      if (vector->mode == i) {
        refuse(fmt::format("epilogue.{}_mode = {} is the axis of a list: it has to be another one",
                           name, i));
      }
      if (vector->mode > i) --vector->mode;
    }
  }
  problem.lists = std::make_shared<const Lists>(std::move(lists));
}

}  // namespace

Problem make_problem(const View& dst, const ConstView& src, const Epilogue& epilogue) {
  Problem problem = unchecked_problem(dst, src, epilogue);
  if (std::find(src.shape.begin(), src.shape.end(), 0) != src.shape.end()) return problem;
  check_size(problem, src.shape, std::max(src.type.size(), dst.type.size()));
  check_places(problem, src.type, dst.type);
  return problem;
}

Problem make_problem(const ListedView& dst, const ConstListedView& src, const Epilogue& epilogue) {
  if (dst.list.places == Places::strides && src.list.places == Places::strides) {
    return make_problem(dst.view, src.view, epilogue);
  }
  Problem problem = unchecked_problem(dst.view, src.view, epilogue);
  check_list(dst, "dst");
  check_list(src, "src");
  if (problem.values.rounding == Rounding::stochastic) {
    refuse("epilogue.rounding = stochastic, but it depends on places, and a list has none");
  }
  if (problem.elements() != 0) {
    check_size(problem, src.view.shape, std::max(src.view.type.size(), dst.view.type.size()));
    Problem of_dst = problem;
    spread(of_dst, dst.list, &Mode::dst_stride);
    if (of_dst.elements() != 0) {
      check_reach(of_dst, "dst", dst.view.type.size(), [](const Mode& m) { return m.dst_stride; });
      check_destination_is_written_once(of_dst);
    }
    Problem of_src = problem;
    spread(of_src, src.list, &Mode::src_stride);
    check_reach(of_src, "src", src.view.type.size(), [](const Mode& m) { return m.src_stride; });
  }
  take_lists_out(problem, dst, src);
  return problem;
}

Reach src_reach(const Problem& problem) {
  return reach(problem, problem.src_type.size(), problem.src_offset,
               [](const Mode& m) { return m.src_stride; });
}

Reach dst_reach(const Problem& problem) {
  return reach(problem, problem.dst_type.size(), problem.dst_offset,
               [](const Mode& m) { return m.dst_stride; });
}

void check_pointers(const Problem& problem, const void* dst, const void* src) {
  if (problem.elements() == 0) return;
  if (src == nullptr) refuse("src = null, but the problem has elements to read");
  if (dst == nullptr) refuse("dst = null, but the problem has elements to write");
  const Reach from = src_reach(problem);
  const Reach to = dst_reach(problem);
  const bool apart = address_of(src, from.high) <= address_of(dst, to.low) ||
                     address_of(dst, to.high) <= address_of(src, from.low);
  if (!apart) {
    refuse(
        fmt::format("dst = {} overlaps src = {}: source [{:#x}, {:#x}), destination [{:#x}, "
                    "{:#x}); a transposition works out of place",
                    dst, src, address_of(src, from.low), address_of(src, from.high),
                    address_of(dst, to.low), address_of(dst, to.high)));
  }
}

void check_vectors(const Problem& problem, const void* dst, const Vectors& vectors) {
  if (problem.elements() == 0) return;
  const auto check = [&](const char* name, const ModeVector& vector, const float* data) {
    if (!vector.present) return;
    if (data == nullptr) {
      refuse(fmt::format("epilogue.{} = null, but the problem was made with one", name));
    }
    const std::int64_t steps = vector.mode < 0 ? 0 : problem.modes[vector.mode].extent - 1;
    const std::int64_t end = vector.first + steps * vector.step;
    const auto first = address_of(data, std::min(vector.first, end) * std::int64_t{sizeof(float)});
    const auto last =
        address_of(data, (std::max(vector.first, end) + 1) * std::int64_t{sizeof(float)});
    const Reach to = dst_reach(problem);
    if (first < address_of(dst, to.high) && address_of(dst, to.low) < last) {
      refuse(fmt::format("epilogue.{} = {} overlaps dst = {} in memory", name,
                         static_cast<const void*>(data), dst));
    }
  };
  check("scale", problem.scale, vectors.scale);
  check("bias", problem.bias, vectors.bias);
}

}  // namespace cornerturn
