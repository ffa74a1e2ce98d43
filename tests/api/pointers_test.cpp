// Which pointers the public functions take, on a machine without a GPU: a stand-in for the driver
// says what lies where. None of this memory may be touched, so it is without any access rights.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/mman.h>

#include <functional>
#include <string>
#include <vector>

#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

constexpr std::size_t size = 1 << 16;

class Pointers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Before there is a driver, all is the host's.
    std::vector<float> src(12, 1.0F), dst(12);
    transpose(dst.data(), src.data(), 3, 4);
    ASSERT_EQ(dst, src);

    void* driver = dlopen(CORNERTURN_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(driver, nullptr) << dlerror();
    memory = reinterpret_cast<decltype(memory)>(dlsym(driver, "fake_memory"));
    state = reinterpret_cast<decltype(state)>(dlsym(driver, "fake_state"));
    gpu0 = reserved(0, 0);
    other0 = reserved(0, 0);
    gpu1 = reserved(1, 0);
    managed = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memory(managed, size, 0, 1);
  }

  static char* reserved(int device, int is_managed) {
    void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory(at, size, device, is_managed);
    return static_cast<char*>(at);
  }

  void TearDown() override { state(0, 0); }

  static std::string refusal(Status status, const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.status()), static_cast<int>(status)) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }
  static void turn(void* dst, const void* src, const Options& options = {}) {
    transpose(dst, src, 30, 40, ElementType(Kind::f32), options);
  }
  static std::string text(const void* pointer) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%p", pointer);
    return buffer;
  }

  static inline void (*memory)(void*, std::size_t, int, int) = nullptr;
  static inline void (*state)(int, int) = nullptr;
  static inline char *gpu0, *other0, *gpu1, *managed;
  std::vector<char> host = std::vector<char>(size, 7);
};

TEST_F(Pointers, OfBothSidesNeedAGpu) {
  for (const char* gpu : {gpu0, managed}) {
    for (const bool into : {false, true}) {
      void* dst = into ? const_cast<char*>(gpu) : host.data();
      const void* src = into ? host.data() : gpu;
      const std::string message = refusal(Status::unsupported, [&] { turn(dst, src); });
      EXPECT_EQ(message.find("no GPU: "), 0U) << message;
    }
  }
  EXPECT_EQ(host, std::vector<char>(size, 7));
}

TEST_F(Pointers, OfBothSidesOnADeviceThatWasNamed) {
  Options options;
  options.device = "cpu";
  EXPECT_EQ(
      refusal(Status::invalid_argument, [&] { turn(gpu0, host.data(), options); }),
      "dst = " + text(gpu0) + " is memory of GPU 0, options.device = 'cpu' needs host memory");
  options.device = "gpu";
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { turn(gpu0, host.data(), options); }),
            "src = " + text(host.data()) +
                " is host memory, options.device = 'gpu' needs the GPU's memory");
  EXPECT_EQ(
      refusal(Status::invalid_argument, [&] { turn(gpu1, host.data()); }),
      "dst = " + text(gpu1) +
          " is memory of GPU 1, the current one is GPU 0: cudaSetDevice(1) has to come first");
}

TEST_F(Pointers, OfAnotherGpuAreRefused) {
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { turn(gpu0, gpu1); }),
            "dst = " + text(gpu0) + " is memory of GPU 0, src = " + text(gpu1) +
                " is memory of GPU 1: both have to lie on one GPU");
  state(1, 0);
  EXPECT_EQ(
      refusal(Status::invalid_argument, [&] { turn(gpu0, other0); }),
      "dst = " + text(gpu0) +
          " is memory of GPU 0, the current one is GPU 1: cudaSetDevice(0) has to come first");
}

TEST_F(Pointers, OfTheGpuAreNeverTakenForTheHosts) {
  for (const void* src : {other0, managed}) {
    const std::string message = refusal(Status::unsupported, [&] { turn(gpu0, src); });
    EXPECT_EQ(message.find("no GPU: "), 0U) << message;
  }
  const ct_status status = ct_transpose(gpu0, other0, 30, 40, "f32", nullptr);
  EXPECT_EQ(status, CT_UNSUPPORTED);
  EXPECT_EQ(std::string(ct_last_error()).find("no GPU: "), 0U);
}

TEST_F(Pointers, OfAmax) {
  const ElementType f32(Kind::f32), e4m3(Kind::f8_e4m3);
  for (const void* src : {gpu0, managed}) {
    const std::string message =
        refusal(Status::unsupported, [&] { amax(ConstView(src, f32, {30})); });
    EXPECT_EQ(message.find("no GPU: "), 0U) << message;
  }
  EXPECT_EQ(
      refusal(Status::invalid_argument, [&] { amax(ConstView(gpu1, f32, {30})); }),
      "src = " + text(gpu1) +
          " is memory of GPU 1, the current one is GPU 0: cudaSetDevice(1) has to come first");
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { amax(ConstView(gpu0 + 2, f32, {3}, {8})); }),
            "src: data = " + text(gpu0 + 2) +
                ", strides = (8): on a GPU elements of f32 lie at multiples of 4 bytes");
  const int64_t shape[] = {30};
  const ct_const_view src = {gpu0, "f32", 1, shape, nullptr};
  double found = 0;
  EXPECT_EQ(ct_amax_on(&found, &src, 0, nullptr), CT_UNSUPPORTED);
  EXPECT_EQ(std::string(ct_last_error()).find("no GPU: "), 0U);
}

TEST_F(Pointers, OfQuantiseTensor) {
  const ElementType f32(Kind::f32), e4m3(Kind::f8_e4m3);
  const auto quantised = [&](void* dst, const void* src) {
    return [=] { quantise_tensor(View(dst, e4m3, {30}), ConstView(src, f32, {30})); };
  };
  EXPECT_EQ(
      refusal(Status::invalid_argument, quantised(host.data(), gpu0)),
      "dst = " + text(host.data()) + " is host memory, src = " + text(gpu0) +
          " is memory of GPU 0: the arrays of this call have to lie in one memory; copy() brings "
          "them there");
  EXPECT_EQ(
      refusal(Status::invalid_argument, quantised(gpu0, host.data())),
      "src = " + text(host.data()) + " is host memory, dst = " + text(gpu0) +
          " is memory of GPU 0: the arrays of this call have to lie in one memory; copy() brings "
          "them there");
  EXPECT_EQ(refusal(Status::invalid_argument, quantised(gpu0, gpu1)),
            "dst = " + text(gpu0) + " is memory of GPU 0, src = " + text(gpu1) +
                " is memory of GPU 1: both have to lie on one GPU");
  const std::string message = refusal(Status::unsupported, quantised(gpu0, other0));
  EXPECT_EQ(message.find("no GPU: "), 0U) << message;
  EXPECT_EQ(host, std::vector<char>(size, 7));
}

TEST_F(Pointers, AndOptionsDevice) {
  Options options;
  options.device = "cpu";
  EXPECT_EQ(
      refusal(Status::invalid_argument, [&] { turn(gpu0, other0, options); }),
      "dst = " + text(gpu0) + " is memory of GPU 0, options.device = 'cpu' needs host memory");
  turn(host.data(), managed, options);  // which the CPU reaches
  EXPECT_EQ(host[4799], 0);
  EXPECT_EQ(host[4800], 7);
  options.device = "gpu";
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { turn(managed, host.data(), options); }),
            "src = " + text(host.data()) +
                " is host memory, options.device = 'gpu' needs the GPU's memory");
}

TEST_F(Pointers, OfTheCpusPlans) {
  const Plan plan = make_plan(View(nullptr, ElementType(Kind::f32), {40, 30}),
                              ConstView(nullptr, ElementType(Kind::f32), {40, 30}, {4, 160}));
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { execute(plan, gpu0, host.data()); }),
            "dst = " + text(gpu0) + " is memory of GPU 0, the plan is for the CPU");
  EXPECT_EQ(refusal(Status::invalid_argument, [&] { execute(plan, host.data(), gpu0); }),
            "src = " + text(gpu0) + " is memory of GPU 0, the plan is for the CPU");
  execute(plan, host.data(), host.data() + 4800);
}

TEST_F(Pointers, AnEarlierErrorIsSaidToBeOne) {
  state(0, 700);
  EXPECT_EQ(refusal(Status::device_error, [&] { turn(gpu0, other0); }),
            "a CUDA error from before this call: an illegal memory access was encountered");
  state(0, 3);  // a driver that nobody has initialised: all is the host's
  turn(host.data(), host.data() + 4800);
}

}  // namespace
}  // namespace cornerturn
