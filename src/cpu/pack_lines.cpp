// pack_lines: a recipe says, for each line of the destination, which vectors of the source to load
// and which of their bytes go where. It is made once and followed over the whole destination.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/problem.hpp"
#include "plan/pack_lines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pack_lines.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef CORNERTURN_CPU_PACK_LINES_ONCE
#define CORNERTURN_CPU_PACK_LINES_ONCE
namespace cornerturn::cpu {

using plan::PackLinesConfig;
namespace limits = plan::pack_lines;

// The problem as this kernel sees it.
struct Atoms {
  std::int64_t count;                                     // extent of the walked mode
  std::int64_t bytes;                                     // of one atom, in the destination
  std::int64_t src_stride;                                // from one atom to the next
  std::int64_t common;                                    // divisor of an atom and a vector
  std::array<std::int64_t, limits::max_atom_bytes> from;  // source offset of each byte of an atom
  std::int64_t src_first, src_last;  // all bytes of the source: [src + src_first, src + src_last)
};

// How lines are made: each of `steps_a_line` steps loads the vector at `from` and takes bytes of it
// into the line, as the step's `index` says.
struct Recipe {
  std::int64_t origin = -1;     // where line 0 starts, counted from the start of a run of atoms
  std::int64_t src_phase = -1;  // address of the run's source that `from` was aligned for
  int lines;                    // after so many the recipe repeats ...
  std::int64_t src_advance;     // ... so many bytes further in the source
  int steps_a_line;
  bool fits;                     // false: too many steps, lines are copied byte by byte
  std::int64_t lowest, highest;  // all loads lie in [lowest, highest)
  // The line that starts at `common` x i in an atom is line_at[i].
  std::array<std::int16_t, limits::max_steps> line_at;
  std::uint8_t* index;
  std::int64_t* from;
};

// Where a line of a run comes from: line `line` of the recipe, moved by `base` bytes.
struct Place {
  int line;
  std::int64_t base;
};

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

struct Scratch {
  Atoms atoms;
  std::int64_t streams;
  std::array<Stream, limits::max_streams> stream;
  // Streams differ in where their source starts within a line, so that each has its own recipe, as
  // long as there are few and all of them stay in the first-level cache.
  std::int64_t recipes;
  int steps_a_recipe;
  std::array<Recipe, limits::max_recipes> recipe;
  alignas(64) std::array<std::uint8_t, 64 * limits::max_steps> index;
  std::array<std::int64_t, limits::max_steps> from;
};

inline std::int64_t phase_of(const std::byte* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % 64);
}

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

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

inline void set_up_atoms(const PackLinesConfig& config, const Problem& normal, Atoms& atoms) {
  const Mode& walk = normal.modes[config.walk];
  const std::int64_t width = normal.dst_type.size();
  atoms.count = walk.extent;
  atoms.bytes = walk.dst_stride;
  atoms.src_stride = walk.src_stride;
  for (std::int64_t byte = 0; byte < atoms.bytes; ++byte) {
    std::int64_t rest = byte / width;
    std::int64_t from = byte % width;
    for (int i = normal.rank(); i-- > config.walk + 1;) {
      from += rest % normal.modes[i].extent * normal.modes[i].src_stride;
      rest /= normal.modes[i].extent;
    }
    atoms.from[static_cast<std::size_t>(byte)] = from;
  }
  atoms.src_first = 0;
  atoms.src_last = width;
  for (const Mode& mode : normal.modes) {
    const std::int64_t reach = (mode.extent - 1) * mode.src_stride;
    (reach < 0 ? atoms.src_first : atoms.src_last) += reach;
  }
}

inline void share_out(Scratch& scratch) {
  const bool own = scratch.streams <= limits::max_recipes && scratch.atoms.bytes <= 64;
  scratch.recipes = own ? scratch.streams : 1;
  scratch.steps_a_recipe = limits::max_steps / static_cast<int>(scratch.recipes);
  for (std::int64_t i = 0; i < scratch.recipes; ++i) {
    Recipe& recipe = scratch.recipe[static_cast<std::size_t>(i)];
    recipe.origin = -1;
    recipe.index = scratch.index.data() + i * scratch.steps_a_recipe * 64;
    recipe.from = scratch.from.data() + i * scratch.steps_a_recipe;
  }
}

// The first whole line of the run that starts at byte `r` or after it, or where they end.
inline std::int64_t line_in(const Stream& stream, std::int64_t r) {
  const std::int64_t after_head = std::max<std::int64_t>(r - stream.head, 0);
  return std::min(stream.head + (after_head + 63) / 64 * 64, stream.tail);
}

// Bytes [first, last) of a run of atoms, one by one: for what is less than a whole line.
inline void copy_bytes(const Atoms& atoms, const std::byte* src, std::byte* run, std::int64_t first,
                       std::int64_t last) {
  std::int64_t atom = first / atoms.bytes;
  std::int64_t in_atom = first % atoms.bytes;
  for (std::int64_t r = first; r < last; ++r) {
    run[r] = src[atom * atoms.src_stride + atoms.from[static_cast<std::size_t>(in_atom)]];
    if (++in_atom == atoms.bytes) {
      in_atom = 0;
      ++atom;
    }
  }
}

}  // namespace cornerturn::cpu
#endif  // CORNERTURN_CPU_PACK_LINES_ONCE

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What a step does. `encode` writes the index of byte `i` of a line that comes from byte `at` of
// the vector that step `taken` loads, for step `step`.

#if HWY_TARGET == HWY_AVX3_DL

// One instruction permutes the bytes of the line so far (0-63) and of the vector loaded (64-127).
// The first step only loads; the second finds its bytes where they were loaded.
constexpr int vector_bytes = 64;
using Vector = __m512i;

inline Vector load(const std::byte* from) {
  return _mm512_loadu_si512(from);
}
inline Vector load_index(const std::uint8_t* index) {
  return _mm512_load_si512(index);
}
inline Vector first_step(Vector loaded, Vector) {
  return loaded;
}
inline Vector next_step(Vector line, Vector loaded, Vector index) {
  return _mm512_permutex2var_epi8(line, index, loaded);
}
inline std::uint8_t encode(int step, int taken, int i, std::int64_t at) {
  if (taken == step) return static_cast<std::uint8_t>(64 + at);
  return static_cast<std::uint8_t>(taken == 0 && step == 1 ? at : i);
}
inline void store(Vector line, std::byte* to, bool non_temporal) {
  if (non_temporal) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  } else {
    _mm512_storeu_si512(to, line);
  }
}

#else

// The bytes that a step takes are added to a line that has zeros there. An index of 0x80 gives
// zero.
constexpr int vector_bytes = 16;
inline std::uint8_t encode(int step, int taken, int, std::int64_t at) {
  return taken == step ? static_cast<std::uint8_t>(at) : 0x80;
}

#if HWY_TARGET == HWY_SCALAR

struct Vector {
  std::uint8_t byte[16];
};

inline Vector load(const std::byte* from) {
  Vector vector;
  std::memcpy(&vector, from, 16);
  return vector;
}
inline Vector next_step(Vector line, Vector loaded, Vector index) {
  for (int i = 0; i < 16; ++i) {
    if (index.byte[i] < 16) line.byte[i] = loaded.byte[index.byte[i]];
  }
  return line;
}
inline Vector first_step(Vector loaded, Vector index) {
  return next_step({}, loaded, index);
}
inline void store(Vector line, std::byte* to, bool) {
  std::memcpy(to, &line, 16);
}

#else

constexpr hn::FixedTag<std::uint8_t, 16> tag;
using Vector = hn::Vec<decltype(tag)>;

inline Vector load(const std::byte* from) {
  return hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(from));
}
inline Vector first_step(Vector loaded, Vector index) {
  return hn::TableLookupBytesOr0(loaded, index);
}
inline Vector next_step(Vector line, Vector loaded, Vector index) {
  return hn::Or(line, first_step(loaded, index));
}
inline void store(Vector line, std::byte* to, bool non_temporal) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(to);
  if (non_temporal) {
    hn::Stream(line, tag, bytes);
  } else {
    hn::StoreU(line, tag, bytes);
  }
}

#endif
inline Vector load_index(const std::uint8_t* index) {
  return load(reinterpret_cast<const std::byte*>(index));
}
#endif

// The source offsets of the bytes of one line, and the vectors that cover them: from the lowest
// byte upwards, as few as possible.
class Line {
 public:
  Line(const Atoms& atoms, std::int64_t r) {
    for (std::size_t i = 0; i < vector_bytes; ++i, ++r) {
      from_[i] = r / atoms.bytes * atoms.src_stride +
                 atoms.from[static_cast<std::size_t>(r % atoms.bytes)];
    }
    sorted_ = from_;
    std::sort(sorted_.begin(), sorted_.end());
  }

  std::int64_t lowest() const { return sorted_.front(); }
  std::int64_t highest() const { return sorted_.back(); }

  /// Calls visit(start) for each vector; returns their count. Vectors start anywhere, or, if
  /// `phase` is not negative, where offset + phase is a multiple of their size.
  template <class Visit>
  int cover(std::int64_t phase, Visit&& visit) const {
    int count = 0;
    std::int64_t start = 0;
    for (const std::int64_t offset : sorted_) {
      if (count > 0 && offset < start + vector_bytes) continue;
      start = phase < 0 ? offset : floor_div(offset + phase, vector_bytes) * vector_bytes - phase;
      visit(start);
      ++count;
    }
    return count;
  }

  /// Which byte of the line comes from the vector at `start`?
  std::int64_t at(int i, std::int64_t start) const {
    return from_[static_cast<std::size_t>(i)] - start;
  }

 private:
  std::array<std::int64_t, vector_bytes> from_, sorted_;
};

// The recipe for lines that start `residue` bytes into a run (modulo the atom and the line).
// `src_phase`: the address of the run's source within a line if each run has its own recipe.
void make_recipe(const Atoms& atoms, std::int64_t residue, std::int64_t src_phase, int room,
                 Recipe& recipe) {
  recipe.origin = residue;
  recipe.src_phase = src_phase;
  recipe.lines = static_cast<int>(atoms.bytes / atoms.common);
  recipe.src_advance = vector_bytes / atoms.common * atoms.src_stride;
  const auto line_of = [&](int line) {
    return Line(atoms, residue + std::int64_t{line} * vector_bytes);
  };

  // Aligned loads are faster, unless they are more.
  int steps = 2, aligned_steps = 2;
  for (int line = 0; line < recipe.lines; ++line) {
    const auto count = [](std::int64_t) {};
    steps = std::max(steps, line_of(line).cover(-1, count));
    aligned_steps = std::max(aligned_steps, line_of(line).cover(src_phase, count));
  }
  const bool aligned = src_phase >= 0 && recipe.src_advance % vector_bytes == 0 &&
                       aligned_steps <= steps + steps / 4;
  recipe.steps_a_line = aligned ? aligned_steps : steps;
  recipe.fits = recipe.lines * recipe.steps_a_line <= room;
  if (!recipe.fits) return;

  recipe.lowest = INT64_MAX;
  recipe.highest = INT64_MIN;
  for (int n = 0; n < recipe.lines; ++n) {
    recipe.line_at[static_cast<std::size_t>(n * vector_bytes % atoms.bytes / atoms.common)] =
        static_cast<std::int16_t>(n);
    const Line line = line_of(n);
    std::int64_t* from = recipe.from + n * recipe.steps_a_line;
    int used = 0;
    line.cover(aligned ? src_phase : -1, [&](std::int64_t start) { from[used++] = start; });
    std::fill(from + used, from + recipe.steps_a_line, from[0]);
    recipe.lowest = std::min(recipe.lowest, from[0]);
    recipe.highest = std::max(recipe.highest, from[used - 1] + vector_bytes);
    for (int i = 0; i < vector_bytes; ++i) {
      int taken = 0;
      while (line.at(i, from[taken]) < 0 || line.at(i, from[taken]) >= vector_bytes) ++taken;
      for (int step = 0; step < recipe.steps_a_line; ++step) {
        recipe.index[(n * recipe.steps_a_line + step) * vector_bytes + i] =
            encode(step, taken, i, line.at(i, from[taken]));
      }
    }
  }
}

// The line that starts `r` bytes into a run.
Place place_of(const Atoms& atoms, const Recipe& recipe, std::int64_t r) {
  const std::int64_t away = r - recipe.origin;
  const std::int64_t in_atom = away - floor_div(away, atoms.bytes) * atoms.bytes;
  const int line = recipe.line_at[static_cast<std::size_t>(in_atom / atoms.common)];
  return {line, (away - std::int64_t{line} * vector_bytes) / atoms.bytes * atoms.src_stride};
}

// `count` lines to `to`. step...: 0, 1, ... one for each step of a line.
template <bool non_temporal, std::size_t... step>
HWY_INLINE Place follow_steps(const Recipe& recipe, const std::byte* src, std::byte* to,
                              Place place, std::int64_t count, std::index_sequence<step...>) {
  constexpr int steps = sizeof...(step);
  const int lines = recipe.lines;
  const std::int64_t src_advance = recipe.src_advance;
  if (lines == 1) {  // its indices stay in registers
    const Vector index[] = {load_index(recipe.index + step * vector_bytes)...};
    const std::int64_t from[] = {recipe.from[step]...};
    src += place.base;
    for (std::int64_t n = 0; n < count; ++n) {
      Vector line;
      ((line = step == 0 ? first_step(load(src + from[step]), index[step])
                         : next_step(line, load(src + from[step]), index[step])),
       ...);
      store(line, to + n * vector_bytes, non_temporal);
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
    Vector line;
    ((line = step == 0 ? first_step(load(base + from[step]), load_index(index))
                       : next_step(line, load(base + from[step]),
                                   load_index(index + step * vector_bytes))),
     ...);
    store(line, to + n * vector_bytes, non_temporal);
    if (++place.line == lines) {
      place.line = 0;
      place.base += src_advance;
    }
  }
  return place;
}

template <int steps, bool non_temporal>
Place follow(const Recipe& recipe, const std::byte* src, std::byte* to, Place place,
             std::int64_t count) {
  return follow_steps<non_temporal>(recipe, src, to, place, count,
                                    std::make_index_sequence<steps>());
}

// The same for any number of steps.
template <bool non_temporal>
Place follow_long(const Recipe& recipe, const std::byte* src, std::byte* to, Place place,
                  std::int64_t count) {
  for (std::int64_t n = 0; n < count; ++n, to += vector_bytes) {
    const std::int64_t* from = recipe.from + place.line * recipe.steps_a_line;
    const std::uint8_t* index = recipe.index + place.line * recipe.steps_a_line * vector_bytes;
    Vector line = first_step(load(src + place.base + from[0]), load_index(index));
    for (int step = 1; step < recipe.steps_a_line; ++step) {
      line = next_step(line, load(src + place.base + from[step]),
                       load_index(index + step * vector_bytes));
    }
    store(line, to, non_temporal);
    if (++place.line == recipe.lines) {
      place.line = 0;
      place.base += recipe.src_advance;
    }
  }
  return place;
}

template <bool non_temporal>
Place follow_any(const Recipe& recipe, const std::byte* src, std::byte* to, Place place,
                 std::int64_t count) {
  switch (recipe.steps_a_line) {
    case 2:
      return follow<2, non_temporal>(recipe, src, to, place, count);
    case 3:
      return follow<3, non_temporal>(recipe, src, to, place, count);
    case 4:
      return follow<4, non_temporal>(recipe, src, to, place, count);
    case 5:
      return follow<5, non_temporal>(recipe, src, to, place, count);
    case 6:
      return follow<6, non_temporal>(recipe, src, to, place, count);
    case 7:
      return follow<7, non_temporal>(recipe, src, to, place, count);
    case 8:
      return follow<8, non_temporal>(recipe, src, to, place, count);
    case 16:
      return follow<16, non_temporal>(recipe, src, to, place, count);
    default:
      return follow_long<non_temporal>(recipe, src, to, place, count);
  }
}

// Lines from `stream.next` to `end`: all at once, but for those at the ends of the source where a
// vector would reach beyond it.
template <bool non_temporal>
void follow_to(const Atoms& atoms, Stream& stream, std::int64_t end) {
  const Recipe& recipe = *stream.recipe;
  Place& place = stream.place;
  if (!recipe.fits) {
    copy_bytes(atoms, stream.src, stream.run, stream.next, end);
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
      place = follow_any<non_temporal>(recipe, stream.src, stream.run + stream.next, place, count);
    } else {
      count = 1;
      copy_bytes(atoms, stream.src, stream.run, stream.next, stream.next + vector_bytes);
      if (++place.line == recipe.lines) place = {0, place.base + recipe.src_advance};
    }
    stream.next += count * vector_bytes;
  }
}

// Sees to it that the stream's recipe is for lines like its own.
void prepare(Scratch& scratch, const Stream& stream) {
  Recipe& recipe = *stream.recipe;
  if (recipe.origin == stream.residue && recipe.src_phase == stream.src_phase) return;
  make_recipe(scratch.atoms, stream.residue, stream.src_phase, scratch.steps_a_recipe, recipe);
}

// Sets a stream to atom `first` of the run whose first element is `src_at` from the problem's.
void start(Scratch& scratch, std::int64_t number, const std::byte* src, std::int64_t src_at,
           std::byte* run, std::int64_t first) {
  const Atoms& atoms = scratch.atoms;
  Stream& stream = scratch.stream[static_cast<std::size_t>(number)];
  const bool own_recipe = number < scratch.recipes;
  const std::int64_t bytes = atoms.count * atoms.bytes;
  const std::int64_t phase = phase_of(run);
  stream.src = src + src_at;
  stream.run = run;
  stream.src_first = atoms.src_first - src_at;
  stream.src_last = atoms.src_last - src_at;
  stream.head = std::min((64 - phase) % 64, bytes);
  stream.tail = std::max((bytes + phase) / 64 * 64 - phase, stream.head);
  stream.next = line_in(stream, first * atoms.bytes);
  stream.recipe = &scratch.recipe[static_cast<std::size_t>(own_recipe ? number : 0)];
  if (stream.next == stream.tail) return;

  stream.residue = stream.next % atoms.common;
  stream.src_phase = own_recipe ? phase_of(stream.src) : -1;
  prepare(scratch, stream);
  if (stream.recipe->fits) stream.place = place_of(atoms, *stream.recipe, stream.next);
}

// The streams of batch `batch`, from atom `first` on.
void start_all(const PackLinesConfig& config, const Problem& normal, Scratch& scratch,
               const std::byte* src, std::byte* dst, std::int64_t batch, std::int64_t first) {
  for (std::int64_t number = 0; number < scratch.streams; ++number) {
    std::int64_t src_at = 0, dst_at = 0;
    std::int64_t rest[] = {batch, number};
    for (int i = config.walk; i-- > 0;) {
      const Mode& mode = normal.modes[i];
      std::int64_t& index = rest[is_stream(config, i) ? 1 : 0];
      src_at += index % mode.extent * mode.src_stride;
      dst_at += index % mode.extent * mode.dst_stride;
      index /= mode.extent;
    }
    start(scratch, number, src, src_at, dst + dst_at, first);
  }
}

void run_pieces(const PackLinesConfig& config, const Problem& normal, const std::byte* src,
                std::byte* dst, std::int64_t first, std::int64_t last) {
  static thread_local Scratch scratch;
  const Atoms& atoms = scratch.atoms;
  set_up_atoms(config, normal, scratch.atoms);
  scratch.atoms.common = std::gcd<std::int64_t>(atoms.bytes, vector_bytes);
  scratch.streams = streams_of(config, normal);
  share_out(scratch);
  const std::int64_t chunks = (atoms.count + config.chunk - 1) / config.chunk;
  std::int64_t chunk = first % chunks;
  start_all(config, normal, scratch, src, dst, first / chunks, chunk * config.chunk);
  for (std::int64_t piece = first; piece < last; ++piece) {
    const bool ends = chunk + 1 == chunks;
    for (std::int64_t number = 0; number < scratch.streams; ++number) {
      Stream& stream = scratch.stream[static_cast<std::size_t>(number)];
      if (chunk == 0) copy_bytes(atoms, stream.src, stream.run, 0, stream.head);
      const std::int64_t end =
          ends ? stream.tail : line_in(stream, (chunk + 1) * config.chunk * atoms.bytes);
      if (stream.next < end) {
        prepare(scratch, stream);
        const auto follow_lines = config.non_temporal ? follow_to<true> : follow_to<false>;
        follow_lines(atoms, stream, end);
      }
      if (ends) {
        copy_bytes(atoms, stream.src, stream.run, stream.tail, atoms.count * atoms.bytes);
      }
    }
    if (++chunk == chunks && piece + 1 < last) {
      chunk = 0;
      start_all(config, normal, scratch, src, dst, (piece + 1) / chunks, 0);
    }
  }
  if (config.non_temporal) hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_pieces);

std::int64_t pieces(const PackLinesConfig& config, const Problem& normal) {
  const std::int64_t count = normal.modes[config.walk].extent;
  std::int64_t batch = 1;
  for (int i = 0; i < config.walk; ++i) {
    if (!is_stream(config, i)) batch *= normal.modes[i].extent;
  }
  return batch * ((count + config.chunk - 1) / config.chunk);
}

void run(const PackLinesConfig& config, const Problem& normal, const std::byte* src, std::byte* dst,
         std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(run_pieces)(config, normal, src, dst, first, last);
}

}  // namespace cornerturn::cpu
#endif
