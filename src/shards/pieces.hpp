// The copies of a redistribution, cut into pieces: those that a sender starts one after the other,
// and messages in chunks, of which one travels while the next one is packed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "shards/redistribution.hpp"

namespace cornerturn::shards {

/// A copy from the sender's shard into the shard of `to`, between arrays that begin at 0.
struct Piece {
  int to = 0;
  Problem problem;
};

/// What one device does, in the order in which it is best started. A launch starts its blocks in
/// their order, and one that waits for the links keeps those behind it waiting. So pieces for all
/// receivers, and those that stay, take turns: all links and the memory are busy from the first
/// piece to the last. Each sender begins with another receiver.
///
/// `src_strides` are those of the sender's shard, `dst_strides` those of all receivers', in bytes.
/// Pieces have at most `piece_bytes` each where there is more than one to take turns with, and
/// where a cut leaves both sides runs that are long enough.
std::vector<Piece> pieces_of(const Redistribution& what, int from, const Numbers& src_strides,
                             const std::vector<Numbers>& dst_strides, std::int64_t piece_bytes);

/// Those pieces uncut, in groups whose problems differ in nothing but where they begin: one of
/// every receiver's and one that stays, in the same order. Empty where they are not alike.
std::vector<std::vector<Piece>> alike_pieces_of(const Redistribution& what, int from,
                                                const Numbers& src_strides,
                                                const std::vector<Numbers>& dst_strides);

/// Into how many chunks all messages are cut, so that one has about `chunk_bytes` at most.
int chunks_for(const Redistribution& what, std::int64_t chunk_bytes);

/// A message in so many chunks of about the same size, some of which may be empty. Sender and
/// receiver cut alike.
std::vector<Message> chunks_of(const Redistribution& what, int from, int to, int chunks);

}  // namespace cornerturn::shards
