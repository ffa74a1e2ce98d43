#include "workshop/simt/finding.hpp"

#include <fmt/format.h>

#include "workshop/simt/finding_words.hpp"

namespace cornerturn::simt {

namespace {

std::string text(const Dim3& at) {
  return fmt::format("({},{},{})", at.x, at.y, at.z);
}

std::string text(const Party& party, const Dim3& block) {
  std::string who = "thread " + text(party.thread);
  if (!(party.block == block)) who += " of block " + text(party.block);
  const std::string where = to_string(party.site);
  const bool moves = party.action != Action::wait && party.action != Action::end;
  if (moves && party.bytes == 0) return fmt::format("{} is at {}", who, where);
  switch (party.action) {
    case Action::load:
      return fmt::format("{} loads {} B at {}", who, party.bytes, where);
    case Action::store:
      return fmt::format("{} stores {} B at {}", who, party.bytes, where);
    case Action::update:
      return fmt::format("{} updates {} B at {}", who, party.bytes, where);
    case Action::async_copy:
      return fmt::format("{} copies {} B at {}", who, party.bytes, where);
    case Action::wait:
      return fmt::format("{} waits at {}", who, where);
    case Action::end:
      return fmt::format("{} has ended", who);
  }
  return who;
}

}  // namespace

const char* name(FindingKind kind) {
  switch (kind) {
    case FindingKind::race:
      return "race";
    case FindingKind::unwritten_read:
      return "read of unwritten memory";
    case FindingKind::out_of_bounds:
      return "out of bounds";
    case FindingKind::misaligned:
      return "misaligned access";
    case FindingKind::divergent_barrier:
      return "divergent barrier";
    case FindingKind::written_twice:
      return "written twice";
    case FindingKind::never_written:
      return "never written";
    case FindingKind::never_ends:
      return "endless loop";
  }
  return "";
}

std::string Finding::message() const {
  std::string line = kernel;
  if (first) line += ", block " + text(first->block);
  line += fmt::format(": {}", detail == into_input ? "store into an input" : name(kind));
  if (!memory.empty()) line += fmt::format(" in {} at byte {}", memory, address);
  if (first) line += ": " + text(*first, first->block);
  if (second) line += "; " + text(*second, first ? first->block : second->block);
  if (!detail.empty()) line += (first ? "; " : ": ") + detail;
  return line;
}

}  // namespace cornerturn::simt
