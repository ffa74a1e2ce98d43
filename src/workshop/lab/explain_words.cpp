#include "workshop/lab/explain_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/divide.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

constexpr int bank_row = bank_count * bank_bytes;  // after so many bytes the banks begin again

// "bits 4-6", "bit 4"
std::string bits(int first, int count) {
  return count == 1 ? fmt::format("bit {}", first)
                    : fmt::format("bits {}-{}", first, first + count - 1);
}

// How the lanes that meet in one bank lie: each so many bytes behind the one before.
struct Distances {
  std::int64_t bytes = 0;  // 0: not all the same
  int rows = 0;            // 0: not all the same, or not one below the other
};
Distances distances(const Request& request, std::uint32_t lanes) {
  Distances result;
  int before = -1;
  bool first = true;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (before >= 0) {
      const auto a = static_cast<std::size_t>(before);
      const auto b = static_cast<std::size_t>(lane);
      const auto words = static_cast<std::int64_t>(request.lanes.address[b] / bank_bytes) -
                         static_cast<std::int64_t>(request.lanes.address[a] / bank_bytes);
      const bool below = request.points[a].column == request.points[b].column;
      const int rows = below ? request.points[b].row - request.points[a].row : 0;
      if (first) result = {words * bank_bytes, rows};
      if (result.bytes != words * bank_bytes) result.bytes = 0;
      if (result.rows != rows) result.rows = 0;
      first = false;
    }
    before = lane;
  }
  return result;
}

const LaneGroup& worst_group(const Request& request) {
  return *std::max_element(request.groups.begin(), request.groups.end(),
                           [](const LaneGroup& a, const LaneGroup& b) {
                             return a.wavefronts - a.room < b.wavefronts - b.room;
                           });
}

std::string reason(const Request& request, std::uint32_t lanes) {
  const Distances between = distances(request, lanes);
  if (between.bytes != 0) {
    const std::int64_t bytes = std::abs(between.bytes);
    const std::string multiple =
        bytes == bank_row ? "the width of all banks" : fmt::format("a multiple of {}", bank_row);
    if (between.rows == 1) {
      return fmt::format("their rows lie {} bytes apart, {}", bytes, multiple);
    }
    if (between.rows != 0) {
      return fmt::format("they are {} rows apart, {} bytes, {}", std::abs(between.rows), bytes,
                         multiple);
    }
    return fmt::format("their addresses lie {} bytes apart, {}", bytes, multiple);
  }
  const Collision& pair = request.cost.collision;
  const auto bytes =
      (static_cast<std::int64_t>(pair.word_b) - static_cast<std::int64_t>(pair.word_a)) *
      bank_bytes;
  return fmt::format("their addresses differ by multiples of {} bytes: lanes {} and {} by {}",
                     bank_row, pair.lane_a, pair.lane_b, std::abs(bytes));
}

// The swizzle in words: which bits of the byte address go where.
std::string xor_text(const AnySwizzle& swizzle, int bytes) {
  const int low = log2(bytes);
  const int z = low + swizzle.base - std::min(swizzle.shift, 0);
  const int y = low + swizzle.base + std::max(swizzle.shift, 0);
  return fmt::format("xor address {} into {}", bits(y, swizzle.bits), bits(z, swizzle.bits));
}

// "bank 4", "banks 4-7", "16 banks (0, 2, 4, ...)", "every bank"
std::string bank_list(std::uint32_t banks) {
  const int count = std::popcount(banks);
  if (count == bank_count) return "every bank";
  std::string list = ranges(banks);
  if (std::count(list.begin(), list.end(), ',') < 4) {
    return fmt::format("bank{} {}", count == 1 ? "" : "s", list);
  }
  std::size_t cut = 0;
  for (int i = 0; i < 3; ++i) cut = list.find(',', cut) + 1;
  return fmt::format("{} banks ({} ...)", count, list.substr(0, cut));
}

bool all_clean(const SwizzledLayout& layout, int bytes, const std::vector<Access>& accesses) {
  return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return conflicts_of(layout, bytes, access, 0) == 0;
  });
}

}  // namespace

std::string ranges(std::uint32_t mask) {
  std::string out;
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    const int first = i;
    while (i + 1 < 32 && (mask >> (i + 1) & 1U) != 0) ++i;
    if (!out.empty()) out += ", ";
    out += first == i ? fmt::format("{}", i) : fmt::format("{}-{}", first, i);
  }
  return out;
}

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string verdict(const AccessExplanation& access) {
  const SharedCost& worst = access.worst_request().cost;
  const int floor = worst.wavefronts - worst.conflicts;
  const std::string total =
      access.requests.size() == 1
          ? ""
          : fmt::format("; {} for the tile's {}", counted(access.wavefronts, "wavefront"),
                        counted(static_cast<std::int64_t>(access.requests.size()), "request"));
  if (access.clean()) {
    return fmt::format("no bank conflict: {} a request, the floor{}", counted(floor, "wavefront"),
                       total);
  }
  return fmt::format("{} in the worst request, where the floor is {}{}, at the floor {}",
                     counted(worst.wavefronts, "wavefront"), floor,
                     total.empty() ? "; for the tile" : total, access.floor);
}

std::string why(const AccessExplanation& access) {
  if (access.clean()) return {};
  const Request& request = access.worst_request();
  const LaneGroup& group = worst_group(request);
  const auto fullest = static_cast<std::size_t>(
      std::max_element(group.words.begin(), group.words.end()) - group.words.begin());
  std::uint32_t banks = 0;
  std::uint32_t lanes = 0;
  for (std::size_t bank = 0; bank < bank_count; ++bank) {
    if (group.words[bank] != group.words[fullest]) continue;
    banks |= 1U << bank;
    lanes |= group.by[bank];
  }
  const char* served = access.op == SharedOp::ldmatrix || access.op == SharedOp::stmatrix
                           ? "the rows of one matrix"
                       : request.groups.size() == 1 ? "served at once"
                                                    : "one group of them";
  const int bank_number = std::popcount(banks);
  return fmt::format("lanes {} of a {}-byte {}, {}, want {} with {} different words{}, because {}",
                     ranges(lanes), access.width, name(access.op), served, bank_list(banks),
                     group.words[fullest], bank_number == 1 ? "" : " each",
                     reason(request, group.by[fullest]));
}

void name_numbers(Explanation& explanation) {
  const AnySwizzle& swizzle = explanation.layout.swizzle;
  if (swizzle.bits == 0) return;
  RowPeriod& period = explanation.period;
  const int bytes = explanation.tile.bytes;
  const int low = log2(bytes);
  const std::int64_t together = std::int64_t{1} << swizzle.base;
  period.b =
      fmt::format("B = {}: {} xor-ed, so a piece of a row can be in {} places", swizzle.bits,
                  swizzle.bits == 1 ? "one bit is" : fmt::format("{} bits are", swizzle.bits),
                  std::int64_t{1} << swizzle.bits);
  period.m =
      together == 1
          ? fmt::format("M = 0: every element moves on its own, {} B", bytes)
          : fmt::format("M = {}: the lowest {} stay{}, so {} neighbours, {} B, stay together",
                        swizzle.base, counted(swizzle.base, "bit"), swizzle.base == 1 ? "s" : "",
                        together, together * bytes);
  std::string from;
  for (const AddressBit& bit : explanation.bits) {
    if (!bit.is_y || bit.from.empty()) continue;
    from += fmt::format("{}{}", from.empty() ? ", here " : ", ", bit.from);
  }
  const int y = swizzle.base + std::max(swizzle.shift, 0);
  period.s = fmt::format(
      "S = {}: each is xor-ed with the one {} places {}, {} of the offset, {} of "
      "the byte address{}",
      swizzle.shift, std::abs(swizzle.shift), swizzle.shift < 0 ? "lower" : "higher",
      bits(y, swizzle.bits), bits(y + low, swizzle.bits), from);
}

std::optional<Remedy> find_remedy(const SwizzledLayout& layout, int bytes,
                                  const std::vector<Access>& accesses) {
  int vector = 1;
  for (const Access& access : accesses) vector = std::max(vector, access.vector);
  const SwizzledLayout plain = {{}, layout.offset, layout.layout};
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(plain.span() - 1)));
  const int bank_bits = log2(std::max(1, bank_row / bytes));
  const char* instead = layout.swizzle.bits > 0 ? "instead of the swizzle, " : "";
  for (int b = 1; b <= 5; ++b) {
    for (int m = log2(vector); m + b <= std::max(bank_bits, log2(vector) + b); ++m) {
      for (int s = b; m + s + b <= width; ++s) {
        SwizzledLayout tried = plain;
        tried.swizzle = {b, m, s};
        if (!all_clean(tried, bytes, accesses)) continue;
        return Remedy{tried, fmt::format("{}{} to part them: {}", instead,
                                         xor_text(tried.swizzle, bytes), to_string(tried))};
      }
    }
  }
  // Rows further apart, or columns where those lie together: only where both are one mode.
  const Layout& l = plain.layout;
  if (l.rank() != 2 || l.mode(0).leaves != 1 || l.mode(1).leaves != 1) return std::nullopt;
  const bool down = tile_shape(l, bytes).down;
  const int apart = down ? 1 : 0;
  if (l.leaf[1 - apart].stride != 1) return std::nullopt;
  for (int pad = vector; pad * bytes <= bank_row; pad += vector) {
    SwizzledLayout tried = plain;
    tried.layout.leaf[apart].stride += pad;
    if (!all_clean(tried, bytes, accesses)) continue;
    return Remedy{tried, fmt::format("{}leave {} B free behind every {} to part them: {}", instead,
                                     pad * bytes, down ? "column" : "row", to_string(tried))};
  }
  return std::nullopt;
}

}  // namespace cornerturn::lab
