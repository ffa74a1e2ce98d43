// Every kernel of the GPU engine in every configuration that the planner offers for the GPU that is
// here: all bytes compared, outputs poisoned with the complement of what belongs there, guard zones
// unharmed. `--gtest_filter=*EngineChecked*` is the list for compute-sanitizer: exact allocations,
// so that it sees the first byte beyond a side.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/engine.hpp"
#include "gpu/side.hpp"
#include "plan/planner.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"
#include "support/shapes.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using test::alignment_of;
using test::Bytes;
using test::fill;
using test::Side;

// What plans take the GPU for: as it is, or with an L2 that keeps nothing. Then they ask it for
// sectors that rows leave in part, as those of large arrays do.
enum class L2 { as_it_is, keeps_nothing };

plan::Machine machine_with(L2 l2) {
  const plan::Machine machine = cuda::machine_of(cuda::current_device());
  if (l2 == L2::as_it_is) return machine;
  plan::gpu::DeviceInfo device = *machine.gpu();
  device.l2_bytes = 0;
  return plan::Machine(device);
}

// Runs all candidates; returns how many there were.
int check_all(const Problem& problem, std::int64_t src_phase, std::int64_t dst_phase,
              std::int64_t guard, L2 l2 = L2::as_it_is) {
  if (problem.elements() == 0) return 0;
  Side src(src_reach(problem), src_phase, guard);
  Side dst(dst_reach(problem), dst_phase, guard);
  fill(src.host(), 1);
  src.upload(src.host());
  fill(dst.host(), 2);  // gaps and guards
  test::reference_copy(problem, src.host_zero(), dst.host_zero());
  const Bytes expected = dst.host();
  for (std::byte& byte : src.host()) byte = ~byte;
  test::reference_copy(problem, src.host_zero(), dst.host_zero());
  const Bytes& poison = dst.host();

  plan::Plan plan =
      make_plan(problem, machine_with(l2),
                {1, "", {true, alignment_of(src.gpu_zero()), alignment_of(dst.gpu_zero())}});
  const plan::Candidates candidates = plan.candidates;
  for (const plan::Candidate& candidate : candidates) {
    plan.choose(candidate, plan::Choice::forced);
    dst.upload(poison);
    cuda::execute(plan, {dst.gpu_zero(), src.gpu_zero()}, nullptr);
    check(cudaDeviceSynchronize(), "kernel");
    const Bytes got = dst.download();
    const auto wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    EXPECT_TRUE(wrong == expected.end())
        << candidate.row->name << ": " << describe(candidate, plan.normal) << "; "
        << to_string(problem) << ", phases " << src_phase << " and " << dst_phase
        << ", differs first at byte " << wrong - expected.begin() << " of " << expected.size();
  }
  return static_cast<int>(candidates.size());
}

TEST(EngineOnGpu, SharedShapes) {
  int runs = 0;
  for (const test::Shape& shape : test::shapes()) {
    for (const int size : {1, 2, 3, 4, 8, 16, 24}) {
      const Problem problem = test::problem_of(shape, size);
      for (const auto& [src, dst] : {std::pair{0, 0}, {size, 0}, {0, size}, {3, 5}}) {
        runs += check_all(problem, src, dst, 512);
        if (HasFailure()) FAIL() << shape.name << " of " << size << " B";
      }
    }
  }
  EXPECT_GT(runs, 5000);
}

TEST(EngineOnGpu, RandomProblems) {
  test::RandomProblems problems(77, {.max_rank = 12, .max_bytes = 200 << 10});
  int runs = 0;
  for (int i = 0; i < 1500; ++i) {
    const Problem problem = problems.next();
    runs += check_all(problem, problems.chance(0.5) ? 0 : problems.uniform(0, 31),
                      problems.chance(0.5) ? 0 : problems.uniform(0, 31), 512,
                      i % 2 == 0 ? L2::as_it_is : L2::keeps_nothing);
    if (HasFailure()) FAIL() << "problem " << i;
  }
  EXPECT_GT(runs, 5000);
}

// Pieces with gaps between them on either side, and rows that lie apart in shared memory.
TEST(EngineChecked, GapsAndRowsApart) {
  int runs = 0;
  for (const int size : {1, 2, 4, 8, 16}) {
    const ModeList some[] = {{{5, 1, 4003}, {4003, 7, 1}},
                             {{5, 4003, 1}, {4003, 1, 7}},
                             {{211, 9, 11 * 77}, {77, 9 * 211, 11}, {8, 1, 1}},
                             {{37, 6, 8 * 110}, {110, 37 * 6, 8}, {2, 1, 3}, {3, 2, 1}},
                             {{7, 1, 3001}, {3001, -9, 1}},
                             {{32, 1, 1201}, {1201, 32, 1}}};
    for (const ModeList& modes : some) {
      Problem problem;
      problem.src_type = problem.dst_type = ElementType::bytes(size);
      problem.modes = modes;
      for (Mode& mode : problem.modes) {
        mode.src_stride *= size;
        mode.dst_stride *= size;
      }
      for (const auto& [src, dst] : {std::pair{0, 0}, {size, 3 * size}}) {
        for (const L2 l2 : {L2::as_it_is, L2::keeps_nothing}) {
          runs += check_all(problem, src, dst, 512, l2);
        }
        if (HasFailure()) FAIL() << size << " B";
      }
    }
  }
  EXPECT_GT(runs, 400);
}

TEST(EngineChecked, RandomProblems) {
  test::RandomProblems problems(5, {.max_rank = 8, .max_bytes = 20 << 10});
  int runs = 0;
  for (int i = 0; i < 60; ++i) {
    runs += check_all(problems.next(), i % 3 == 0 ? problems.uniform(0, 15) : 0,
                      i % 3 == 1 ? problems.uniform(0, 15) : 0, 0,
                      i % 2 == 0 ? L2::as_it_is : L2::keeps_nothing);
    if (HasFailure()) FAIL() << "problem " << i;
  }
  EXPECT_GT(runs, 100);
}

TEST(EngineChecked, OneOfEachKind) {
  int runs = 0;
  for (const test::Shape& shape : test::shapes()) {
    const std::string& name = shape.name;
    if (name != "large odd" && name != "large aligned" && name != "images to planes" &&
        name != "images from planes" && name != "cube 29" && name != "attention heads" &&
        name != "batched 5 x 5" && name != "rows of 65") {
      continue;
    }
    for (const int size : {1, 2, 4, 8}) runs += check_all(test::problem_of(shape, size), 0, 0, 0);
  }
  EXPECT_GT(runs, 100);
}

}  // namespace
}  // namespace cornerturn
