#include "plan/text.hpp"

#include <fmt/format.h>

namespace cornerturn::plan {

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns * 1e-3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns * 1e-6);
  return fmt::format("{:.2f} s", ns * 1e-9);
}

std::string bytes_text(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", value * 1e-3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", value * 1e-6);
  return fmt::format("{:.1f} GB", value * 1e-9);
}

std::string_view choice_text(Choice choice) {
  switch (choice) {
    case Choice::estimated:
      return "estimated";
    case Choice::forced:
      return "forced";
    case Choice::measured:
      return "measured";
    case Choice::remembered:
      return "remembered";
    case Choice::learned:
      return "learned";
  }
  return "";
}

std::string why_text(std::string_view idea, Choice choice, std::string_view other, double ratio) {
  switch (choice) {
    case Choice::forced:
      return fmt::format("{}; forced by name", idea);
    case Choice::measured:
      return fmt::format("{}; the fastest when timed", idea);
    case Choice::remembered:
      return fmt::format("{}; the fastest when timed before", idea);
    case Choice::learned:
      return fmt::format("{}; the fastest in its first calls", idea);
    case Choice::estimated:
      break;
  }
  if (other.empty()) return fmt::format("{}; nothing else applies", idea);
  return fmt::format("{}; {} would take {:.{}f}x as long", idea, other, ratio, ratio < 1.1 ? 2 : 1);
}

nlohmann::json modes_json(const Problem& problem) {
  nlohmann::json modes = nlohmann::json::array();
  for (const Mode& mode : problem.modes) {
    modes.push_back({{"extent", mode.extent},
                     {"src_stride", mode.src_stride},
                     {"dst_stride", mode.dst_stride}});
  }
  nlohmann::json json = {{"element", problem.src_type.name()},
                         {"modes", modes},
                         {"src_offset", problem.src_offset},
                         {"dst_offset", problem.dst_offset}};
  if (problem.lists != nullptr) json["lists"] = to_string(*problem.lists);
  if (problem.converts()) json["converted_to"] = problem.dst_type.name();
  return json;
}

}  // namespace cornerturn::plan
