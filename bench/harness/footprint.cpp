#include "harness/footprint.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace cornerturn::bench {
namespace {

struct Axis {
  std::int64_t extent = 1;
  std::int64_t step = 0;  // bytes
};

// One side of a case: runs of bytes, and the axes along which they lie.
struct Runs {
  std::int64_t bytes = 1;
  std::int64_t start = 0;
  std::vector<Axis> axes;  // the shortest step last
};

Runs runs_of(const Case& c, const std::vector<std::int64_t>& strides, std::int64_t offset) {
  Runs runs;
  runs.bytes = c.element_bytes;
  runs.start = offset * c.element_bytes;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    const Axis axis{c.shape[k], std::abs(strides[k]) * c.element_bytes};
    // What repeats is the same granule; what runs backwards begins at its other end.
    if (axis.extent == 1 || axis.step == 0) continue;
    if (strides[k] < 0) runs.start -= (axis.extent - 1) * axis.step;
    runs.axes.push_back(axis);
  }
  std::sort(runs.axes.begin(), runs.axes.end(),
            [](const Axis& a, const Axis& b) { return a.step > b.step; });
  while (!runs.axes.empty() && runs.axes.back().step == runs.bytes) {
    runs.bytes *= runs.axes.back().extent;
    runs.axes.pop_back();
  }
  return runs;
}

// How many bytes of each granule belong to elements; where elements overlap, no more than it has.
std::vector<std::uint16_t> bytes_by_granule(const Runs& runs, std::int64_t span,
                                            std::int64_t granule) {
  std::vector<std::uint16_t> held(static_cast<std::size_t>((span + granule - 1) / granule));
  const auto mark = [&](std::int64_t from, std::int64_t to) {
    while (from < to) {
      const std::int64_t end = std::min(to, (from / granule + 1) * granule);
      std::uint16_t& bytes = held[static_cast<std::size_t>(from / granule)];
      bytes = static_cast<std::uint16_t>(std::min<std::int64_t>(bytes + end - from, granule));
      from = end;
    }
  };
  std::vector<std::int64_t> index(runs.axes.size(), 0);
  std::int64_t at = runs.start;
  for (;;) {
    mark(at, at + runs.bytes);
    std::size_t k = runs.axes.size();
    while (k-- > 0) {
      at += runs.axes[k].step;
      if (++index[k] < runs.axes[k].extent) break;
      at -= runs.axes[k].step * runs.axes[k].extent;
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return held;
  }
}

}  // namespace

Footprint footprint_of(const Case& c, int granule) {
  const auto src =
      bytes_by_granule(runs_of(c, c.src_strides, c.src_offset), c.src_span_bytes(), granule);
  const auto dst =
      bytes_by_granule(runs_of(c, c.dst_strides, c.dst_offset), c.dst_span_bytes(), granule);
  const auto counted = [](const std::vector<std::uint16_t>& held, auto counts) {
    return static_cast<std::int64_t>(std::count_if(held.begin(), held.end(), counts));
  };
  const auto any = [](std::uint16_t bytes) { return bytes > 0; };
  const auto part = [=](std::uint16_t bytes) { return bytes > 0 && bytes < granule; };
  return {granule, counted(src, any), counted(dst, any), counted(dst, part)};
}

void note_least_bytes(const std::string& path, int granule) {
  std::ifstream file(path);
  auto result = nlohmann::ordered_json::parse(file);
  file.close();
  std::map<std::string, Suite> suites;
  for (nlohmann::ordered_json& noted : result.at("cases")) {
    const std::string name = noted.at("suite");
    auto found = suites.find(name);
    if (found == suites.end()) found = suites.emplace(name, load_suite(name)).first;
    for (const Case& c : found->second.cases) {
      if (c.name != noted.at("case").get<std::string>() ||
          c.element_bytes != noted.at("element_bytes").get<int>())
        continue;
      noted["least_bytes"] = footprint_of(c, granule).moved_bytes();
    }
  }
  std::ofstream(path) << result.dump() << '\n';
}

}  // namespace cornerturn::bench
