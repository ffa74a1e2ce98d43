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
#include "plan/gpu/gather/chunks.hpp"
#include "plan/gpu/gather/places.hpp"
#include "plan/gpu/gather/repeated.hpp"
#include "plan/gpu/gather/units.hpp"
#include "plan/gpu/listed.hpp"
#include "plan/gpu/row_runs.hpp"
#include "plan/gpu/sectors.hpp"

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
double value_lane(const Problem& normal, const Family::Costs& c, const Model& model, bool by_list) {
  const ValueType from = value_type(normal.src_type), to = value_type(normal.dst_type);
  const auto known = []<class Change>() {};
  const bool is_known =
      kernels::with_cast(from, to, known) || kernels::with_scaled_cast(from, to, known);
  return is_known && !by_list ? c.known_value : model.costs.any_value;
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

// The kernel's arguments for values that change.
template <class Changed>
Changed changed_places(const Problem& normal) {
  Changed places;
  static_cast<kernels::WidePlaces&>(places) = places_of<kernels::WidePlaces>(normal);
  places.src_bytes = normal.src_type.size();
  places.dst_bytes = normal.dst_type.size();
  places.change = {.src = value_type(normal.src_type),
                   .dst = value_type(normal.dst_type),
                   .values = normal.values,
                   .scaled = normal.scale.present,
                   .biased = normal.bias.present};
  places.scale = axis_vector(normal.scale, normal);
  places.bias = axis_vector(normal.bias, normal);
  return places;
}

kernels::ListedPlaces listed_places(const Problem& normal) {
  auto places = changed_places<kernels::ListedPlaces>(normal);
  places.of_step =
      FastDivide64(places.elements / static_cast<std::uint64_t>(normal.lists->steps()));
  places.from = from_of(normal);
  places.to = to_of(normal);
  places.leaves_missing = normal.lists->missing == Missing::left;
  return places;
}

// Elements are taken in this order, which is the destination's unless they come in chunks.
Demand demand_of_elements(const GatherConfig& config, const Problem& order, const Model& model,
                          const Family::Costs& c, bool by_list = false) {
  const auto elements = static_cast<double>(order.elements());
  Demand demand;
  demand.blocks = std::ceil(elements / static_cast<double>(of_block(config)));
  demand.resident = resident_blocks(model.device, threads, 0, 4);
  demand.instructions = elements * (c.axis * order.rank() +
                                    (order.converts() ? value_lane(order, c, model, by_list) : 0));
  const Rows rows(order);
  const auto run = static_cast<double>(rows.bytes);
  if (config.chunk == 0 && rows.granule == 16 && rows.bytes > rows.granule) {
    const double share = run >= 128 ? 1.0 : run >= 64 ? c.share_64 : c.share_32;
    demand.block_seconds = is_single(config) ? c.single_block : model.costs.rows_block;
    demand.src_bytes = model.src_read() / share;
    demand.dst_bytes = (model.least.dst_bytes + model.cut_bytes()) / share;
    return demand;
  }
  demand.block_seconds = is_single(config) ? c.single_block : c.block;
  const bool in_chunks = config.chunk > 0;
  demand.src_bytes = read_once(rows, model) * (in_chunks ? 1 : 1 + fetched_again(rows, model, run));
  demand.dst_bytes =
      dst_moved(model, in_chunks ? runs_of_chunks(order) : MovedRuns{std::max(run, 512.0), 32}) +
      model.cut_bytes();
  // Lanes far apart take a sector each.
  const int sectors = sectors_of_warp(order);
  demand.wavefronts =
      elements / 32 * (sectors * c.sector + static_cast<double>(order.dst_type.size()));
  const double of_warps = elements * sectors;
  demand.l2_bytes =
      std::min(of_warps, bytes_of_blocks(order, rows, static_cast<double>(of_block(config))));
  return demand;
}

// Takes the elements of a problem in the order of its modes.
Launchable<kernels::GatherArgs> launch_of(const GatherConfig& config, const Problem& order) {
  kernels::GatherArgs args{.element_bytes = order.dst_type.size(), .single = is_single(config)};
  if (config.form == GatherForm::repeated) {
    args.form = repeated_places(order);
    const std::int64_t blocks = ceil_div(once_of(order).elements(), std::int64_t{threads});
    return {args, {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
  }
  if (order.lists != nullptr) {
    args.form = listed_places(order);
  } else if (order.converts()) {
    args.form = changed_places<kernels::ChangedPlaces>(order);
  } else if (!is_countable(order)) {
    args.form = places_of<kernels::WidePlaces>(order);
  } else if (!is_near(order)) {
    args.form = places_of<kernels::FarPlaces>(order);
  } else if (order.rank() > kernels::NearPlaces::Way::max_rank) {
    args.form = places_of<kernels::DeepPlaces>(order);
  } else {
    args.form = places_of<kernels::NearPlaces>(order);
  }
  // A kernel that changes values takes as many elements a thread as there are.
  const std::int64_t blocks = std::min(ceil_div(order.elements(), of_block(config)), most_blocks);
  return {args, {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
}

Launchable<kernels::GatherArgs> launch_of_units(const GatherConfig& config, const Problem& normal) {
  const std::int64_t blocks = ceil_div(units_of(config, normal), threads);
  return {{.element_bytes = normal.dst_type.size(), .form = unit_places(config, normal)},
          {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
}

}  // namespace

int sectors_of_warp(const Problem& normal) {
  if (normal.rank() > 0 && normal.modes.back().extent >= 32 &&
      normal.modes.back().src_stride >= 0) {
    const std::int64_t stride = normal.modes.back().src_stride;
    return stride >= sector_bytes ? 32 : static_cast<int>(31 * stride / sector_bytes + 1);
  }
  std::array<std::int64_t, 32> seen;
  std::array<std::int64_t, ModeList::capacity> index;  // of the modes, the last one first
  std::fill_n(index.begin(), normal.rank(), 0);
  int count = 0;
  std::int64_t offset = 0, highest = -1;
  for (int lane = 0; lane < 32; ++lane) {
    const std::int64_t sector = offset >> 5;
    const auto end = seen.begin() + count;
    if (sector > highest || std::find(seen.begin(), end, sector) == end) {
      seen[static_cast<std::size_t>(count++)] = sector;
      highest = std::max(highest, sector);
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

bool holds_fields(const Problem& normal) {
  constexpr std::int64_t longest = 128;  // bytes, as measured
  const std::int64_t size = normal.dst_type.size();
  if (normal.rank() < 2 || normal.modes.back().dst_stride != size) return false;
  const std::int64_t step = std::abs(normal.modes.back().src_stride);
  std::int64_t run = size;
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i + 1 < normal.rank() && !grew; ++i) {
      const Mode& mode = normal.modes[i];
      grew = std::abs(mode.src_stride) == run && mode.extent > 1;
      if (grew) run *= mode.extent;
    }
  }
  return run > size && run <= longest && 2 * run <= step;
}

double read_once(const Rows& rows, const Model& model) {
  // The neighbours of single elements in a burst belong to others, who may find them in the L2.
  const auto run = static_cast<double>(rows.bytes);
  if (rows.bytes < burst_bytes) return model.src_read();
  return src_moved(model, {run, granule_of(rows, &Mode::src_stride)});
}

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts() && normal.elements() > 0) {
    if (const char* rule = why_misplaced(normal)) return rule;
  }
  if (normal.lists != nullptr) {
    if (!normal.converts()) return "steps of a list whose values are only moved";
    if (const char* rule = why_no_list(normal)) return rule;
  }
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  if (!normal.converts() && normal.elements() >= most_blocks * of_block({GatherForm::single})) {
    return "2^39 elements or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<GatherConfig>& add) {
  if (normal.converts()) return add({});
  const std::int64_t elements = normal.elements();
  if (elements == 0 || elements > least_four) add({});
  // Blocks that store fewer sparse rows take less time, as measured on an H200.
  const bool is_scattered = is_countable(normal) && dst_row(normal).is_sparse();
  if (elements > 0 && (elements <= most_single || is_scattered)) add({GatherForm::single});
  if (are_units_worth_it(normal)) {
    add({GatherForm::units, granule_of_rows(normal, start)});
  }
  const bool repeats = can_repeat(normal);
  if (repeats) add({GatherForm::repeated});
  if (!are_chunks_worth_it(normal)) return;
  for (const int bytes : repeats ? chunk_bytes : chunk_bytes_of_fields) {
    add({repeats ? GatherForm::repeated : GatherForm::several, 0, chunk_of(normal, bytes)});
  }
}

Demand Family::demand(const GatherConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  if (normal.elements() == 0) return {.launches = 0};
  if (normal.lists != nullptr) {
    Model of_all = model;
    const Problem all = in_order(normal);
    of_all.least = least_traffic(all);
    return demand_of_elements(config, all, of_all, c, true);
  }
  if (config.form == GatherForm::units) return demand_of_units(config, normal, model, c);
  const auto in_order = [&](const Problem& order) {
    return config.form == GatherForm::repeated ? demand_of_repeated(config, order, model, c)
                                               : demand_of_elements(config, order, model, c);
  };
  return config.chunk > 0 ? in_order(in_chunks(normal, config.chunk)) : in_order(normal);
}

std::string Family::describe(const GatherConfig& config, const Problem& normal) {
  if (normal.converts()) {
    return normal.src_type.name() + " to " + normal.dst_type.name() +
           (normal.lists == nullptr ? " in destination order" : " in the list's order");
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
  if (config.form == GatherForm::units) return launch_of_units(config, normal);
  if (config.chunk == 0) return launch_of(config, normal);
  auto ready = launch_of(config, in_chunks(normal, config.chunk));
  const Problem rest = behind_chunks(normal, config.chunk);
  if (rest.elements() == 0) return ready;
  auto then = launch_of(config, rest);
  then.args.first = {rest.src_offset - normal.src_offset, rest.dst_offset - normal.dst_offset};
  ready.then = std::make_shared<const Launchable<kernels::GatherArgs>>(std::move(then));
  return ready;
}

void Family::bind(kernels::GatherArgs& args, const Problem& normal, const Buffers& buffers, int) {
  const kernels::Offsets first = args.first;
  std::visit(
      [&](auto& form) {
        if constexpr (requires { form.of_step; }) {
          bind_list(form, form, normal, buffers);
        } else {
          gpu::bind(form, normal, buffers);
          form.src += first.src;
          form.dst += first.dst;
        }
      },
      args.form);
}

}  // namespace cornerturn::plan::gpu::gather
