#include "plan/link/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "plan/planner.hpp"
#include "plan/text.hpp"

namespace cornerturn::plan::link {
namespace {

// What a stage of the CPU takes for a piece beside its bytes; where it has more threads, they have
// to wake up.
constexpr double call_seconds = 3e-6;
constexpr double threads_seconds = 90e-6;
// Bytes that the CPU reads and writes a second, none of which it finds in its caches: one thread,
// and all of them. What has just come over the link is near.
constexpr double thread_bandwidth = 12e9;
constexpr double bandwidth_into_gpu = 100e9;
constexpr double bandwidth_out_of_gpu = 130e9;
// All of them where the stage goes from one place to another after fewer bytes than these.
constexpr double share_in_short_runs = 0.7;
constexpr std::int64_t long_run = 256;

Side host_side(const LinkInfo& link) {
  return link.into_gpu() ? Side::source : Side::destination;
}

// Strides of the modes in which elements lie one behind the other, in the order of a side.
std::vector<std::int64_t> packed_strides(const Problem& piece, Side side, std::int64_t element) {
  std::vector<int> order(static_cast<std::size_t>(piece.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(stride_on(side, piece.modes[a])) < std::abs(stride_on(side, piece.modes[b]));
  });
  std::vector<std::int64_t> strides(order.size());
  std::int64_t stride = element;
  for (const int mode : order) {
    strides[static_cast<std::size_t>(mode)] = stride;
    stride *= piece.modes[mode].extent;
  }
  return strides;
}

bool is_one_run_of_bytes(const Problem& problem) {
  return problem.operation() == Operation::move &&
         std::all_of(problem.modes.begin(), problem.modes.end(),
                     [](const Mode& mode) { return mode.src_stride == mode.dst_stride; }) &&
         is_dense(problem, Side::source);
}

bool has_long_runs(const Problem& normal) {
  const int run = run_of(normal);
  return run >= 0 && normal.modes[run].extent * normal.src_type.size() >= long_run;
}

// The problem of a stage that only moves elements of the wire.
Problem moving(const Problem& piece, ElementType type) {
  Problem problem;
  problem.src_type = problem.dst_type = type;
  problem.modes = piece.modes;
  return problem;
}

class Builder {
 public:
  Builder(const Question& question, const Wire& wire)
      : question_(question), link_(question.link()), wire_(wire) {}

  std::shared_ptr<const Route> route() {
    const Problem& normal = question_.normal;
    const ElementType type = wire_type();
    const Side along =
        wire_.order == Wire::Order::of_gpu ? opposite(host_side(link_)) : host_side(link_);
    pieces_.cut = cut_along(normal, along, type.size(), wire_.most);
    if (!add_stages(pieces_.cut.piece, pieces_.wire, &Stage::piece)) return nullptr;
    if (pieces_.cut.has_rest()) {
      if (!add_stages(pieces_.cut.rest, pieces_.rest_wire, &Stage::rest)) return nullptr;
    } else {
      pieces_.rest_wire = pieces_.wire;
      pieces_.cpu.rest = pieces_.cpu.piece;
      pieces_.gpu.rest = pieces_.gpu.piece;
    }
    // A rest may be one run of bytes where a piece is none: both have the stages that a piece has.
    if (pieces_.gpu.is_there() != (pieces_.gpu.rest != nullptr)) return nullptr;
    if (pieces_.wire.bytes > largest_piece) return nullptr;
    if (packs() && pieces_.slots() * pieces_.slot_bytes() > link_.ring_bytes) return nullptr;
    return std::make_shared<const Route>(
        Route{words(), seconds(), {}, std::make_shared<const Pieces>(pieces_), 0});
  }

 private:
  static Side opposite(Side side) {
    return side == Side::source ? Side::destination : Side::source;
  }

  bool packs() const { return wire_.order != Wire::Order::as_it_lies; }
  ElementType wire_type() const {
    const Problem& normal = question_.normal;
    return wire_.converted ? normal.dst_type : normal.src_type;
  }
  bool cpu_converts() const {
    return question_.normal.converts() && wire_.converted == link_.into_gpu();
  }

  using Member = std::shared_ptr<const Plan> Stage::*;

  bool add_stages(const Problem& piece, Span& span, Member member) {
    if (!packs()) {
      span = span_of(piece, host_side(link_));
      // What lies between elements of the destination belongs to somebody else.
      if (!link_.into_gpu() && !is_dense(piece, Side::destination)) return false;
      if (!is_one_run_of_bytes(piece)) pieces_.gpu.*member = gpu_plan(piece, alignment(false));
      return true;
    }
    const ElementType type = wire_type();
    const Side side =
        wire_.order == Wire::Order::of_gpu ? opposite(host_side(link_)) : host_side(link_);
    const std::vector<std::int64_t> strides = packed_strides(piece, side, type.size());
    Problem host = cpu_converts() ? piece : moving(piece, type);
    Problem gpu = cpu_converts() || !piece.converts() ? moving(piece, type) : piece;
    for (int k = 0; k < piece.rank(); ++k) {
      const std::int64_t stride = strides[static_cast<std::size_t>(k)];
      (link_.into_gpu() ? host.modes[k].dst_stride : host.modes[k].src_stride) = stride;
      (link_.into_gpu() ? gpu.modes[k].src_stride : gpu.modes[k].dst_stride) = stride;
    }
    span = {0, piece.elements() * type.size()};
    pieces_.cpu.*member =
        std::make_shared<const Plan>(make_plan(host, question_.cpu(), {link_.threads, ""}));
    if (!is_one_run_of_bytes(gpu)) {
      pieces_.gpu.*member = gpu_plan(gpu, alignment(true));
    } else if (!link_.into_gpu()) {
      span.first = span_of(gpu, Side::source).first;  // where the GPU's own bytes begin
    }
    return true;
  }

  // Of the addresses at which the pieces of the GPU's stage begin.
  Alignment alignment(bool wire_is_packed) const {
    Alignment found = question_.start;
    const auto meet = [&](const Mode& mode, std::int64_t steps) {
      found.src = std::gcd(found.src, mode.src_stride * steps);
      found.dst = std::gcd(found.dst, mode.dst_stride * steps);
    };
    for (const Mode& mode : pieces_.cut.outer) meet(mode, 1);
    meet(pieces_.cut.split, pieces_.cut.step);
    if (wire_is_packed) (link_.into_gpu() ? found.src : found.dst) = 16;
    return found;
  }

  std::shared_ptr<const Plan> gpu_plan(const Problem& problem, const Alignment& alignment) const {
    return std::make_shared<const Plan>(
        make_quick_plan(problem, question_.gpu(), {1, "", alignment}));
  }

  // All stages work at once, on different pieces; the longest one decides, and the others show
  // once, while the first piece comes and the last one goes.
  double seconds() const {
    const auto count = static_cast<double>(pieces_.cut.count());
    const gpu::LinkRates& rates = link_.gpu.link;
    const double elements = static_cast<double>(question_.normal.elements()) /
                            static_cast<double>(pieces_.cut.piece.elements());
    const double cross = count * rates.copy_seconds +
                         elements * static_cast<double>(pieces_.wire.bytes) / link_.engine_rate();
    const double on_gpu =
        pieces_.gpu.is_there() ? elements * pieces_.gpu.piece->predicted_seconds() : 0;
    const double on_cpu = pieces_.cpu.is_there() ? seconds_on_cpu(count, elements) : 0;
    const double longest = std::max({cross, on_gpu, on_cpu});
    return rates.latency + longest + (cross + on_gpu + on_cpu - longest) / count;
  }

  // `pieces` pieces, of which all but the rest are whole ones. Along long runs the memory alone
  // limits a stage, here that of a host whose data come and go over the link.
  double seconds_on_cpu(double pieces, double whole) const {
    const Plan& plan = *pieces_.cpu.piece;
    const bool long_runs = has_long_runs(plan.normal);
    const double bytes = static_cast<double>(plan.problem.elements()) *
                         (plan.problem.src_type.size() + plan.problem.dst_type.size());
    const double all = (link_.into_gpu() ? bandwidth_into_gpu : bandwidth_out_of_gpu) *
                       (long_runs ? 1 : share_in_short_runs);
    const double of_memory = bytes / std::min(plan.threads * thread_bandwidth, all);
    return pieces * (plan.threads > 1 ? threads_seconds : call_seconds) +
           whole * (long_runs ? of_memory : std::max(plan.predicted_seconds(), of_memory));
  }

  std::string words() const {
    std::string text =
        fmt::format("{} {} of {}", pieces_.cut.count(),
                    pieces_.cut.count() == 1 ? "piece" : "pieces", bytes_text(pieces_.wire.bytes));
    const auto stage = [&](const char* where, const Stage& one) {
      if (!one.is_there()) return;
      text += fmt::format("; {}: {}", where, one.piece->kernel());
    };
    stage("CPU", pieces_.cpu);
    stage("GPU", pieces_.gpu);
    if (question_.normal.converts()) {
      text += fmt::format("; {} cross", wire_type().name());
    }
    return text;
  }

  const Question& question_;
  const LinkInfo& link_;
  Wire wire_;
  Pieces pieces_;
};

// A stage that cannot read the destination, or does not reach the vectors, converts nothing.
bool may_convert(const Problem& normal, const LinkInfo& link, bool on_cpu) {
  const bool vectors = normal.scale.present || normal.bias.present;
  if (vectors &&
      !(on_cpu ? link.crossing.cpu_reaches_vectors : link.crossing.gpu_reaches_vectors)) {
    return false;
  }
  const bool writes_destination = on_cpu != link.into_gpu();
  return normal.values.beta == 0 || writes_destination;
}

}  // namespace

std::string details_of(const Route& route) {
  if (route.direct != nullptr) return fmt::format("kernel      {}\n", to_string(*route.direct));
  const Pieces& pieces = *route.pieces;
  std::string text;
  const auto stage = [&](const char* where, const Stage& one) {
    if (one.is_there()) text += fmt::format("{:<11} {}\n", where, to_string(*one.piece));
  };
  stage("CPU", pieces.cpu);
  stage("GPU", pieces.gpu);
  return text;
}

const char* why_no_pieces(const Problem& normal, const LinkInfo&) {
  if (normal.elements() == 0) return "there is nothing to move";
  if (normal.converts() && normal.values.rounding == Rounding::stochastic) {
    return "stochastic rounding counts through the whole result";
  }
  return nullptr;
}

std::shared_ptr<const Route> route_by(const Question& question, const Wire& wire) {
  const bool packs = wire.order != Wire::Order::as_it_lies;
  const bool into = question.link().into_gpu();
  if (question.normal.converts()) {
    const bool on_cpu = packs && wire.converted == into;
    // Without a stage of the CPU the wire has the type of the host's side.
    if (!packs && wire.converted == into) return nullptr;
    if (!may_convert(question.normal, question.link(), on_cpu)) return nullptr;
  }
  return Builder(question, wire).route();
}

}  // namespace cornerturn::plan::link
