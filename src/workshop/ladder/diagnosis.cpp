#include "workshop/ladder/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "workshop/analyse/access.hpp"

namespace cornerturn::ladder {
namespace {

using simt::Op;

constexpr int usual_threads = 256;  // of a block

double each(std::uint64_t total, const Leg& leg) {
  return leg.requests == 0 ? 0 : static_cast<double>(total) / static_cast<double>(leg.requests);
}

bool by_copy_engine(const Leg& leg) {
  return std::string_view(leg.site.file) == "TMA";
}

// Lanes lie far from each other: more sectors than where they only begin within one.
bool scattered(const Leg& leg) {
  return leg.is_global() && !leg.only_cut();
}

bool transposes_without_tile(const Prediction& run) {
  for (const Leg& leg : run.report.legs) {
    if (leg.is_shared()) return false;
  }
  return std::any_of(run.report.legs.begin(), run.report.legs.end(), scattered);
}

double elements_a_thread(const Prediction& run) {
  const auto threads = static_cast<double>(run.launch.grid.count() * run.launch.block.count());
  const std::int64_t elements = run.matrix.size() / run.matrix.bytes;
  return threads == 0 ? 0 : static_cast<double>(elements) / threads;
}

Diagnosis of_memory(const Prediction& run) {
  // Of loads and of stores. A loop that is written out has as many accesses as turns.
  struct Side {
    double excess = 0;
    double most = 0;
    const Leg* worst = nullptr;
  };
  Side sides[2];
  double bytes = 0;
  for (const Leg& leg : run.report.legs) {
    if (!leg.is_global()) continue;
    bytes += static_cast<double>(leg.bytes_used);
    Side& side = sides[leg.op == Op::global_store];
    const double excess = 32 * excess_sectors(leg);
    if (excess > side.most) side.worst = &leg;
    side.most = std::max(side.most, excess);
    side.excess += excess;
  }
  const Side& wasteful = sides[sides[1].excess > sides[0].excess];
  const Leg* worst = wasteful.worst;
  if (worst == nullptr || wasteful.excess < bytes / 20) {
    return {"the memory itself: whole sectors, and next to nothing is moved in vain", "", ""};
  }
  const double sectors = each(worst->sectors, *worst);
  const double ideal = each(worst->sectors_ideal, *worst);
  Diagnosis found;
  found.place = to_string(worst->site);
  found.limit = fmt::format("memory: the {} takes {:.1f} sectors a request, {:.1f} would do",
                            cornerturn::name(worst->op), sectors, ideal);
  if (!scattered(*worst)) {
    found.limit += " where rows begin with a sector";
    found.advice = "begin the rows of the matrix at multiples of 32 B";
    if (worst->width < 16) found.advice += ", or let a request take more bytes";
    return found;
  }
  found.limit += fmt::format(
      ", and {:.0f} % of the bytes that it moves are used",
      100 * static_cast<double>(worst->bytes_used) / static_cast<double>(worst->bytes_moved()));
  found.advice = "let neighbouring lanes touch neighbouring elements";
  found.advice += transposes_without_tile(run)
                      ? ", by transposing a tile in shared memory or in registers"
                      : " there as well";
  return found;
}

std::string remedy_of_conflicts(const Prediction& run) {
  const auto& legs = run.report.legs;
  if (std::any_of(legs.begin(), legs.end(), by_copy_engine)) {
    return "the copy engine arranges the tile and knows no padding: lanes along diagonals meet in "
           "no bank (`cornerturn solve --tma` finds them)";
  }
  switch (run.report.tile) {
    case TileKind::unknown:
      return "let the lanes of a request want different banks: pad the rows of its tile, or "
             "swizzle them";
    case TileKind::plain:
      return "pad the rows of the tile, or swizzle them";
    case TileKind::arranged:
      return "the tile is padded or swizzled already, but not for accesses of this width in this "
             "order: `cornerturn solve` finds what serves them";
  }
  return {};
}

Diagnosis of_shared(const Prediction& run) {
  const Leg* worst = nullptr;
  for (const Leg& leg : run.report.legs) {
    if (!leg.is_shared() || leg.conflicts == 0) continue;
    if (worst == nullptr || leg.conflicts > worst->conflicts) worst = &leg;
  }
  if (worst == nullptr) {
    return {"shared memory: no bank conflicts, but many wavefronts", "",
            "let bytes pass the tile once each, or through registers alone"};
  }
  Diagnosis found;
  found.place = to_string(worst->site);
  found.limit =
      fmt::format("shared memory: the {} takes {:.1f} wavefronts a request, {:.1f} would do ({})",
                  cornerturn::name(worst->op), each(worst->wavefronts, *worst),
                  each(worst->wavefronts - worst->conflicts, *worst),
                  worst->collision == Collision{} ? std::string("its lanes meet in the banks")
                                                  : describe(worst->collision));
  found.advice = remedy_of_conflicts(run);
  return found;
}

// The narrowest leg, those of global memory first.
const Leg* narrow_leg(const Prediction& run) {
  const Leg* narrow = nullptr;
  for (const Leg& leg : run.report.legs) {
    if (leg.width >= 16) continue;
    const bool first = narrow == nullptr || (leg.is_global() && !narrow->is_global());
    if (first || leg.width < narrow->width) narrow = &leg;
  }
  return narrow;
}

Diagnosis of_issue(const Prediction& run) {
  Diagnosis found;
  found.limit = "the issue of instructions";
  if (const Leg* narrow = narrow_leg(run)) {
    found.limit +=
        fmt::format(": the {} moves {} B a lane", cornerturn::name(narrow->op), narrow->width);
    found.place = to_string(narrow->site);
    found.advice =
        fmt::format("16 B a lane would need {} times fewer instructions there", 16 / narrow->width);
    if (transposes_without_tile(run)) {
      found.advice += ", which takes a tile in shared memory or in registers";
    } else if (narrow->is_shared()) {
      found.advice += ", which takes blocks of V x V elements a thread";
    }
  } else {
    found.limit += ", with 16 B a lane on every leg";
  }
  if (elements_a_thread(run) <= 1) {
    found.limit = "the issue of instructions: a thread moves one element";
    found.place.clear();
    found.advice = "let a thread move several elements, so that fewer threads compute addresses";
  }
  return found;
}

std::string launch_text(const Prediction& run) {
  const std::string elements = fmt::format("{:.3g}", elements_a_thread(run));
  return fmt::format("blocks of {} threads, {} element{} a thread", run.launch.block.count(),
                     elements, elements == "1" ? "" : "s");
}

Diagnosis of_blocks(const Prediction& run, std::string_view part) {
  Diagnosis found;
  found.limit = part == "starts" ? "the start of blocks: " + launch_text(run)
                                 : "latency, of blocks that begin and wait: " + launch_text(run);
  const bool small = run.launch.block.count() < usual_threads || elements_a_thread(run) <= 1;
  found.advice = small || part == "starts"
                     ? "let a block do more, with more threads or more elements a thread"
                     : "let a thread issue more loads before it waits for the first of them";
  return found;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace

std::string Diagnosis::sentence() const {
  std::string text = capitalised(limit);
  if (!place.empty()) text += fmt::format(", at {}", place);
  text += ".";
  if (!advice.empty()) text += fmt::format(" What would help: {}.", advice);
  return text;
}

Diagnosis diagnose(const Prediction& run, const Ledger& ledger) {
  const std::string_view part = ledger.largest().name;
  if (ledger.start_seconds > ledger.largest().seconds) {
    return {"the launch: it takes longer than anything in a matrix as small as this one", "", ""};
  }
  if (part == "memory") return of_memory(run);
  if (part == "shared") return of_shared(run);
  if (part == "issue") return of_issue(run);
  return of_blocks(run, part);
}

std::vector<WhatIf> what_ifs(const Prediction& run, const Matrix& matrix,
                             const plan::gpu::DeviceInfo& device) {
  const auto& legs = run.report.legs;
  const double now = ledger_of(run, matrix, device).share_of_copy();
  std::vector<WhatIf> found;
  const auto add = [&](std::string what, const Change& change) {
    const double share = ledger_of(run, matrix, device, access_costs, change).share_of_copy();
    found.push_back({std::move(what), share, 100 * (share - now)});
  };
  if (std::any_of(legs.begin(), legs.end(), [](const Leg& leg) { return leg.conflicts > 0; })) {
    add("without its bank conflicts", {.no_conflicts = true});
  }
  if (narrow_leg(run) != nullptr && std::none_of(legs.begin(), legs.end(), scattered)) {
    add("with 16 B a lane everywhere", {.wide = true});
  }
  if (run.launch.block.count() != usual_threads) {
    add(fmt::format("with {} threads a block", usual_threads), {.threads = usual_threads});
  }
  return found;
}

std::string to_text(const std::vector<WhatIf>& changes) {
  std::string out;
  for (const WhatIf& change : changes) {
    const int points =
        static_cast<int>(change.points < 0 ? change.points - 0.5 : change.points + 0.5);
    out += fmt::format("{}{} {:.0f} % ({}{} point{})", out.empty() ? "" : "; ", change.change,
                       100 * change.share, points < 0 ? "" : "+", points,
                       points == 1 || points == -1 ? "" : "s");
  }
  return out;
}

std::optional<Outlook> outlook_of(const Prediction& run, const Matrix& matrix,
                                  const plan::gpu::DeviceInfo& device) {
  const auto moves = [&](bool loads) {
    return std::any_of(run.report.legs.begin(), run.report.legs.end(), [&](const Leg& leg) {
      return leg.is_global() && leg.bytes_used > 0 && (leg.op != Op::global_store) == loads;
    });
  };
  if (matrix.size() == 0 || !moves(true) || !moves(false)) return std::nullopt;
  Outlook outlook;
  outlook.ledger = ledger_of(run, matrix, device);
  outlook.diagnosis = diagnose(run, outlook.ledger);
  if (outlook.ledger.why_not().empty()) outlook.what_ifs = what_ifs(run, matrix, device);
  return outlook;
}

}  // namespace cornerturn::ladder
