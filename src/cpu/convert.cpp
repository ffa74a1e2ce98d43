// convert: a box after the other. Where the two sides have different fastest modes, a box passes
// through a stage in the second-level cache: it is moved there or from there by whichever of the
// other kernels suits it, and converted on the other side, where it is wider.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "cpu/convert_boxes.hpp"
#include "cpu/convert_vector.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/kernel.hpp"
#include "plan/planner.hpp"

namespace cornerturn::cpu {
namespace {

using Order = plan::ConvertConfig::Order;

std::size_t slot(int i) {
  return static_cast<std::size_t>(i);
}

// Of this thread, beside the one that the kernels which move a box use.
std::byte* stage_of(std::size_t bytes) {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static thread_local std::unique_ptr<std::byte, Free> memory;
  static thread_local std::size_t size = 0;
  if (bytes > size) {
    bytes = (bytes + 4095) / 4096 * 4096;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
    size = memory ? bytes : 0;
    if (!memory) throw std::bad_alloc();
  }
  return memory.get();
}

// How boxes of one shape are moved between their side and the stage.
struct Move {
  ConvertBoxes::PerMode count;
  plan::Plan plan;
};

// Of the last problem that this thread worked on: its next range of boxes, or its next call, finds
// the plans ready.
struct Moves {
  Problem normal;
  plan::ConvertConfig config;
  std::vector<Move> moves;
};

class Boxes {
 public:
  Boxes(const plan::ConvertConfig& config, const Problem& normal, const std::byte* src,
        std::byte* dst, const Vectors& vectors)
      : config_(config),
        normal_(normal),
        vectors_(vectors),
        boxes_(make_boxes(config, normal)),
        src_(src),
        dst_(dst),
        convert_(converter()),
        stage_(config.order == Order::direct
                   ? nullptr
                   : stage_of(static_cast<std::size_t>(boxes_.stage_bytes))),
        streams_(config.non_temporal && normal.values.beta == 0) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t index = first; index < last; ++index) {
      const ConvertBoxes::Box box = boxes_.box(normal_, index);
      switch (config_.order) {
        case Order::direct:
          convert_box(box, src_ + box.src_offset, &Mode::src_stride, dst_ + box.dst_offset);
          break;
        case Order::convert_first:
          convert_box(box, src_ + box.src_offset, &Mode::src_stride, stage_);
          move(box, stage_, dst_ + box.dst_offset);
          break;
        case Order::move_first:
          move(box, src_ + box.src_offset, stage_);
          convert_box(box, stage_, nullptr, dst_ + box.dst_offset);
          break;
      }
    }
    if (streams_) hwy::FlushStream();
  }

 private:
  // One loop over elements: what each step adds to the two addresses, to the offset in the
  // destination, and to the positions in the vectors.
  struct Loop {
    std::int64_t count;
    std::int64_t src_step;
    std::int64_t out_step;
    std::int64_t place_step;
    std::int64_t scale_step;
    std::int64_t bias_step;
  };

  bool to_stage() const { return config_.order == Order::convert_first; }

  ConvertFunction converter() const {
    const int mode = to_stage() ? boxes_.by_source[0] : boxes_.by_destination[0];
    const bool contiguous =
        (to_stage() || normal_.modes[mode].dst_stride == normal_.dst_type.size());
    return contiguous ? contiguous_convert_function(normal_.dst_type, normal_.src_type)
                      : convert_function(normal_.dst_type, normal_.src_type);
  }

  // From `src`, whose strides are those of the problem or, without, of the stage, to `out`.
  void convert_box(const ConvertBoxes::Box& box, const std::byte* src,
                   std::int64_t Mode::*src_stride, std::byte* out) {
    const auto& order = src_is_stage() ? boxes_.by_destination : boxes_.by_source;
    Loop loops[ModeList::capacity];
    int depth = 0;
    std::int64_t place = box.dst_offset;
    const float* scale = start(vectors_.scale, normal_.scale, box);
    const float* bias = start(vectors_.bias, normal_.bias, box);
    for (int k = 0; k < boxes_.rank; ++k) {
      const int i = order[slot(k)];
      const Mode& mode = normal_.modes[i];
      const std::int64_t stage_step = boxes_.stage_stride[slot(i)];
      Loop loop{box.count[slot(i)],
                src_stride == nullptr ? stage_step : mode.*src_stride,
                to_stage() ? stage_step : mode.dst_stride,
                mode.dst_stride,
                step_along(normal_.scale, i),
                step_along(normal_.bias, i)};
      if (k == 0 && to_stage() && loop.src_step < 0) {
        // The run is taken from its lowest address on; in the stage it lies mirrored.
        const std::int64_t last = loop.count - 1;
        src += last * loop.src_step;
        place += last * loop.place_step;
        if (scale != nullptr) scale += last * loop.scale_step;
        if (bias != nullptr) bias += last * loop.bias_step;
        loop = {loop.count,       -loop.src_step,   loop.out_step,
                -loop.place_step, -loop.scale_step, -loop.bias_step};
      }
      if (k > 0 && k < boxes_.run_modes) {
        loops[0].count *= loop.count;
      } else if (k == 0 || loop.count > 1) {
        loops[depth++] = loop;
      }
    }
    ConvertRun run;
    run.src_step = loops[0].src_step;
    run.dst_step = loops[0].out_step;
    run.place_step = loops[0].place_step;
    run.scale_step = loops[0].scale_step;
    run.bias_step = loops[0].bias_step;
    run.count = loops[0].count;
    run.src = src;
    run.dst = out;
    run.dst_offset = place;
    run.scale = scale;
    run.bias = bias;
    // Short runs are handed over together; long ones one by one, the next fetched ahead.
    int first = 1;
    if (depth > 1 && run.count * run.src_step < long_run && !streams(run)) {
      run.rows = loops[1].count;
      run.row = step_of(loops[1]);
      first = 2;
    }
    std::int64_t index[ModeList::capacity] = {};
    while (true) {
      if (first == 1 && depth > 1 && !to_stage_of_wide_runs(run)) prefetch(run, loops[1]);
      one_run(run);
      int k = first;
      for (; k < depth; ++k) {
        run.advance(step_of(loops[k]), 1);
        if (++index[k] < loops[k].count) break;
        run.advance(step_of(loops[k]), -loops[k].count);
        index[k] = 0;
      }
      if (k >= depth) return;
    }
  }

  // A long run is prefetched by the processor itself.
  bool to_stage_of_wide_runs(const ConvertRun& run) const {
    return src_is_stage() || run.count * run.src_step > 4096;
  }
  bool src_is_stage() const { return config_.order == Order::move_first; }

  static constexpr std::int64_t ahead = 1;        // runs
  static constexpr std::int64_t long_run = 1024;  // bytes
  // Runs that do not follow each other share their first and last lines with others.
  static constexpr std::int64_t scattered_run = 2048;

  static void prefetch(const ConvertRun& run, const Loop& next) {
    const std::byte* from = run.src + ahead * next.src_step;
    for (std::int64_t k = 0; k < run.count * run.src_step; k += 64) {
      __builtin_prefetch(from + k, 0, 2);
    }
  }

  static ConvertRun::Step step_of(const Loop& loop) {
    return {loop.src_step, loop.out_step, loop.place_step, loop.scale_step, loop.bias_step};
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

  void move(const ConvertBoxes::Box& box, const std::byte* src, std::byte* dst) {
    const plan::Plan& plan = plan_for(box);
    const Problem& normal = plan.normal;
    src += normal.src_offset;
    dst += normal.dst_offset;
    std::visit(
        [&](const auto& config) {
          if constexpr (requires { cpu::run(config, normal, src, dst, 0, 0); }) {
            cpu::run(config, normal, src, dst, 0, pieces(config, normal));
          }
        },
        plan.chosen.config);
  }

  const plan::Plan& plan_for(const ConvertBoxes::Box& box) {
    static thread_local Moves known;
    if (known.moves.empty() || !(known.config == config_) || !(known.normal == normal_)) {
      known = {normal_, config_, {}};
    }
    for (const Move& move : known.moves) {
      if (std::equal(box.count.begin(), box.count.begin() + boxes_.rank, move.count.begin())) {
        return move.plan;
      }
    }
    known.moves.push_back({box.count, plan_of(box)});
    return known.moves.back().plan;
  }

  plan::Plan plan_of(const ConvertBoxes::Box& box) const {
    const ElementType type = to_stage() ? normal_.dst_type : normal_.src_type;
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(type.size());
    for (int i = 0; i < boxes_.rank; ++i) {
      const Mode& mode = normal_.modes[i];
      std::int64_t stage_step = boxes_.stage_stride[slot(i)];
      const std::int64_t count = box.count[slot(i)];
      if (to_stage() && i == boxes_.by_source[0] && mode.src_stride < 0) {
        problem.src_offset = (count - 1) * stage_step;
        stage_step = -stage_step;
      }
      problem.modes.push_back(to_stage() ? Mode{count, stage_step, mode.dst_stride}
                                         : Mode{count, mode.src_stride, stage_step});
    }
    plan::CpuInfo cpu = cpu_info();
    if (to_stage() && config_.non_temporal) {
      // A box is small, what it belongs to is not: stores go past the caches.
      cpu.l2_bytes = 1;
      cpu.l3_bytes = 1;
    }
    return plan::make_plan(problem, cpu, {1, ""});
  }

  const plan::ConvertConfig& config_;
  const Problem& normal_;
  const Vectors& vectors_;
  const ConvertBoxes boxes_;
  const std::byte* const src_;
  std::byte* const dst_;
  const ConvertFunction convert_;
  std::byte* const stage_;
  const bool streams_;
};

}  // namespace

std::int64_t pieces(const plan::ConvertConfig& config, const Problem& normal) {
  return make_boxes(config, normal).count;
}

void run_converting(const plan::ConvertConfig& config, const Problem& normal, const std::byte* src,
                    std::byte* dst, const Vectors& vectors, std::int64_t first, std::int64_t last) {
  Boxes(config, normal, src, dst, vectors).run(first, last);
}

}  // namespace cornerturn::cpu
