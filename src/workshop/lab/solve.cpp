#include "workshop/lab/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include "core/divide.hpp"
#include "cornerturn/error.hpp"
#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/lane_addresses.hpp"

namespace cornerturn::lab {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

struct Option {
  TileWalk walk;
  Access access;
  // The requests at the beginning that all lanes take part in, and what each takes at least: its
  // groups. Lanes that want different elements are never merged.
  std::int64_t full = 0;
  int groups = 1;
};

// False when one lane's address is misaligned or its elements are no neighbours.
bool addresses(const TileChoice& choice, const Access& access, const LanePoints& points,
               WarpRequest& request) {
  const int looked_at = choice.keeps(access.vector) ? 1 : access.vector;
  return !set_addresses(request, points, access, choice.tile.bytes, looked_at, choice);
}

// Does a vector stay together wherever it is? Linear maps: where each single bit goes says it.
bool keeps_vectors(const TileChoice& choice, int vector) {
  for (int k = 1; k < vector; k *= 2) {
    if (choice(0, k) != k) return false;
  }
  for (std::int64_t bit = vector; bit < choice.tile.columns; bit *= 2) {
    if (choice(0, bit) % vector != 0) return false;
  }
  for (std::int64_t bit = 1; bit < choice.tile.rows; bit *= 2) {
    if (choice(bit, 0) % vector != 0) return false;
  }
  return true;
}

// With a linear map and a linear walk every request is the first one, xor-ed with one address.
bool all_requests_alike(const TileChoice& choice, const Access& access) {
  return choice.linear() && is_power_of_two(static_cast<std::int64_t>(access.requests.size())) &&
         (access.requests.front()[warp_lanes - 1].inside || access.op == SharedOp::ldmatrix ||
          access.op == SharedOp::stmatrix);
}

struct Count {
  std::int64_t wavefronts = 0;
  std::int64_t floor = 0;
};
// All of them, or no more than are enough to see that it is more than `enough`.
std::optional<Count> count(const TileChoice& choice, const Access& access, std::int64_t enough,
                           std::int64_t full = 0, int groups = 1) {
  Count sum;
  WarpRequest request;
  for (const LanePoints& points : access.requests) {
    if (!addresses(choice, access, points, request)) return std::nullopt;
    const SharedCost cost = shared_cost(request, access.op);
    sum.wavefronts += cost.wavefronts;
    sum.floor += cost.wavefronts - cost.conflicts;
    full = std::max<std::int64_t>(0, full - 1);
    if (sum.wavefronts + full * groups > enough) {
      sum.wavefronts += full * groups;
      break;
    }
  }
  return sum;
}

std::optional<Count> quick_count(const TileChoice& choice, const Option& option,
                                 std::int64_t enough) {
  const Access& access = option.access;
  if (!all_requests_alike(choice, access)) {
    return count(choice, access, enough, option.full, option.groups);
  }
  WarpRequest request;
  if (!keeps_vectors(choice, access.vector) ||
      !addresses(choice, access, access.requests.front(), request)) {
    return std::nullopt;
  }
  const SharedCost cost = shared_cost(request, access.op);
  const auto requests = static_cast<std::int64_t>(access.requests.size());
  return Count{requests * cost.wavefronts, requests * (cost.wavefronts - cost.conflicts)};
}

std::vector<int> vectors_of(const Question& question, Side side) {
  std::vector<int> vectors;
  if (side == Side::matrices) {
    if (16 % question.tile.bytes == 0) vectors.push_back(16 / question.tile.bytes);
    return vectors;
  }
  for (int width = 16; width >= question.tile.bytes; width /= 2) {
    if (question.width == 0 || question.width == width) {
      vectors.push_back(width / question.tile.bytes);
    }
  }
  return vectors;
}

std::vector<Option> options_of(const Question& question, Side side, bool writes) {
  std::vector<Option> options;
  for (const int vector : vectors_of(question, side)) {
    for (const TileWalk& walk : walks_of(side, question.tile, vector)) {
      const SharedOp op = side == Side::matrices
                              ? (writes ? SharedOp::stmatrix : SharedOp::ldmatrix)
                              : (writes ? SharedOp::store : SharedOp::load);
      Option& option = options.emplace_back(Option{walk, walk_access(walk, op), 0, 1});
      const auto& requests = option.access.requests;
      option.full =
          std::find_if(requests.begin(), requests.end(),
                       [](const LanePoints& lanes) {
                         return std::any_of(lanes.begin(), lanes.end(),
                                            [](const TilePoint& point) { return !point.inside; });
                       }) -
          requests.begin();
      option.groups = std::max(1, vector * question.tile.bytes / bank_bytes);
    }
  }
  return options;
}

const char* text(Side side) {
  constexpr std::array<const char*, 6> names = {"rows",     "columns",  "blocks",
                                                "diagonal", "ldmatrix", "tma"};
  return names[static_cast<std::size_t>(side)];
}

void require_options(const Question& question, const std::vector<Option>& options, Side side,
                     const char* what) {
  if (!options.empty() || side == Side::tma) return;
  throw Error(
      Status::invalid_argument,
      fmt::format("{} {}: {} x {} elements of {} B are no whole number of such accesses{}", what,
                  text(side), question.tile.rows, question.tile.columns, question.tile.bytes,
                  question.width == 0 ? "" : fmt::format(" of {} B", question.width)));
}

Leg leg_of(const Option& option, const Count& counted) {
  return {option.walk.kind,     option.access.op,
          option.access.vector, false,
          option.walk.matrices, static_cast<std::int64_t>(option.access.requests.size()),
          counted.wavefronts,   counted.floor};
}

// Wavefronts, shared bytes, requests, address instructions, TMA; then what is simpler.
auto rank(const Answer& a) {
  const int family = static_cast<int>(a.choice.family);
  return std::tuple(a.wavefronts(), a.choice.shared_bytes(), a.requests(), a.address_instructions(),
                    !a.choice.fits_tma(), family, a.choice.swizzle.bits, a.choice.swizzle.base,
                    a.choice.every, a.choice.step);
}

std::string prove_leg(const char* what, const TileChoice& choice, const Access& access,
                      const Leg& leg) {
  const auto tried = count(choice, access, no_limit);
  if (!tried || tried->wavefronts != leg.wavefronts) {
    throw Error(Status::internal, fmt::format("{}: the search and the enumeration differ", what));
  }
  std::string out = fmt::format("{}: all {} requests tried, {} wavefronts, {} at the floor", what,
                                leg.requests, leg.wavefronts, leg.floor);
  if (!all_requests_alike(choice, access) || access.op == SharedOp::ldmatrix ||
      access.op == SharedOp::stmatrix) {
    return out + "\n";
  }
  WarpRequest request;
  addresses(choice, access, access.requests.front(), request);
  std::array<std::uint64_t, 5> bits = {};
  int bit_count = 0;
  for (std::size_t lane = 1;
       lane < warp_lanes && static_cast<int>(lane) * request.width < bank_count * bank_bytes;
       lane *= 2) {
    bits[static_cast<std::size_t>(bit_count++)] = request.address[lane] ^ request.address[0];
  }
  const int low = log2(std::max(request.width, bank_bytes));
  const int words = cornerturn::detail::f2_rank(bits, bit_count, low, 64);
  const int banks = cornerturn::detail::f2_rank(bits, bit_count, low, 7);
  out += fmt::format(
      "; by rank: the map is linear over bits, a group's {} lane bits reach words of rank {} in "
      "banks of rank {}",
      bit_count, words, banks);
  return out + (words == banks ? ", so no two of its words share a bank\n" : "\n");
}

TextbookRule textbook_rule(const Question& question, const Answer& winner, const Option* write,
                           const Option* read) {
  TextbookRule rule;
  const TileShape& tile = question.tile;
  const int vector = read != nullptr ? winner.read.vector : winner.write.vector;
  const int m = log2(vector);
  const int b = log2(std::max(1, bank_count * bank_bytes / tile.bytes)) - m;
  if (!is_power_of_two(tile.columns)) {
    rule.gives = fmt::format("nothing: a row of {} elements is no power of two", tile.columns);
    return rule;
  }
  const int s = log2(tile.columns) - m;
  rule.gives = fmt::format("Swizzle<{},{},{}>", b, m, s);
  if (b > std::abs(s)) {
    rule.why = fmt::format(
        "there is no such swizzle: |S| = {} is less than B = {}, a row is "
        "shorter than {} B",
        std::abs(s), b, bank_count * bank_bytes);
    return rule;
  }
  rule.swizzle = AnySwizzle{b, m, s};
  TileChoice choice;
  choice.family = Family::swizzle;
  choice.tile = tile;
  choice.swizzle = *rule.swizzle;
  const auto conflicts = [&](const Option* option) -> std::int64_t {
    if (option == nullptr) return 0;
    const auto counted = count(choice, option->access, no_limit);
    return counted ? counted->wavefronts - counted->floor : -1;
  };
  rule.write_conflicts = conflicts(write);
  rule.read_conflicts = conflicts(read);
  rule.right = rule.write_conflicts == 0 && rule.read_conflicts == 0;
  if (rule.right) {
    rule.why = "it is right here";
  } else if (rule.write_conflicts < 0 || rule.read_conflicts < 0) {
    rule.why = "it is wrong here: it tears the accesses apart";
  } else {
    rule.why = fmt::format("it is wrong here: {} wavefronts more than the floor",
                           rule.write_conflicts + rule.read_conflicts);
    const LayoutWalk walk = read != nullptr ? winner.read.walk : winner.write.walk;
    if (walk == LayoutWalk::blocks || walk == LayoutWalk::diagonal) {
      rule.why += fmt::format(
          "; it takes the row's lowest bits, which are the same for all lanes of "
          "a group, {0} rows apart: S = log2(row) = {1} takes those above",
          vector, s + m);
    }
  }
  return rule;
}

// With what one of its fields implies for the others.
Question completed(Question question) {
  if (question.write == Side::tma) question.only_tma = true;
  if (question.only_tma) question.write = Side::tma;
  if (question.only_tma && question.only_padding) {
    throw Error(Status::invalid_argument, "TMA writes no padded rows");
  }
  return question;
}

void require_room(const TileShape& tile, const plan::gpu::DeviceInfo& device) {
  if (tile.rows < 1 || tile.columns < 1 || tile.rows > 65536 || tile.columns > 65536) {
    throw Error(Status::invalid_argument,
                fmt::format("a tile of {} x {}: sides are 1 to 65536", tile.rows, tile.columns));
  }
  tile_shape(make_leaf(1, 1), tile.bytes);  // refuses other sizes of elements
  const std::int64_t bytes = tile.rows * tile.columns * tile.bytes;
  if (bytes > device.shared_per_block) {
    throw Error(
        Status::invalid_argument,
        fmt::format("{} x {} elements of {} B are {} B: more than the {} B of shared memory "
                    "that a block of {} can have",
                    tile.rows, tile.columns, tile.bytes, bytes, device.shared_per_block,
                    device.name));
  }
}

// One side of the question: what it may do, and which leg of an answer it becomes.
struct AskedSide {
  Leg Answer::*leg;
  std::vector<Option> options;  // none where TMA does it
  std::int64_t least = 0;       // wavefronts that it needs with any layout

  AskedSide(Leg Answer::*leg_of_it, std::vector<Option> its_options)
      : leg(leg_of_it), options(std::move(its_options)), least(options.empty() ? 0 : no_limit) {
    for (const Option& option : options) least = std::min(least, option.full * option.groups);
  }

  const Option* option_of(const Answer& answer) const {
    const Leg& its = answer.*leg;
    for (const Option& option : options) {
      if (option.walk.kind == its.walk && option.access.vector == its.vector) return &option;
    }
    return nullptr;
  }
};

// Finds of each kind of layout and map of lanes the best answer.
class Search {
 public:
  explicit Search(const Question& question)
      : write(&Answer::write, options_of(question, question.write, true)),
        read(&Answer::read, options_of(question, question.read, false)) {
    require_options(question, write.options, question.write, "write");
    require_options(question, read.options, question.read, "read");
  }

  void try_layout(const TileChoice& choice) {
    const std::vector<Leg> write_legs = legs(choice, write, read.least);
    if (write_legs.empty()) return;
    for (const Leg& read_leg : legs(choice, read, write.least)) {
      for (const Leg& write_leg : write_legs) keep_best({choice, write_leg, read_leg});
    }
  }

  /// The best first.
  std::vector<Answer> ranked() const {
    std::vector<Answer> answers;
    for (const auto& [kind, answer] : best_) answers.push_back(answer);
    std::sort(answers.begin(), answers.end(),
              [](const Answer& a, const Answer& b) { return rank(a) < rank(b); });
    return answers;
  }

  const AskedSide write;
  const AskedSide read;

 private:
  using Kind = std::tuple<Family, LayoutWalk, LayoutWalk>;

  void keep_best(const Answer& answer) {
    const auto [found, is_new] =
        best_.try_emplace({answer.choice.family, answer.write.walk, answer.read.walk}, answer);
    if (!is_new && rank(answer) < rank(found->second)) found->second = answer;
  }

  // A side that costs more than answers of its kind leave for it need not be counted to its end.
  std::int64_t enough(Family family, const AskedSide& side, LayoutWalk walk,
                      std::int64_t least_of_other) const {
    std::int64_t most = 0;
    for (const auto& [kind, answer] : best_) {
      if (answer.choice.family == family && (answer.*side.leg).walk == walk) {
        most = std::max(most, answer.wavefronts());
      }
    }
    return most == 0 ? no_limit : most - least_of_other;
  }

  std::vector<Leg> legs(const TileChoice& choice, const AskedSide& side,
                        std::int64_t least_of_other) const {
    std::vector<Leg> result;
    for (const Option& option : side.options) {
      const std::int64_t most = enough(choice.family, side, option.walk.kind, least_of_other);
      const auto counted = quick_count(choice, option, most);
      if (counted && counted->wavefronts <= most) result.push_back(leg_of(option, *counted));
    }
    if (side.options.empty()) {
      Leg by_tma;
      by_tma.by_tma = true;
      result.push_back(by_tma);
    }
    return result;
  }

  std::map<Kind, Answer> best_;
};

}  // namespace

std::string Leg::access_text(int element_bytes) const {
  if (walk == LayoutWalk::matrices) return fmt::format("{}.x{}", name(op), matrices);
  return fmt::format("{}:{}:{}", name(walk), name(op), vector * element_bytes);
}

int Answer::address_instructions() const {
  // A diagonal's lanes: two fields of the lane's number, their xor, and both coordinates from it,
  // here and where the same lanes reach global memory.
  constexpr int diagonal = 6;
  int sum = 0;
  for (const Leg* leg : {&write, &read}) {
    if (leg->by_tma) continue;
    sum += choice.address_instructions() + (leg->walk == LayoutWalk::diagonal ? diagonal : 0);
  }
  return sum;
}

Side parse_side(const std::string& option, const std::string& text_of_side) {
  for (const Side side :
       {Side::rows, Side::columns, Side::blocks, Side::diagonal, Side::matrices, Side::tma}) {
    if (text_of_side == text(side)) return side;
  }
  if (text_of_side == "stmatrix") return Side::matrices;
  throw Error(Status::invalid_argument,
              fmt::format("{} = '{}' is none of rows, columns, blocks, diagonal, ldmatrix and tma",
                          option, text_of_side));
}

int checked_width(const std::string& option, int width) {
  for (const int known : {0, 1, 2, 4, 8, 16}) {
    if (width == known) return width;
  }
  throw Error(Status::invalid_argument,
              fmt::format("{} = {} is none of 1, 2, 4, 8 and 16 bytes", option, width));
}

std::vector<TileWalk> walks_of(Side side, const TileShape& tile, int vector) {
  std::vector<LayoutWalk> kinds;
  switch (side) {
    case Side::rows:
      kinds = {LayoutWalk::rows};
      break;
    case Side::columns:
      if (vector == 1) {
        kinds = {LayoutWalk::columns};
      } else {
        kinds = {LayoutWalk::blocks, LayoutWalk::diagonal};
      }
      break;
    case Side::blocks:
      kinds = {LayoutWalk::blocks};
      break;
    case Side::diagonal:
      kinds = {LayoutWalk::diagonal};
      break;
    case Side::matrices:
      kinds = {LayoutWalk::matrices};
      break;
    default:
      break;
  }
  std::vector<TileWalk> walks;
  for (const LayoutWalk kind : kinds) {
    for (const int matrices : {4, 2, 1}) {
      const TileWalk walk = {kind, tile.rows, tile.columns, vector, matrices};
      if (!walk.why_not().empty()) continue;
      walks.push_back(walk);
      break;
    }
  }
  return walks;
}

std::optional<std::int64_t> count_wavefronts(const TileChoice& choice, const Access& access,
                                             std::int64_t enough) {
  const auto counted = count(choice, access, enough);
  if (!counted) return std::nullopt;
  return counted->wavefronts;
}

Solution solve(const Question& asked, const plan::gpu::DeviceInfo& device,
               const std::function<void(std::size_t, std::size_t)>& progress) {
  Solution solution;
  solution.question = completed(asked);
  const Question& question = solution.question;
  require_room(question.tile, device);
  Search search(question);

  std::vector<TileChoice> choices =
      tile_choices(question.tile, question.only_tma, question.only_padding);
  std::erase_if(choices, [&](const TileChoice& choice) {
    return choice.shared_bytes() > device.shared_per_block ||
           (question.only_tma && !choice.fits_tma());
  });
  for (const TileChoice& choice : choices) {
    if (progress) progress(solution.searched, choices.size());
    ++solution.searched;
    search.try_layout(choice);
  }
  solution.ranked = search.ranked();
  if (solution.ranked.empty()) {
    throw Error(Status::invalid_argument,
                "none of the layouts lets both sides take such accesses: with rows of this length "
                "they are not aligned");
  }

  const Answer& winner = solution.winner();
  const Option* write = search.write.option_of(winner);
  const Option* read = search.read.option_of(winner);
  if (write != nullptr) {
    solution.proof += prove_leg("write", winner.choice, write->access, winner.write);
  }
  if (read != nullptr) {
    solution.proof += prove_leg("read", winner.choice, read->access, winner.read);
  }
  solution.textbook = textbook_rule(question, winner, write, read);
  return solution;
}

}  // namespace cornerturn::lab
