// Every rung of the ladder on a GPU, over the shared shapes: all elements compared bitwise, outputs
// poisoned, guard zones unharmed. `--gtest_filter=*LadderChecked*` is the list for
// compute-sanitizer, without guard zones: it sees the first byte beyond a matrix.
//   test_gpu [--skip-without-gpu] [GoogleTest's options]
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cornerturn/cornerturn.hpp"
#include "support/matrix_shapes.hpp"
#include "workshop/cuda/ladder.hpp"
#include "workshop/cuda/reference.hpp"

namespace cornerturn::cuda {
namespace {

using test::MatrixShape;

struct Offsets {
  int src = 0;
  int dst = 0;
};

// Runs every rung that takes the case; returns how many did.
int check_all(const MatrixShape& shape, int bytes, const Offsets& offsets, std::int64_t guard) {
  MeasureOptions options;
  options.time = false;
  options.src_offset = offsets.src;
  options.dst_offset = offsets.dst;
  options.guard_bytes = guard;
  LadderCase matrices(shape.rows, shape.cols, bytes, options);
  int run = 0;
  for (const RungInfo& rung : rungs()) {
    SCOPED_TRACE(rung.name + ", " + std::to_string(shape.rows) + " x " +
                 std::to_string(shape.cols) + " of " + std::to_string(bytes) + " B");
    try {
      const Measurement m = matrices.measure(rung.name);
      if (!m.why_not.empty()) continue;
      ++run;
      EXPECT_EQ(m.wrong, "");
      if (rung.family == "cuda") {
        EXPECT_EQ(m.occupancy.local_bytes, 0) << "bytes of stack, or spilled registers";
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  return run;
}

// Two matrices, and what the checks need beside them.
bool fits(const MatrixShape& shape, int bytes) {
  const std::int64_t needed = 2 * shape.rows * shape.cols * bytes + (std::int64_t{256} << 20);
  return needed <= device_info().free_bytes;
}

std::string name_of(const testing::TestParamInfo<std::tuple<int, MatrixShape>>& info) {
  const auto& [bytes, shape] = info.param;
  return std::to_string(shape.rows) + "x" + std::to_string(shape.cols) + "x" +
         std::to_string(bytes) + "B";
}

class LadderOnGpu : public testing::TestWithParam<std::tuple<int, MatrixShape>> {};

TEST_P(LadderOnGpu, EveryRung) {
  const auto& [bytes, shape] = GetParam();
  if (!fits(shape, bytes)) GTEST_SKIP() << "too little GPU memory";
  EXPECT_GE(check_all(shape, bytes, {}, 65536), 3);
}

INSTANTIATE_TEST_SUITE_P(Small, LadderOnGpu,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::ValuesIn(test::matrix_shapes)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, LadderOnGpu,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::ValuesIn(test::large_matrix_shapes)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Huge, LadderOnGpu,
                         testing::Combine(testing::Values(1, 4),
                                          testing::ValuesIn(test::huge_matrix_shapes)),
                         name_of);

class LadderAnywhere : public testing::TestWithParam<std::tuple<int, MatrixShape>> {};

TEST_P(LadderAnywhere, EveryRungFromAnyAddress) {
  const auto& [bytes, shape] = GetParam();
  for (const Offsets offsets : {Offsets{1, 0}, Offsets{0, 1}, Offsets{3, 3}}) {
    EXPECT_GE(check_all(shape, bytes, offsets, 65536), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, LadderAnywhere,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::Values(MatrixShape{64, 64},
                                                          MatrixShape{130, 258},
                                                          MatrixShape{512, 384})),
                         name_of);

class LadderChecked : public testing::TestWithParam<std::tuple<int, MatrixShape>> {};

TEST_P(LadderChecked, EveryRung) {
  const auto& [bytes, shape] = GetParam();
  EXPECT_GE(check_all(shape, bytes, {}, 0), 3);
}

INSTANTIATE_TEST_SUITE_P(Small, LadderChecked,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::Values(MatrixShape{1, 1}, MatrixShape{5, 7},
                                                          MatrixShape{1, 300}, MatrixShape{300, 1},
                                                          MatrixShape{33, 31}, MatrixShape{127, 65},
                                                          MatrixShape{144, 272})),
                         name_of);

// What the library makes of the same copy in host memory.
TEST(LadderConverts, AsGgmlCpy) {
  constexpr std::int64_t rows = 301, cols = 130;
  constexpr std::size_t count = rows * cols;
  const std::pair<ElementType, GgmlType> types[] = {
      {ElementType(Kind::f32), GgmlType::f32},
      {ElementType(Kind::f16), GgmlType::f16},
      {ElementType(Kind::bf16), GgmlType::bf16},
      {ElementType(Kind::i32), GgmlType::i32},
  };
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i % 40009) * 1.37F - 99;
  const GuardedMatrix in(count * 4, 256, 0, 0);
  const GuardedMatrix out(count * 4, 256, 0, 0);
  for (const auto& [src_type, src_ggml] : types) {
    const auto from = static_cast<std::size_t>(src_type.size());
    std::vector<std::byte> src(count * from);
    const Extents shape = {rows, cols};
    copy(View(src.data(), src_type, shape), ConstView(numbers.data(), types[0].first, shape));
    check(cudaMemcpy(in.data(), src.data(), src.size(), cudaMemcpyDefault), "cudaMemcpy");
    for (const auto& [dst_type, dst_ggml] : types) {
      const auto to = static_cast<std::size_t>(dst_type.size());
      std::vector<std::byte> expected(count * to), got(count * to);
      ggml_cpy({dst_ggml, {rows, cols, 1, 1}, {to, rows * to, 0, 0}, expected.data()},
               {src_ggml, {rows, cols, 1, 1}, {cols * from, from, 0, 0}, src.data()});
      for (const char* rung : {"cpy_flat", "cpy_transpose"}) {
        check(cudaMemset(out.data(), 0xA5, count * 4), "cudaMemset");
        run_converting_rung(rung, {in.data(), out.data(), rows, cols}, src_type, dst_type, 0,
                            nullptr);
        check(cudaMemcpy(got.data(), out.data(), got.size(), cudaMemcpyDefault), "cudaMemcpy");
        EXPECT_TRUE(got == expected)
            << rung << ", " << src_type.name() << " to " << dst_type.name();
      }
    }
  }
}

// 1 to 17 matrices: blocks of eight, a block that is not full, and one matrix in ggml's fused case.
TEST(LadderCheckedStacks, EveryRungThatTakesThem) {
  for (const Stack& stack : {Stack{1, true}, Stack{2, false}, Stack{8, false}, Stack{9, true},
                             Stack{17, false}, Stack{64, true}}) {
    for (const int bytes : {1, 2, 4}) {
      MeasureOptions options;
      options.time = false;
      options.guard_bytes = 0;
      LadderCase matrices(67, 35, bytes, options, stack);
      std::vector<std::string> taken;
      for (const RungInfo& rung : rungs()) {
        const Measurement m = matrices.measure(rung.name);
        if (!m.why_not.empty()) continue;
        taken.push_back(rung.name);
        EXPECT_EQ(m.wrong, "") << rung.name << ", " << stack.batch << " of " << bytes << " B"
                               << (stack.fused ? ", fused" : "");
      }
      EXPECT_EQ(taken, (std::vector<std::string>{"cpy_flat", "cpy_transpose"}));
    }
  }
}

TEST(LadderErrors, AStackIsRefusedWhereOneMatrixIsTaken) {
  LadderCase matrices(8, 8, 4, {}, {3, false});
  EXPECT_EQ(matrices.measure("smem").why_not, "it takes one matrix, not a stack of 3");
}

// The check itself, of kernels that do nothing, the wrong thing, or too much.
class LadderCheck : public testing::Test {
 protected:
  std::string difference_after(std::int64_t from, std::int64_t bytes) {
    poison(dst_, matrix_, true, nullptr);
    if (bytes > 0) {
      check(cudaMemcpy(dst_.data() + from, src_.data(), static_cast<std::size_t>(bytes),
                       cudaMemcpyDeviceToDevice),
            "cudaMemcpy");
    }
    return difference(src_, dst_, matrix_, true, nullptr);
  }
  void SetUp() override { fill_source(src_, 4, nullptr); }

  GuardedMatrix src_{33 * 35 * 4, 256, 0, 0};
  GuardedMatrix dst_{33 * 35 * 4, 256, 0, 0};
  DeviceMatrix matrix_{src_.data(), dst_.data(), 33, 35, 4};
};

TEST_F(LadderCheck, SeesWhatWasNeverWritten) {
  const std::string text = difference_after(0, 0);
  EXPECT_NE(text.find("output element (0, 0) was never written"), std::string::npos) << text;
  EXPECT_NE(text.find("1155 of 1155 elements differ"), std::string::npos) << text;
}
TEST_F(LadderCheck, SeesMatricesInTheWrongOrder) {
  // Three of 11 x 35, seen as three fused ones: rows come from other matrices.
  matrix_.rows = 11;
  matrix_.batch = 3;
  poison(dst_, matrix_, true, nullptr);
  run_rung("cpy_transpose", matrix_, 0, nullptr);
  EXPECT_EQ(difference(src_, dst_, matrix_, true, nullptr), "");
  matrix_.fused = true;
  EXPECT_NE(difference(src_, dst_, matrix_, true, nullptr), "");
}
TEST_F(LadderCheck, SeesACopyThatTransposesNothing) {
  const std::string text = difference_after(0, 33 * 35 * 4);
  EXPECT_NE(text.find("output element (0, 1) is 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("of source element (1, 0)"), std::string::npos) << text;
}
TEST_F(LadderCheck, SeesAByteBesideTheOutput) {
  EXPECT_EQ(difference_after(-4, 4),
            "the guard in front of the output was written to, first at "
            "its byte 252");
  EXPECT_EQ(difference_after(33 * 35 * 4, 4),
            "the guard behind the output was written to, first at its byte 0");
}

TEST(LadderErrors, NameTheArgument) {
  const auto status = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::make_pair(error.status(), std::string(error.what()));
    }
    return std::make_pair(Status::ok, std::string());
  };
  EXPECT_EQ(status([] { LadderCase(-1, 5, 4); }).second, "rows = -1 is negative");
  EXPECT_EQ(status([] { LadderCase(1, 5, 3); }).second, "element_bytes = 3 is none of 1, 2, 4, 8");
  EXPECT_EQ(status([] { LadderCase(std::int64_t{1} << 40, std::int64_t{1} << 40, 8); }).first,
            Status::overflow);
  EXPECT_EQ(status([] { LadderCase(std::int64_t{1} << 22, std::int64_t{1} << 22, 8); }).first,
            Status::out_of_memory);
  EXPECT_EQ(status([] { LadderCase(8, 8, 4).measure("no_such_rung"); }).first,
            Status::invalid_argument);
}

TEST(LadderTimes, ARungAndItsCopies) {
  MeasureOptions options;
  options.budget = 0.01;
  LadderCase matrices(1000, 1001, 4, options);
  const Measurement m = matrices.measure("smem_chunk_xor");
  EXPECT_TRUE(m.verified) << m.wrong;
  for (const Timing& timing : {m.cold, m.warm, m.copy_cold, m.copy_warm}) {
    EXPECT_GT(timing.seconds, 0);
    EXPECT_GE(timing.runs, options.min_runs);
  }
  EXPECT_GT(m.occupancy.blocks_per_sm, 0);
}

}  // namespace
}  // namespace cornerturn::cuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool skip = argc > 1 && std::strcmp(argv[1], "--skip-without-gpu") == 0;
  if (const auto why = cornerturn::cuda::why_no_gpu()) {
    std::printf("test_gpu: %s: %s\n", skip ? "skipped, no GPU" : "no GPU", why->c_str());
    return skip ? 0 : 1;
  }
  return RUN_ALL_TESTS();
}
