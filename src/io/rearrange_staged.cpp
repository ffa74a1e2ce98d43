#include "io/rearrange_staged.hpp"

#include "io/boxes.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

class StagedRearrangement {
 public:
  StagedRearrangement(const Schedule& schedule, const Source& source, const Sink& sink,
                      Progress& progress, const FileConversion& conversion)
      : schedule_(schedule),
        problem_(schedule.problem),
        source_(source),
        sink_(sink),
        progress_(progress),
        conversion_(conversion) {}

  // Reads the box.
  BoxMove move_of(const Box& box, const Stage& stage) {
    const ConstView read = read_box(problem_, source_, box, stage.in(), progress_);
    const std::int64_t element = conversion_.converts() ? conversion_.src_size() : 1;
    return io::box_move(read, conversion_, offset_of(problem_, box, Side::destination) / element);
  }

  void move(const Stage& stage, std::int64_t index) {
    try {
      const Box box = schedule_.boxes.box(index);
      const BoxMove move = move_of(box, stage);
      stage.run(move);
      write(box, stage.out(), move.bytes_out(), index);
    } catch (...) {
      in_order_.abandon();
      throw;
    }
  }

 private:
  void write(const Box& box, const std::byte* data, std::int64_t bytes, std::int64_t index) {
    if (!schedule_.in_order) {
      return write_converted_box(problem_, sink_, box, data, conversion_, progress_);
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
  Progress& progress_;
  const FileConversion& conversion_;
  InOrder in_order_;
};

}  // namespace

BoxMove box_move(const ConstView& read, const FileConversion& conversion, std::int64_t place) {
  if (!conversion.converts()) return {read, read.type, {}, place};
  // Elements that were joined to wider ones are taken apart again.
  const ElementType from = conversion.src_type();
  Extents shape = read.shape;
  Extents strides = read.strides;
  shape.push_back(read.type.size() / from.size());
  strides.push_back(from.size());
  return {ConstView(read.data, from, std::move(shape), std::move(strides)), conversion.dst_type(),
          conversion.epilogue(), place};
}

std::int64_t BoxMove::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : from.shape) product *= extent;
  return product;
}

void rearrange_staged(const Schedule& schedule, const Source& source, const Sink& sink,
                      const std::vector<std::unique_ptr<Stage>>& stages, Progress& progress,
                      const FileConversion& conversion,
                      const std::function<void(const Stage&, const BoxMove&)>& first) {
  if (schedule.problem.bytes() == 0) return;
  StagedRearrangement work(schedule, source, sink, progress, conversion);
  if (first) first(*stages[0], work.move_of(schedule.boxes.box(0), *stages[0]));
  run_workers(static_cast<int>(stages.size()), schedule.boxes.size(),
              [&](int worker, std::int64_t index) {
                work.move(*stages[static_cast<std::size_t>(worker)], index);
              });
}

}  // namespace cornerturn::io
