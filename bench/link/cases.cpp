#include "link/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/random_suite.hpp"

namespace cornerturn::bench::link {
namespace {

using Shape = std::vector<std::int64_t>;

Shape packed_steps(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  return strides;
}

// Part of a packed array of `whole`, of `shape` from `first` on, its axes in the order `axes`, into
// a packed array.
LinkCase window(std::string name, Kind kind, const Shape& whole, const Shape& first,
                const Shape& shape, const std::vector<std::size_t>& axes) {
  LinkCase c;
  c.from = c.to = ElementType(kind);
  c.layout.name = std::move(name);
  c.layout.element_bytes = c.from.size();
  const Shape strides = packed_steps(whole);
  for (std::size_t k = 0; k < whole.size(); ++k) c.layout.src_offset += first[k] * strides[k];
  for (const std::size_t axis : axes) {
    c.layout.shape.push_back(shape[axis]);
    c.layout.src_strides.push_back(strides[axis]);
  }
  c.layout.dst_strides = packed_steps(c.layout.shape);
  return c;
}

LinkCase permutation(std::string name, Kind kind, const Shape& shape,
                     const std::vector<std::size_t>& axes) {
  return window(std::move(name), kind, shape, Shape(shape.size(), 0), shape, axes);
}

LinkCase converted(LinkCase c, Kind to, int scaled_axis = -1) {
  c.to = ElementType(to);
  c.scaled_axis = scaled_axis;
  return c;
}

std::string text_of(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; bytes >= 1024; bytes /= 1024) ++unit;
  return fmt::format("{} {}", bytes, units[unit]);
}

// The way back: what was the source is the destination.
LinkCase out_of_gpu(LinkCase c) {
  std::swap(c.layout.src_strides, c.layout.dst_strides);
  std::swap(c.layout.src_offset, c.layout.dst_offset);
  std::swap(c.from, c.to);
  c.layout.element_bytes = c.from.size();
  c.into_gpu = false;
  return c;
}

class Suites {
 public:
  enum class Ways : std::uint8_t { into, both };

  void add(const char* suite, const LinkCase& c, Ways ways, std::initializer_list<Memory> places) {
    for (const Memory memory : places) {
      for (const bool into : {true, false}) {
        if (!into && ways == Ways::into) continue;
        cases_.push_back(into ? c : out_of_gpu(c));
        cases_.back().layout.suite = suite;
        cases_.back().layout.group = suite;
        cases_.back().memory = memory;
      }
    }
  }

  std::vector<LinkCase> taken() { return std::move(cases_); }

 private:
  std::vector<LinkCase> cases_;
};

using Ways = Suites::Ways;
constexpr auto pinned = Memory::pinned;
constexpr auto pageable = Memory::pageable;
constexpr auto mapped = Memory::mapped;

void add_weights(Suites& suites) {
  const LinkCase all[] = {
      permutation("fp8 transposed", Kind::f8_e4m3, {4, 5120, 16384}, {0, 2, 1}),
      permutation("bf16 transposed", Kind::bf16, {4, 5120, 8192}, {0, 2, 1}),
      permutation("bf16 transposed, 671 MB", Kind::bf16, {4, 5120, 16384}, {0, 2, 1}),
      permutation("f32 transposed", Kind::f32, {8192, 8192}, {1, 0}),
      // Gate and up lie side by side; an engine wants the one behind the other, transposed.
      permutation("bf16 experts, fused", Kind::bf16, {16, 2880, 1440, 2}, {0, 3, 2, 1}),
      permutation("fp8 experts, rows kept", Kind::f8_e4m3, {16, 2, 1536, 4096}, {0, 2, 1, 3})};
  for (const LinkCase& c : all) {
    suites.add("weights", c, Ways::both, {pinned, pageable});
    suites.add("weights", c, Ways::into, {mapped});
  }
}

void add_windows(Suites& suites) {
  const LinkCase all[] = {window("6000 x 3000 of 8192 x 8192", Kind::f32, {8192, 8192},
                                 {1000, 2000}, {6000, 3000}, {0, 1}),
                          window("6000 x 3000 of 8192 x 8192, transposed", Kind::f32, {8192, 8192},
                                 {1000, 2000}, {6000, 3000}, {1, 0}),
                          window("300 cubed of 512 cubed", Kind::f32, {512, 512, 512},
                                 {100, 50, 60}, {300, 300, 300}, {0, 1, 2}),
                          window("4096 of 8192 tokens", Kind::bf16, {32, 8192, 128}, {0, 1000, 0},
                                 {32, 4096, 128}, {0, 1, 2})};
  for (const LinkCase& c : all) suites.add("windows", c, Ways::both, {pinned, pageable});
}

void add_images(Suites& suites) {
  const LinkCase small =
      permutation("u8 HWC, CHW on the GPU", Kind::u8, {256, 224, 224, 3}, {0, 3, 1, 2});
  LinkCase f32 = converted(small, Kind::f32, 1), bf16 = converted(small, Kind::bf16, 1);
  f32.layout.name = "u8 HWC, scaled f32 CHW on the GPU";
  bf16.layout.name = "u8 HWC, scaled bf16 CHW on the GPU";
  suites.add("images", small, Ways::both, {pinned, pageable});
  for (const LinkCase& c : {f32, bf16}) {
    suites.add("images", c, Ways::into, {pinned, pageable, mapped});
  }
  suites.add("images",
             permutation("u8 HWC, CHW on the GPU, 8 of 2160 x 3840", Kind::u8, {8, 2160, 3840, 3},
                         {0, 3, 1, 2}),
             Ways::into, {pinned, pageable});
}

void add_conversions(Suites& suites) {
  const LinkCase plain = permutation("f32, bf16 on the GPU", Kind::f32, {8192, 16384}, {0, 1});
  suites.add("conversions", converted(plain, Kind::bf16), Ways::both, {pinned, pageable});
  suites.add("conversions", converted(plain, Kind::bf16), Ways::into, {mapped});
  const auto transposed = [](const char* name, Kind to) {
    return converted(permutation(name, Kind::f32, {8192, 8192}, {1, 0}), to);
  };
  suites.add("conversions", transposed("f32, transposed bf16 on the GPU", Kind::bf16), Ways::both,
             {pinned, pageable});
  suites.add("conversions", transposed("f32, transposed fp8 on the GPU", Kind::f8_e4m3), Ways::into,
             {pinned});
}

// Pages of a pool, every second one, in another order than on the GPU.
void add_boxes(Suites& suites) {
  constexpr std::int64_t all = 64 << 20;
  for (std::int64_t box = 64; box <= 1 << 20; box *= 4) {
    const std::int64_t inner = std::min<std::int64_t>(64, all / box / 8);
    const std::int64_t outer = all / box / inner;
    LinkCase c;
    c.layout.name = text_of(box);
    c.layout.shape = {inner, outer, box};
    c.layout.src_strides = {2 * box, 2 * inner * box, 1};
    c.layout.dst_strides = packed_steps(c.layout.shape);
    suites.add("boxes", c, Ways::both, {pinned});
    if (box == 4 << 10 || box == 64 << 10) suites.add("boxes", c, Ways::both, {pageable});
  }
}

void add_sizes(Suites& suites, bool large) {
  for (std::int64_t side = 128; side <= 16384; side *= 2) {
    const std::string name = text_of(side * side * 4);
    suites.add("sizes", permutation(name, Kind::f32, {side, side}, {1, 0}), Ways::both,
               {pinned, pageable});
  }
  if (!large) return;
  suites.add("sizes", permutation("8 GiB", Kind::f32, {32768, 65536}, {1, 0}), Ways::both,
             {pinned, pageable});
}

}  // namespace

const char* name_of(Memory memory) {
  constexpr const char* names[] = {"pinned", "pageable", "mapped"};
  return names[static_cast<int>(memory)];
}

Problem LinkCase::problem() const {
  Problem problem;
  problem.src_type = from;
  problem.dst_type = to;
  for (std::size_t k = 0; k < layout.shape.size(); ++k) {
    problem.modes.push_back(
        {layout.shape[k], layout.src_strides[k] * from.size(), layout.dst_strides[k] * to.size()});
  }
  problem.src_offset = layout.src_offset * from.size();
  problem.dst_offset = layout.dst_offset * to.size();
  return problem;
}

std::string to_string(const LinkCase& c) {
  return fmt::format("{}/{} {} {}", c.layout.suite, c.layout.name, c.into_gpu ? "into" : "out of",
                     name_of(c.memory));
}

std::vector<LinkCase> all_cases(bool large) {
  Suites suites;
  add_weights(suites);
  add_windows(suites);
  add_images(suites);
  add_conversions(suites);
  add_boxes(suites);
  add_sizes(suites, large);
  return suites.taken();
}

std::vector<LinkCase> random_cases(std::int64_t count, std::uint64_t seed) {
  RandomSpec spec;
  spec.count = count;
  spec.seed = seed;
  spec.min_bytes = 64 << 10;
  spec.max_bytes = 64 << 20;
  std::vector<LinkCase> cases;
  for (const Case& drawn : random_suite(spec).cases) {
    LinkCase c;
    c.layout = drawn;
    c.from = c.to = ElementType::bytes(drawn.element_bytes);
    c.into_gpu = cases.size() % 2 == 0;
    cases.push_back(std::move(c));
  }
  return cases;
}

nlohmann::ordered_json to_json(const LinkCase& c) {
  return {{"suite", c.layout.suite},
          {"case", c.layout.name},
          {"way", c.into_gpu ? "into" : "out"},
          {"memory", name_of(c.memory)},
          {"from", c.from.name()},
          {"to", c.to.name()},
          {"shape", c.layout.shape},
          {"src_strides", c.layout.src_strides},
          {"dst_strides", c.layout.dst_strides},
          {"src_offset", c.layout.src_offset},
          {"dst_offset", c.layout.dst_offset},
          {"scaled_axis", c.scaled_axis},
          {"bytes", c.host_bytes()}};
}

}  // namespace cornerturn::bench::link
