#include "shards/redistribution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/checked.hpp"
#include "core/refuse.hpp"

namespace cornerturn::shards {
namespace {

// Indices that follow each other without a gap on both sides.
struct Stretch {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t length = 0;
};

std::vector<Stretch> stretches_of(const Indices& src, const Indices& dst) {
  std::vector<Stretch> found;
  std::size_t i = 0, j = 0;
  std::int64_t src_before = 0, dst_before = 0;  // indices in front of src[i] and dst[j]
  while (i < src.size() && j < dst.size()) {
    const std::int64_t begin = std::max(src[i].begin, dst[j].begin);
    const std::int64_t end = std::min(src[i].end, dst[j].end);
    if (begin < end) {
      const Stretch next{src_before + begin - src[i].begin, dst_before + begin - dst[j].begin,
                         end - begin};
      Stretch* last = found.empty() ? nullptr : &found.back();
      if (last != nullptr && last->src + last->length == next.src &&
          last->dst + last->length == next.dst) {
        last->length += next.length;
      } else {
        found.push_back(next);
      }
    }
    if (src[i].end < dst[j].end) {
      src_before += src[i++].size();
    } else {
      dst_before += dst[j++].size();
    }
  }
  return found;
}

bool continues(const Stretches& row, const Stretch& next) {
  if (next.length != row.length) return false;
  if (row.count == 1) return true;
  return next.src == row.src + row.count * row.src_step &&
         next.dst == row.dst + row.count * row.dst_step;
}

// Every period-th stretch belongs to the same row of stretches, as long as they are even.
std::vector<Stretches> in_rows(const std::vector<Stretch>& all, std::size_t period) {
  std::vector<Stretches> rows;
  std::vector<std::size_t> open(std::min(period, all.size()));  // of every place in a period
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Stretch& next = all[k];
    std::size_t& row = open[k % period];
    if (k >= period && continues(rows[row], next)) {
      if (rows[row].count == 1) {
        rows[row].src_step = next.src - rows[row].src;
        rows[row].dst_step = next.dst - rows[row].dst;
      }
      ++rows[row].count;
    } else {
      row = rows.size();
      rows.push_back({1, next.length, next.src, next.dst, 0, 0});
    }
  }
  return rows;
}

void check_perm(const std::vector<int>& perm, std::size_t rank) {
  if (perm.size() != rank) {
    refuse(fmt::format("perm has {} entries, but the array has {} axes", perm.size(), rank));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || static_cast<std::size_t>(perm[i]) >= rank) {
      refuse(fmt::format("perm[{}] = {} is out of range for rank {}", i, perm[i], rank));
    }
    const auto first = std::find(perm.begin(), perm.end(), perm[i]) - perm.begin();
    if (static_cast<std::size_t>(first) != i) {
      refuse(fmt::format("perm[{}] = {} repeats perm[{}]", i, perm[i], first));
    }
  }
}

// Calls use(box) for one choice of stretches along every axis after the other, the last fastest.
template <class Use>
void for_each_box(const std::vector<std::vector<Stretches>>& axes, const Use& use) {
  std::vector<std::size_t> chosen(axes.size());
  while (true) {
    Box box;
    for (std::size_t i = 0; i < axes.size(); ++i) box.axes.push_back(axes[i][chosen[i]]);
    use(std::move(box));
    std::size_t i = axes.size();
    while (i > 0 && chosen[i - 1] + 1 == axes[i - 1].size()) chosen[--i] = 0;
    if (i == 0) return;
    ++chosen[i - 1];
  }
}

}  // namespace

std::vector<Stretches> in_common(const Indices& src, const Indices& dst) {
  const std::vector<Stretch> all = stretches_of(src, dst);
  // Two block-cyclic layouts meet in a pattern that repeats; a few stretches make a period.
  constexpr std::size_t longest = 64;
  std::vector<Stretches> best = in_rows(all, 1);
  for (std::size_t period = 2; period <= longest && period < best.size(); ++period) {
    std::vector<Stretches> rows = in_rows(all, period);
    if (rows.size() < best.size()) best = std::move(rows);
  }
  return best;
}

std::int64_t Box::elements() const {
  std::int64_t product = 1;
  for (const Stretches& axis : axes) product *= axis.count * axis.length;
  return product;
}

Numbers packed(const Numbers& shape, std::int64_t item_bytes) {
  Numbers strides(shape.size());
  std::int64_t step = item_bytes;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

Redistribution::Redistribution(Layout src, Layout dst, std::vector<int> perm,
                               std::int64_t item_bytes)
    : Redistribution(std::move(src), std::move(dst), std::move(perm),
                     Items{ElementType::bytes(item_bytes), ElementType::bytes(item_bytes)}) {}

Redistribution::Redistribution(Layout src, Layout dst, std::vector<int> perm, const Items& items)
    : src_(std::move(src)), dst_(std::move(dst)), perm_(std::move(perm)), items_(items) {
  check_perm(perm_, src_.shape.size());
  Numbers result;
  std::int64_t bytes = std::max(items.src.size(), items.dst.size());
  for (const int axis : perm_) {
    result.push_back(src_.shape[static_cast<std::size_t>(axis)]);
    bytes = checked_mul(bytes, std::max<std::int64_t>(result.back(), 1),
                        [] { return std::string("shape: the size of the array in bytes"); });
  }
  if (dst_.shape != result) {
    refuse(fmt::format("dst is a layout of shape [{}], but the result has shape [{}]",
                       fmt::join(dst_.shape, ", "), fmt::join(result, ", ")));
  }
  if (src_.devices() != dst_.devices()) {
    refuse(fmt::format("src is a layout for {} devices, but dst is one for {}", src_.devices(),
                       dst_.devices()));
  }
  std::map<Shard, int> lists;
  for (int device = 0; device < devices(); ++device) {
    const Shard& shard = src_.shards[static_cast<std::size_t>(device)];
    const auto [list, is_new] = lists.emplace(shard, static_cast<int>(holders_.size()));
    if (is_new) holders_.emplace_back();
    holders_[static_cast<std::size_t>(list->second)].push_back(device);
    holders_of_.push_back(list->second);
  }
}

bool Redistribution::sends(int from, int to) const {
  const int list = holders_of_[static_cast<std::size_t>(from)];
  if (holders_of_[static_cast<std::size_t>(to)] == list) return from == to;
  // The receivers in between are dealt to the holders in equal parts, neighbours to neighbours.
  const std::vector<int>& holders = holders_[static_cast<std::size_t>(list)];
  const auto before = std::lower_bound(holders.begin(), holders.end(), to) - holders.begin();
  const auto receiver = static_cast<std::size_t>(to - before);
  const std::size_t place = receiver * holders.size() / (src_.shards.size() - holders.size());
  return holders[place] == from;
}

std::vector<std::vector<Stretches>> Redistribution::overlap(int from, int to) const {
  if (!sends(from, to)) return {};
  std::vector<std::vector<Stretches>> axes;
  for (std::size_t i = 0; i < perm_.size(); ++i) {
    const auto axis = static_cast<std::size_t>(perm_[i]);
    axes.push_back(in_common(src_.shards[static_cast<std::size_t>(from)].axes[axis],
                             dst_.shards[static_cast<std::size_t>(to)].axes[i]));
    if (axes.back().empty()) return {};
  }
  return axes;
}

std::int64_t Redistribution::message_elements(int from, int to) const {
  const auto axes = overlap(from, to);
  if (!sends(from, to) || axes.size() < perm_.size()) return 0;
  std::int64_t elements = 1;
  for (const auto& axis : axes) {
    std::int64_t indices = 0;
    for (const Stretches& row : axis) indices += row.count * row.length;
    elements *= indices;
  }
  return elements;
}

Message Redistribution::message(int from, int to) const {
  Message message;
  const auto axes = overlap(from, to);
  if (!sends(from, to) || axes.size() < perm_.size()) return message;
  for_each_box(axes, [&](Box box) {
    box.place = message.elements;
    message.elements += box.elements();
    message.boxes.push_back(std::move(box));
  });
  return message;
}

Problem Redistribution::copy(const Box& box, Side from, Side to, const Numbers& src_strides,
                             const Numbers& dst_strides) const {
  // In the order of the result, two modes an axis: its stretches, and the indices of one.
  const std::size_t rank = box.axes.size();
  Numbers extents;
  for (const Stretches& axis : box.axes) {
    extents.push_back(axis.count);
    extents.push_back(axis.length);
  }
  const Numbers in_message = packed(extents, item_bytes(Side::message));
  const auto place = [&](Side side) {
    std::int64_t offset = side == Side::message ? box.place * item_bytes(side) : 0;
    for (std::size_t i = 0; i < rank; ++i) {
      const auto axis = static_cast<std::size_t>(perm_[i]);
      if (side == Side::source) offset += box.axes[i].src * src_strides[axis];
      if (side == Side::destination) offset += box.axes[i].dst * dst_strides[i];
    }
    return offset;
  };
  const auto strides = [&](Side side, std::size_t i) -> std::array<std::int64_t, 2> {
    if (side == Side::message) return {in_message[2 * i], in_message[2 * i + 1]};
    const Stretches& axis = box.axes[i];
    if (side == Side::destination) return {axis.dst_step * dst_strides[i], dst_strides[i]};
    const std::int64_t stride = src_strides[static_cast<std::size_t>(perm_[i])];
    return {axis.src_step * stride, stride};
  };
  Problem problem;
  problem.src_type = items_.at(from);
  problem.dst_type = items_.at(to);
  problem.src_offset = place(from);
  problem.dst_offset = place(to);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto source = strides(from, i), destination = strides(to, i);
    for (std::size_t k = 0; k < 2; ++k) {
      if (extents[2 * i + k] == 1) continue;
      problem.modes.push_back({extents[2 * i + k], source[k], destination[k]});
    }
  }
  return problem;
}

}  // namespace cornerturn::shards
