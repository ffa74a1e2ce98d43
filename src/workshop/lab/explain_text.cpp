// An explanation as text.
#include <fmt/format.h>

#include <algorithm>

#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_words.hpp"

namespace cornerturn::lab {
namespace {

// One row of the bit diagram, the highest bit first.
template <class Cell>
std::string bit_row(const char* name, const std::vector<AddressBit>& bits, Cell cell) {
  std::string line = fmt::format("  {:<11}", name);
  for (auto bit = bits.rbegin(); bit != bits.rend(); ++bit) {
    line += fmt::format("{:>4}", cell(*bit));
  }
  return line + "\n";
}

std::string bit_diagram(const Explanation& e) {
  std::string out = "\nBits of the byte address\n";
  out += bit_row("bit", e.bits, [](const AddressBit& b) { return fmt::format("{}", b.bit); });
  if (e.linear) {
    out += bit_row("from", e.bits, [](const AddressBit& b) { return b.from; });
  } else {
    out +=
        "  (the strides are not all powers of two of their own: no bit of a coordinate is one of "
        "these)\n";
  }
  if (e.layout.swizzle.bits > 0) {
    out += bit_row("swizzle", e.bits, [](const AddressBit& b) {
      return std::string(b.is_y ? "Y" : b.is_z ? "Z" : ".");
    });
    out += bit_row("xor with", e.bits, [](const AddressBit& b) {
      return b.xored_with < 0 ? std::string(".") : fmt::format("{}", b.xored_with);
    });
  }
  out += bit_row("bank", e.bits, [](const AddressBit& b) {
    return b.bank_bit < 0 ? std::string(".") : fmt::format("k{}", b.bank_bit);
  });
  return out;
}

std::string period_text(const Explanation& e) {
  const RowPeriod& p = e.period;
  std::string rows;
  for (const std::int64_t row : p.unchanged) {
    if (rows.size() > 60) {
      rows += ", ...";
      break;
    }
    rows += fmt::format("{}{}", rows.empty() ? "" : ", ", row);
  }
  return fmt::format(
      "\nThe swizzle\n  {}\n  {}\n  {}\n  the pattern repeats after {}; {} where it is without "
      "it\n",
      p.b, p.m, p.s, counted(p.rows, "row"),
      rows.empty() ? "no row stays"
                   : fmt::format("row{} {} stay{}", p.unchanged.size() == 1 ? "" : "s", rows,
                                 p.unchanged.size() == 1 ? "s" : ""));
}

std::string access_text(const AccessExplanation& a) {
  std::string out =
      fmt::format("\n{}: {} of {} B a lane\n  {}\n", a.name, name(a.op), a.width, a.verdict);
  if (!a.clean()) {
    out += fmt::format("  {}\n", a.why);
    const Request& worst = a.worst_request();
    out += fmt::format("  request {}:", a.worst);
    for (std::size_t i = 0; i < worst.groups.size(); ++i) {
      const LaneGroup& group = worst.groups[i];
      out += fmt::format("{} lanes {} take {}", i == 0 ? "" : ";", ranges(group.lanes),
                         counted(group.wavefronts, "wavefront"));
    }
    out += "\n";
  }
  return out;
}

std::string time_text(const TimeCost& t) {
  const std::string assumed =
      t.assumed_legs == 0
          ? ""
          : fmt::format(", {} of them for the {} not given", t.assumed_legs,
                        t.assumed_legs == 1 ? "access that is" : "accesses that are");
  const bool shared = t.shared_clocks() > t.memory_clocks();
  return fmt::format(
      "\nTime, in a transposition through this tile on {}\n"
      "  for 128 B the memory takes {:.1f} clocks of an SM, and shared memory {:.1f}: {:.1f} "
      "wavefronts{}\n"
      "  {} takes longer: {:.0f} % of a plain copy's speed, if nothing else bounds the kernel\n",
      t.device, t.memory_clocks(), t.shared_clocks(), t.wavefronts, assumed,
      shared ? "shared memory" : "the memory", 100 / t.slowdown());
}

}  // namespace

std::string Explanation::to_text() const {
  std::string out = to_string(layout) + "\n";
  out += fmt::format("tile        {} x {} elements of {} B\n", tile.rows, tile.columns, tile.bytes);
  const std::int64_t payload = tile.rows * tile.columns * tile.bytes;
  out += fmt::format("shared      {} B", shared_bytes);
  if (shared_bytes > payload) out += fmt::format(", {} of them free", shared_bytes - payload);
  out += "\n";
  if (same_place) {
    out += fmt::format("NOT INJECTIVE: ({},{}) and ({},{}) both lie at offset {}\n",
                       same_place->a.row, same_place->a.column, same_place->b.row,
                       same_place->b.column, same_place->offset);
  }
  for (const AccessExplanation& access : accesses) out += access_text(access);
  if (remedy) out += fmt::format("\nRemedy: {}\n", remedy->text);
  if (!remedy && !clean() && !same_place) {
    out +=
        "\nRemedy: neither one swizzle nor padded rows part them all; `cornerturn solve` looks "
        "for other maps of lanes as well\n";
  }
  out += bit_diagram(*this);
  if (layout.swizzle.bits > 0) out += period_text(*this);
  if (time) out += time_text(*time);
  return out;
}

}  // namespace cornerturn::lab
