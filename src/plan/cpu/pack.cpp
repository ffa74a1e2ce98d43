#include "plan/cpu/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan::pack {
namespace {

// Policies, found by trying sizes on a Zen 4 processor. A box should have runs of these lengths on
// either side, and so many bytes; a mode that is at most half as long again as is wanted of it is
// taken whole. The largest box stays in the second-level cache beside its stage.
constexpr std::int64_t src_target = 256;
constexpr std::int64_t dst_target = 512;
constexpr std::int64_t box_target = 8 << 10;
constexpr std::int64_t box_limit = 128 << 10;
constexpr std::int64_t piece_bytes = 256 << 10;  // of work that one thread takes at a time
constexpr std::int64_t long_run = 256;  // bytes of the destination whose ends no longer count

// Grows a box: along the source and along the destination alternately, whichever has further to go.
class BoxMaker {
 public:
  explicit BoxMaker(const Problem& normal) : normal_(normal), width_(normal.dst_type.size()) {
    source_.run = destination_.run = width_;
  }

  PackConfig make() {
    while (true) {
      const std::int64_t src_share = source_.run * dst_target;
      const std::int64_t dst_share = destination_.run * src_target;
      const bool src_open = source_.open && source_.run * 3 < src_target * 2;
      const bool dst_open = destination_.open && destination_.run * 3 < dst_target * 2;
      if (src_open && (src_share <= dst_share || !dst_open)) {
        grow(source_, src_target);
      } else if (dst_open) {
        grow(destination_, dst_target);
      } else if (destination_.open && bytes_ < box_target) {
        grow(destination_, destination_.run * (box_target / bytes_ + 1));
      } else {
        break;
      }
    }
    config_.src_run = source_.run;
    config_.dst_run = destination_.run;
    return config_;
  }

 private:
  struct Side {
    std::int64_t run = 1;       // bytes, contiguous on this side
    bool open = true;           // can it grow?
    bool blocked = false;       // has met a mode of the other side: what comes now is deep
    std::int64_t elements = 1;  // of the modes in this side's role
  };

  std::int64_t stride(const Side& side, const Mode& mode) const {
    return &side == &source_ ? mode.src_stride : mode.dst_stride;
  }
  const PackConfig::Part* part_of(int mode) const {
    for (int i = 0; i < config_.part_count; ++i) {
      if (config_.parts[static_cast<std::size_t>(i)].mode == mode) {
        return &config_.parts[static_cast<std::size_t>(i)];
      }
    }
    return nullptr;
  }

  // Takes the mode that continues the side's run, as much of it as the run needs.
  void grow(Side& side, std::int64_t target) {
    for (int i = normal_.rank(); i-- > 0;) {
      const Mode& mode = normal_.modes[i];
      if (stride(side, mode) != side.run) continue;
      if (const PackConfig::Part* part = part_of(i)) {
        if (part->extent != mode.extent) break;
        side.run *= mode.extent;
        side.blocked = true;
        return;
      }
      take(side, i, (target + side.run - 1) / side.run);
      return;
    }
    side.open = false;
  }

  void take(Side& side, int index, std::int64_t wanted) {
    const Mode& mode = normal_.modes[index];
    const bool deep = side.blocked;
    const BoxRole role =
        deep ? BoxRole::deep : (&side == &source_ ? BoxRole::across : BoxRole::down);
    std::int64_t& elements = deep ? deep_ : side.elements;
    const bool columns = role != BoxRole::down;
    std::int64_t room = std::min(max_side / elements, box_limit / bytes_);
    if (columns) room = std::min(room, max_columns / (deep_ * source_.elements));
    // All of a mode if it is not much more than wanted, else equal parts, in whole blocks.
    std::int64_t extent = std::max<std::int64_t>(wanted, 1);
    if (mode.extent <= extent + extent / 2) extent = mode.extent;
    extent = std::min({extent, mode.extent, room});
    if (extent < mode.extent) {
      const std::int64_t parts = (mode.extent + extent - 1) / extent;
      extent = (mode.extent + parts - 1) / parts;
      const std::int64_t block = role == BoxRole::down ? 64 / width_ : 16 / width_;
      const std::int64_t blocks = (extent + block - 1) / block * block;
      if (elements == 1 && blocks <= std::min(room, mode.extent)) extent = blocks;
    }
    if (extent <= 1 || config_.part_count == PackConfig::max_parts || (deep && deep_closed_)) {
      side.open = false;
      return;
    }
    config_.parts[static_cast<std::size_t>(config_.part_count++)] = {
        static_cast<std::int8_t>(index), role, static_cast<std::int32_t>(extent)};
    side.run *= extent;
    elements *= extent;
    bytes_ *= extent;
    if (extent < mode.extent) {
      side.open = false;
      deep_closed_ = deep_closed_ || deep;
    }
  }

  const Problem& normal_;
  const std::int64_t width_;
  PackConfig config_;
  Side source_, destination_;
  std::int64_t deep_ = 1;
  bool deep_closed_ = false;
  std::int64_t bytes_ = width_;
};

struct BoxShape {
  std::int64_t across = 1, down = 1, deep = 1;
};

BoxShape shape_of(const PackConfig& config) {
  BoxShape shape;
  for (int i = 0; i < config.part_count; ++i) {
    const PackConfig::Part& part = config.parts[static_cast<std::size_t>(i)];
    (part.role == BoxRole::across ? shape.across
     : part.role == BoxRole::down ? shape.down
                                  : shape.deep) *= part.extent;
  }
  return shape;
}

}  // namespace

const char* Family::why_not(const Problem&, const CpuInfo&) {
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<PackConfig>& add) {
  PackConfig config = BoxMaker(normal).make();
  const BoxShape box = shape_of(config);
  config.stores = stores_for(normal, cpu);
  config.boxes_a_piece = std::max<std::int64_t>(
      1, piece_bytes / (box.across * box.down * box.deep * normal.dst_type.size()));
  add(config);
}

std::int64_t row_spread(const PackConfig& config, const Problem& normal) {
  std::int64_t spread = 0;
  for (int i = 0; i < config.part_count; ++i) {
    const PackConfig::Part& part = config.parts[static_cast<std::size_t>(i)];
    if (part.role != BoxRole::down) continue;
    spread += (part.extent - 1) * std::abs(normal.modes[part.mode].src_stride);
  }
  return spread;
}

// A line costs its way through the registers and the stage; more where blocks do not fit, where the
// source is read in short pieces, and where the destination is written in short ones.
double Family::cost_ns(const PackConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const BoxShape box = shape_of(config);
  const std::int64_t width = normal.dst_type.size();
  const std::int64_t unit_rows = 64 / width, unit_columns = 16 / width;
  // Elements of a box that are moved one by one, and those that blocks move, theirs or not
  const double elements = static_cast<double>(box.across) * static_cast<double>(box.down);
  double singly = elements;
  double in_units = 0;
  if (box.down >= unit_rows) {
    const std::int64_t down = in_blocks(box.down, unit_rows);
    const std::int64_t across = in_blocks(box.across, unit_columns);
    const auto padded = [](std::int64_t extent, std::int64_t block) {
      const std::int64_t whole = ceil_div(extent, block) * block;
      return static_cast<double>(whole);
    };
    singly -= static_cast<double>(down) * static_cast<double>(across);
    in_units = padded(down, unit_rows) * padded(across, unit_columns);
  }
  const double elements_a_line = 64.0 / static_cast<double>(width);
  const double units_ns = in_units / elements_a_line * c.block_ns;
  const double move_ns = (singly * c.element_ns + units_ns) / elements * elements_a_line;
  const double rows_a_line =
      box.across < unit_columns ? elements_a_line / static_cast<double>(box.across) : 0;
  double a_line =
      rows_a_line * c.element_ns + c.stage_ns + std::min(move_ns, c.element_ns * elements_a_line);
  // Shorter runs that share lines with those of the next box find them in the caches.
  const std::int64_t least_run = shares_lines(normal, normal.rank(), cpu) ? 64 : width;
  const auto src_run = static_cast<double>(std::max(config.src_run, least_run));
  const auto dst_run = static_cast<double>(std::max(config.dst_run, width));
  if (!fits_l2(normal, cpu)) a_line += first_reads(normal) * c.run_ns * 64 / src_run;
  if (dst_run < static_cast<double>(long_run)) a_line += c.run_ns * 64 / dst_run;
  return static_cast<double>(normal.bytes()) / 64 * a_line + c.start_ns;
}

std::string Family::describe(const PackConfig& config, const Problem&) {
  const BoxShape box = shape_of(config);
  return fmt::format("boxes of {} across x {} down x {} deep{}", box.across, box.down, box.deep,
                     past_caches(config.stores) ? ", non-temporal" : "");
}

}  // namespace cornerturn::plan::pack
