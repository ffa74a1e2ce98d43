#include "plan/gpu/gather.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "kernels/scaled.hpp"
#include "maps/sectors.hpp"
#include "plan/gpu/bind.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/gather_chunks.hpp"
#include "plan/gpu/gather_places.hpp"
#include "plan/gpu/gather_repeated.hpp"
#include "plan/gpu/gather_units.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {
constexpr std::int64_t least_four = 1 << 15;  // elements: fewer leave SMs without work
constexpr std::int64_t most_single = 1 << 20;
constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;

bool is_single(const GatherConfig& config) {
  return config.form == GatherForm::single;
}

// The elements that a block of kernels::Gather takes at a time.
std::int64_t of_block(const GatherConfig& config) {
  return is_single(config) ? threads : kernels::gather_at_once * threads;
}

// Bytes of the sectors that blocks get from the L2: a block finds those that it has had in the L1.
double bytes_of_blocks(const Problem& normal, const Rows& rows, double of_block) {
  const Mode* near = nullptr;      // the next in the source
  double before = 1, indices = 1;  // rows before the next index of it, and its indices in a block
  double inner = 1;
  for (int i = rows.outer.size(); i-- > 0;) {
    const Mode& mode = rows.outer[i];
    if (mode.src_stride != 0 &&
        (near == nullptr || std::abs(mode.src_stride) < std::abs(near->src_stride))) {
      near = &mode;
      before = inner;
    }
    inner *= static_cast<double>(mode.extent);
  }
  const auto row = static_cast<double>(rows.bytes);
  double sectors = std::ceil(row / sector_bytes);  // of a row
  if (near != nullptr && std::abs(near->src_stride) < sector_bytes) {
    const double rows_of_block = of_block * normal.src_type.size() / row;
    indices = std::clamp(rows_of_block / before, 1.0, static_cast<double>(near->extent));
    const auto step = static_cast<double>(std::abs(near->src_stride));
    sectors = std::min(sectors, (step + (row + 16) / indices) / sector_bytes);
  }
  return static_cast<double>(rows.count) * sectors * sector_bytes;
}

// Instructions that change the value of an element.
double value_lane(const Problem& normal, const Family::Costs& c) {
  const Kind from = normal.src_type.kind(), to = normal.dst_type.kind();
  const auto known = []<class Change>() {};
  const bool is_known =
      kernels::with_cast(from, to, known) || kernels::with_scaled_cast(from, to, known);
  return is_known ? c.known_value : c.any_value;
}

kernels::AxisVector axis_vector(const ModeVector& vector, const Problem& normal) {
  kernels::AxisVector axis{.present = vector.present, .step = vector.step, .first = vector.first};
  if (vector.mode < 0 || normal.elements() == 0) return axis;
  std::uint64_t before = 1;
  for (int i = vector.mode + 1; i < normal.rank(); ++i) {
    before *= static_cast<std::uint64_t>(normal.modes[i].extent);
  }
  axis.before = FastDivide64(before);
  axis.extent = FastDivide64(static_cast<std::uint64_t>(normal.modes[vector.mode].extent));
  return axis;
}

// Of a problem whose values change.
kernels::ChangedPlaces changed_places(const Problem& normal) {
  kernels::ChangedPlaces places;
  static_cast<kernels::WidePlaces&>(places) = places_of<kernels::WidePlaces>(normal);
  places.src_bytes = normal.src_type.size();
  places.dst_bytes = normal.dst_type.size();
  places.change = {.src_kind = normal.src_type.kind(),
                   .dst_kind = normal.dst_type.kind(),
                   .values = normal.values,
                   .scaled = normal.scale.present,
                   .biased = normal.bias.present};
  places.scale = axis_vector(normal.scale, normal);
  places.bias = axis_vector(normal.bias, normal);
  return places;
}

// Elements that are loaded once, in the order of the problem's modes.
Launchable<kernels::GatherArgs> launch_of_repeated(const Problem& order) {
  const std::int64_t blocks = ceil_div(once_of(order).elements(), std::int64_t{threads});
  return {{.element_bytes = order.dst_type.size(), .form = repeated_places(order)},
          {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
}

Launchable<kernels::GatherArgs> launch_in_chunks(int chunk, const Problem& normal) {
  auto ready = launch_of_repeated(in_chunks(normal, chunk));
  const Problem rest = behind_chunks(normal, chunk);
  if (rest.elements() == 0) return ready;
  auto then = launch_of_repeated(rest);
  then.args.first = {rest.src_offset - normal.src_offset, rest.dst_offset - normal.dst_offset};
  ready.then = std::make_shared<const Launchable<kernels::GatherArgs>>(std::move(then));
  return ready;
}

}  // namespace

int sectors_of_warp(const Problem& normal) {
  std::array<std::int64_t, 32> seen{};
  std::array<std::int64_t, ModeList::capacity> index{};  // of the modes, the last one first
  int count = 0;
  std::int64_t offset = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const std::int64_t sector = offset >> 5;
    const auto end = seen.begin() + count;
    if (std::find(seen.begin(), end, sector) == end) {
      seen[static_cast<std::size_t>(count++)] = sector;
    }
    const int rank = normal.rank();
    for (std::size_t at = 0; static_cast<int>(at) < rank; ++at) {
      const Mode& mode = normal.modes[rank - 1 - static_cast<int>(at)];
      offset += mode.src_stride;
      if (++index[at] < mode.extent) break;
      offset -= mode.extent * mode.src_stride;
      index[at] = 0;
    }
  }
  return count;
}

double read_once(const Rows& rows, const Model& model) {
  // Of single elements the neighbours in a burst belong to others, who may find them in the L2.
  const auto run = static_cast<double>(rows.bytes);
  if (rows.bytes < burst_bytes) return model.src_read();
  return src_moved(model, {run, granule_of(rows, &Mode::src_stride)});
}

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts() && normal.elements() > 0) {
    if (const char* rule = why_misplaced(normal)) return rule;
  }
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  if (!normal.converts() && normal.elements() >= most_blocks * of_block({GatherForm::single})) {
    return "2^39 elements or more";
  }
  return nullptr;
}

int Facts::sectors_of_warp() {
  if (sectors_ == 0) sectors_ = gather::sectors_of_warp(normal_);
  return sectors_;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&, Facts&,
                       const Add<GatherConfig>& add) {
  if (normal.converts()) return add({});
  const std::int64_t elements = normal.elements();
  if (elements == 0 || elements > least_four) add({});
  if (elements > 0 && elements <= most_single) add({GatherForm::single});
  if (are_units_worth_it(normal)) {
    add({GatherForm::units, granule_of_rows(normal, start)});
  }
  if (!can_repeat(normal)) return;
  add({GatherForm::repeated});
  if (!are_chunks_worth_it(normal)) return;
  for (const int bytes : chunk_bytes) add({GatherForm::repeated, 0, chunk_of(normal, bytes)});
}

Estimate Family::estimate(const GatherConfig& config, const Problem& normal, const Model& model,
                          const Costs& c, Facts& facts) {
  if (normal.elements() == 0) return {};
  if (config.form == GatherForm::units) return estimate_of_units(config, normal, model, c);
  if (config.form == GatherForm::repeated) {
    const Problem order = config.chunk == 0 ? normal : in_chunks(normal, config.chunk);
    return estimate_of_repeated(config, order, model, c);
  }
  const auto elements = static_cast<double>(normal.elements());
  Work work;
  work.blocks = std::ceil(elements / static_cast<double>(of_block(config)));
  work.resident = resident_blocks(model.device, threads, 0, 4);
  work.instructions = elements * (c.lane + c.axis * normal.rank() +
                                  (normal.converts() ? value_lane(normal, c) : 0));
  if (!normal.converts() && !is_near(normal)) work.instructions *= c.far;
  const Rows rows(normal);
  const auto run = static_cast<double>(rows.bytes);
  if (rows.granule == 16 && rows.bytes > rows.granule) {
    const double share = run >= 256   ? c.share_256
                         : run >= 128 ? c.share_128
                         : run >= 64  ? c.share_64
                                      : c.share_32;
    work.block_seconds = is_single(config) ? c.single_block : model.costs.rows_block;
    work.src_bytes = model.src_read() / share;
    work.dst_bytes = (model.least.dst_bytes + model.cut_bytes()) / share;
    return estimate_of(model, work);
  }
  work.block_seconds = is_single(config) ? c.single_block : c.block;
  work.src_bytes = read_once(rows, model) * (1 + fetched_again(rows, model, run));
  work.dst_bytes = dst_moved(model, {std::max(run, 512.0), 32}) + model.cut_bytes();
  if (model.least_seconds != nullptr) {
    const Estimate least = estimate_of(model, work);
    if (model.is_out_of_reach(least)) return least;
  }
  // Lanes far apart take a sector each.
  const int sectors = facts.sectors_of_warp();
  work.wavefronts =
      elements / 32 * (sectors * c.sector + static_cast<double>(normal.dst_type.size()));
  const double of_warps = elements * sectors;
  work.l2_bytes =
      std::min(of_warps, bytes_of_blocks(normal, rows, static_cast<double>(of_block(config))));
  return estimate_of(model, work);
}

std::string Family::describe(const GatherConfig& config, const Problem& normal) {
  if (normal.converts()) {
    return normal.src_type.name() + " to " + normal.dst_type.name() + " in destination order";
  }
  if (config.form == GatherForm::units) {
    return std::to_string(normal.dst_type.size()) + " B at a time in source order, 16 B a thread";
  }
  const std::string order =
      config.chunk == 0 ? "destination order" : "chunks of " + std::to_string(config.chunk);
  const std::string text = std::to_string(normal.dst_type.size()) + " B at a time in " + order;
  if (config.form == GatherForm::repeated) return text + ", loaded once, stored several times";
  return is_single(config) ? text + ", one a thread" : text;
}

Launchable<kernels::GatherArgs> Family::prepare(const GatherConfig& config, const Problem& normal) {
  if (config.form == GatherForm::repeated) {
    return config.chunk == 0 ? launch_of_repeated(normal) : launch_in_chunks(config.chunk, normal);
  }
  kernels::GatherArgs args{.element_bytes = normal.dst_type.size(), .single = is_single(config)};
  if (config.form == GatherForm::units) {
    args.form = unit_places(config, normal);
    const std::int64_t blocks = ceil_div(units_of(config, normal), threads);
    return {args, {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
  }
  if (normal.converts()) {
    args.form = changed_places(normal);
  } else if (!is_countable(normal)) {
    args.form = places_of<kernels::WidePlaces>(normal);
  } else if (!is_near(normal)) {
    args.form = places_of<kernels::FarPlaces>(normal);
  } else if (normal.rank() > kernels::NearPlaces::Way::max_rank) {
    args.form = places_of<kernels::DeepPlaces>(normal);
  } else {
    args.form = places_of<kernels::NearPlaces>(normal);
  }
  // A kernel that changes values takes as many elements a thread as there are.
  const std::int64_t blocks = std::min(ceil_div(normal.elements(), of_block(config)), most_blocks);
  return {args, {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
}

void Family::bind(kernels::GatherArgs& args, const Problem& normal, const Buffers& buffers, int) {
  const kernels::Offsets first = args.first;
  std::visit(
      [&](auto& form) {
        gpu::bind(form, normal, buffers);
        form.src += first.src;
        form.dst += first.dst;
      },
      args.form);
}

}  // namespace cornerturn::plan::gpu::gather
