#include "shards/pieces.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace cornerturn::shards {
namespace {

// A cut through the elements of a run leaves whole lines and whole tiles.
constexpr std::int64_t whole_run = 256;

// Where an axis of a box can be cut: between stretches, where there are several, or in one.
struct Cut {
  std::int64_t extent = 1;  ///< stretches, or indices of one
  std::int64_t step = 1;    ///< both parts have so many at least
};

Cut cut_of(const Stretches& axis, bool is_run) {
  if (axis.count > 1) {
    return {axis.count, is_run ? std::max<std::int64_t>(1, whole_run / axis.length) : 1};
  }
  return {axis.length, is_run ? whole_run : 1};
}

// The part of an axis from `begin` on, of `extent` stretches or indices.
Stretches part_of(Stretches axis, std::int64_t begin, std::int64_t extent) {
  if (axis.count > 1) {
    axis.src += begin * axis.src_step;
    axis.dst += begin * axis.dst_step;
    axis.count = extent;
  } else {
    axis.src += begin;
    axis.dst += begin;
    axis.length = extent;
  }
  return axis;
}

// Halves boxes along the outermost axis of the result that can be cut.
class Cutter {
 public:
  Cutter(const Redistribution& what, std::int64_t most_elements)
      : perm_(what.perm()), most_(std::max<std::int64_t>(1, most_elements)) {}

  void operator()(const Box& box, std::vector<Box>& parts) const {
    for (std::size_t i = 0; box.elements() > most_ && i < box.axes.size(); ++i) {
      const bool is_run =
          i + 1 == perm_.size() || static_cast<std::size_t>(perm_[i]) + 1 == perm_.size();
      const Cut cut = cut_of(box.axes[i], is_run);
      if (cut.extent < 2 * cut.step) continue;
      const std::int64_t half = (cut.extent / 2 + cut.step - 1) / cut.step * cut.step;
      Box part = box;
      part.axes[i] = part_of(box.axes[i], 0, half);
      (*this)(part, parts);
      part.axes[i] = part_of(box.axes[i], half, cut.extent - half);
      return (*this)(part, parts);
    }
    parts.push_back(box);
  }

 private:
  const std::vector<int>& perm_;
  std::int64_t most_;
};

// A piece of a message among `of`: messages of any length take turns evenly.
struct Turn {
  std::int64_t number = 0;
  std::int64_t of = 1;

  bool operator<(const Turn& other) const {
    return (2 * number + 1) * other.of < (2 * other.number + 1) * of;
  }
};

}  // namespace

std::vector<Piece> pieces_of(const Redistribution& what, int from, const Numbers& src_strides,
                             const std::vector<Numbers>& dst_strides, std::int64_t piece_bytes) {
  std::vector<std::pair<int, Message>> messages;
  for (int k = 1; k <= what.devices(); ++k) {  // what stays comes last
    const int to = (from + k) % what.devices();
    Message message = what.message(from, to);
    if (message.elements > 0) messages.emplace_back(to, std::move(message));
  }
  const Cutter cut(what, piece_bytes / what.item_bytes(Side::destination));
  std::vector<std::pair<Turn, Piece>> all;
  for (const auto& [to, message] : messages) {
    std::vector<Box> boxes;
    for (const Box& box : message.boxes) {
      if (messages.size() == 1) {
        boxes.push_back(box);
      } else {
        cut(box, boxes);
      }
    }
    Turn turn{0, static_cast<std::int64_t>(boxes.size())};
    for (const Box& box : boxes) {
      all.push_back({turn,
                     {to, what.copy(box, Side::source, Side::destination, src_strides,
                                    dst_strides[static_cast<std::size_t>(to)])}});
      ++turn.number;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Piece> pieces;
  pieces.reserve(all.size());
  for (auto& [turn, piece] : all) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<std::vector<Piece>> alike_pieces_of(const Redistribution& what, int from,
                                                const Numbers& src_strides,
                                                const std::vector<Numbers>& dst_strides) {
  constexpr std::size_t most_groups = 8;
  const auto shape_of = [](Problem problem) {
    problem.src_offset = problem.dst_offset = 0;
    return problem;
  };
  std::vector<std::vector<Piece>> groups;
  constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::max();
  for (Piece& piece : pieces_of(what, from, src_strides, dst_strides, whole)) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& pieces) {
      return shape_of(pieces.front().problem) == shape_of(piece.problem);
    });
    if (group != groups.end()) {
      group->push_back(std::move(piece));
    } else if (groups.size() < most_groups) {
      groups.push_back({std::move(piece)});
    } else {
      return {};
    }
  }
  // A group in which one receiver is missing would leave its link idle.
  std::size_t messages = 0;
  for (int to = 0; to < what.devices(); ++to) messages += what.message_elements(from, to) > 0;
  const bool even = std::all_of(groups.begin(), groups.end(),
                                [&](const auto& pieces) { return pieces.size() % messages == 0; });
  return even && messages > 1 ? groups : std::vector<std::vector<Piece>>();
}

int chunks_for(const Redistribution& what, std::int64_t chunk_bytes) {
  constexpr std::int64_t most_chunks = 16;
  std::int64_t longest = 0;
  for (int from = 0; from < what.devices(); ++from) {
    for (int to = 0; to < what.devices(); ++to) {
      if (from != to) longest = std::max(longest, what.message_elements(from, to));
    }
  }
  const std::int64_t bytes = longest * what.item_bytes(Side::message);
  return static_cast<int>(
      std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(1, chunk_bytes), 1, most_chunks));
}

std::vector<Message> chunks_of(const Redistribution& what, int from, int to, int chunks) {
  const Message whole = what.message(from, to);
  std::vector<Box> boxes;
  const Cutter cut(what, (whole.elements + chunks - 1) / chunks);
  for (const Box& box : whole.boxes) cut(box, boxes);
  std::vector<Message> parts(static_cast<std::size_t>(chunks));
  std::int64_t before = 0;
  for (Box& box : boxes) {
    // By its middle: boxes are not cut once more, so that chunks differ in size.
    const std::int64_t elements = box.elements();
    const std::int64_t chunk = (2 * before + elements) / 2 * chunks / whole.elements;
    Message& part = parts[static_cast<std::size_t>(std::min<std::int64_t>(chunk, chunks - 1))];
    box.place = part.elements;
    part.elements += elements;
    before += elements;
    part.boxes.push_back(std::move(box));
  }
  return parts;
}

}  // namespace cornerturn::shards
