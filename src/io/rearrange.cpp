#include "io/rearrange.hpp"

#include <algorithm>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "cornerturn/error.hpp"
#include "io/boxes.hpp"
#include "io/grid.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

class Rearrangement {
 public:
  Rearrangement(const Schedule& schedule, const Source& source, const Sink& sink,
                const Sink& scratch, const Options& options, Progress& progress,
                const FileConversion& conversion)
      : schedule_(schedule),
        problem_(schedule.problem),
        source_(source),
        sink_(sink),
        scratch_(scratch),
        options_(options),
        progress_(progress),
        conversion_(conversion) {
    options_.threads = 1;
  }

  void run() {
    if (problem_.bytes() == 0) return;
    if (schedule_.route == Route::two_pass) {
      allocate(std::max(schedule_.boxes.tile_elements(), schedule_.panels.tile_elements()));
      for_all(schedule_.boxes, &Rearrangement::scatter);
      for_all(schedule_.panels, &Rearrangement::assemble);
    } else {
      allocate(schedule_.boxes.tile_elements());
      if (options_.effort == Effort::measure) measure();
      for_all(schedule_.boxes, &Rearrangement::move);
    }
  }

 private:
  void for_all(const Grid& grid, void (Rearrangement::*work)(int worker, std::int64_t index)) {
    run_workers(schedule_.workers, grid.size(), [&](int worker, std::int64_t index) {
      try {
        (this->*work)(worker, index);
      } catch (...) {
        in_order_.abandon();
        throw;
      }
    });
  }

  void allocate(std::int64_t elements) {
    const std::int64_t bytes = elements * problem_.dst_type.size();
    for (int i = 0; i < schedule_.workers; ++i) {
      out_.emplace_back(bytes);
      if (source_.memory == nullptr) in_.emplace_back(bytes);
      if (conversion_.converts()) converted_.emplace_back(conversion_.result_bytes(bytes));
    }
  }

  // Tries the candidates on the first box; the winner is remembered for all others of its shape.
  void measure() {
    const Box box = schedule_.boxes.box(0);
    const ConstView from = read(0, box);
    make_plan(View(out_[0].data(), problem_.dst_type, box.extent), from, options_);
    options_.effort = Effort::estimate;
  }

  // The only pass: a box from the source to its place.
  void move(int worker, std::int64_t index) {
    const Box box = schedule_.boxes.box(index);
    const ConstView from = read(worker, box);
    const View to(out_[static_cast<std::size_t>(worker)].data(), problem_.dst_type, box.extent);
    const bool as_it_is = from.strides == to.strides;
    if (!as_it_is) copy_box(to, from, options_);
    const void* data = as_it_is ? from.data : to.data;
    if (schedule_.in_order) {
      const std::int64_t place = offset_of(problem_, box, Side::destination);
      append(worker, index, data, box.elements(), place);
    } else {
      write_box(problem_, sink_, box, static_cast<const std::byte*>(data), conversion_,
                conversion_space(worker), progress_);
    }
  }

  // First pass: a contiguous piece of the source, in parts that go to their panels.
  void scatter(int worker, std::int64_t index) {
    const Box box = schedule_.boxes.box(index);
    const ConstView from = read(worker, box);
    std::byte* out = out_[static_cast<std::size_t>(worker)].data();
    for_each_part(schedule_.panels, box, [&](const Box& panel, const Box& part) {
      Extents offset = part.start;
      for (std::size_t m = 0; m < offset.size(); ++m) offset[m] -= box.start[m];
      const View to(out, problem_.dst_type, part.extent);
      copy_box(to, ConstView(at(from, offset), problem_.src_type, part.extent, from.strides),
               options_);
      const std::int64_t bytes = part.elements() * problem_.dst_type.size();
      scratch_.file->write_at(out, bytes,
                              scratch_.offset + offset_of(problem_, panel, Side::destination) +
                                  part_offset(panel, part));
      progress_.wrote(bytes);
    });
  }

  // Second pass: the parts of one panel, put in order.
  void assemble(int worker, std::int64_t index) {
    const Box panel = schedule_.panels.box(index);
    std::byte* in = in_[static_cast<std::size_t>(worker)].data();
    std::byte* out = out_[static_cast<std::size_t>(worker)].data();
    const std::int64_t bytes = panel.elements() * problem_.dst_type.size();
    const std::int64_t place = offset_of(problem_, panel, Side::destination);
    scratch_.file->read_at(in, bytes, scratch_.offset + place);
    progress_.bytes_read += bytes;

    const View whole(out, problem_.dst_type, panel.extent);
    for_each_part(schedule_.boxes, panel, [&](const Box&, const Box& part) {
      Extents offset = part.start;
      for (std::size_t m = 0; m < offset.size(); ++m) offset[m] -= panel.start[m];
      std::int64_t bytes_in = 0;
      for (std::size_t m = 0; m < offset.size(); ++m) bytes_in += offset[m] * whole.strides[m];
      copy_box(View(out + bytes_in, problem_.dst_type, part.extent, whole.strides),
               ConstView(in + part_offset(panel, part), problem_.src_type, part.extent), options_);
    });
    if (schedule_.in_order) {
      append(worker, index, out, panel.elements(), place);
    } else {
      write_box(problem_, sink_, panel, out, conversion_, conversion_space(worker), progress_);
    }
  }

  // The parts of a panel lie one after the other in the order of the pieces of the first pass:
  // lexicographic in the piece's place along each mode, slowest source mode first.
  std::int64_t part_offset(const Box& panel, const Box& part) const {
    std::vector<int> order = fastest_first(problem_, Side::source);
    std::reverse(order.begin(), order.end());
    std::int64_t elements = 0;
    std::int64_t before = 1;  // steps of the part in the modes that are done
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto m = static_cast<std::size_t>(order[k]);
      std::int64_t after = 1;
      for (std::size_t j = k + 1; j < order.size(); ++j) {
        after *= panel.extent[static_cast<std::size_t>(order[j])];
      }
      elements += before * (part.start[m] - panel.start[m]) * after;
      before *= part.extent[m];
    }
    return elements * problem_.dst_type.size();
  }

  // Calls visit(box of `grid`, what it shares with `whole`) for all boxes that share any.
  template <class Visit>
  static void for_each_part(const Grid& grid, const Box& whole, const Visit& visit) {
    const std::size_t rank = grid.tile.size();
    Extents first(rank), last(rank);
    for (std::size_t m = 0; m < rank; ++m) {
      first[m] = whole.start[m] / grid.tile[m];
      last[m] = (whole.start[m] + whole.extent[m] - 1) / grid.tile[m];
    }
    Extents place = first;
    while (true) {
      Box box{Extents(rank), Extents(rank)};
      Box part = box;
      for (std::size_t m = 0; m < rank; ++m) {
        box.start[m] = place[m] * grid.tile[m];
        box.extent[m] = std::min(grid.tile[m], grid.extents[m] - box.start[m]);
        part.start[m] = std::max(box.start[m], whole.start[m]);
        part.extent[m] = std::min(box.start[m] + box.extent[m], whole.start[m] + whole.extent[m]) -
                         part.start[m];
      }
      visit(box, part);
      std::size_t m = rank;
      while (m > 0 && place[m - 1] == last[m - 1]) {
        place[m - 1] = first[m - 1];
        --m;
      }
      if (m == 0) return;
      ++place[m - 1];
    }
  }

  ConstView read(int worker, const Box& box) {
    if (source_.memory != nullptr) {
      Extents strides;
      for (const Mode& mode : problem_.modes) strides.push_back(mode.src_stride);
      return {source_.memory + offset_of(problem_, box, Side::source), problem_.src_type,
              box.extent, strides};
    }
    return read_box(problem_, source_, box, in_[static_cast<std::size_t>(worker)].data(),
                    progress_);
  }

  static const std::byte* at(const ConstView& view, const Extents& index) {
    const auto* data = static_cast<const std::byte*>(view.data);
    for (std::size_t m = 0; m < index.size(); ++m) data += index[m] * view.strides[m];
    return data;
  }

  std::byte* conversion_space(int worker) {
    return conversion_.converts() ? converted_[static_cast<std::size_t>(worker)].data() : nullptr;
  }

  // A contiguous piece of the destination that begins at byte `place` of it, in order.
  void append(int worker, std::int64_t index, const void* data, std::int64_t elements,
              std::int64_t place) {
    std::int64_t bytes = elements * problem_.dst_type.size();
    if (conversion_.converts()) {
      conversion_.run(static_cast<const std::byte*>(data), bytes, place, conversion_space(worker));
      data = conversion_space(worker);
      bytes = conversion_.result_bytes(bytes);
    }
    in_order_.take(index, [&] {
      sink_.file->write(data, bytes);
      progress_.wrote(bytes);
    });
  }

  const Schedule& schedule_;
  const Problem& problem_;
  Source source_;
  Sink sink_;
  Sink scratch_;
  Options options_;
  Progress& progress_;
  const FileConversion& conversion_;
  std::vector<Buffer> converted_;
  std::vector<Buffer> in_;
  std::vector<Buffer> out_;
  InOrder in_order_;
};

}  // namespace

Plan box_plan(const Schedule& schedule, const Options& options) {
  const Problem& problem = schedule.problem;
  const Extents& shape = schedule.boxes.tile;
  Extents strides = packed_like(problem, shape, Side::source);
  if (schedule.route == Route::mapped) {
    for (int m = 0; m < problem.rank(); ++m) {
      strides[static_cast<std::size_t>(m)] = problem.modes[m].src_stride;
    }
  }
  Options one_thread = options;
  one_thread.threads = 1;
  one_thread.effort = Effort::estimate;
  return make_plan(View(nullptr, problem.dst_type, shape),
                   ConstView(nullptr, problem.src_type, shape, strides), one_thread);
}

void rearrange(const Schedule& schedule, const Source& source, const Sink& sink,
               const Sink& scratch, const Options& options, Progress& progress,
               const FileConversion& conversion) {
  Rearrangement(schedule, source, sink, scratch, options, progress, conversion).run();
}

}  // namespace cornerturn::io
