// rows: moves runs that both sides share, box by box. Short ones are put together in a stage that
// has the destination's line phase; long ones go straight through, only the line between two rows
// is put together. A run may also repeat one element of the source. Meanwhile the lines of the next
// box are fetched.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "core/validate.hpp"
#include "cpu/apart_rows-inl.hpp"
#include "cpu/kernel.hpp"
#include "cpu/row_boxes.hpp"
#include "cpu/scratch.hpp"
#include "cpu/short_rows-inl.hpp"
#include "cpu/staged_rows-inl.hpp"
#include "cpu/stream-inl.hpp"
#include "plan/cpu/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu::HWY_NAMESPACE {

constexpr std::int64_t fetch_distance = 8192;

// Long rows that go through the caches: what copies one of them best, the library knows.
template <bool fetches>
class CopiedRows {
 public:
  CopiedRows(const RowBoxes&, const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      std::byte* dst = rows.dst + row * rows.dst_stride;
      const std::byte* src = rows.src + row * rows.src_stride;
      const std::int64_t step = fetches ? fetch_bytes : rows.bytes;
      for (std::int64_t done = 0; done < rows.bytes; done += step) {
        const std::int64_t part = HWY_MIN(step, rows.bytes - done);
        std::memcpy(dst + done, src + done, static_cast<std::size_t>(part));
        if (fetches) fetcher.fetch(part);
      }
    }
  }

  HWY_INLINE void finish() {}
};

// Long rows go straight through; only the lines that two rows share are put together.
template <bool non_temporal, bool fetches>
class LongRows {
 public:
  LongRows(const RowBoxes&, const std::byte*) {}

  HWY_INLINE void append(const RowSeries& rows, LineFetcher& fetcher) {
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::byte* src = rows.src + row * rows.src_stride;
      std::byte* dst = rows.dst + row * rows.dst_stride;
      if (dst != writer_.end()) {
        writer_.finish();
        writer_ = LineWriter<non_temporal>(dst);
      }
      for (std::int64_t left = rows.bytes; left > 0;) {
        // Parts begin with lines, so that only rows are put together.
        const std::int64_t part = left < 2 * fetch_bytes ? left : fetch_bytes - writer_.carried();
        writer_.append(src, part);
        if (fetches) fetcher.fetch(part);
        src += part;
        left -= part;
      }
    }
  }

  HWY_INLINE void finish() { writer_.finish(); }

 private:
  LineWriter<non_temporal> writer_{nullptr};
};

// Boxes [first, last): in each, all series in the order of the destination.
template <class Rows, bool fetches>
void walk_boxes(const RowBoxes& boxes, std::byte* dst, const std::byte* src,
                const std::byte* src_end, std::int64_t first, std::int64_t last) {
  Rows rows(boxes, src_end);
  BoxCounter box(boxes, first);
  BoxCounter ahead = box;
  LineFetcher fetcher;
  if (fetches) {
    fetcher.start(boxes, box, src);
    fetcher.fetch_all();
  }
  for (std::int64_t i = first; i < last; ++i, box.next()) {
    if (fetches && i + 1 < last) {
      ahead.next();
      fetcher.start(boxes, ahead, src);
    }
    RowSeries series{src + box.src_offset(),    dst + box.dst_offset(),   box.count(boxes.rank - 2),
                     box.count(boxes.rank - 1), boxes.along().src_stride, boxes.along().dst_stride};
    std::int64_t index[RowBoxes::most_inner] = {};
    for (int k = 0; k >= 0;) {
      rows.append(series, fetcher);
      for (k = boxes.inner_rank; k-- > 0;) {
        const int dim = boxes.inner[static_cast<std::size_t>(k)];
        series.src += boxes[dim].src_stride;
        series.dst += boxes[dim].dst_stride;
        if (++index[k] < box.count(dim)) break;
        series.src -= index[k] * boxes[dim].src_stride;
        series.dst -= index[k] * boxes[dim].dst_stride;
        index[k] = 0;
      }
    }
    if (fetches) fetcher.fetch_all();
  }
  rows.finish();
}

// For short rows of which several share a source line: a box is read in the order of the source,
// into a stage with a row for each series, and written from there.
template <int step, bool non_temporal>
class BoxStage {
 public:
  BoxStage(const RowBoxes& boxes, const std::byte* src_end)
      : boxes_(boxes),
        src_end_(src_end),
        bytes_(boxes.run().extent),
        along_(boxes.rank - 2),
        fast_(boxes.lines[slot(boxes.lines_rank - 1)]),
        slow_(boxes.lines_rank > 1 ? boxes.lines[slot(boxes.lines_rank - 2)] : -1) {
    // An odd number of lines from one row of the stage to the next spreads them over the cache's
    // sets. Behind each there is room for what is moved too much.
    std::int64_t size = ((boxes.along().block * bytes_ + line + line - 1) / line | 1) * line;
    strides_[along_] = bytes_;
    for (int k = boxes.inner_rank; k-- > 0;) {
      strides_[boxes.inner[slot(k)]] = size;
      size *= boxes[boxes.inner[slot(k)]].block;
    }
    stage_ = thread_scratch(Scratch::moving, static_cast<std::size_t>(size));
  }

  // `fetch(bytes)` is called after about so many bytes.
  template <class Fetch>
  HWY_INLINE void load(const BoxCounter& box, const std::byte* src, const Fetch& fetch) {
    const std::byte* highest = src;
    for (int k = 0; k < boxes_.lines_rank; ++k) {
      const int dim = boxes_.lines[slot(k)];
      highest += HWY_MAX(std::int64_t{0}, (box.count(dim) - 1) * boxes_[dim].src_stride);
    }
    const bool may_overrun = src_end_ - highest >= HWY_MAX(step, 16);
    std::int64_t pending = 0;
    const auto moved = [&](std::int64_t rows) {
      pending += rows * bytes_;
      if (pending < fetch_bytes / 2) return;
      fetch(pending);
      pending = 0;
    };
    std::byte* to = stage_;
    std::int64_t index[RowBoxes::most_inner] = {};
    for (int k = 0; k >= 0;) {
      load_plane(box, to, src, may_overrun, moved);
      for (k = boxes_.lines_rank - 2; k-- > 0;) {
        const int dim = boxes_.lines[slot(k)];
        src += boxes_[dim].src_stride;
        to += strides_[dim];
        if (++index[k] < box.count(dim)) break;
        src -= index[k] * boxes_[dim].src_stride;
        to -= index[k] * strides_[dim];
        index[k] = 0;
      }
    }
    fetch(pending);
  }

  HWY_INLINE void store(const BoxCounter& box, std::byte* dst, LineWriter<non_temporal>& writer) {
    const std::int64_t row_bytes = box.count(along_) * bytes_;
    const std::byte* row = stage_;
    std::int64_t index[RowBoxes::most_inner] = {};
    for (int k = 0; k >= 0;) {
      if (dst != writer.end()) {
        writer.finish();
        writer = LineWriter<non_temporal>(dst);
      }
      writer.append(row, row_bytes);
      for (k = boxes_.inner_rank; k-- > 0;) {
        const int dim = boxes_.inner[slot(k)];
        dst += boxes_[dim].dst_stride;
        row += strides_[dim];
        if (++index[k] < box.count(dim)) break;
        dst -= index[k] * boxes_[dim].dst_stride;
        row -= index[k] * strides_[dim];
        index[k] = 0;
      }
    }
  }

 private:
  static std::size_t slot(int i) { return static_cast<std::size_t>(i); }

  // The two fastest modes of the source.
  template <class Moved>
  HWY_INLINE void load_plane(const BoxCounter& box, std::byte* to, const std::byte* src,
                             bool may_overrun, const Moved& moved) {
    const std::int64_t fast_count = box.count(fast_);
    const std::int64_t fast_stride = boxes_[fast_].src_stride;
    const std::int64_t slow_stride = slow_ < 0 ? 0 : boxes_[slow_].src_stride;
    const std::int64_t slow_step = slow_ < 0 ? 0 : strides_[slow_];
    std::int64_t slow_count = slow_ < 0 ? 1 : box.count(slow_);
    if constexpr (step < 16) {
      const ShortRowTransposer<step> transposer(bytes_);
      if (may_overrun && slow_ == along_ && fast_stride == bytes_) {
        for (; slow_count >= transposer.side; slow_count -= transposer.side) {
          transposer.move(to, strides_[fast_], src, slow_stride, fast_count);
          src += transposer.side * slow_stride;
          to += transposer.side * bytes_;
          moved(transposer.side * fast_count);
        }
      }
    }
#if HWY_TARGET != HWY_SCALAR
    if constexpr (step == 16 || step == 32) {
      using Joiner = ShortRowJoiner<step>;
      if (may_overrun && slow_ == along_ && Joiner::takes(bytes_)) {
        const Joiner joiner(bytes_);
        for (; slow_count >= Joiner::rows; slow_count -= Joiner::rows) {
          joiner.move(to, strides_[fast_], src, slow_stride, fast_stride, fast_count);
          src += Joiner::rows * slow_stride;
          to += Joiner::rows * bytes_;
          moved(Joiner::rows * fast_count);
        }
      }
    }
#endif
    for (; slow_count > 0; --slow_count, src += slow_stride, to += slow_step) {
      if (HWY_LIKELY(may_overrun)) {
        move_short_rows<step>(to, strides_[fast_], src, fast_stride, fast_count);
      } else {
        for (std::int64_t i = 0; i < fast_count; ++i) {
          std::memcpy(to + i * strides_[fast_], src + i * fast_stride,
                      static_cast<std::size_t>(bytes_));
        }
      }
      moved(fast_count);
    }
  }

  const RowBoxes& boxes_;
  const std::byte* src_end_;  // nothing at or past it may be read
  std::int64_t bytes_;        // of a row
  int along_;
  int fast_;  // the fastest mode of the source
  int slow_;  // the next one
  std::int64_t strides_[ModeList::capacity + 2];
  std::byte* stage_;
};

template <int step, bool non_temporal, bool fetches>
void walk_through_stage(const RowBoxes& boxes, std::byte* dst, const std::byte* src,
                        const std::byte* src_end, std::int64_t first, std::int64_t last) {
  BoxStage<step, non_temporal> stage(boxes, src_end);
  BoxCounter box(boxes, first);
  // Lines are fetched in the order in which they are read, a fixed distance ahead.
  BoxCounter ahead = box;
  std::int64_t boxes_ahead = last - first;
  LineFetcher fetcher;
  const auto fetch = [&](std::int64_t wanted) {
    if (!fetches) return;
    if (fetcher.done() && boxes_ahead > 0) {
      fetcher.start(boxes, ahead, src);
      if (--boxes_ahead > 0) ahead.next();
    }
    fetcher.fetch(wanted);
  };
  fetch(fetch_distance);
  LineWriter<non_temporal> writer(nullptr);
  for (std::int64_t i = first; i < last; ++i, box.next()) {
    stage.load(box, src + box.src_offset(), fetch);
    stage.store(box, dst + box.dst_offset(), writer);
  }
  writer.finish();
}

// Rows of 64 bytes at most.
template <bool non_temporal, bool fetches>
void run_through_stage(const RowBoxes& boxes, std::byte* dst, const std::byte* src,
                       const std::byte* src_end, std::int64_t first, std::int64_t last) {
  const std::int64_t bytes = boxes.run().block;
  const auto go = [&](auto step) {
    walk_through_stage<decltype(step)::value, non_temporal, fetches>(boxes, dst, src, src_end,
                                                                     first, last);
  };
  if (bytes <= 4) return go(std::integral_constant<int, 4>());
  if (bytes <= 8) return go(std::integral_constant<int, 8>());
  if (bytes <= 16) return go(std::integral_constant<int, 16>());
  if (bytes <= 32) return go(std::integral_constant<int, 32>());
  if (bytes <= 48) return go(std::integral_constant<int, 48>());
  return go(std::integral_constant<int, 64>());
}

template <bool non_temporal, bool fetches>
void run_rows_with(const RowBoxes& boxes, std::byte* dst, const std::byte* src,
                   const std::byte* src_end, std::int64_t first, std::int64_t last, bool staged) {
  const std::int64_t bytes = boxes.run().block;
  const auto walk = [&](auto rows) {
    walk_boxes<typename decltype(rows)::type, fetches>(boxes, dst, src, src_end, first, last);
  };
  if (boxes.repeated_bytes > 0) {
    return walk(std::type_identity<RepeatedRows<non_temporal, fetches>>());
  }
  const bool has_gaps = boxes.along().extent > 1 && boxes.along().dst_stride != boxes.run().extent;
  const bool is_long = bytes >= plan::rows::shortest_streamed;
  if (!non_temporal && bytes >= plan::rows::shortest_copied) {
    return walk(std::type_identity<CopiedRows<fetches>>());
  }
  if (has_gaps && is_long) return walk(std::type_identity<ApartLines<non_temporal, fetches>>());
  // Those of whole lines have nothing to be put together.
  const bool whole_lines = non_temporal && !has_gaps && bytes > line && bytes % line == 0;
  if (is_long || whole_lines) return walk(std::type_identity<LongRows<non_temporal, fetches>>());
  // Rows of lines and more are put together in a stage only for stores that need whole lines.
  if (has_gaps || (!non_temporal && bytes >= line)) {
    if (bytes >= 64) return walk(std::type_identity<ApartRows<64, fetches>>());
    if (bytes >= 32) return walk(std::type_identity<ApartRows<32, fetches>>());
    if (bytes >= 16) return walk(std::type_identity<ApartRows<16, fetches>>());
    if (bytes >= 8) return walk(std::type_identity<ApartRows<8, fetches>>());
    if (bytes >= 4) return walk(std::type_identity<ApartRows<4, fetches>>());
    return walk(std::type_identity<ApartRows<2, fetches>>());
  }
  if (staged && bytes <= 64) {
    return run_through_stage<non_temporal, fetches>(boxes, dst, src, src_end, first, last);
  }
  if (bytes <= 4) return walk(std::type_identity<StagedRows<4, non_temporal, fetches>>());
  if (bytes <= 8) return walk(std::type_identity<StagedRows<8, non_temporal, fetches>>());
  if (bytes <= 16) return walk(std::type_identity<StagedRows<16, non_temporal, fetches>>());
  if (bytes <= 32) return walk(std::type_identity<StagedRows<32, non_temporal, fetches>>());
  return walk(std::type_identity<StagedRows<64, non_temporal, fetches>>());
}

void run_rows(const plan::RowsConfig& config, const RowBoxes& boxes, std::byte* dst,
              const std::byte* src, const std::byte* src_end, std::int64_t first,
              std::int64_t last) {
  const auto go = [&](auto non_temporal, auto fetches) {
    run_rows_with<decltype(non_temporal)::value, decltype(fetches)::value>(
        boxes, dst, src, src_end, first, last, config.staged);
  };
  constexpr std::true_type yes;
  constexpr std::false_type no;
  if (!plan::past_caches(config.stores)) return config.fetched ? go(no, yes) : go(no, no);
  go(yes, yes);
  hwy::FlushStream();
}

}  // namespace cornerturn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {
namespace {

HWY_EXPORT(run_rows);

std::int64_t pieces(const plan::RowsConfig& config, const Problem& normal) {
  return RowBoxes(config, normal).count();
}

void run(const plan::RowsConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  std::byte* const dst = dst_of(buffers);
  const std::byte* const src = src_of(buffers);
  const std::byte* src_end = src + (src_reach(normal).high - normal.src_offset);
  HWY_DYNAMIC_DISPATCH(run_rows)
  (config, RowBoxes(config, normal), dst, src, src_end, first, last);
}

}  // namespace

extern const Kernel rows_kernel = kernel_in_pieces<plan::RowsConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
