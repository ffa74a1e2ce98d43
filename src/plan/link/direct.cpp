#include "plan/link/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "plan/gpu/gather.hpp"
#include "plan/gpu/list_rows.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/gpu/repeat.hpp"
#include "plan/gpu/rows.hpp"
#include "plan/gpu/skew.hpp"
#include "plan/link/few_blocks.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan::link::direct {
namespace {

// The longest run that both sides share, in bytes of the host's side.
std::int64_t shared_run(const Problem& normal, const LinkInfo& link) {
  const ElementType& element = link.into_gpu() ? normal.src_type : normal.dst_type;
  const int run = run_of(normal);
  return element.size() * (run < 0 ? 1 : normal.modes[run].extent);
}

// Do all runs of the host's side begin at multiples of 16 bytes?
bool begins_at_vectors(const Problem& normal, const Alignment& start, const LinkInfo& link) {
  constexpr std::int64_t vector = 16;
  const std::int64_t element = (link.into_gpu() ? normal.src_type : normal.dst_type).size();
  std::int64_t granule = std::gcd(vector, link.into_gpu() ? start.src : start.dst);
  for (const Mode& mode : normal.modes) {
    const std::int64_t stride = link.host_stride(mode);
    if (stride != element) granule = std::gcd(granule, stride);
  }
  return granule == vector;
}

template <class... Families>
bool is_one_of(const Row& row) {
  return ((row.name == Families::name) || ...);
}

// Kernels that are slower where the host's runs begin beside vectors.
bool moves_vectors(const Row& row, const LinkInfo& link) {
  return is_one_of<gpu::pack::Family, gpu::rows::Family>(row) ||
         (link.into_gpu() ? is_one_of<gpu::gather::Family>(row)
                          : is_one_of<gpu::skew::Family>(row));
}

// What lies in host memory has no cache on the GPU's side. Kernels that go along runs of bytes
// which both sides share pay for whole lines of the link where runs are shorter, and those that
// count on a cache otherwise are taken for half as fast. `skew` asks for less than a line at once:
// for words of 4 bytes where elements are no larger.
double rate_of(const Row& row, const Problem& normal, const Alignment& start,
               const LinkInfo& link) {
  constexpr std::int64_t sector = 32;
  constexpr std::int64_t word = 8;
  constexpr double line = 128;
  constexpr double least = 1.0 / 8;
  constexpr double beside_vectors = 0.75;
  const std::int64_t run = shared_run(normal, link);
  double share = 1;
  if (is_one_of<gpu::gather::Family, gpu::list_rows::Family, gpu::rows::Family>(row)) {
    share = std::clamp(static_cast<double>(run) / line, least, 1.0);
  } else if (link.into_gpu() && row.name == gpu::pack::Family::name && run < sector) {
    share = 0.5;
  } else if (link.into_gpu() && row.name == gpu::skew::Family::name) {
    share = normal.src_type.size() < word ? 0.45 : 0.85;
  }
  if (moves_vectors(row, link) && !begins_at_vectors(normal, start, link)) share *= beside_vectors;
  return link.kernel_rate() * share;
}

// The bytes that cross are those that the kernel moves on the host's side, in whole sectors. An
// element that the destination holds several times crosses as often, unless the kernel keeps it.
double bytes_of(const Candidate& candidate, const Problem& normal, const LinkInfo& link) {
  const Estimate& estimate = candidate.estimate;
  if (!link.into_gpu()) return estimate.dst_bytes;
  if (is_one_of<gpu::pack::Family, gpu::repeat::Family>(*candidate.row)) return estimate.src_bytes;
  return std::max(estimate.src_bytes,
                  static_cast<double>(normal.elements()) * normal.src_type.size());
}

double seconds_of(const Candidate& candidate, const Problem& normal, const Alignment& start,
                  const LinkInfo& link) {
  const Estimate& estimate = candidate.estimate;
  const double bytes = bytes_of(candidate, normal, link);
  return std::max(estimate.seconds, bytes / rate_of(*candidate.row, normal, start, link)) +
         link.gpu.link.latency;
}

// Few blocks have what they load on its way, half of the time.
double seconds_in_few_blocks(const Candidate& candidate, const Plan& plan, const Alignment& start,
                             const LinkInfo& link) {
  const double bytes = bytes_of(candidate, plan.normal, link);
  const double on_its_way = 0.5 * static_cast<double>(link.crossing.blocks) * bytes_of_block(plan);
  return std::max(seconds_of(candidate, plan.normal, start, link),
                  bytes * link.gpu.link.latency / on_its_way);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const LinkInfo& link) {
  if (normal.elements() == 0) return nullptr;
  if (!link.crossing.pinned) return "the GPU does not reach pageable memory";
  if (normal.lists != nullptr && link.crossing.blocks > 0) return "a list in so many blocks";
  if ((normal.scale.present || normal.bias.present) && !link.crossing.gpu_reaches_vectors) {
    return "the GPU does not reach the scale or the bias";
  }
  return nullptr;
}

void Family::configure(const Question& question, const AddRoute& add) {
  Problem problem = question.normal;
  problem.src_offset = 0;
  problem.dst_offset = 0;
  const Plan all = make_plan(problem, question.gpu(), {1, "", question.start});
  std::vector<const Row*> offered;
  std::vector<std::pair<double, const Candidate*>> ordered;
  const int blocks = question.link().crossing.blocks;
  for (const Candidate& one : all.candidates) {
    if (blocks > 0 && !runs_in_few_blocks(*one.row)) continue;
    // It would read back what it has written, over the link.
    const bool repeats = is_one_of<gpu::repeat::Family>(*one.row);
    if (repeats && !question.link().into_gpu()) continue;
    ordered.emplace_back(seconds_of(one, all.normal, question.start, question.link()), &one);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [seconds, candidate] : ordered) {
    const Row* row = candidate->row;
    const bool known = std::find(offered.begin(), offered.end(), row) != offered.end();
    if (blocks == 0 && known) continue;
    offered.push_back(row);
    auto plan = std::make_shared<Plan>(all);
    plan->candidates = {};
    plan->choose(*candidate, Choice::estimated);
    Route route{fmt::format("{}: {}", row->name, describe(*candidate, plan->normal)), seconds, plan,
                nullptr, blocks};
    if (blocks > 0) {
      route.words += fmt::format(", {} blocks", blocks);
      route.seconds = seconds_in_few_blocks(*candidate, *plan, question.start, question.link());
    }
    add(std::make_shared<const Route>(std::move(route)));
  }
}

}  // namespace cornerturn::plan::link::direct
