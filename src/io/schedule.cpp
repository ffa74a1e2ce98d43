#include "io/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/normalise.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::io {
namespace {

// Boxes of a mapped source: small enough to stay in the cache until they are written.
constexpr std::int64_t mapped_box = std::int64_t{4} << 20;
constexpr std::int64_t mapped_memory = std::int64_t{32} << 20;
constexpr std::int64_t mapped_src_goal = 256;
constexpr std::int64_t mapped_dst_goal = 64 << 10;

// What a call to read or write a run costs, as the bytes that could be moved in the same time.
constexpr std::int64_t call_cost = 16 << 10;

std::int64_t elements(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

// Bytes that a box of the first pass and a panel usually share.
std::int64_t shared_bytes(const Problem& problem, const Grid& boxes, const Grid& panels) {
  Extents shared(boxes.tile.size());
  for (std::size_t m = 0; m < shared.size(); ++m) {
    shared[m] = std::min(boxes.tile[m], panels.tile[m]);
  }
  return elements(shared) * problem.dst_type.size();
}

// Predicted cost of one pass over all bytes in runs of `run` bytes.
double pass_cost(std::int64_t run) {
  return 1.0 + static_cast<double>(call_cost) / static_cast<double>(run);
}

double cost(const Schedule& schedule) {
  const Problem& problem = schedule.problem;
  if (schedule.route == Route::two_pass) {
    return 3.0 + pass_cost(shared_bytes(problem, schedule.boxes, schedule.panels));
  }
  return pass_cost(run_bytes(problem, schedule.boxes.tile, Side::source)) +
         pass_cost(run_bytes(problem, schedule.boxes.tile, Side::destination));
}

}  // namespace

std::int64_t Schedule::buffer_bytes() const noexcept {
  const std::int64_t element = problem.dst_type.size();
  const std::int64_t box = boxes.tile_elements() * element;
  if (route == Route::mapped) return workers * box;
  const std::int64_t panel = route == Route::two_pass ? panels.tile_elements() * element : 0;
  return workers * 2 * std::max(box, panel);
}

std::int64_t Schedule::read_run() const {
  return run_bytes(problem, boxes.tile, Side::source);
}

std::int64_t Schedule::write_run() const {
  if (route == Route::two_pass) return shared_bytes(problem, boxes, panels);
  return run_bytes(problem, boxes.tile, Side::destination);
}

std::int64_t Schedule::bytes_read() const noexcept {
  return passes() * problem.bytes();
}
std::int64_t Schedule::bytes_written() const noexcept {
  return passes() * problem.bytes();
}

void require_memory(std::int64_t memory) {
  if (memory >= least_memory) return;
  throw Error(Status::invalid_argument,
              fmt::format("memory = {} B is too little: the least is {} B ({})", memory,
                          least_memory, size_text(least_memory)));
}

Schedule make_schedule(const Problem& problem, const Limits& limits) {
  Schedule schedule;
  schedule.problem = normalise(problem);
  schedule.in_order = limits.in_order;
  schedule.workers = std::max(1, limits.threads);
  const Problem& normal = schedule.problem;

  if (limits.memory == 0) {
    const std::int64_t budget = std::min(mapped_box, mapped_memory / schedule.workers);
    schedule.boxes = limits.in_order
                         ? contiguous_grid(normal, budget, Side::destination)
                         : balanced_grid(normal, budget, mapped_src_goal, mapped_dst_goal);
    return schedule;
  }

  require_memory(limits.memory);
  schedule.workers = std::min(schedule.workers, limits.at_once);
  const std::int64_t budget = (limits.memory - program_memory) / (2 * schedule.workers);

  schedule.route = Route::one_pass;
  schedule.boxes = limits.in_order ? contiguous_grid(normal, budget, Side::destination)
                                   : balanced_grid(normal, budget, 1, 1);
  if (limits.one_pass) return schedule;
  Schedule two = schedule;
  two.route = Route::two_pass;
  two.boxes = contiguous_grid(normal, budget, Side::source);
  two.panels = contiguous_grid(normal, budget, Side::destination);
  return cost(two) < cost(schedule) ? two : schedule;
}

std::string size_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f} {}", value, whole ? 0 : value < 10 ? 2 : 1, units[unit]);
}

namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

ScheduleSummary summary_of(const Schedule& schedule) {
  ScheduleSummary summary;
  summary.route = schedule.route;
  summary.threads = schedule.workers;
  summary.boxes = schedule.boxes.size();
  summary.box_bytes = schedule.boxes.tile_elements() * schedule.problem.dst_type.size();
  summary.panels = schedule.passes() == 2 ? schedule.panels.size() : 0;
  summary.read_run = schedule.read_run();
  summary.write_run = schedule.write_run();
  summary.buffer_bytes = schedule.buffer_bytes();
  summary.bytes_read = schedule.bytes_read();
  summary.bytes_written = schedule.bytes_written();
  return summary;
}

std::string to_string(const ScheduleSummary& summary) {
  const std::string boxes =
      fmt::format("{} of {}", counted(summary.boxes, "box", "boxes"), size_text(summary.box_bytes));
  const std::string threads = counted(summary.threads, "thread", "threads");
  const std::string runs = fmt::format("runs of {} read, {} written", size_text(summary.read_run),
                                       size_text(summary.write_run));
  switch (summary.route) {
    case Route::mapped:
      return fmt::format("mapped: {}, {}, {}", boxes, threads, runs);
    case Route::one_pass:
      return fmt::format("one pass: each byte is read and written once; {}, {}, {}", boxes, threads,
                         runs);
    case Route::two_pass:
      return fmt::format("two passes: each byte is read and written twice; {}, then {}, {}, {}",
                         boxes, counted(summary.panels, "panel", "panels"), threads, runs);
  }
  return {};
}

std::string to_string(const Schedule& schedule) {
  return to_string(summary_of(schedule));
}

std::string to_json(const ScheduleSummary& summary) {
  const char* routes[] = {"mapped", "one_pass", "two_pass"};
  const nlohmann::json json = {{"route", routes[static_cast<int>(summary.route)]},
                               {"passes", summary.route == Route::two_pass ? 2 : 1},
                               {"boxes", summary.boxes},
                               {"panels", summary.panels},
                               {"threads", summary.threads},
                               {"read_run", summary.read_run},
                               {"write_run", summary.write_run},
                               {"buffer_bytes", summary.buffer_bytes},
                               {"bytes_read", summary.bytes_read},
                               {"bytes_written", summary.bytes_written}};
  return json.dump();
}

std::string to_json(const Schedule& schedule) {
  return to_json(summary_of(schedule));
}

Problem file_problem(const Extents& shape, std::int64_t item_size, bool fortran_order,
                     const std::vector<int>& permutation) {
  // Items that are no element type become a mode of smaller ones.
  std::int64_t element = std::min<std::int64_t>(item_size, ElementType::max_size);
  while (item_size % element != 0) --element;
  if (element < item_size && shape.size() == static_cast<std::size_t>(max_rank)) {
    throw Error(Status::unsupported,
                fmt::format("elements of {} bytes, more than {}, take one of the {} axes that are "
                            "supported: there are {} others",
                            item_size, ElementType::max_size, max_rank, shape.size()));
  }
  Problem problem;
  problem.src_type = ElementType::bytes(element);
  problem.dst_type = problem.src_type;

  const std::size_t rank = shape.size();
  Extents strides(rank);
  std::int64_t stride = item_size;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t axis = fortran_order ? k : rank - 1 - k;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  for (const int axis : permutation) {
    const auto a = static_cast<std::size_t>(axis);
    problem.modes.push_back({shape[a], strides[a], 0});
  }
  stride = item_size;
  for (int m = problem.rank(); m-- > 0;) {
    problem.modes[m].dst_stride = stride;
    stride *= std::max<std::int64_t>(problem.modes[m].extent, 1);
  }
  if (element < item_size) problem.modes.push_back({item_size / element, element, element});
  return problem;
}

}  // namespace cornerturn::io
