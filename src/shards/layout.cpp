#include "shards/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "core/checked.hpp"
#include "core/problem.hpp"
#include "core/refuse.hpp"
#include "core/visible.hpp"

namespace cornerturn::shards {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 20;  // devices, and blocks of an axis

// Every device's part of each axis has two modes in a problem.
constexpr int most_axes = max_rank / 2;

void check_shape(const Numbers& shape) {
  if (shape.size() > most_axes) {
    refuse(fmt::format("shape has {} axes: at most {} can be spread over devices", shape.size(),
                       most_axes));
  }
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      refuse(fmt::format("shape[{}] = {}: an extent is not negative", i, shape[i]));
    }
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(shape[i], 1), &elements)) {
      refuse(fmt::format("shape = [{}] has 2^63 elements or more", fmt::join(shape, ", ")));
    }
  }
}

void append(Indices& indices, Interval interval) {
  if (interval.size() <= 0) return;
  if (!indices.empty() && indices.back().end == interval.begin) {
    indices.back().end = interval.end;
  } else {
    indices.push_back(interval);
  }
}

// The indices at the places `places` among `held`.
Indices at(const Indices& held, const Indices& places) {
  Indices found;
  std::size_t i = 0;
  std::int64_t before = 0;  // indices of `held` in front of held[i]
  for (Interval place : places) {
    while (place.begin < place.end) {
      while (before + held[i].size() <= place.begin) before += held[i++].size();
      const std::int64_t last = std::min(place.end, before + held[i].size());
      const std::int64_t shift = held[i].begin - before;
      append(found, {place.begin + shift, last + shift});
      place.begin = last;
    }
  }
  return found;
}

// The part of coordinate `which` of `parts` of an axis with the indices `held`.
Indices part_of(const Indices& held, const Placement& placement, std::int64_t parts,
                std::int64_t which) {
  const std::int64_t n = count(held);
  if (placement.block == 0) {
    const std::int64_t size = n / parts + (n % parts != 0);
    const std::int64_t begin = std::min(n, which * size);
    return at(held, {{begin, std::min(n, begin + size)}});
  }
  Indices places;
  const std::int64_t blocks = n / placement.block + (n % placement.block != 0);
  for (std::int64_t b = (which - placement.first + parts) % parts; b < blocks; b += parts) {
    const std::int64_t begin = b * placement.block;
    append(places, {begin, begin + std::min(placement.block, n - begin)});
  }
  return at(held, places);
}

void check_placement(const Numbers& shape, const Numbers& mesh, std::size_t k,
                     const Placement& placement, std::string_view argument) {
  const auto named = [&] {
    return fmt::format("{}[{}] = {}", argument, k, to_string({placement}));
  };
  if (placement.axis < 0) return;
  const auto axis = static_cast<std::size_t>(placement.axis);
  if (axis >= shape.size()) {
    refuse(fmt::format("{}: the axis is out of range for rank {}", named(), shape.size()));
  }
  if (placement.block < 0) refuse(named() + ": a block has one index at least");
  if (placement.first < 0 || placement.first >= mesh[k]) {
    refuse(
        fmt::format("{}: the first block is at a coordinate from 0 to {}", named(), mesh[k] - 1));
  }
  if (placement.block > 0 && shape[axis] / placement.block > most) {
    refuse(fmt::format("{}: an axis of {} has more than 2^20 such blocks", named(), shape[axis]));
  }
}

std::string shown(const Bounds& box) {
  std::string text;
  for (std::size_t i = 0; i < box.begin.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "" : ",", box.begin[i], box.end[i]);
  }
  return "[" + text + "]";
}

bool meet(const Bounds& a, const Bounds& b) {
  for (std::size_t i = 0; i < a.begin.size(); ++i) {
    if (std::max(a.begin[i], b.begin[i]) >= std::min(a.end[i], b.end[i])) return false;
  }
  return true;
}

void check_box(const Numbers& shape, const Bounds& box, const std::string& name) {
  if (box.begin.size() != shape.size() || box.end.size() != shape.size()) {
    refuse(fmt::format("{} has {} axes, but the array has {}", name,
                       std::min(box.begin.size(), box.end.size()), shape.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (box.begin[i] < 0 || box.end[i] < box.begin[i] || box.end[i] > shape[i]) {
      refuse(fmt::format("{} = {}: axis {} is outside of 0:{}", name, shown(box), i, shape[i]));
    }
  }
}

}  // namespace

std::int64_t count(const Indices& indices) {
  std::int64_t sum = 0;
  for (const Interval& interval : indices) sum += interval.size();
  return sum;
}

Numbers Shard::shape() const {
  Numbers extents;
  for (const Indices& axis : axes) extents.push_back(count(axis));
  return extents;
}

std::int64_t Shard::elements() const {
  const Numbers extents = shape();
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

int devices_of(const Numbers& mesh) {
  std::int64_t devices = 1;
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    if (mesh[k] < 1)
      refuse(fmt::format("mesh[{}] = {}: a mesh has one device at least", k, mesh[k]));
    if (mesh[k] > most / devices) {
      refuse(fmt::format("mesh = [{}] has more than 2^20 devices", fmt::join(mesh, ", ")));
    }
    devices *= mesh[k];
  }
  return static_cast<int>(devices);
}

Layout placed(const Numbers& shape, const Numbers& mesh, const Placements& placements,
              std::string_view argument) {
  check_shape(shape);
  const int devices = devices_of(mesh);
  if (placements.size() != mesh.size()) {
    refuse(fmt::format("{} = {} has {} placements, but the mesh has {} dimensions", argument,
                       to_string(placements), placements.size(), mesh.size()));
  }
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    check_placement(shape, mesh, k, placements[k], argument);
  }
  Shard whole;
  for (const std::int64_t extent : shape) {
    whole.axes.emplace_back();
    append(whole.axes.back(), {0, extent});
  }
  Layout layout{shape, {whole}, to_string(placements)};
  layout.shards.reserve(static_cast<std::size_t>(devices));
  for (std::size_t k = 0; k < mesh.size(); ++k) {
    std::vector<Shard> split;
    for (const Shard& shard : layout.shards) {
      for (std::int64_t which = 0; which < mesh[k]; ++which) {
        split.push_back(shard);
        if (placements[k].axis < 0) continue;
        Indices& axis = split.back().axes[static_cast<std::size_t>(placements[k].axis)];
        axis = part_of(axis, placements[k], mesh[k], which);
      }
    }
    layout.shards = std::move(split);
  }
  return layout;
}

Layout boxes(const Numbers& shape, const std::vector<Bounds>& devices, std::string_view argument) {
  check_shape(shape);
  Layout layout{shape, {}, fmt::format("{} boxes", devices.size())};
  std::map<Shard, std::size_t> holders;  // of every box that is not empty: the first
  std::int64_t covered = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    check_box(shape, devices[d], fmt::format("{}[{}]", argument, d));
    Shard shard;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shard.axes.emplace_back();
      append(shard.axes.back(), {devices[d].begin[i], devices[d].end[i]});
    }
    layout.shards.push_back(shard);
    if (shard.elements() == 0 || holders.contains(shard)) continue;
    for (const auto& [other, holder] : holders) {
      if (!meet(devices[d], devices[holder])) continue;
      refuse(
          fmt::format("{0}[{1}] = {2} overlaps {0}[{3}] = {4}: two boxes are the same, or have "
                      "nothing in common",
                      argument, d, shown(devices[d]), holder, shown(devices[holder])));
    }
    holders.emplace(shard, d);
    covered += shard.elements();
  }
  const std::int64_t all =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  if (covered != all) {
    refuse(fmt::format("{} has {} boxes that hold {} elements of {}: they must cover the array",
                       argument, devices.size(), covered, all));
  }
  return layout;
}

Placements parse_placements(std::string_view text, std::string_view argument) {
  const std::string_view all = text;
  const auto wrong = [&] {
    refuse(
        fmt::format("{} = '{}' is wrong: it has one of S<axis>, S<axis>:<block>, "
                    "S<axis>:<block>@<first>, R for each dimension of the mesh, as in S0,R",
                    argument, visible(all)));
  };
  const auto number = [&](auto& to) {
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc() || to < 0) wrong();
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  };
  Placements placements;
  while (true) {
    Placement placement;
    if (text.starts_with('R')) {
      text.remove_prefix(1);
    } else if (text.starts_with('S')) {
      number(placement.axis);
      if (text.starts_with(':')) {
        number(placement.block);
        if (placement.block == 0) wrong();
        if (text.starts_with('@')) number(placement.first);
      }
    } else {
      wrong();
    }
    placements.push_back(placement);
    if (text.empty()) return placements;
    if (!text.starts_with(',')) wrong();
    text.remove_prefix(1);
  }
}

std::string to_string(const Placements& placements) {
  std::string text;
  for (const Placement& placement : placements) {
    if (!text.empty()) text += ',';
    text += placement.axis < 0 ? "R" : fmt::format("S{}", placement.axis);
    if (placement.axis < 0 || placement.block == 0) continue;
    text += fmt::format(":{}", placement.block);
    if (placement.first != 0) text += fmt::format("@{}", placement.first);
  }
  return text;
}

}  // namespace cornerturn::shards
