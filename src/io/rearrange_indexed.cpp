#include "io/rearrange_indexed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/lists.hpp"
#include "cornerturn/cornerturn.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

// One worker's memory: a piece of the source's elements in the order of the result, and of those
// that are written, where they differ.
struct Stages {
  Buffer moved;
  Buffer converted;

  Stages(const IndexedSchedule& schedule, const FileConversion& conversion)
      : moved(schedule.pieces.tile_elements() * schedule.array.problem.dst_type.size()) {
    if (conversion.converts()) converted = Buffer(conversion.result_bytes(moved.size()));
  }
};

std::vector<Stages> stages_of(const IndexedSchedule& schedule, const FileConversion& conversion) {
  std::vector<Stages> stages;
  stages.reserve(static_cast<std::size_t>(schedule.workers));
  for (int i = 0; i < schedule.workers; ++i) stages.emplace_back(schedule, conversion);
  return stages;
}

std::int64_t bytes_of(const IndexedArray& array, const Box& box) {
  return box.elements() * array.problem.dst_type.size();
}

}  // namespace

IndexedArray::IndexedArray(const Extents& shape, std::int64_t item_size, bool fortran_order,
                           const std::vector<int>& permutation, const IndexList& indices)
    : problem(file_problem(shape, item_size, fortran_order, permutation)), list(indices) {
  const auto found = std::find(permutation.begin(), permutation.end(), list.axis);
  mode = static_cast<int>(found - permutation.begin());
  extent = std::exchange(problem.modes[mode].extent, list.entries);
  Extents extents;
  for (const Mode& one : problem.modes) extents.push_back(one.extent);
  const Extents strides = packed_strides(extents, problem.dst_type.size());
  for (int m = 0; m < problem.rank(); ++m) problem.modes[m].dst_stride = strides[at(m)];
}

ConstListedView IndexedArray::source(const std::byte* data, const Box& box) const {
  ConstView view(data, problem.src_type, box.extent, Extents(box.extent.size()));
  for (int m = 0; m < problem.rank(); ++m) {
    view.strides[at(m)] = problem.modes[m].src_stride;
    if (m != mode && data != nullptr) data += box.start[at(m)] * view.strides[at(m)];
  }
  view.data = data;
  return {view,
          {.places = list.places,
           .table = list.from(box.start[at(mode)]),
           .axis = mode,
           .count = extent}};
}

ConstListedView IndexedArray::source() const {
  Box whole;
  for (const Mode& one : problem.modes) {
    whole.start.push_back(0);
    whole.extent.push_back(one.extent);
  }
  return source(nullptr, whole);
}

IndexedSchedule::IndexedSchedule(IndexedArray indexed, int threads)
    : array(std::move(indexed)),
      pieces(contiguous_grid(array.problem, piece_bytes, Side::destination)),
      workers(static_cast<int>(std::clamp<std::int64_t>(pieces.size(), 1, threads))) {}

ScheduleSummary summary_of(const IndexedSchedule& schedule) {
  const Problem& problem = schedule.array.problem;
  Extents read = schedule.pieces.tile;
  read[at(schedule.array.mode)] = 1;  // entries that follow one another may lie anywhere
  ScheduleSummary summary;
  summary.threads = schedule.workers;
  summary.boxes = schedule.pieces.size();
  summary.box_bytes = schedule.pieces.tile_elements() * problem.dst_type.size();
  summary.read_run = run_bytes(problem, read, Side::source);
  summary.write_run = summary.box_bytes;
  summary.buffer_bytes = schedule.workers * summary.box_bytes;
  summary.bytes_written = problem.bytes();
  return summary;
}

Plan piece_plan(const IndexedSchedule& schedule, const Options& options) {
  const Extents& shape = schedule.pieces.tile;
  const ConstListedView source = schedule.array.source(nullptr, {Extents(shape.size(), 0), shape});
  Options one_thread = options;
  one_thread.threads = 1;
  return make_plan(View(nullptr, schedule.array.problem.dst_type, shape), source, {}, one_thread);
}

void rearrange_indexed(const IndexedSchedule& schedule, const std::byte* source, const Sink& sink,
                       bool in_order, const Options& options, Progress& progress,
                       const FileConversion& conversion) {
  const IndexedArray& array = schedule.array;
  const std::vector<Stages> stages = stages_of(schedule, conversion);
  Options one_thread = options;
  one_thread.threads = 1;
  one_thread.lists = ListChecks::never;  // the whole list has been checked
  InOrder turns;
  run_workers(schedule.workers, schedule.pieces.size(), [&](int worker, std::int64_t index) {
    try {
      const Stages& stage = stages[at(worker)];
      const Box box = schedule.pieces.box(index);
      copy(View(stage.moved.data(), array.problem.dst_type, box.extent), array.source(source, box),
           {}, one_thread);
      const std::int64_t bytes = bytes_of(array, box);
      const std::int64_t place = offset_of(array.problem, box, Side::destination);
      const std::byte* data = stage.moved.data();
      if (conversion.converts()) {
        conversion.run(data, bytes, place, stage.converted.data());
        data = stage.converted.data();
      }
      const std::int64_t written = conversion.result_bytes(bytes);
      if (in_order) {
        turns.take(index, [&] {
          sink.file->write(data, written);
          progress.wrote(written);
        });
      } else {
        sink.file->write_at(data, written, sink.offset + conversion.result_bytes(place));
        progress.wrote(written);
      }
    } catch (...) {
      turns.abandon();
      throw;
    }
  });
}

void verify_indexed(const IndexedSchedule& schedule, const std::byte* source, const Source& result,
                    Progress& progress, const FileConversion& conversion) {
  const IndexedArray& array = schedule.array;
  const Problem& problem = array.problem;
  const std::int64_t size = problem.dst_type.size();
  const auto result_size = static_cast<std::size_t>(conversion.result_bytes(size));
  const std::vector<std::byte> zeros(static_cast<std::size_t>(size));
  const std::vector<Stages> stages = stages_of(schedule, conversion);
  run_workers(schedule.workers, schedule.pieces.size(), [&](int worker, std::int64_t number) {
    const Box box = schedule.pieces.box(number);
    const Stages& stage = stages[at(worker)];
    std::byte* found = conversion.converts() ? stage.converted.data() : stage.moved.data();
    std::int64_t place = offset_of(problem, box, Side::destination);
    const std::int64_t bytes = conversion.result_bytes(bytes_of(array, box));
    result.file->read_at(found, bytes, result.offset + conversion.result_bytes(place));
    progress.bytes_read += bytes;
    Extents index = box.start;
    for (std::int64_t n = box.elements(); n > 0; --n) {
      const std::int64_t entry =
          entry_of(array.list.places, array.list.table, index[at(array.mode)]);
      const std::byte* element = entry < 0 ? zeros.data() : source;
      for (int m = 0; entry >= 0 && m < problem.rank(); ++m) {
        element += (m == array.mode ? entry : index[at(m)]) * problem.modes[m].src_stride;
      }
      std::byte expected[16];
      if (conversion.converts()) {
        conversion.run_singly(element, place, expected);
        element = expected;
      }
      if (std::memcmp(element, found, result_size) != 0) {
        throw Error(Status::internal,
                    fmt::format("verification found a wrong element at index ({})",
                                fmt::join(index, ", ")));
      }
      found += result_size;
      place += size;
      for (int m = problem.rank(); m-- > 0;) {
        if (++index[at(m)] < box.start[at(m)] + box.extent[at(m)]) break;
        index[at(m)] = box.start[at(m)];
      }
    }
    progress.bytes_compared += bytes;
  });
}

}  // namespace cornerturn::io
