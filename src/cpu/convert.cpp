// convert: a box after the other. Where the two sides have different fastest modes, a box passes
// through a stage in the second-level cache: it is moved there or from there by whichever of the
// other kernels suits it, and converted on the other side, where it is wider.
#include <hwy/cache_control.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/validate.hpp"
#include "cpu/convert_vector.hpp"
#include "cpu/engine.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"
#include "plan/cpu/convert.hpp"
#include "plan/cpu/convert_boxes.hpp"

namespace cornerturn::cpu {
namespace {

using plan::ConvertBoxes;
using Order = plan::ConvertConfig::Order;

class Boxes {
 public:
  Boxes(const plan::ConvertConfig& config, const Problem& normal, std::byte* dst,
        const std::byte* src, const Vectors& vectors)
      : config_(config),
        normal_(normal),
        vectors_(vectors),
        boxes_(plan::make_boxes(config, normal)),
        dst_(dst),
        src_(src),
        convert_(converter()),
        stage_(config.order == Order::direct
                   ? nullptr
                   : thread_scratch(Scratch::converting,
                                    static_cast<std::size_t>(boxes_.stage_bytes))),
        streams_(plan::past_caches(config.stores)) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index) {
      const ConvertBoxes::Box box = boxes_.box(normal_, index);
      switch (config_.order) {
        case Order::direct:
          convert_box(box, dst_ + box.dst_offset, src_ + box.src_offset);
          break;
        case Order::convert_first:
          convert_box(box, stage_, src_ + box.src_offset);
          move(box, dst_ + box.dst_offset, stage_);
          break;
        case Order::move_first:
          move(box, stage_, src_ + box.src_offset);
          convert_box(box, dst_ + box.dst_offset, stage_);
          break;
      }
    }
    if (streams_) hwy::FlushStream();
  }

 private:
  // One loop over elements, and what each step adds.
  struct Loop {
    std::int64_t count;
    ConvertRun::Step step;
  };

  // The loops of a box, its run innermost, and the first run.
  struct Nest {
    Loop loops[ModeList::capacity];
    int depth = 0;
    ConvertRun run;
  };

  bool to_stage() const { return config_.order == Order::convert_first; }

  ConvertFunction converter() const {
    const int mode = to_stage() ? boxes_.by_source[0] : boxes_.by_destination[0];
    const bool contiguous =
        (to_stage() || normal_.modes[mode].dst_stride == normal_.dst_type.size());
    return contiguous ? contiguous_convert_function(normal_.dst_type, normal_.src_type)
                      : convert_function(normal_.dst_type, normal_.src_type);
  }

  Loop loop_over(int i, const ConvertBoxes::Box& box) const {
    const Mode& mode = normal_.modes[i];
    const std::int64_t stage_step = boxes_.stage_stride[slot(i)];
    return {
        box.count[slot(i)],
        {src_is_stage() ? stage_step : mode.src_stride, to_stage() ? stage_step : mode.dst_stride,
         mode.dst_stride, step_along(normal_.scale, i), step_along(normal_.bias, i)}};
  }

  // A run is taken from its lowest address on; in the stage it lies mirrored.
  static void mirror(Loop& loop, ConvertRun& run) {
    ConvertRun::Step& step = loop.step;
    run.advance({step.src, 0, step.place, step.scale, step.bias}, loop.count - 1);
    step = {-step.src, step.dst, -step.place, -step.scale, -step.bias};
  }

  Nest nest_of(const ConvertBoxes::Box& box, std::byte* out, const std::byte* src) const {
    Nest nest;
    ConvertRun& run = nest.run;
    run.src = src;
    run.dst = out;
    run.dst_offset = box.dst_offset;
    run.scale = start(vectors_.scale, normal_.scale, box);
    run.bias = start(vectors_.bias, normal_.bias, box);
    const auto& order = src_is_stage() ? boxes_.by_destination : boxes_.by_source;
    for (int k = 0; k < boxes_.rank; ++k) {
      Loop loop = loop_over(order[slot(k)], box);
      if (k == 0 && to_stage() && loop.step.src < 0) mirror(loop, run);
      if (k > 0 && k < boxes_.run_modes) {
        nest.loops[0].count *= loop.count;
      } else if (k == 0 || loop.count > 1) {
        nest.loops[nest.depth++] = loop;
      }
    }
    const ConvertRun::Step& step = nest.loops[0].step;
    run.src_step = step.src;
    run.dst_step = step.dst;
    run.place_step = step.place;
    run.scale_step = step.scale;
    run.bias_step = step.bias;
    run.count = nest.loops[0].count;
    return nest;
  }

  // Sets `run` to the next one: the loops from `first` on are counted.
  static bool next_run(const Nest& nest, int first, std::int64_t* index, ConvertRun& run) {
    for (int k = first; k < nest.depth; ++k) {
      const Loop& loop = nest.loops[k];
      run.advance(loop.step, 1);
      if (++index[k] < loop.count) return true;
      run.advance(loop.step, -loop.count);
      index[k] = 0;
    }
    return false;
  }

  void convert_box(const ConvertBoxes::Box& box, std::byte* out, const std::byte* src) {
    Nest nest = nest_of(box, out, src);
    ConvertRun& run = nest.run;
    // Short runs are handed over together; long ones one by one, the next fetched ahead.
    int first = 1;
    if (nest.depth > 1 && run.count * run.src_step < long_run && !streams(run)) {
      run.rows = nest.loops[1].count;
      run.row = nest.loops[1].step;
      first = 2;
    }
    const bool fetches = first == 1 && nest.depth > 1 && !fetched_anyway(run);
    std::int64_t index[ModeList::capacity] = {};
    do {
      if (fetches) prefetch(run, nest.loops[1]);
      one_run(run);
    } while (next_run(nest, first, index, run));
  }

  // A stage is in the cache, and the processor itself prefetches a long run.
  bool fetched_anyway(const ConvertRun& run) const {
    return src_is_stage() || run.count * run.src_step > self_fetched_run;
  }
  bool src_is_stage() const { return config_.order == Order::move_first; }

  // Bytes. A run that long is converted by itself, and one that long is prefetched by the
  // processor.
  static constexpr std::int64_t long_run = 1024;
  static constexpr std::int64_t self_fetched_run = 4096;
  // Runs that do not follow each other share their first and last lines with others.
  static constexpr std::int64_t scattered_run = 2048;

  static void prefetch(const ConvertRun& run, const Loop& next) {
    const std::byte* from = run.src + next.step.src;
    for (std::int64_t k = 0; k < run.count * run.src_step; k += 64) {
      __builtin_prefetch(from + k, 0, 2);
    }
  }

  // Is a run long enough to bypass the caches?
  bool streams(const ConvertRun& run) const {
    return streams_ && !to_stage() &&
           run.count * run.dst_step >= (src_is_stage() ? long_run : scattered_run);
  }

  const float* start(const float* data, const ModeVector& vector,
                     const ConvertBoxes::Box& box) const {
    if (!vector.present) return nullptr;
    const std::int64_t index = vector.mode < 0 ? 0 : box.first[slot(vector.mode)];
    return data + vector.first + vector.step * index;
  }

  void one_run(const ConvertRun& run) {
    if (streams(run)) return convert_past_caches(normal_, run, convert_);
    convert_(normal_, run);
  }

  void move(const ConvertBoxes::Box& box, std::byte* dst, const std::byte* src) {
    run_move(config_.moves->of_shape[slot(box.shape)], dst, src);
  }

  const plan::ConvertConfig& config_;
  const Problem& normal_;
  const Vectors& vectors_;
  const ConvertBoxes boxes_;
  std::byte* const dst_;
  const std::byte* const src_;
  const ConvertFunction convert_;
  std::byte* const stage_;
  const bool streams_;
};

std::int64_t pieces(const plan::ConvertConfig& config, const Problem& normal) {
  return plan::make_boxes(config, normal).count;
}

void run(const plan::ConvertConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  Boxes(config, normal, dst_of(buffers), src_of(buffers), buffers.vectors).run(first, last);
}

// Does the operating system still have to provide the memory that is written to? Three pages tell.
bool is_fresh(const Problem& normal, const std::byte* dst) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const Reach reach = dst_reach(normal);
  for (int quarter = 1; quarter <= 3; ++quarter) {
    const std::byte* place =
        dst - normal.dst_offset + reach.low + (reach.high - reach.low) / 4 * quarter;
    place -= reinterpret_cast<std::uintptr_t>(place) % page;
    unsigned char resident = 1;
    if (mincore(const_cast<std::byte*>(place), 1, &resident) != 0 || (resident & 1) != 0) {
      return false;
    }
  }
  return true;
}

// The stores are settled once for all pieces, before any page is written to.
plan::AnyConfig config_for(const plan::AnyConfig& planned, const Problem& normal,
                           const Buffers& buffers) {
  auto config = planned.as<plan::ConvertConfig>();
  if (config.stores == plan::Stores::past_caches_unless_fresh) {
    const bool fresh = is_fresh(normal, dst_of(buffers));
    config.stores = fresh ? plan::Stores::regular : plan::Stores::past_caches;
  }
  return config;
}

}  // namespace

extern const Kernel convert_kernel = [] {
  Kernel kernel = kernel_in_pieces<plan::ConvertConfig, pieces, run>;
  kernel.config_for = config_for;
  return kernel;
}();

}  // namespace cornerturn::cpu
