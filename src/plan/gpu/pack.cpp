#include "plan/gpu/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/casts.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/pack/lanes.hpp"
#include "plan/gpu/pack/setup.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu::pack {
namespace {

using kernels::PackArgs;

// So many that each has several vectors of the destination to write, as far as there are.
std::int16_t threads_for(const Box& box, const Problem& normal, bool anywhere) {
  if (anywhere && box.bytes > 40 << 10) return 512;
  if (!normal.converts() || normal.dst_type.size() > 1) {
    return box.bytes >= 8192 ? 256 : least_threads_aligned;
  }
  const std::int64_t vectors = box.elements * normal.dst_type.size() / vector;
  return vectors >= 2048 ? 256 : vectors >= 512 ? 128 : 64;
}

// So many threads, as measured, take a box whose runs begin anywhere: a thread does more for itself
// than it moves in a small box of small elements. An SM that has few of them gains from twice as
// many.
std::int16_t threads_anywhere(const Box& box, const Problem& normal, const DeviceInfo& device) {
  if (normal.converts()) return threads_for(box, normal, true);
  const std::int64_t bytes = box.bytes;
  int threads = bytes > 40 << 10 ? 512 : bytes >= 24 << 10 ? 384 : bytes >= 8192 ? 256 : 128;
  if (normal.dst_type.size() <= 2 && bytes < 12 << 10) {
    threads = bytes < 6 << 10 ? least_threads_anywhere : 128;
  }
  constexpr std::int64_t few = 512;  // of an SM
  while (threads < 512 && count_boxes(box, normal) * threads < few * device.sm_count) {
    threads = std::min(512, 2 * threads);
  }
  return static_cast<std::int16_t>(threads);
}

// Whether the runs of the destination are short, or single elements, with gaps between them.
bool has_short_runs(const Box& box, const Problem& normal) {
  return takes_single(box, normal) && (box.dst.run_modes == 0 || leaves_gaps(box, normal));
}

// As measured, gaps are worth it in boxes that are not too large.
bool gains_from_gaps(const Box& box) {
  constexpr std::int64_t most = 32 << 10;
  return box.src.places != box.src.run && box.bytes < most;
}

// Offers the configurations of a problem, each box once.
class Offers {
 public:
  Offers(const Problem& normal, const Alignment& start, const DeviceInfo& device, Boxes& boxes,
         const Add<PackConfig>& add)
      : normal_(normal), device_(device), boxes_(boxes), add_(add) {
    // Types that are known at run time alone have a kernel of one form.
    const bool has_both = !normal.converts() || why_no_common_cast(normal) == nullptr;
    offers_aligned_ = has_both && boxes.may_be_aligned(start);
    may_have_short_runs_ = offers_aligned_ && boxes.may_leave_gaps();
    // As measured: of smaller arrays the L2 holds sectors until they are whole.
    constexpr std::int64_t least_shared = 16 << 20;
    shares_ = normal.elements() * normal.dst_type.size() >= least_shared;
    prefetches_ = gains_from_prefetching(dst_row(normal), normal, start, device);
    seen_.reserve(20);
  }

  void add_all() {
    // Boxes whose runs are longer on one side are offered for arrays whose copy takes long enough,
    // in launches. Elsewhere calls would gain less than plans would lose.
    constexpr double least_launches = 12;
    const double copy_seconds = 2 * static_cast<double>(normal_.bytes()) / device_.copy_bandwidth;
    add_boxes(0);
    if (normal_.converts()) return;
    if (copy_seconds >= least_launches * device_.launch_seconds) {
      for (const int shift : {-2, 2}) add_boxes(static_cast<std::int8_t>(shift));
    }
    if (may_have_short_runs_) {
      // There, short runs with gaps are stored element by element, and several of them as one.
      add_others(
          false, [&](const Box& box) { return has_short_runs(box, normal_); },
          std::move(anywhere_));
    }
    if (boxes_.may_have_gaps()) add_others(true, gains_from_gaps, {});
  }

 private:
  void add(PackConfig config) {
    config.prefetches = prefetches_;
    add_(config);
  }

  void add_boxes(std::int8_t dst_shift) {
    for (std::int32_t run_bytes = 64; run_bytes <= 32768; run_bytes *= 2) {
      PackConfig config{.run_bytes = run_bytes, .dst_shift = dst_shift};
      if (offers_aligned_) {
        const Box& box = boxes_.of(config);
        config.threads = threads_for(box, normal_, false);
        if (box.bytes <= most_shared && has_aligned_runs(box, normal_) &&
            piece_of(box, normal_, config).vectors > 0) {
          offer(config, box);
          if (dst_shift == 0) continue;
        }
      }
      config.anywhere = true;
      config.shares = shares_;
      const Box& box = boxes_.of(config);
      if (box.bytes > most_shared) return;
      config.threads = threads_anywhere(box, normal_, device_);
      offer(config, box);
    }
  }

  void offer(const PackConfig& config, const Box& box) {
    constexpr std::int64_t least_uneven = 16 << 10;
    if (config.dst_shift != 0 && box.bytes < least_uneven) return;
    if (std::find(seen_.begin(), seen_.end(), box) != seen_.end()) return;
    seen_.push_back(box);
    if (config.anywhere && may_have_short_runs_) anywhere_.push_back(box);
    if (fits(box, normal_, device_, config.anywhere)) add(config);
  }

  // Boxes that lie in another way, where that makes a difference, and that are not in `seen`.
  void add_others(bool gaps, const auto& differs, std::vector<Box> seen) {
    PackConfig config{.anywhere = true, .gaps = gaps, .shares = shares_};
    for (std::int32_t run_bytes = 64; run_bytes <= 32768; run_bytes *= 2) {
      config.run_bytes = run_bytes;
      const Box& box = boxes_.of(config);
      if (box.bytes > most_bytes) return;
      if (!differs(box) || std::find(seen.begin(), seen.end(), box) != seen.end()) continue;
      seen.push_back(box);
      config.threads = threads_anywhere(box, normal_, device_);
      if (fits(box, normal_, device_, true)) add(config);
    }
  }

  const Problem& normal_;
  const DeviceInfo& device_;
  Boxes& boxes_;
  const Add<PackConfig>& add_;
  bool offers_aligned_, may_have_short_runs_, shares_, prefetches_;
  std::vector<Box> seen_, anywhere_;
};

const char* why_not_changing(const Problem& normal) {
  if (const char* rule = why_not_by_value(normal)) return rule;
  if (std::max(normal.src_type.size(), normal.dst_type.size()) > 4) return "elements of 8 B";
  return nullptr;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) {
    if (const char* rule = why_not_changing(normal)) return rule;
  }
  if (normal.modes.empty()) return "a single element";
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  for (const Mode& mode : normal.modes) {
    if (mode.extent >= (std::int64_t{1} << 30)) return "a mode of 2^30 elements or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       Common& boxes, const Add<PackConfig>& add) {
  Offers(normal, start, device, boxes, add).add_all();
}

std::string Family::describe(const PackConfig& config, const Problem& normal) {
  const Box box = Boxes(normal).of(config);
  std::string text = fmt::format("boxes of {} B in runs of {} and {} B{}", box.unshared(box.bytes),
                                 box.src.run * normal.src_type.size(),
                                 box.unshared(box.dst.run) * normal.dst_type.size(),
                                 config.anywhere ? ", begin anywhere" : "");
  if (box.shared > 0) text += ", share sectors";
  if (config.gaps) text += ", with gaps";
  if (config.prefetches &&
      setup_of(config, box, normal).args.prefetch != kernels::PackPrefetch::none) {
    text += cut_prefetched;
  }
  if (normal.converts()) {
    text += ", " + normal.src_type.name() + " to " + normal.dst_type.name();
  }
  return text;
}

Launchable<PackArgs> Family::prepare(const PackConfig& config, const Problem& normal) {
  const Box box = Boxes(normal).of(config);
  Setup setup = setup_of(config, box, normal);
  if (config.anywhere) choose_banks(setup, config, box, normal);
  Launchable<PackArgs> ready{setup.args, {}};
  ready.launch.dynamic_shared = setup.shared_bytes();
  ready.launch.block = {static_cast<unsigned>(threads_of(config, box, normal)), 1, 1};
  ready.launch.grid = {static_cast<unsigned>(count_boxes(box, normal)), 1, 1};
  return ready;
}

}  // namespace cornerturn::plan::gpu::pack
