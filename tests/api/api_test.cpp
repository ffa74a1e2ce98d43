// The public C++ interface, linked as a user links it.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "cornerturn/cornerturn.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cornerturn {
namespace {

TEST(Api, TransposesAMatrix) {
  std::vector<float> src(300 * 500);
  std::iota(src.begin(), src.end(), 0.0f);
  std::vector<float> dst(src.size(), -1.0f);
  transpose(dst.data(), src.data(), 300, 500);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 500; ++j) ASSERT_EQ(dst[j * 300 + i], src[i * 500 + j]);
  }
}

TEST(Api, PermutesLikeNumpy) {
  std::vector<std::int16_t> src(2 * 3 * 4 * 5);
  std::iota(src.begin(), src.end(), std::int16_t{0});
  std::vector<std::int16_t> dst(src.size());
  permute(dst.data(), view(static_cast<const std::int16_t*>(src.data()), {2, 3, 4, 5}),
          {3, 1, 0, 2});
  std::size_t at = 0;
  for (int d = 0; d < 5; ++d) {
    for (int b = 0; b < 3; ++b) {
      for (int a = 0; a < 2; ++a) {
        for (int c = 0; c < 4; ++c) {
          ASSERT_EQ(dst[at++], src[static_cast<std::size_t>(((a * 3 + b) * 4 + c) * 5 + d)]);
        }
      }
    }
  }
}

template <class Integer>
void extents_of() {
  const Integer rows = 3, columns = 5;
  std::vector<float> src(15);
  std::iota(src.begin(), src.end(), 0.0f);
  std::vector<float> packed(src.size()), strided(src.size());
  permute(packed.data(), view(src.data(), {rows, columns}), {1, 0});
  copy(view(strided.data(), {columns, rows}),
       view(src.data(), {columns, rows}, {Integer{1}, columns}));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 5; ++j) ASSERT_EQ(packed[j * 3 + i], src[i * 5 + j]);
  }
  EXPECT_EQ(strided, packed);
}

TEST(Api, ExtentsMayHaveAnyIntegralType) {
  extents_of<std::size_t>();
  extents_of<std::int64_t>();
  extents_of<int>();
  extents_of<unsigned>();
  extents_of<std::uint8_t>();
  float value = 0;
  const std::size_t too_many = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(permute(&value, view(&value, {too_many, too_many}), {1, 0}), Error);
}

TEST(Api, CopiesBetweenAnyViews) {
  // Every second column, mirrored, into a window of a wider array.
  std::vector<double> src(6 * 8);
  std::iota(src.begin(), src.end(), 0.0);
  std::vector<double> dst(4 * 10, -1.0);
  copy(view(dst.data() + 3, {4, 6}, {10, 1}),
       view(static_cast<const double*>(src.data()) + 6, {4, 6}, {-2, 8}));
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 10; ++j) {
      const bool inside = j >= 3 && j < 9;
      ASSERT_EQ(dst[i * 10 + j], inside ? src[(j - 3) * 8 + 6 - 2 * i] : -1.0);
    }
  }
}

TEST(Api, ConvertsOnTheWay) {
  std::vector<float> src(30 * 50);
  std::iota(src.begin(), src.end(), 0.0F);
  std::vector<std::uint16_t> dst(src.size());
  transpose(dst.data(), ElementType(Kind::bf16), src.data(), 30, 50, ElementType(Kind::f32));
  EXPECT_EQ(dst[1], 0x4248);       // 50
  EXPECT_EQ(dst[30 + 2], 0x42ca);  // 101
}

TEST(Api, SwapsBytesOnTheWay) {
  const ElementType i32(Kind::i32), f32(Kind::f32);
  std::int32_t src[6];
  for (int i = 0; i < 6; ++i) {
    src[i] = static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(i * 100'000)));
  }
  float values[6] = {};
  transpose(values, f32, src, 2, 3, i32.swapped());
  EXPECT_EQ(values[1], 300'000);
  EXPECT_EQ(values[4], 200'000);
  std::int32_t native[6] = {};
  transpose(native, i32, src, 2, 3, i32.swapped());
  EXPECT_EQ(native[5], 500'000);
  std::uint32_t back[6] = {};
  transpose(back, f32.swapped(), values, 3, 2, f32);
  EXPECT_EQ(__builtin_bit_cast(float, __builtin_bswap32(back[1])), 100'000);
  // Elements of one swapped type are moved as they are.
  std::int32_t moved[6] = {};
  transpose(moved, i32.swapped(), src, 2, 3, i32.swapped());
  EXPECT_EQ(moved[5], src[5]);
  const Plan plan = make_plan(View(nullptr, f32.swapped(), {64, 64}),
                              ConstView(nullptr, f32, {64, 64}).permuted({1, 0}));
  EXPECT_NE(plan.to_string().find("f32 to " + f32.swapped().name()), std::string::npos);
}

TEST(Api, ScalesAndAdds) {
  const std::vector<float> src = {1, 2, 3, 4, 5, 6};
  std::vector<std::int8_t> dst(6, 100);
  const std::vector<float> scale = {10, 20};
  const std::vector<float> bias = {0, 0.5F, 1};
  Epilogue epilogue;
  epilogue.alpha = 2;
  epilogue.scale = scale.data();
  epilogue.scale_mode = 1;  // the result is 3 x 2
  epilogue.bias = bias.data();
  epilogue.bias_mode = 0;
  epilogue.overflow = Overflow::saturate;
  transpose(dst.data(), src.data(), 2, 3, epilogue);
  EXPECT_EQ(dst, (std::vector<std::int8_t>{20, 127, 40, 127, 61, 127}));
  epilogue.overflow = Overflow::standard;
  epilogue.beta = 1;
  transpose(dst.data(), src.data(), 2, 3, epilogue);
  EXPECT_EQ(dst, (std::vector<std::int8_t>{40, 31, 80, 71, 122, 112}));
}

TEST(Api, APlanTakesItsVectorsWhenItRuns) {
  const std::vector<float> src = {1, 2, 3};
  std::vector<double> dst(3);
  Epilogue epilogue;
  epilogue.scale_mode = 0;
  const Plan plan =
      make_plan(view<double>(nullptr, {3}), view<const float>(nullptr, {3}), epilogue);
  try {
    execute(plan, dst.data(), src.data());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "epilogue.scale = null, but the problem was made with one");
  }
  const std::vector<float> scale = {2, 3, 4};
  epilogue.scale = scale.data();
  execute(plan, dst.data(), src.data(), epilogue);
  EXPECT_EQ(dst, (std::vector<double>{2, 6, 12}));
}

TEST(Api, APlanRunsOnAnyPointers) {
  std::vector<int> src(70 * 90);
  std::iota(src.begin(), src.end(), 0);
  const ConstView from = view(static_cast<const int*>(src.data()), {70, 90}).permuted({1, 0});
  std::vector<int> dst(src.size() + 1);
  const Plan plan = make_plan(view(dst.data(), {90, 70}), from);
  EXPECT_EQ(plan, make_plan(view(dst.data(), {90, 70}), from));
  EXPECT_EQ(plan.bytes(), 70 * 90 * 4);
  EXPECT_FALSE(plan.kernel().empty());
  EXPECT_NE(plan.explain().find(plan.kernel()), std::string::npos);
  for (const int shift : {0, 1}) {
    std::fill(dst.begin(), dst.end(), -1);
    execute(plan, dst.data() + shift, src.data());
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t j = 0; j < 90; ++j) {
        ASSERT_EQ(dst[static_cast<std::size_t>(shift) + j * 70 + i], src[i * 90 + j]);
      }
    }
  }
}

TEST(Api, KernelsCanBeForced) {
  std::vector<int> src(64 * 64, 7);
  std::vector<int> dst(src.size());
  Options options;
  options.kernel = "gather";
  const ConstView from = view(static_cast<const int*>(src.data()), {64, 64}).permuted({1, 0});
  EXPECT_EQ(make_plan(view(dst.data(), {64, 64}), from, options).kernel(), "gather");
  options.kernel = "nothing";
  EXPECT_THROW(copy(view(dst.data(), {64, 64}), from, options), Error);
  ASSERT_EQ(setenv("CORNERTURN_KERNEL", "gather", 1), 0);
  EXPECT_EQ(make_plan(view(dst.data(), {64, 64}), from).kernel(), "gather");
  ASSERT_EQ(unsetenv("CORNERTURN_KERNEL"), 0);
}

TEST(Api, EmptyArraysMayHaveAnyOtherExtents) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  float nothing = 1;
  permute(&nothing, view(static_cast<const float*>(&nothing), {0, most, most}), {2, 0, 1});
  permute(&nothing, view(static_cast<const float*>(&nothing), {most, most, 0}), {2, 0, 1});
  EXPECT_EQ(nothing, 1);
}

TEST(Api, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &wrong] {
      for (std::int64_t round = 0; round < 30; ++round) {
        const std::int64_t rows = 50 + 7 * t + round;
        const std::int64_t columns = 90 + round;
        std::vector<int> src(static_cast<std::size_t>(rows * columns));
        std::iota(src.begin(), src.end(), t);
        std::vector<int> dst(src.size());
        transpose(dst.data(), src.data(), rows, columns);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            wrong += dst[static_cast<std::size_t>(j * rows + i)] !=
                     src[static_cast<std::size_t>(i * columns + j)];
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Api, MoreThan2To31Elements) {
#if defined(CORNERTURN_ASAN) || defined(CORNERTURN_TSAN)
  GTEST_SKIP() << "a sanitizer needs a minute, or five times the memory";
#endif
  const std::int64_t rows = 46349;
  const std::int64_t columns = 46351;  // 2^31 + 0.03 %
  const auto total = static_cast<std::size_t>(rows * columns);
  std::vector<std::uint8_t> src(total);
  for (std::size_t i = 0; i < total; ++i) src[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
  std::vector<std::uint8_t> dst(total);
  transpose(dst.data(), src.data(), rows, columns);
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < columns; j += 97) {
    for (std::int64_t i = 0; i < rows; ++i) {
      wrong += dst[static_cast<std::size_t>(j * rows + i)] !=
               src[static_cast<std::size_t>(i * columns + j)];
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(dst.back(), src.back());
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Api, PlansAreMadeForDescribedDevices) {
  const Extents shape = {4096, 8192};
  Options options;
  options.device = "h200";
  const auto plan_for = [&](const char* device) {
    options.device = device;
    return make_plan(View(nullptr, ElementType(Kind::f16), {8192, 4096}),
                     ConstView(nullptr, ElementType(Kind::f16), shape).permuted({{1, 0}}), options);
  };
  const Plan plan = plan_for("h200");
  EXPECT_EQ(plan.device(), "NVIDIA H200");
  EXPECT_EQ(plan.threads(), 0);
  EXPECT_EQ(plan.bytes(), 4096 * 8192 * 2);
  // The bytes cannot be moved in less time than the memory needs for them.
  EXPECT_GT(plan.predicted_seconds(), 2.0 * 4096 * 8192 * 2 / 4.3e12);
  EXPECT_LT(plan.predicted_seconds(), 1e-3);
  EXPECT_NE(plan.to_string().find("NVIDIA H200"), std::string::npos);
  EXPECT_NE(plan.explain().find(plan.why()), std::string::npos);
  EXPECT_NE(plan.to_json().find("\"NVIDIA H200\""), std::string::npos);
  EXPECT_EQ(plan, plan_for("H200"));
  EXPECT_FALSE(plan == plan_for("a100"));
  EXPECT_GT(plan_for("a100").predicted_seconds(), plan.predicted_seconds());
  EXPECT_EQ(plan_for("cpu").device(), "cpu");
  EXPECT_FALSE(plan == plan_for("cpu"));
  options.kernel = "gather";
  EXPECT_EQ(plan_for("h200").kernel(), "gather");
}

TEST(Api, DescribedDevicesRunNothing) {
  std::vector<int> src(64 * 64, 7);
  std::vector<int> dst(src.size(), 3);
  Options options;
  options.device = "h200";
  const auto from = view(static_cast<const int*>(src.data()), {64, 64}).permuted({{1, 0}});
  const auto to = view(dst.data(), {64, 64});
  EXPECT_EQ(message_of([&] { copy(to, from, options); }),
            "options.device = 'h200' is a described GPU: plans can be made for it, but not run");
  const Plan plan = make_plan(to, from, options);
  EXPECT_EQ(
      message_of([&] { execute(plan, dst.data(), src.data()); }),
      "plan: it was made for a described NVIDIA H200: only plans for a device that is here can "
      "be run");
  options.effort = Effort::measure;
  EXPECT_EQ(message_of([&] { make_plan(to, from, options); }),
            "options.effort = measure, but options.device = 'h200' is only described: it cannot be "
            "timed");
  options = Options();
  options.device = "h300";
  EXPECT_EQ(message_of([&] { make_plan(to, from, options); }).find("options.device = 'h300' is no"),
            0u);
  EXPECT_EQ(dst, std::vector<int>(dst.size(), 3));
}

TEST(Api, HostPointersBelongToTheCpu) {
  std::vector<int> src(6, 7);
  std::vector<int> dst(6, 3);
  Options options;
  options.device = "gpu";
  const std::string message = message_of([&] { transpose(dst.data(), src.data(), 2, 3, options); });
  EXPECT_NE(message.find("is host memory, options.device = 'gpu' needs the GPU's memory"),
            std::string::npos)
      << message;
  EXPECT_EQ(dst, std::vector<int>(6, 3));
  options.device = "cpu";
  transpose(dst.data(), src.data(), 2, 3, options);
  EXPECT_EQ(dst, src);
}

TEST(Api, AStrideOfTheLeastNumberOverflows) {
  const std::uint8_t src[2] = {1, 2};
  std::uint8_t dst[2] = {7, 7};
  const ElementType u8(Kind::u8);
  try {
    copy(View(dst, u8, {2}, {1}), ConstView(src, u8, {2}, {INT64_MIN}));
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::overflow);
  }
  EXPECT_EQ(dst[1], 7);
}

TEST(Api, VectorsInTheDestinationAreRefused) {
  const std::vector<float> src(64 * 64, 3.0F);
  std::vector<float> dst(64 * 64, 2.0F);
  Epilogue scaled, biased;
  scaled.scale = dst.data() + 4000;
  scaled.scale_mode = 0;
  biased.bias = dst.data();
  EXPECT_NE(message_of([&] {
              transpose(dst.data(), src.data(), 64, 64, scaled);
            }).find("epilogue.scale = "),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              transpose(dst.data(), src.data(), 64, 64, biased);
            }).find(" overlaps dst = "),
            std::string::npos);
  EXPECT_EQ(dst, std::vector<float>(64 * 64, 2.0F));
}

// One thread, one shape: the plan of the call before is not taken.
TEST(Api, AFactorOfMinusZeroIsAnotherProblem) {
  const std::vector<float> src(32 * 32, 3.0F);
  std::vector<float> dst(32 * 32);
  Epilogue epilogue;
  for (const double alpha : {0.0, -0.0, 0.0}) {
    epilogue.alpha = alpha;
    transpose(dst.data(), src.data(), 32, 32, epilogue);
    EXPECT_EQ(std::signbit(dst[5]), std::signbit(alpha));
  }
}

#if defined(__SSE2__)
// A thread that flushes denormals or rounds upwards gets the same bits as all others, and does not
// change what the workers of later calls do.
TEST(Api, TheCallersFloatingPointEnvironmentDoesNotCount) {
  constexpr std::int64_t n = 1500;
  const std::vector<float> src(n * n, 1e-40F);
  const auto converted = [&](int threads) {
    std::vector<double> dst(n * n);
    transpose(dst.data(), src.data(), n, n, Epilogue(), {.threads = threads});
    return dst;
  };
  const std::vector<double> expected(n * n, static_cast<double>(1e-40F));
  std::thread([&] {
    const unsigned mine = _mm_getcsr() | 0x8040U | 0x4000U;  // flushes, and rounds upwards
    _mm_setcsr(mine);
    for (const int threads : {1, 2}) EXPECT_EQ(converted(threads), expected) << threads;
    EXPECT_EQ(_mm_getcsr() & 0xffc0U, mine & 0xffc0U);
  }).join();
  for (const int threads : {1, 2}) EXPECT_EQ(converted(threads), expected) << threads;
}

// Every pair of types is converted by a plain loop and by the kernel that is chosen, as they are
// and scaled.
TEST(Api, NorDoesItOfAnyConversion) {
  constexpr std::int64_t n = 96;
  const Kind kinds[] = {Kind::f32, Kind::f16, Kind::bf16, Kind::f8_e5m2, Kind::f8_e4m3,
                        Kind::f64, Kind::i8,  Kind::i32,  Kind::i64};
  constexpr unsigned usual = 0x1f80U, flushes = 0x8040U, upwards = 0x4000U;
  const unsigned before = _mm_getcsr();
  for (const Kind from : kinds) {
    const ElementType src_type(from);
    std::vector<std::uint8_t> src(static_cast<std::size_t>(n * n * src_type.size()));
    std::uint64_t state = 3;
    for (std::size_t i = 0; i < src.size(); ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      src[i] = static_cast<std::uint8_t>(state >> 56);
      // The last bytes of small values are zero: denormals, as a third of all.
      if (i / static_cast<std::size_t>(src_type.size()) % 3 == 0 &&
          i % static_cast<std::size_t>(src_type.size()) + 2 >=
              static_cast<std::size_t>(src_type.size())) {
        src[i] &= 1;
      }
    }
    for (const Kind to : kinds) {
      const ElementType dst_type(to);
      for (const double alpha : {1.0, 0.75}) {
        Epilogue epilogue;
        epilogue.alpha = alpha;
        const auto converted = [&](unsigned control, const char* kernel, int threads) {
          std::vector<std::uint8_t> dst(static_cast<std::size_t>(n * n * dst_type.size()));
          _mm_setcsr(control);
          transpose(dst.data(), dst_type, src.data(), n, n, src_type, epilogue,
                    {.threads = threads, .kernel = kernel});
          _mm_setcsr(before);
          return dst;
        };
        const auto expected = converted(usual, "gather", 1);
        for (const unsigned control : {usual | flushes, usual | upwards}) {
          for (const char* kernel : {"gather", ""}) {
            EXPECT_EQ(converted(control, kernel, 1), expected)
                << src_type.name() << " to " << dst_type.name() << " alpha " << alpha << " '"
                << kernel << "' " << control;
          }
          EXPECT_EQ(converted(control, "", 2), expected);
        }
      }
    }
  }
}
#endif

TEST(Api, VersionMatchesTheHeaders) {
  EXPECT_STREQ(version(), CORNERTURN_VERSION);
}

}  // namespace
}  // namespace cornerturn
