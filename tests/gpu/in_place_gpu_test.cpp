// Permutations within an array on the GPU that is here: all bytes compared, guards unharmed. The
// workspace is the caller's, or comes from the stream's pool.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "core/in_place.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cornerturn/in_place.hpp"
#include "cuda/backend.hpp"
#include "cuda/check.hpp"
#include "cuda/engine.hpp"
#include "gpu/side.hpp"
#include "plan/planner.hpp"
#include "support/reference.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using test::Bytes;
using test::fill;
using test::Side;

// The array before and after, with what lies around it.
struct Expected {
  Bytes before;
  Bytes after;
};

Expected expected_of(const Problem& problem, Side& side) {
  fill(side.host(), 7);
  Expected expected{side.host(), {}};
  Bytes source = side.host();
  std::byte* const start = side.host().data();
  const std::byte* const zero = source.data() + (side.host_zero() - start);
  test::reference_copy(problem, zero, side.host_zero());
  expected.after = side.host();
  return expected;
}

Extents packed(const Extents& shape, std::int64_t element) {
  Extents strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; element *= shape[i]) strides[i] = element;
  return strides;
}

void expect_permuted(const ElementType& type, const Extents& shape, const Extents& strides,
                     const std::vector<int>& axes, std::int64_t phase, bool own_workspace) {
  const View described(nullptr, type, shape, strides);
  const Problem problem = in_place::problem_in_place(described, axes).problem;
  Side side(dst_reach(problem), phase, 512);
  const Expected expected = expected_of(problem, side);
  side.upload(expected.before);
  const View view(side.gpu_zero(), type, shape, strides);
  if (own_workspace) {
    const std::int64_t aligned = test::alignment_of(view.data);
    const plan::Plan plan = make_plan(problem, cuda::machine_of(cuda::current_device()),
                                      {1, "", {true, aligned, aligned}});
    const cuda::DeviceBuffer workspace(plan.workspace() + 16);
    Buffers buffers{view.data, view.data};
    buffers.workspace = workspace.get();
    cuda::execute(plan, buffers, nullptr);
    check(cudaDeviceSynchronize(), "kernel");
  } else {
    permute_in_place(view, axes);
    check(cudaDeviceSynchronize(), "kernel");
  }
  const Bytes got = side.download();
  const auto wrong = std::mismatch(expected.after.begin(), expected.after.end(), got.begin()).first;
  EXPECT_TRUE(wrong == expected.after.end())
      << to_string(problem) << ", phase " << phase << ", differs first at byte "
      << wrong - expected.after.begin() << " of " << got.size();
}

void expect_permuted(int element, const Extents& shape, const std::vector<int>& axes) {
  const ElementType type = ElementType::bytes(element);
  expect_permuted(type, shape, packed(shape, element), axes, 0, true);
  expect_permuted(type, shape, packed(shape, element), axes, element < 16 ? element : 0, false);
}

TEST(InPlaceOnGpu, SquaresAndBatches) {
  for (const int element : {1, 2, 3, 4, 8, 12, 16, 24, 48, 256}) {
    for (const std::int64_t n : {2, 31, 64, 129, 256, 1000}) {
      if (n * n * element > (8 << 20)) continue;
      expect_permuted(element, {n, n}, {1, 0});
      if (n < 200) expect_permuted(element, {5, n, n}, {0, 2, 1});
      if (n < 100) expect_permuted(element, {n, 3, n}, {2, 1, 0});
      if (HasFailure()) FAIL() << n << " x " << n << " of " << element;
    }
  }
}

TEST(InPlaceOnGpu, Pitches) {
  for (const int element : {1, 2, 4, 8, 16}) {
    const std::int64_t e = element;
    const ElementType type = ElementType::bytes(element);
    for (const auto& [n, pitch] : {std::pair{192, 256}, {150, 151}, {64, 80}}) {
      expect_permuted(type, {n, n}, {pitch * e, e}, {1, 0}, 0, true);
      expect_permuted(type, {3, n, n}, {pitch * n * e + 64 * e, pitch * e, e}, {0, 2, 1}, 0, false);
    }
  }
}

TEST(InPlaceOnGpu, RowsAndColumnsOfAnyNumber) {
  for (const int element : {1, 2, 3, 4, 8, 16, 40}) {
    for (const auto& [rows, columns] : {std::pair{2, 3},
                                        {1, 77},
                                        {1024, 512},
                                        {4096, 256},
                                        {1009, 757},
                                        {1021, 1024},
                                        {100000, 3},
                                        {5, 65537},
                                        {64, 9973},
                                        {2048, 1536}}) {
      if (std::int64_t{rows} * columns * element > (24 << 20)) continue;
      expect_permuted(element, {rows, columns}, {1, 0});
      if (HasFailure()) FAIL() << rows << " x " << columns << " of " << element;
    }
  }
}

TEST(InPlaceOnGpu, PermutationsOfAnyRank) {
  for (const int element : {1, 2, 4, 8}) {
    expect_permuted(element, {8, 60, 70, 3}, {0, 3, 1, 2});
    expect_permuted(element, {1000, 24, 17}, {0, 2, 1});
    expect_permuted(element, {12, 20, 30, 14}, {3, 1, 0, 2});
    expect_permuted(element, {7, 500, 700}, {0, 2, 1});
  }
}

TEST(InPlaceChecked, OneOfEachKind) {  // for compute-sanitizer
  expect_permuted(4, {130, 130}, {1, 0});
  expect_permuted(4, {50, 24, 17}, {0, 2, 1});
  expect_permuted(4, {301, 211}, {1, 0});
  expect_permuted(1, {600, 500}, {1, 0});
}

}  // namespace
}  // namespace cornerturn
