#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "campaign/report.hpp"
#include "core/validate.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/engine.hpp"
#include "gpu/side.hpp"
#include "plan/planner.hpp"
#include "support/conversion.hpp"
#include "support/conversions.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"

namespace cornerturn::campaign {
namespace {

using cuda::check;
using test::alignment_of;
using test::Bytes;
using test::Side;

constexpr std::int64_t guard = 1024;

// Every third problem is planned for the GPU here with fewer SMs and a smaller L2, as a part of it
// that was made by MIG has.
plan::Machine machine_for(std::int64_t problem) {
  const plan::Machine& here = cuda::machine_of(cuda::current_device());
  if (problem % 3 != 2) return here;
  constexpr int sm_counts[] = {1, 2, 7, 14, 16, 26, 32, 60};
  plan::gpu::DeviceInfo part = *here.gpu();
  const int sms = sm_counts[problem / 3 % 8];
  part.l2_bytes = part.l2_bytes * sms / std::max(part.sm_count, 1);
  part.sm_count = sms;
  return plan::Machine(part, here.gpu_costs());
}

// Runs every candidate of the plan on a poisoned destination.
void run_all(Report& report, plan::Plan& plan, const Buffers& buffers, const Side& src,
             const Bytes& source, const Side& dst, const Bytes& poison, const Bytes& expected) {
  const plan::Candidates candidates = plan.candidates;
  for (const plan::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    dst.upload(poison);
    cuda::execute(plan, buffers, nullptr);
    check(cudaDeviceSynchronize(), "kernel");
    const Bytes got = dst.download();
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    ++report.runs[std::string(candidate.row->name)];
    if (wrong == expected.end()) continue;
    report.expect(false, std::string(candidate.row->name) + " (" +
                             describe(candidate, plan.normal) + ") for " +
                             std::to_string(plan.machine.gpu()->sm_count) + " SMs, " +
                             to_string(plan.problem) + ": differs first at byte " +
                             std::to_string(wrong - expected.begin()) + " of " +
                             std::to_string(expected.size()));
  }
  report.expect(src.download() == source, "the source has changed: " + to_string(plan.problem));
  ++report.problems;
}

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool is_over() const {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin_;
    return since.count() > seconds_;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double seconds_;
};

void move_one(Report& report, const Problem& problem, const plan::Machine& machine,
              std::int64_t src_phase, std::int64_t dst_phase) {
  Side src(src_reach(problem), src_phase, guard);
  Side dst(dst_reach(problem), dst_phase, guard);
  test::fill(src.host(), 1);
  const Bytes source = src.host();
  src.upload(source);
  test::fill(dst.host(), 2);  // gaps and guards
  test::reference_copy(problem, src.host_zero(), dst.host_zero());
  const Bytes expected = dst.host();
  for (std::byte& byte : src.host()) byte = ~byte;
  test::reference_copy(problem, src.host_zero(), dst.host_zero());
  plan::Plan plan =
      make_plan(problem, machine,
                {1, "", {true, alignment_of(src.gpu_zero()), alignment_of(dst.gpu_zero())}});
  run_all(report, plan, {dst.gpu_zero(), src.gpu_zero()}, src, source, dst, dst.host(), expected);
}

void convert_one(Report& report, const test::ConversionCase& c, const plan::Machine& machine,
                 std::int64_t src_phase, std::int64_t dst_phase) {
  const Problem& problem = c.problem;
  Side src(src_reach(problem), src_phase * problem.src_type.size(), guard);
  Side dst(dst_reach(problem), dst_phase * problem.dst_type.size(), guard);
  const auto values_of = [](ElementType type, Bytes& bytes, std::uint64_t seed) {
    test::fill_values(type.kind(), bytes.data(), static_cast<std::int64_t>(bytes.size()), seed);
  };
  values_of(problem.src_type, src.host(), 7);
  values_of(problem.dst_type, dst.host(), 99);
  const Bytes source = src.host();
  const Bytes before = dst.host();
  src.upload(source);
  test::reference_convert(c, src.host_zero(), dst.host_zero());
  const auto on_gpu = [](const std::vector<float>& numbers) {
    cuda::DeviceBuffer memory(static_cast<std::int64_t>((numbers.size() + 1) * sizeof(float)));
    check(cudaMemcpy(memory.get(), numbers.data(), numbers.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    return memory;
  };
  const cuda::DeviceBuffer scale = on_gpu(c.scale), bias = on_gpu(c.bias);
  const Vectors vectors{reinterpret_cast<const float*>(scale.get()),
                        reinterpret_cast<const float*>(bias.get())};
  plan::Plan plan =
      make_plan(problem, machine,
                {1, "", {true, alignment_of(src.gpu_zero()), alignment_of(dst.gpu_zero())}});
  run_all(report, plan, {dst.gpu_zero(), src.gpu_zero(), vectors}, src, source, dst, before,
          dst.host());
}

}  // namespace

Report moves(const Settings& settings) {
  Report report("random moves");
  test::RandomProblems random(settings.seed, {.max_rank = 12, .max_bytes = 100 << 10});
  test::RandomProblems small(settings.seed + 1, {.max_rank = 8, .max_bytes = 6 << 10});
  const Deadline deadline(settings.seconds);
  for (std::int64_t i = 0; report.problems < settings.problems && !deadline.is_over(); ++i) {
    const Problem problem = i % 4 == 0 ? random.next() : small.next();
    if (problem.elements() == 0) continue;
    move_one(report, problem, machine_for(i), random.chance(0.5) ? 0 : random.uniform(0, 255),
             random.chance(0.5) ? 0 : random.uniform(0, 255));
    if (report.wrong.size() >= 20) break;
  }
  return report;
}

Report conversions(const Settings& settings) {
  Report report("random conversions");
  test::RandomProblems random(settings.seed + 2, {.max_rank = 8, .max_bytes = 12 << 10});
  const Deadline deadline(settings.seconds);
  for (std::int64_t i = 0; report.problems < settings.problems / 4 && !deadline.is_over(); ++i) {
    const test::ConversionCase c = test::random_conversion(random);
    if (c.problem.elements() == 0) continue;
    convert_one(report, c, machine_for(i), random.chance(0.5) ? 0 : random.uniform(0, 31),
                random.chance(0.5) ? 0 : random.uniform(0, 31));
    if (report.wrong.size() >= 20) break;
  }
  return report;
}

}  // namespace cornerturn::campaign
