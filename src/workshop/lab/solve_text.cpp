// A solution as text and JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "workshop/analyse/notation.hpp"
#include "workshop/lab/solve.hpp"

namespace cornerturn::lab {
namespace {

std::string lanes_text(const Leg& leg, int bytes) {
  if (leg.by_tma) return "by TMA";
  return fmt::format("{} x {} B", name(leg.walk), leg.vector * bytes);
}

std::string cost_text(const Leg& leg) {
  if (leg.by_tma) return "-";
  return leg.clean() ? fmt::format("{}", leg.wavefronts)
                     : fmt::format("{} ({})", leg.wavefronts, leg.floor);
}

std::string indented(const std::string& text, const char* blanks) {
  std::string out = blanks;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += blanks;
  }
  return out;
}

nlohmann::ordered_json json_of(const Leg& leg, int bytes) {
  if (leg.by_tma) return {{"by", "tma"}};
  return {{"lanes", name(leg.walk)},
          {"op", name(leg.op)},
          {"bytes_a_lane", leg.vector * bytes},
          {"requests", leg.requests},
          {"wavefronts", leg.wavefronts},
          {"floor", leg.floor}};
}

nlohmann::ordered_json json_of(const Answer& answer) {
  const int bytes = answer.choice.tile.bytes;
  nlohmann::ordered_json out = {{"kind", name(answer.choice.family)},
                                {"text", answer.choice.text()}};
  if (const auto layout = answer.choice.layout()) out["layout"] = to_string(*layout);
  out["conflict_free"] = answer.clean();
  out["write"] = json_of(answer.write, bytes);
  out["read"] = json_of(answer.read, bytes);
  out["wavefronts"] = answer.wavefronts();
  out["shared_bytes"] = answer.choice.shared_bytes();
  out["address_instructions"] = answer.address_instructions();
  out["tma"] = answer.choice.fits_tma();
  return out;
}

}  // namespace

std::string Solution::to_text() const {
  const Answer& best = winner();
  const int bytes = question.tile.bytes;
  std::string out = fmt::format("{}\n", best.choice.text());
  out += fmt::format("write  {}\nread   {}\n", lanes_text(best.write, bytes),
                     lanes_text(best.read, bytes));
  out += best.clean() ? "free of bank conflicts\n"
                      : fmt::format(
                            "nothing that was searched is free of bank conflicts: {} "
                            "wavefronts, {} at the floor\n",
                            best.wavefronts(), best.write.floor + best.read.floor);
  out += fmt::format("\nProof\n{}", indented(proof, "  "));
  while (out.back() == ' ') out.pop_back();
  out += fmt::format("\nThe textbook rule gives {}{}{}\n", textbook.gives,
                     textbook.why.empty() ? "" : ": ", textbook.why);
  out += fmt::format("\nThe best of each kind, of {} layouts\n", searched);
  out += fmt::format("  {:<52} {:<15} {:<15} {:>12} {:>12} {:>7} {:>5}  {}\n", "layout", "write",
                     "read", "write wf", "read wf", "bytes", "instr", "TMA");
  for (const Answer& answer : ranked) {
    out +=
        fmt::format("  {:<52} {:<15} {:<15} {:>12} {:>12} {:>7} {:>5}  {}\n", answer.choice.text(),
                    lanes_text(answer.write, bytes), lanes_text(answer.read, bytes),
                    cost_text(answer.write), cost_text(answer.read), answer.choice.shared_bytes(),
                    answer.address_instructions(), answer.choice.fits_tma() ? "yes" : "no");
  }
  for (const TileChoice::Form& form : best.choice.forms()) {
    out += fmt::format("\n{}\n{}\n", form.heading,
                       indented(form.code.empty() ? "no such form" : form.code, "  "));
  }
  return out;
}

std::string Solution::to_json() const {
  nlohmann::ordered_json out = {
      {"rows", question.tile.rows},        {"columns", question.tile.columns},
      {"bytes", question.tile.bytes},      {"searched", searched},
      {"conflict_free", winner().clean()}, {"proof", proof}};
  out["textbook"] = {{"gives", textbook.gives}, {"right", textbook.right}, {"why", textbook.why}};
  for (const TileChoice::Form& form : winner().choice.forms()) {
    out["code"][form.key] =
        form.code.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(form.code);
  }
  out["answers"] = nlohmann::ordered_json::array();
  for (const Answer& answer : ranked) out["answers"].push_back(json_of(answer));
  return out.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace cornerturn::lab
