// pack_lines: follows the recipe of the destination's lines: loads a few vectors of the source for
// each, puts the line together in a register and stores it. Runs of the destination whose source
// shares lines are written by turns.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/divide.hpp"
#include "core/problem.hpp"
#include "cpu/kernel.hpp"
#include "cpu/line_recipe.hpp"
#include "cpu/scratch.hpp"
#include "plan/cpu/pack_lines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pack_lines.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "cpu/line_steps-inl.hpp"
#include "cpu/stream-inl.hpp"

#ifndef CORNERTURN_CPU_PACK_LINES_ONCE
#define CORNERTURN_CPU_PACK_LINES_ONCE
namespace cornerturn::cpu {

using plan::PackLinesConfig;
namespace limits = plan::pack_lines;

// One run of atoms on its way: whole lines are those from `head` to `tail`, those before `next` are
// done, and the one at `next` comes from `place`.
struct Stream {
  const std::byte* src;
  std::byte* run;
  std::int64_t src_first, src_last;  // bytes of the source, counted from `src`
  std::int64_t head, tail, next;
  std::int64_t residue, src_phase;  // of its recipe
  Place place;
  Recipe* recipe;
};

// What a thread keeps. Recipes stay from call to call as long as the problem and the vectors do.
struct RecipeBook {
  VectorKind vector;
  PackLinesConfig config;
  Problem problem;
  bool empty = true;
  Atoms atoms;
  std::int64_t streams;
  std::array<Stream, limits::max_streams> stream;
  // One for each stream where loads are aligned, else as many as there is room for: runs begin in
  // several places of a line, and a recipe is for one of these.
  std::int64_t recipes;
  std::array<Recipe, limits::max_recipes> recipe;
  alignas(64) std::array<std::uint8_t, 64 * limits::max_steps> index;
  std::array<std::int64_t, limits::max_steps> from;
};

inline bool is_stream(const PackLinesConfig& config, int mode) {
  return (config.streams >> mode & 1) != 0;
}

inline std::int64_t streams_of(const PackLinesConfig& config, const Problem& normal) {
  std::int64_t streams = 1;
  for (int i = 0; i < config.walk; ++i) {
    if (is_stream(config, i)) streams *= normal.modes[i].extent;
  }
  return streams;
}

inline void open_for(const PackLinesConfig& config, const Problem& normal, const VectorKind& vector,
                     RecipeBook& book) {
  if (!book.empty && book.vector == vector && book.config == config && book.problem == normal) {
    return;
  }
  book.empty = false;
  book.vector = vector;
  book.config = config;
  book.problem = normal;
  set_up_atoms(config, normal, vector, book.atoms);
  book.streams = streams_of(config, normal);
  const std::int64_t fitting = limits::max_steps / steps_for(book.atoms, vector);
  book.recipes = config.aligned
                     ? book.streams
                     : std::clamp<std::int64_t>(fitting, 1, std::int64_t{limits::max_recipes});
  const int room = limits::max_steps / static_cast<int>(book.recipes);
  for (std::int64_t i = 0; i < book.recipes; ++i) {
    Recipe& recipe = book.recipe[static_cast<std::size_t>(i)];
    recipe.origin = -1;
    recipe.room = room;
    recipe.index = book.index.data() + i * room * 64;
    recipe.from = book.from.data() + i * room;
  }
}

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_PACK_LINES_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

// `count` lines to `to`. step...: 0, 1, ... one for each step of a line.
template <bool non_temporal, std::size_t... step>
HWY_INLINE Place follow_steps(const Recipe& recipe, std::byte* to, const std::byte* src,
                              Place place, std::int64_t count, std::index_sequence<step...>) {
  constexpr int steps = sizeof...(step);
  const int lines = recipe.lines;
  const std::int64_t src_advance = recipe.src_advance;
  if (lines == 1) {  // its indices stay in registers
    const Vector index[] = {load_index(recipe.index + step * vector_bytes)...};
    const std::int64_t from[] = {recipe.from[step]...};
    src += place.base;
    for (std::int64_t n = 0; n < count; ++n) {
      Vector joined;
      ((joined = step == 0 ? first_step(load(src + from[step]), index[step])
                           : next_step(joined, load(src + from[step]), index[step])),
       ...);
      store<non_temporal>(joined, to + n * vector_bytes);
      src += src_advance;
    }
    return {0, place.base + count * src_advance};
  }
  const std::uint8_t* indices = recipe.index;
  const std::int64_t* froms = recipe.from;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::uint8_t* index = indices + place.line * steps * vector_bytes;
    const std::int64_t* from = froms + place.line * steps;
    const std::byte* base = src + place.base;
    Vector joined;
    ((joined = step == 0 ? first_step(load(base + from[step]), load_index(index))
                         : next_step(joined, load(base + from[step]),
                                     load_index(index + step * vector_bytes))),
     ...);
    store<non_temporal>(joined, to + n * vector_bytes);
    if (++place.line == lines) {
      place.line = 0;
      place.base += src_advance;
    }
  }
  return place;
}

template <int steps, bool non_temporal>
Place follow(const Recipe& recipe, std::byte* to, const std::byte* src, Place place,
             std::int64_t count) {
  return follow_steps<non_temporal>(recipe, to, src, place, count,
                                    std::make_index_sequence<steps>());
}

// Makes `count` lines of any number of steps.
template <bool non_temporal>
Place follow_long(const Recipe& recipe, std::byte* to, const std::byte* src, Place place,
                  std::int64_t count) {
  for (std::int64_t n = 0; n < count; ++n, to += vector_bytes) {
    const std::int64_t* from = recipe.from + place.line * recipe.steps_a_line;
    const std::uint8_t* index = recipe.index + place.line * recipe.steps_a_line * vector_bytes;
    Vector joined = first_step(load(src + place.base + from[0]), load_index(index));
    for (int step = 1; step < recipe.steps_a_line; ++step) {
      joined = next_step(joined, load(src + place.base + from[step]),
                         load_index(index + step * vector_bytes));
    }
    store<non_temporal>(joined, to);
    if (++place.line == recipe.lines) {
      place.line = 0;
      place.base += recipe.src_advance;
    }
  }
  return place;
}

template <bool non_temporal>
Place follow_any(const Recipe& recipe, std::byte* to, const std::byte* src, Place place,
                 std::int64_t count) {
  switch (recipe.steps_a_line) {
    case 2:
      return follow<2, non_temporal>(recipe, to, src, place, count);
    case 3:
      return follow<3, non_temporal>(recipe, to, src, place, count);
    case 4:
      return follow<4, non_temporal>(recipe, to, src, place, count);
    case 5:
      return follow<5, non_temporal>(recipe, to, src, place, count);
    case 6:
      return follow<6, non_temporal>(recipe, to, src, place, count);
    case 7:
      return follow<7, non_temporal>(recipe, to, src, place, count);
    case 8:
      return follow<8, non_temporal>(recipe, to, src, place, count);
    case 16:
      return follow<16, non_temporal>(recipe, to, src, place, count);
    default:
      return follow_long<non_temporal>(recipe, to, src, place, count);
  }
}

// Whether the vectors of one line lie within the source.
bool line_is_safe(const Stream& stream) {
  const Recipe& recipe = *stream.recipe;
  const std::int64_t* from = recipe.from + stream.place.line * recipe.steps_a_line;
  const std::int64_t base = stream.place.base;
  bool safe = base + from[0] >= stream.src_first;  // none begins before the first
  for (int step = 0; step < recipe.steps_a_line; ++step) {
    safe &= base + from[step] + vector_bytes <= stream.src_last;
  }
  return safe;
}

// Lines from `stream.next` to `end`: all at once, but for those in repetitions of the recipe whose
// vectors reach beyond the ends of the source. There each line is looked at.
template <bool non_temporal>
void follow_to(const Atoms& atoms, Stream& stream, std::int64_t end) {
  const Recipe& recipe = *stream.recipe;
  Place& place = stream.place;
  if (!recipe.fits) {
    copy_bytes(atoms, stream.run, stream.src, stream.next, end);
    stream.next = end;
  }
  const auto safe = [&](std::int64_t base) {
    return base + recipe.lowest >= stream.src_first && base + recipe.highest <= stream.src_last;
  };
  while (stream.next < end) {
    std::int64_t count = (end - stream.next) / vector_bytes;
    const auto last_base = [&] {
      return place.base + (place.line + count - 1) / recipe.lines * recipe.src_advance;
    };
    while (count > 0 && !(safe(place.base) && safe(last_base()))) count /= 2;
    if (count > 0) {
      place = follow_any<non_temporal>(recipe, stream.run + stream.next, stream.src, place, count);
      stream.next += count * vector_bytes;
      continue;
    }
    do {
      if (line_is_safe(stream)) {
        place = follow_any<non_temporal>(recipe, stream.run + stream.next, stream.src, place, 1);
      } else {
        copy_bytes(atoms, stream.run, stream.src, stream.next, stream.next + vector_bytes);
        if (++place.line == recipe.lines) place = {0, place.base + recipe.src_advance};
      }
      stream.next += vector_bytes;
    } while (stream.next < end && place.line != 0);
  }
}

// The first whole line of the run that starts at byte `r` or after it, or where they end.
std::int64_t line_in(const Stream& stream, std::int64_t r) {
  const std::int64_t after_head = std::max<std::int64_t>(r - stream.head, 0);
  return std::min(stream.head + ceil_div(after_head, line) * line, stream.tail);
}

// Sees to it that the stream's recipe is for lines like its own.
void prepare(RecipeBook& book, const Stream& stream) {
  Recipe& recipe = *stream.recipe;
  if (recipe.origin == stream.residue && recipe.src_phase == stream.src_phase) return;
  make_recipe(book.atoms, vector_kind, stream.residue, stream.src_phase, recipe);
}

// Sets a stream to atom `first` of the run whose first element is `src_at` from the problem's.
void start(RecipeBook& book, std::int64_t number, std::byte* run, const std::byte* src,
           std::int64_t src_at, std::int64_t first) {
  const bool aligned = book.config.aligned;
  const Atoms& atoms = book.atoms;
  Stream& stream = book.stream[static_cast<std::size_t>(number)];
  const std::int64_t bytes = atoms.count * atoms.bytes;
  const std::int64_t phase = line_phase(run);
  stream.src = src + src_at;
  stream.run = run;
  stream.src_first = atoms.src_first - src_at;
  stream.src_last = atoms.src_last - src_at;
  stream.head = std::min((line - phase) % line, bytes);
  stream.tail = std::max((bytes + phase) / line * line - phase, stream.head);
  stream.next = line_in(stream, first * atoms.bytes);
  if (stream.next == stream.tail) return;

  stream.residue = stream.next == 0 ? 0 : stream.next % atoms.common;
  stream.src_phase = aligned ? line_phase(stream.src) : -1;
  const std::int64_t recipe = aligned               ? number
                              : stream.residue == 0 ? 0
                                                    : stream.residue / atoms.width % book.recipes;
  stream.recipe = &book.recipe[static_cast<std::size_t>(recipe)];
  prepare(book, stream);
  if (stream.recipe->fits) stream.place = place_of(atoms, vector_kind, *stream.recipe, stream.next);
}

// The streams of batch `batch`, from atom `first` on.
void start_all(const PackLinesConfig& config, const Problem& normal, RecipeBook& book,
               std::byte* dst, const std::byte* src, std::int64_t batch, std::int64_t first) {
  for (std::int64_t number = 0; number < book.streams; ++number) {
    std::int64_t src_at = 0, dst_at = 0;
    std::int64_t rest[] = {batch, number};
    for (int i = config.walk; i-- > 0;) {
      const Mode& mode = normal.modes[i];
      std::int64_t& index = rest[is_stream(config, i) ? 1 : 0];
      src_at += index % mode.extent * mode.src_stride;
      dst_at += index % mode.extent * mode.dst_stride;
      index /= mode.extent;
    }
    start(book, number, dst + dst_at, src, src_at, first);
  }
}

void run_pieces(const PackLinesConfig& config, const Problem& normal, std::byte* dst,
                const std::byte* src, std::int64_t first, std::int64_t last) {
  auto& book = thread_memo<RecipeBook>();
  open_for(config, normal, vector_kind, book);
  const Atoms& atoms = book.atoms;
  const std::int64_t chunks = (atoms.count + config.chunk - 1) / config.chunk;
  const bool non_temporal = plan::past_caches(config.stores);
  const auto follow_lines = non_temporal ? follow_to<true> : follow_to<false>;
  std::int64_t chunk = first % chunks;
  start_all(config, normal, book, dst, src, first / chunks, chunk * config.chunk);
  for (std::int64_t piece = first; piece < last; ++piece) {
    const bool ends = chunk + 1 == chunks;
    for (std::int64_t number = 0; number < book.streams; ++number) {
      Stream& stream = book.stream[static_cast<std::size_t>(number)];
      if (chunk == 0) copy_bytes(atoms, stream.run, stream.src, 0, stream.head);
      const std::int64_t end =
          ends ? stream.tail : line_in(stream, (chunk + 1) * config.chunk * atoms.bytes);
      if (stream.next < end) {
        prepare(book, stream);
        follow_lines(atoms, stream, end);
      }
      if (ends) {
        copy_bytes(atoms, stream.run, stream.src, stream.tail, atoms.count * atoms.bytes);
      }
    }
    if (++chunk == chunks && piece + 1 < last) {
      chunk = 0;
      start_all(config, normal, book, dst, src, (piece + 1) / chunks, 0);
    }
  }
  if (non_temporal) hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_pieces);

namespace {

std::int64_t pieces(const PackLinesConfig& config, const Problem& normal) {
  const std::int64_t count = normal.modes[config.walk].extent;
  std::int64_t batch = 1;
  for (int i = 0; i < config.walk; ++i) {
    if (!is_stream(config, i)) batch *= normal.modes[i].extent;
  }
  return batch * ((count + config.chunk - 1) / config.chunk);
}

void run(const plan::PackLinesConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_pieces)(config, normal, dst_of(buffers), src_of(buffers), first, last);
}

}  // namespace

extern const Kernel pack_lines_kernel = kernel_in_pieces<plan::PackLinesConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
