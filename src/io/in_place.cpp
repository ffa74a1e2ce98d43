// The passes of core/in_place.hpp over a file. A pass is done in pieces, each of which is a record
// of the journal: some bytes are read, put in order in memory, and written to other places.
#include "io/in_place.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "api/known_plans.hpp"
#include "core/visible.hpp"
#include "cornerturn/cornerturn.hpp"
#include "files/checksum.hpp"
#include "io/in_place_cursor.hpp"
#include "io/in_place_units.hpp"
#include "io/npy.hpp"
#include "io/schedule.hpp"

namespace cornerturn::io {
namespace {

using namespace in_place;

constexpr std::int64_t close_pitch = 64 << 10;  // what lies nearer is read and written as one

class Work {
 public:
  Work(const InPlaceSchedule& schedule, const File& file, std::int64_t offset,
       files::Journal& journal, const Options& options, Progress& progress)
      : schedule_(schedule),
        file_(file),
        offset_(offset),
        journal_(journal),
        options_(options),
        progress_(progress),
        in_(schedule.piece),
        out_(schedule.piece) {
    options_.kernel = any_kernel;  // pieces have several shapes
    const std::string& state = journal.state();
    if (state.empty()) return;
    if (state.size() < sizeof at_) refuse_state();
    std::memcpy(&at_, state.data(), sizeof at_);
    kept_.resize(state.size() - sizeof at_);
    std::copy(state.begin() + sizeof at_, state.end(), reinterpret_cast<char*>(kept_.data()));
    if (!is_possible(at_, static_cast<std::int64_t>(kept_.size()), schedule_)) refuse_state();
    require_rest();
  }

  void run(const std::string& header) {
    if (at_.begun == 0) {
      at_.begun = 1;
      commit_version(header, npy_unfinished);
    }
    move_all();
    write_header(header);
  }

 private:
  void move_all() {
    const auto ways = static_cast<std::int64_t>(schedule_.ways.ways.size());
    for (; at_.way < ways; next_way()) {
      const Way& way = schedule_.ways.ways[static_cast<std::size_t>(at_.way)];
      const Passes all = passes(way.step, way.factors);
      for (; at_.matrix < all.batch; next_matrix()) {
        base_ = offset_ + at_.matrix * all.matrix_bytes;
        const auto count = static_cast<std::int64_t>(all.passes.size());
        for (; at_.pass < count; next_pass()) {
          const Pass& pass = all.passes[static_cast<std::size_t>(at_.pass)];
          while (!std::visit([&](const auto& some) { return fill(some); }, pass)) commit();
        }
      }
    }
  }

  // The version comes last: a file with it has a whole header, and a whole array.
  void write_header(const std::string& header) {
    const auto ways = static_cast<std::int64_t>(schedule_.ways.ways.size());
    const auto size = static_cast<std::int64_t>(header.size());
    if (at_.way == ways) {
      while (at_.index < size) {
        const std::int64_t from = at_.index;
        std::string part = header.substr(static_cast<std::size_t>(from),
                                         static_cast<std::size_t>(schedule_.piece));
        if (from == 0) part[npy_version_offset] |= static_cast<char>(npy_unfinished);
        at_.index += static_cast<std::int64_t>(part.size());
        commit_bytes(part, from);
      }
      ++at_.way;
      at_.index = 0;
    }
    if (at_.way == ways + 1) {
      ++at_.way;
      commit_version(header, 0, files::Journal::Last::yes);
    }
  }

  void commit_version(const std::string& header, unsigned char flag,
                      files::Journal::Last last = files::Journal::Last::no) {
    if (header.empty()) return commit_bytes({}, 0, last);
    const auto version = static_cast<char>(header[npy_version_offset] | flag);
    commit_bytes({&version, 1}, npy_version_offset, last);
  }

  // A record of bytes that are no part of the array.
  void commit_bytes(std::string_view bytes, std::int64_t offset,
                    files::Journal::Last last = files::Journal::Last::no) {
    if (!bytes.empty()) {
      extents_.push_back({offset, static_cast<std::int64_t>(bytes.size())});
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(out_.data()));
      used_ = static_cast<std::int64_t>(bytes.size());
    }
    commit(last);
  }

  // ---- what a journal may say ----

  [[noreturn]] void refuse_state() const {
    throw Error(Status::invalid_argument, "the journal '" + visible(journal_.path()) + "' of " +
                                              file_.label() +
                                              " is damaged: what it says of the work cannot be");
  }

  // Is what the journal keeps as it was?
  void require_rest() {
    if (at_.rest == 0) return;
    const auto ways = static_cast<std::int64_t>(schedule_.ways.ways.size());
    if (at_.way >= ways) refuse_state();
    const Way& way = schedule_.ways.ways[static_cast<std::size_t>(at_.way)];
    for (const Pass& pass : passes(way.step, way.factors).passes) {
      const auto* save = std::get_if<SavePass>(&pass);
      if (save == nullptr) continue;
      if (save->bytes() != at_.rest) refuse_state();
      std::uint64_t check = 0;
      for_each_part(*save, [&](std::int64_t row, std::int64_t count) {
        const std::span<std::byte> part(out_.data(), static_cast<std::size_t>(count * save->run));
        journal_.read_rest(part, row * save->run);
        check = files::checksum_of(part, check);
      });
      if (check != at_.rest_check) refuse_state();
      return;
    }
    refuse_state();
  }

  // A record may hold the end of one pass and the begin of the next only where these touch
  // different bytes, which nobody knows here: so it ends with the pass.
  void next_pass() {
    ++at_.pass;
    at_.index = at_.part = at_.in_cycle = at_.leader = at_.hole = 0;
    kept_.clear();
    commit();
  }
  void next_matrix() {
    ++at_.matrix;
    at_.pass = 0;
  }
  void next_way() {
    ++at_.way;
    at_.matrix = 0;
  }

  void commit(files::Journal::Last last = files::Journal::Last::no) {
    const auto data = std::span<const std::byte>(out_.data(), static_cast<std::size_t>(used_));
    const auto kept =
        at_.in_cycle != 0 ? std::span<const std::byte>(kept_) : std::span<const std::byte>();
    journal_.commit(at_.to_state(kept), extents_, data, last);
    const std::int64_t written = std::exchange(used_, 0);
    extents_.clear();
    progress_.wrote(written);
  }

  // ---- the parts of a record ----

  std::int64_t room() const { return schedule_.piece - used_; }
  bool is_full(std::int64_t bytes) const {
    return bytes > room() || static_cast<std::int64_t>(extents_.size()) >= schedule_.extents();
  }
  // The place for the next bytes of the record, which go to `to`.
  std::byte* put(std::int64_t to, std::int64_t bytes) {
    std::byte* place = out_.data() + used_;
    used_ += bytes;
    const std::int64_t at = base_ + to;
    if (!extents_.empty() && extents_.back().offset + extents_.back().bytes == at) {
      extents_.back().bytes += bytes;
    } else {
      extents_.push_back({at, bytes});
    }
    return place;
  }
  void read(std::byte* to, std::int64_t bytes, std::int64_t from) {
    file_.read_at(to, bytes, base_ + from);
    progress_.bytes_read += bytes;
  }
  // Bytes of `shape` in the order `perm`, packed.
  void permute_bytes(std::byte* to, const std::byte* from, const Extents& shape,
                     std::span<const int> perm) const {
    permute(to, ConstView(from, ElementType(Kind::u8), shape), perm, options_);
  }

  // ---- passes: each fills a part of a record, and returns whether the pass is over ----

  bool fill(const PanelPass& pass) {
    const std::int64_t panel = pass.rows * pass.columns * pass.element;
    const std::int64_t count = std::min(pass.panels - at_.index, room() / panel);
    const std::int64_t begin = at_.index * panel;
    read(in_.data(), count * panel, begin);
    permute_bytes(put(begin, count * panel), in_.data(),
                  {count, pass.rows, pass.columns, pass.element}, std::array{0, 2, 1, 3});
    at_.index += count;
    return at_.index == pass.panels;
  }

  // Places are read before the record changes them: no place is filled twice, and the run of the
  // first one is kept.
  bool fill(const RunPass& pass) {
    const RunMap map(pass.rows, pass.columns);
    while (!is_full(pass.run)) {
      if (at_.in_cycle == 0 && !next_cycle(map, pass.run)) return true;
      const std::int64_t from = map.source(at_.hole);
      std::byte* place = put(at_.hole * pass.run, pass.run);
      if (from == at_.leader) {
        std::memcpy(place, kept_.data(), kept_.size());
        at_.in_cycle = 0;
      } else {
        read(place, pass.run, from * pass.run);
        at_.hole = from;
      }
    }
    return false;
  }

  bool next_cycle(const RunMap& map, std::int64_t run) {
    std::int64_t k = std::max<std::int64_t>(at_.index, 1);
    while (k + 1 < map.count() && (map.source(k) == k || !is_leader(map, k))) ++k;
    at_.index = k + 1;
    if (k + 1 >= map.count()) return false;
    at_.in_cycle = 1;
    at_.leader = at_.hole = k;
    kept_.resize(static_cast<std::size_t>(run));
    read(kept_.data(), run, k * run);
    return true;
  }

  bool fill(const MovePass& pass) {
    return std::max(pass.from_pitch, pass.to_pitch) <= std::min(close_pitch, schedule_.piece / 2)
               ? fill_with_rows(pass)
               : fill_with_parts(pass);
  }

  // Short rows are read as one. What lies between them is of no use any more, or not yet.
  bool fill_with_rows(const MovePass& pass) {
    const bool spreads = pass.to_pitch > pass.from_pitch;
    const std::int64_t wider = std::max(pass.from_pitch, pass.to_pitch);
    const std::int64_t count = std::min(pass.rows - at_.index, schedule_.piece / wider);
    const std::int64_t first = spreads ? pass.rows - at_.index - count : at_.index;
    const std::int64_t span = (count - 1) * pass.from_pitch + pass.run;
    read(in_.data(), span, first * pass.from_pitch);
    const std::int64_t bytes = (count - 1) * pass.to_pitch + pass.run;
    std::byte* place = put(first * pass.to_pitch, bytes);
    std::memset(place, 0, static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(place + i * pass.to_pitch, in_.data() + i * pass.from_pitch,
                  static_cast<std::size_t>(pass.run));
    }
    at_.index += count;
    return at_.index == pass.rows;
  }

  // Long rows move in parts: from the end of the row where it moves towards the end.
  bool fill_with_parts(const MovePass& pass) {
    const bool spreads = pass.to_pitch > pass.from_pitch;
    while (at_.index < pass.rows) {
      if (is_full(1)) return false;
      const std::int64_t row = spreads ? pass.rows - 1 - at_.index : at_.index;
      const std::int64_t bytes = std::min(pass.run - at_.part, room());
      const std::int64_t begin = spreads ? pass.run - at_.part - bytes : at_.part;
      read(put(row * pass.to_pitch + begin, bytes), bytes, row * pass.from_pitch + begin);
      at_.part += bytes;
      if (at_.part < pass.run) continue;
      at_.part = 0;
      ++at_.index;
    }
    return true;
  }

  // As many rows as are saved at once.
  template <class Visit>
  void for_each_part(const SavePass& pass, const Visit& visit) const {
    const std::int64_t at_once =
        std::clamp<std::int64_t>(schedule_.piece / pass.pitch, 1, pass.rows);
    for (std::int64_t row = 0; row < pass.rows; row += at_once) {
      visit(row, std::min(at_once, pass.rows - row));
    }
  }

  // The rest is on the disk before the record that ends this pass.
  bool fill(const SavePass& pass) {
    std::uint64_t check = 0;
    for_each_part(pass, [&](std::int64_t row, std::int64_t count) {
      if (count == 1) {
        read(out_.data(), pass.run, pass.offset + row * pass.pitch);
      } else {
        read(in_.data(), (count - 1) * pass.pitch + pass.run, pass.offset + row * pass.pitch);
        for (std::int64_t i = 0; i < count; ++i) {
          std::memcpy(out_.data() + i * pass.run, in_.data() + i * pass.pitch,
                      static_cast<std::size_t>(pass.run));
        }
      }
      const std::span<const std::byte> part(out_.data(),
                                            static_cast<std::size_t>(count * pass.run));
      journal_.write_rest(part, row * pass.run);
      check = files::checksum_of(part, check);
    });
    at_.rest = pass.bytes();
    at_.rest_check = check;
    return true;
  }

  bool fill(const RestorePass& pass) {
    const std::int64_t row = pass.columns * pass.element;
    const bool close = pass.pitch <= std::min(close_pitch, schedule_.piece / 2);
    const std::int64_t at_once = close ? schedule_.piece / pass.pitch : schedule_.piece / row;
    const std::int64_t count = std::min({pass.rows - at_.index, at_once, schedule_.extents()});
    const std::int64_t begin = pass.offset + at_.index * pass.pitch;
    // Rows that lie near each other are written as one, with what lies between them.
    const std::int64_t span = (count - 1) * pass.pitch + row;
    std::byte* place = close ? put(begin, span) : nullptr;
    if (close) read(place, span, begin);
    const std::int64_t run = count * pass.element;
    for (std::int64_t column = 0; column < pass.columns; ++column) {
      journal_.read_rest({in_.data() + column * run, static_cast<std::size_t>(run)},
                         (column * pass.rows + at_.index) * pass.element);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte* to = close ? place + i * pass.pitch : put(begin + i * pass.pitch, row);
      for (std::int64_t column = 0; column < pass.columns; ++column) {
        std::memcpy(to + column * pass.element, in_.data() + column * run + i * pass.element,
                    static_cast<std::size_t>(pass.element));
      }
    }
    at_.index += count;
    if (at_.index < pass.rows) return false;
    at_.rest = 0;
    return true;
  }

  bool fill(const SwapPass& pass) {
    const std::int64_t group = bytes_of_group(pass);
    if (group > schedule_.piece) return fill_with_unit(pass);
    const std::int64_t count = std::min(pass.groups - at_.index, room() / group);
    read(in_.data(), count * group, at_.index * group);
    permute_bytes(put(at_.index * group, count * group), in_.data(),
                  {count, pass.extent, pass.middle, pass.extent, pass.element},
                  std::array{0, 3, 2, 1, 4});
    at_.index += count;
    return at_.index == pass.groups;
  }

  void load(const SwapPass& pass, const Tile& tile, std::byte* to) {
    for_each_run(pass, tile, [&](std::int64_t offset, std::int64_t bytes) {
      read(to, bytes, offset);
      to += bytes;
    });
  }

  // `from` holds the mirrored tile.
  void store(const SwapPass& pass, const Tile& tile, const std::byte* from) {
    std::byte* place = out_.data() + used_;
    for_each_run(pass, tile, [&](std::int64_t offset, std::int64_t bytes) { put(offset, bytes); });
    permute_bytes(place, from, {tile.columns, tile.depth, tile.rows, tile.part},
                  std::array{2, 1, 0, 3});
  }

  bool fill_with_unit(const SwapPass& pass) {
    const Units units(pass, schedule_.piece, schedule_.extents());
    const Tile tile = tile_of(pass, units, at_.index);
    const Tile mirrored = tile.mirrored();
    if (tile.i == tile.j) {
      load(pass, tile, in_.data());
      store(pass, tile, in_.data());
    } else {
      load(pass, tile, in_.data());
      load(pass, mirrored, in_.data() + tile.bytes());
      store(pass, tile, in_.data() + tile.bytes());
      store(pass, mirrored, in_.data());
    }
    ++at_.index;
    return at_.index == units.count(pass);
  }

  const InPlaceSchedule& schedule_;
  const File& file_;
  std::int64_t offset_;
  files::Journal& journal_;
  Options options_;
  Progress& progress_;
  Buffer in_;
  Buffer out_;
  std::int64_t used_ = 0;  // of out_
  std::vector<files::Extent> extents_;
  std::vector<std::byte> kept_;
  Cursor at_;
  std::int64_t base_ = 0;  // of the matrix in the file
};

}  // namespace

files::Journal::Sizes InPlaceSchedule::journal_sizes() const {
  files::Journal::Sizes sizes;
  for (const Way& way : ways.ways) {
    for (const Pass& pass : passes(way.step, way.factors).passes) {
      if (const auto* save = std::get_if<SavePass>(&pass)) {
        sizes.rest = std::max(sizes.rest, save->bytes());
      }
      if (const auto* runs = std::get_if<RunPass>(&pass)) {
        sizes.state = std::max(sizes.state, runs->run);
      }
    }
  }
  sizes.state += static_cast<std::int64_t>(sizeof(Cursor));
  sizes.extents = extents();
  sizes.data = piece;
  return sizes;
}

void rearrange_in_place(const InPlaceSchedule& schedule, const File& file, std::int64_t offset,
                        const std::string& header, files::Journal& journal, const Options& options,
                        Progress& progress) {
  Work(schedule, file, offset, journal, options, progress).run(header);
}

bool is_done(const InPlaceSchedule& schedule, const files::Journal& journal) {
  Cursor at;
  if (journal.state().size() < sizeof at) return false;
  std::memcpy(&at, journal.state().data(), sizeof at);
  return at.way == static_cast<std::int64_t>(schedule.ways.ways.size()) + 2;
}

}  // namespace cornerturn::io
