#include "core/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/checked.hpp"
#include "core/divide.hpp"

namespace cornerturn {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

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
  checked_add(high, -low, what);
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

}  // namespace

Problem make_problem(const ConstView& src, const View& dst) {
  check_view(src, "src");
  check_view(dst, "dst");
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
  const bool same_bits =
      src.type == dst.type || (src.type.size() == dst.type.size() &&
                               (src.type.kind() == Kind::bytes || dst.type.kind() == Kind::bytes));
  if (!same_bits) {
    throw Error(Status::unsupported,
                fmt::format("dst.type = {} differs from src.type = {}: values are not converted",
                            dst.type.name(), src.type.name()));
  }

  Problem problem;
  problem.src_type = src.type;
  problem.dst_type = src.type;
  for (std::size_t i = 0; i < src.shape.size(); ++i) {
    problem.modes.push_back({src.shape[i], src.strides[i], dst.strides[i]});
  }
  if (std::find(src.shape.begin(), src.shape.end(), 0) != src.shape.end()) return problem;
  std::int64_t bytes = src.type.size();
  for (const Mode& mode : problem.modes) {
    bytes = checked_mul(bytes, mode.extent, [&] {
      return fmt::format("the size of shape ({}) with elements of {} bytes",
                         fmt::join(src.shape, ","), src.type.size());
    });
  }
  check_reach(problem, "src", src.type.size(), [](const Mode& m) { return m.src_stride; });
  check_reach(problem, "dst", dst.type.size(), [](const Mode& m) { return m.dst_stride; });
  check_destination_is_written_once(problem);
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

void check_pointers(const Problem& problem, const void* src, const void* dst) {
  if (problem.elements() == 0) return;
  if (src == nullptr) refuse("src = null, but the problem has elements to read");
  if (dst == nullptr) refuse("dst = null, but the problem has elements to write");
  const Reach from = src_reach(problem);
  const Reach to = dst_reach(problem);
  const auto address = [](const void* base, std::int64_t offset) {
    return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
  };
  const bool apart = address(src, from.high) <= address(dst, to.low) ||
                     address(dst, to.high) <= address(src, from.low);
  if (!apart) {
    refuse(
        fmt::format("dst = {} overlaps src = {}: source [{:#x}, {:#x}), destination [{:#x}, "
                    "{:#x}); a transposition works out of place",
                    dst, src, address(src, from.low), address(src, from.high), address(dst, to.low),
                    address(dst, to.high)));
  }
}

}  // namespace cornerturn
