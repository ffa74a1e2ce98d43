#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "campaign/report.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/engine.hpp"
#include "gpu/side.hpp"
#include "plan/planner.hpp"
#include "support/shapes.hpp"
#include "workshop/cuda/strided_check.hpp"

namespace cornerturn::campaign {
namespace {

using cuda::check;
using cuda::DeviceBuffer;

bool fits(std::int64_t bytes) {
  std::size_t free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return bytes + (std::int64_t{1} << 30) < static_cast<std::int64_t>(free_bytes);
}

struct Large {
  test::Shape shape;
  int bytes;
};

const std::vector<Large>& large_shapes() {
  static const std::vector<Large> list = {
      {{"matrix, 2^31", {46349, 46351}, {1, 0}}, 1},
      {{"matrix, 2^32", {65537, 65539}, {1, 0}}, 1},
      {{"matrix, 2^31", {46349, 46351}, {1, 0}}, 4},
      {{"long matrix, 2^31", {32, 67108871}, {1, 0}}, 2},
      {{"flat, 2^32", {4294967311}, {0}}, 1},
      {{"to planes, 2^32", {3, 1431655777}, {1, 0}}, 1},
      {{"from planes, 2^32", {1431655777, 3}, {1, 0}}, 1},
      {{"rows, 2^32", {70001, 64, 967}, {1, 0, 2}}, 1},
      {{"padded rows, 2^31", {70001, 31, 1000}, {1, 0, 2}, 3, 5}, 1},
      {{"reversed axes, 2^32", {41, 64, 33, 50, 1000}, {4, 3, 2, 1, 0}}, 1},
      {{"batched 5 x 5, 2^31", {86000001, 5, 5}, {0, 2, 1}}, 1},
  };
  return list;
}

void run(Report& report, const Large& large) {
  const Problem problem = test::problem_of(large.shape, large.bytes);
  const std::int64_t src_bytes = src_reach(problem).high, dst_bytes = dst_reach(problem).high;
  const std::string name = large.shape.name + " of " + std::to_string(large.bytes) + " B";
  if (!fits(src_bytes + dst_bytes)) {
    report.skipped += (report.skipped.empty() ? "too little memory: " : ", ") + name;
    return;
  }
  const cuda::OwnStream stream;
  const DeviceBuffer src(src_bytes + 16), dst(dst_bytes + 64);
  cuda::fill_with_ordinary_values(src.get(), src_bytes, large.bytes, stream);
  const cuda::StridedCheck check_of(problem);
  plan::Plan plan = make_plan(problem, cuda::machine_of(cuda::current_device()), {1, "", {true}});
  const plan::Candidates candidates = plan.candidates;
  for (const plan::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    check_of.poison(dst.get(), dst_bytes + 64, stream);
    cuda::execute(plan, {dst.get(), src.get()}, stream);
    const std::string wrong = check_of.difference(dst.get(), dst_bytes + 64, stream);
    ++report.runs[std::string(candidate.row->name)];
    report.expect(wrong.empty(), name + " by " + std::string(candidate.row->name) + " (" +
                                     describe(candidate, plan.normal) + "): " + wrong);
  }
  ++report.problems;
}

}  // namespace

Report large_moves(const Settings&) {
  Report report("more than 2^31 elements");
  for (const Large& large : large_shapes()) run(report, large);
  return report;
}

// A source that repeats one period, whose conversion the host knows.
Report large_conversions(const Settings&) {
  Report report("more than 2^31 values converted");
  constexpr std::int64_t period = 1 << 20, count = (std::int64_t{1} << 31) + 3 * period + 12345;
  if (!fits(count * 6)) {
    report.skipped = "too little memory";
    return report;
  }
  std::vector<float> values(period);
  for (std::int64_t i = 0; i < period; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i * 7919 % 200003) / 3 - 30000;
  }
  const auto flat = [](std::int64_t elements) {
    Problem problem;
    problem.src_type = ElementType(Kind::f32);
    problem.dst_type = ElementType(Kind::f16);
    problem.modes = {{elements, 4, 2}};
    return problem;
  };
  const DeviceBuffer src(count * 4), dst(count * 2);
  check(cudaMemcpy(src.get(), values.data(), 4 * period, cudaMemcpyHostToDevice), "cudaMemcpy");
  for (std::int64_t done = period; done < count; done *= 2) {
    const auto bytes = static_cast<std::size_t>(4 * std::min(done, count - done));
    check(cudaMemcpy(src.get() + 4 * done, src.get(), bytes, cudaMemcpyDeviceToDevice),
          "cudaMemcpy");
  }
  test::Bytes expected(2 * period);
  copy(View(expected.data(), ElementType(Kind::f16), {period}),
       ConstView(values.data(), ElementType(Kind::f32), {period}));
  plan::Plan plan =
      make_plan(flat(count), cuda::machine_of(cuda::current_device()), {1, "", {true}});
  const plan::Candidates candidates = plan.candidates;
  test::Bytes got(expected.size());
  for (const plan::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    check(cudaMemset(dst.get(), 0xa5, static_cast<std::size_t>(2 * count)), "cudaMemset");
    cuda::execute(plan, {dst.get(), src.get()}, nullptr);
    std::int64_t wrong = 0;
    for (std::int64_t first = 0; first < count; first += period) {
      const auto bytes = static_cast<std::size_t>(2 * std::min(period, count - first));
      check(cudaMemcpy(got.data(), dst.get() + 2 * first, bytes, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
      wrong += std::memcmp(got.data(), expected.data(), bytes) != 0;
    }
    ++report.runs[std::string(candidate.row->name)];
    report.expect(wrong == 0, std::string(candidate.row->name) + ": " + std::to_string(wrong) +
                                  " periods differ");
  }
  ++report.problems;
  return report;
}

}  // namespace cornerturn::campaign
