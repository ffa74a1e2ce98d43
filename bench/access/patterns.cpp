#include "access/patterns.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace cornerturn::bench {
namespace {

/// splitmix64: small, and the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint32_t mask() { return static_cast<std::uint32_t>(next()); }

 private:
  std::uint64_t state_;
};

using Index = std::function<std::uint64_t(int)>;  // lane -> index of its element
constexpr std::uint32_t all = 0xffffffffU;

constexpr std::uint64_t u(int value) {
  return static_cast<std::uint64_t>(value);
}

struct Builder {
  std::vector<Pattern> patterns;
  Instruction instruction = Instruction::shared_load;
  int width = 4;

  void add(const std::string& what, std::uint32_t active, const Index& index,
           std::uint64_t base = 0) {
    Pattern pattern;
    pattern.name = std::string(name_of(instruction)) + " " + std::to_string(width) + ": " + what;
    pattern.instruction = instruction;
    pattern.request.active = active;
    pattern.request.width = width;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (!pattern.request.is_active(lane)) continue;
      pattern.request.address[static_cast<std::size_t>(lane)] = base + index(lane) * u(width);
    }
    patterns.push_back(std::move(pattern));
  }
};

std::string hex(std::uint32_t value) {
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 15U];
  return text;
}

void strides_and_offsets(Builder& b) {
  for (const int stride : {1, 2, 3, 4, 5, 8, 16, 17, 32, 33, 64}) {
    b.add("stride " + std::to_string(stride), all, [=](int l) { return u(l * stride); });
  }
  for (const int offset : {1, 3}) {
    b.add("offset " + std::to_string(offset), all, [=](int l) { return u(l + offset); });
  }
  b.add("reversed", all, [](int l) { return u(31 - l); });
}

void broadcasts(Builder& b) {
  for (const int block : {2, 4, 8, 32}) {
    const std::string size = std::to_string(block);
    b.add("blocks of " + size, all, [=](int l) { return u(l / block); });
    b.add("blocks of " + size + ", one bank", all,
          [=](int l) { return u(l / block * 128 / b.width); });
    if (block < 32) b.add("lane mod " + size, all, [=](int l) { return u(l % block); });
  }
}

// Lanes i and i ^ distance share an address: packed, and all in one bank.
void partners(Builder& b) {
  for (const int distance : {1, 2, 3, 4, 8, 16}) {
    const auto first = [=](int l) { return std::min(l, l ^ distance); };
    const std::string name = "pairs i^" + std::to_string(distance);
    b.add(name, all, [=](int l) { return u(first(l)); });
    b.add(name + ", conflicts", all, [=](int l) { return u(first(l) * 128 / b.width); });
    if (b.width > 4) b.add(name + ", two-way", all, [=](int l) { return u(first(l) * 2); });
  }
}

void masks(Builder& b) {
  constexpr std::uint32_t chosen[] = {0x55555555, 0xaaaaaaaa, 0x33333333, 0x0f0f0f0f, 0x00ff00ff,
                                      0xffff0000, 0x80000000, 0x99999999, 0x01010101, 0x7fffffff};
  for (const std::uint32_t mask : chosen) {
    b.add("mask " + hex(mask), mask, [](int l) { return u(l); });
    if (b.width >= 4)
      b.add("mask " + hex(mask) + ", stride 8", mask, [](int l) { return u(l * 8); });
  }
}

// Columns of a row-major tile whose chunks are moved by xor, as transpositions read them.
void swizzles(Builder& b) {
  const int row = 128 / b.width;
  for (const int bits : {2, 3, 5}) {
    for (const int rows_apart : {1, 2, 4}) {
      const int mask = std::min((1 << bits), row) - 1;
      b.add(
          "xor of " + std::to_string(bits) + " bits, rows " + std::to_string(rows_apart) + " apart",
          all, [=](int l) {
            return u((l * rows_apart * row) + (5 ^ ((l * rows_apart) & mask))) % u(256 * row);
          });
    }
  }
}

void randoms(Builder& b, Random& random) {
  for (const int span : {64, 256, 1024, 8192}) {
    const auto elements = u(std::max(span / b.width, 2));
    for (const bool masked : {false, true}) {
      const std::uint32_t mask = masked ? random.mask() : all;
      b.add("random in " + std::to_string(span) + ", " + hex(mask), mask,
            [&](int) { return random.below(elements); });
    }
  }
}

// Wide loads: pairs that agree or not in each half, partners that are missing, with conflicts.
void merge_candidates(Builder& b, Random& random, int count) {
  for (int i = 0; i < count; ++i) {
    std::array<std::uint64_t, warp_lanes> index{};
    const auto elements = u(random.below(2) == 0 ? 64 : 512);
    std::uint32_t mask = all;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const int distance = 1 << random.below(3);
      const bool exact = random.below(4) != 0;
      for (int l = quarter * 8; l < quarter * 8 + 8; ++l) {
        index[static_cast<std::size_t>(l)] = random.below(elements);
        if ((l & distance) != 0 && (exact || random.below(4) != 0)) {
          index[static_cast<std::size_t>(l)] = index[static_cast<std::size_t>(l ^ distance)];
        }
        if (random.below(3) == 0 && i % 2 == 1) mask &= ~(1U << l);
        if ((l & distance) != 0 && i % 4 == 2) mask &= ~(1U << l);
      }
    }
    b.add("merge candidate " + std::to_string(i), mask,
          [&](int l) { return index[static_cast<std::size_t>(l)]; });
  }
}

// 16 bytes: one half of the warp may merge, the other may not, or only by other partners. Eight
// different chunks a quarter fill 8 banks of 4: merging or not shows in the count.
void half_merges(Builder& b) {
  const auto chunk = [](int lane, int distance) {  // of 4 chunks a quarter, in 16 over the half
    const int first = distance == 0 ? lane : std::min(lane, lane ^ distance);
    if (distance == 0 || distance > 2) return first % 8;
    const int slot = distance == 1 ? first % 8 / 2 : (first & 1) | (first & 4) >> 1;
    return slot + (lane / 8 % 2) * 4;
  };
  for (const int left : {0, 1, 2, 4}) {
    for (const int right : {0, 1, 2, 4}) {
      b.add("halves i^" + std::to_string(left) + " i^" + std::to_string(right), all,
            [=](int l) { return u(chunk(l, l < 16 ? left : right) + (l < 16 ? 0 : 32)); });
    }
  }
  for (const std::uint32_t mask :
       {0x5555ffffU, 0xffff5555U, 0x33335555U, 0x55553333U, 0x0000ffffU, 0xffff0000U, 0x55555557U,
        0x33333337U, 0x5555aaaaU, 0x11112222U, 0xf0f05555U}) {
    b.add("halves masked " + hex(mask), mask, [](int l) { return u(l % 8); });
  }
}

// Every quarter of the warp has pairs at the distance that its digit gives, conflicts or none.
void mixed_partners(Builder& b) {
  for (const std::array<int, 4> d : {std::array{1, 1, 2, 2},
                                     {1, 2, 1, 2},
                                     {2, 1, 1, 1},
                                     {1, 1, 4, 4},
                                     {4, 4, 1, 1},
                                     {2, 2, 4, 4},
                                     {3, 3, 1, 1}}) {
    std::string name = "pairs a quarter";
    for (const int distance : d) name += " i^" + std::to_string(distance);
    const auto first = [=](int l) { return std::min(l, l ^ d[static_cast<std::size_t>(l / 8)]); };
    b.add(name, all, [=](int l) { return u(first(l)); });
    b.add(name + ", conflicts", all, [=](int l) { return u(first(l) * 32 / b.width * 4); });
  }
}

void shared_patterns(Builder& b) {
  for (const Instruction instruction : {Instruction::shared_load, Instruction::shared_store}) {
    const bool load = instruction == Instruction::shared_load;
    for (const int width : {1, 2, 4, 8, 16}) {
      b.instruction = instruction;
      b.width = width;
      Random random(u(width) + (load ? 100 : 200));
      strides_and_offsets(b);
      broadcasts(b);
      partners(b);
      masks(b);
      if (width >= 4) swizzles(b);
      randoms(b, random);
      if (width > 4) mixed_partners(b);
      if (width > 4) half_merges(b);
      merge_candidates(b, random, width > 4 && load ? 40 : 4);
    }
  }
}

// The rows of 8 x 8 matrices of 2-byte elements: 16 bytes a row, one lane a row.
void matrix_patterns(Builder& b) {
  for (const Instruction instruction : {Instruction::ldmatrix, Instruction::stmatrix}) {
    for (const int matrices : {1, 2, 4}) {
      b.instruction = instruction;
      b.width = 16;
      const std::uint32_t lanes = detail::lanes_from(0, 8 * matrices);
      Random random(u(matrices));
      const std::string x = "x" + std::to_string(matrices) + " ";
      for (const int stride : {1, 2, 3, 4, 5, 8, 9}) {
        b.add(x + "stride " + std::to_string(stride), lanes, [=](int l) { return u(l * stride); });
      }
      b.add(x + "one row", lanes, [](int) { return u(3); });
      b.add(x + "pairs i^1", lanes, [](int l) { return u(l / 2); });
      b.add(x + "pairs i^1, conflicts", lanes, [](int l) { return u(l / 2 * 8); });
      b.add(x + "pairs i^2", lanes, [](int l) { return u(l & ~2); });
      b.add(x + "lane mod 8", lanes, [](int l) { return u(l % 8); });
      b.add(x + "xor", lanes, [](int l) { return u(l * 8 + (l & 7)); });
      for (const int rows : {8, 32, 256}) {
        b.add(x + "random in " + std::to_string(rows), lanes,
              [&](int) { return random.below(u(rows)); });
      }
    }
  }
}

// Where the bytes come from and where they go: both decide what an asynchronous copy costs.
void async_patterns(Builder& b) {
  struct Named {
    std::string name;
    Index index;
  };
  for (const Instruction instruction : {Instruction::async_copy, Instruction::async_copy_bypass}) {
    for (const int width : {4, 8, 16}) {
      if (instruction == Instruction::async_copy_bypass && width < 16) continue;
      b.instruction = instruction;
      b.width = width;
      const int row = 128 / width;  // elements in a line, in a row of banks
      const std::vector<Named> sources = {
          {"a run", [](int l) { return u(l); }},
          {"a run off by one", [](int l) { return u(l + 1); }},
          {"rows of 4", [=](int l) { return u(l / 4 * row * 2 + l % 4); }},
          {"a line each", [=](int l) { return u(l * row); }},
      };
      std::vector<Named> destinations = {
          {"rows by xor", [=](int l) { return u(l ^ ((l / row) & (row - 1))); }},
          {"reversed", [](int l) { return u(31 - l); }},
          {"pairs i^1", [](int l) { return u(l & ~1); }},
          {"one element", [](int) { return u(0); }},
          {"a diagonal", [=](int l) { return u(l * row + l % row); }},
          {"rows of 4 in 8", [](int l) { return u(l / 4 * 8 + l % 4); }},
      };
      for (const int stride : {1, 2, 3, 4, 8, row}) {
        if (stride == row && row <= 8) continue;
        destinations.push_back(
            {"stride " + std::to_string(stride), [=](int l) { return u(l * stride); }});
      }
      for (const Named& from : sources) {
        for (const Named& to : destinations) {
          b.add("from " + from.name + " to " + to.name, all, to.index);
          for (int l = 0; l < warp_lanes; ++l) {
            b.patterns.back().source[static_cast<std::size_t>(l)] = from.index(l) * u(width);
          }
        }
      }
    }
  }
}

void global_patterns(Builder& b) {
  for (const Instruction instruction : {Instruction::global_load, Instruction::global_store}) {
    for (const int width : {1, 2, 4, 8, 16}) {
      b.instruction = instruction;
      b.width = width;
      Random random(u(width) + 400);
      for (const int stride : {1, 2, 3, 8, 9, 33, 1000}) {
        b.add("stride " + std::to_string(stride), all, [=](int l) { return u(l * stride); });
      }
      for (const int offset : {1, 2, 5}) {
        b.add("offset " + std::to_string(offset), all, [=](int l) { return u(l + offset); });
      }
      b.add("one element", all, [](int) { return u(9); });
      b.add("blocks of 4", all, [](int l) { return u(l / 4 * 16); });
      b.add("lane mod 8", all, [](int l) { return u(l % 8 * 3); });
      for (const std::uint32_t mask : {0x55555555U, 0xffff0000U, 0x00010000U, 0x11111111U}) {
        b.add("mask " + hex(mask), mask, [](int l) { return u(l); });
      }
      for (const int span : {512, 4096, 65536}) {
        b.add("random in " + std::to_string(span), random.mask(),
              [&](int) { return random.below(u(span / width)); });
      }
    }
  }
}

}  // namespace

std::string_view name_of(Instruction instruction) {
  switch (instruction) {
    case Instruction::shared_load:
      return "ld.shared";
    case Instruction::shared_store:
      return "st.shared";
    case Instruction::ldmatrix:
      return "ldmatrix";
    case Instruction::stmatrix:
      return "stmatrix";
    case Instruction::global_load:
      return "ld.global";
    case Instruction::global_store:
      return "st.global";
    case Instruction::async_copy:
      return "cp.async.ca";
    case Instruction::async_copy_bypass:
      return "cp.async.cg";
  }
  return "";
}

std::vector<Pattern> access_patterns() {
  Builder builder;
  shared_patterns(builder);
  matrix_patterns(builder);
  async_patterns(builder);
  global_patterns(builder);
  return std::move(builder.patterns);
}

}  // namespace cornerturn::bench
