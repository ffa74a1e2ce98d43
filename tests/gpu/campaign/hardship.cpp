#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "campaign/report.hpp"
#include "cornerturn/amax.hpp"
#include "cornerturn/blocks.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cuda/check.hpp"
#include "gpu/side.hpp"

namespace cornerturn::campaign {
namespace {

using cuda::check;
using cuda::DeviceBuffer;
using test::Bytes;

constexpr std::int64_t rows = 320, columns = 544, count = rows * columns;

Bytes some_values(std::uint64_t seed) {
  Bytes bytes(count * 4);
  for (std::int64_t i = 0; i < count; ++i) {
    const float value =
        static_cast<float>((static_cast<std::uint64_t>(i) * 7919 + seed) % 2003) - 900;
    std::memcpy(&bytes[static_cast<std::size_t>(4 * i)], &value, 4);
  }
  return bytes;
}

// Five public calls on memory of any kind, each compared with the same call on host memory.
class Calls {
 public:
  explicit Calls(Report& report) : report_(report) {}

  // `copy_in` and `copy_out` reach dst and src.
  void all(void* dst, void* src, const std::string& what, bool may_refuse = false) {
    const Bytes contents = some_values(11);
    check(cudaMemcpy(src, contents.data(), contents.size(), cudaMemcpyDefault), "cudaMemcpy");
    const ElementType f32(Kind::f32), f16(Kind::f16), b34 = ElementType::bytes(34);
    one(dst, what + ": transpose", may_refuse, contents, [&](void* to, const void* from) {
      transpose(to, from == nullptr ? src : from, rows, columns, f32);
    });
    one(dst, what + ": copy", may_refuse, contents, [&](void* to, const void* from) {
      copy(View(to, f32, {count}), ConstView(from == nullptr ? src : from, f32, {count}));
    });
    one(dst, what + ": convert", may_refuse, contents, [&](void* to, const void* from) {
      copy(View(to, f16, {count}), ConstView(from == nullptr ? src : from, f32, {count}));
    });
    one(dst, what + ": quantise", may_refuse, contents, [&](void* to, const void* from) {
      quantise_q8_0(View(to, b34, {rows, columns / 32}),
                    ConstView(from == nullptr ? src : from, f32, {rows, columns}), 1);
    });
    one(dst, what + ": amax", may_refuse, contents, [&](void* to, const void* from) {
      const double found = amax(ConstView(from == nullptr ? src : from, f32, {count}));
      check(cudaMemcpy(to, &found, sizeof found, cudaMemcpyDefault), "cudaMemcpy");
    });
  }

 private:
  using Call = std::function<void(void* to, const void* from)>;
  void one(void* dst, const std::string& what, bool may_refuse, const Bytes& contents,
           const Call& call) {
    const Bytes poison(contents.size(), std::byte{0xa5});
    Bytes expected = poison;
    call(expected.data(), contents.data());
    check(cudaMemcpy(dst, poison.data(), poison.size(), cudaMemcpyDefault), "cudaMemcpy");
    ++report_.runs[what];
    try {
      call(dst, nullptr);
    } catch (const Error& error) {
      report_.expect(may_refuse, what + " was refused: " + error.what());
      ++report_.refused;
      cudaGetLastError();
      return;
    }
    Bytes got(contents.size());
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(got.data(), dst, got.size(), cudaMemcpyDefault), "cudaMemcpy");
    report_.expect(got == expected, what + " is wrong");
  }

  Report& report_;
};

}  // namespace

Report exhausted(const Settings&) {
  Report report("no free memory on the GPU");
  const DeviceBuffer src(count * 4), dst(count * 4);
  std::vector<void*> taken;
  for (std::size_t bytes = std::size_t{1} << 34; bytes >= 256; bytes /= 2) {
    void* memory = nullptr;
    while (cudaMalloc(&memory, bytes) == cudaSuccess) taken.push_back(memory);
    cudaGetLastError();
  }
  Calls(report).all(dst.get(), src.get(), "without memory", true);
  for (void* memory : taken) check(cudaFree(memory), "cudaFree");
  Calls(report).all(dst.get(), src.get(), "with memory again");
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

Report managed(const Settings&) {
  Report report("managed and host-registered memory");
  void *src = nullptr, *dst = nullptr;
  check(cudaMallocManaged(&src, count * 4), "cudaMallocManaged");
  check(cudaMallocManaged(&dst, count * 4), "cudaMallocManaged");
  {
    const DeviceBuffer there(count * 4);
    Calls(report).all(dst, src, "both managed");
    Calls(report).all(there.get(), src, "from managed");
    Calls(report).all(dst, there.get(), "to managed");
  }
  check(cudaFree(src), "cudaFree");
  check(cudaFree(dst), "cudaFree");
  Bytes from(count * 4), to(count * 4), free(count * 4);
  check(cudaHostRegister(from.data(), from.size(), cudaHostRegisterMapped), "cudaHostRegister");
  check(cudaHostRegister(to.data(), to.size(), cudaHostRegisterDefault), "cudaHostRegister");
  Calls(report).all(to.data(), from.data(), "both registered");
  Calls(report).all(free.data(), from.data(), "from registered");
  Calls(report).all(to.data(), free.data(), "to registered");
  check(cudaHostUnregister(from.data()), "cudaHostUnregister");
  check(cudaHostUnregister(to.data()), "cudaHostUnregister");
  Calls(report).all(to.data(), from.data(), "registered no more");
  // Registered memory is the host's: with a GPU's on the other side the call is refused.
  check(cudaHostRegister(from.data(), from.size(), cudaHostRegisterMapped), "cudaHostRegister");
  const DeviceBuffer there(count * 4);
  try {
    transpose(there.get(), from.data(), rows, columns, ElementType(Kind::f32));
    report.expect(false, "memory of both sides was taken");
  } catch (const Error& error) {
    ++report.refused;
    report.expect(error.status() == Status::invalid_argument, error.what());
  }
  check(cudaHostUnregister(from.data()), "cudaHostUnregister");
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

Report several_gpus(const Settings&) {
  Report report("several GPUs");
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  if (gpus < 2) {
    report.skipped = "one GPU alone is here";
    return report;
  }
  for (int round = 0; round < 3; ++round) {
    for (int gpu = gpus; gpu-- > 0;) {
      check(cudaSetDevice(gpu), "cudaSetDevice");
      const DeviceBuffer src(count * 4), dst(count * 4);
      Calls(report).all(dst.get(), src.get(), "GPU " + std::to_string(gpu));
      int now = -1;
      check(cudaGetDevice(&now), "cudaGetDevice");
      report.expect(now == gpu, "the current GPU has changed");
    }
  }
  check(cudaSetDevice(0), "cudaSetDevice");
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

Report reset_contexts(const Settings&) {
  Report report("contexts that are reset");
  for (int round = 0; round < 4; ++round) {
    {
      const DeviceBuffer src(count * 4), dst(count * 4);
      Calls(report).all(dst.get(), src.get(), "round " + std::to_string(round));
    }
    check(cudaDeviceReset(), "cudaDeviceReset");
  }
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

Report other_contexts(const Settings&) {
  Report report("contexts of the driver that come and go");
  const auto function = [](const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result),
          name);
    return found;
  };
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(function("cuCtxCreate", 3020));
  const auto destroy = reinterpret_cast<CUresult (*)(CUcontext)>(function("cuCtxDestroy", 4000));
  if (create == nullptr || destroy == nullptr) {
    report.skipped = "the driver has no such function";
    return report;
  }
  {
    const DeviceBuffer src(count * 4), dst(count * 4);
    Calls(report).all(dst.get(), src.get(), "the first context");
  }
  for (int round = 0; round < 4; ++round) {
    CUcontext context = nullptr;
    if (create(&context, 0, 0) != CUDA_SUCCESS) {
      report.expect(false, "cuCtxCreate has failed");
      return report;
    }
    {
      const DeviceBuffer src(count * 4), dst(count * 4);
      Calls(report).all(dst.get(), src.get(), "another context");
    }
    report.expect(destroy(context) == CUDA_SUCCESS, "cuCtxDestroy has failed");
    check(cudaSetDevice(0), "cudaSetDevice");
    const DeviceBuffer src(count * 4), dst(count * 4);
    Calls(report).all(dst.get(), src.get(), "the first context again");
  }
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

Report sticky_error(const Settings&) {
  Report report("an error from before the call");
  const DeviceBuffer src(count * 4), dst(count * 4);
  const ElementType f32(Kind::f32);
  transpose(dst.get(), src.get(), rows, columns, f32);
  // The caller says that there is much more memory than there is, on the side away from dst.
  const std::int64_t far = (std::int64_t{1} << 40) * (dst.get() > src.get() ? -1 : 1);
  copy(View(dst.get(), f32, {2, 1000}), ConstView(src.get(), f32, {2, 1000}, {far, 4}));
  cudaDeviceSynchronize();
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"transpose", [&] { transpose(dst.get(), src.get(), rows, columns, f32); }},
      {"a new shape", [&] { transpose(dst.get(), src.get(), columns, rows - 1, f32); }},
      {"convert",
       [&] {
         copy(View(dst.get(), ElementType(Kind::f16), {count}), ConstView(src.get(), f32, {count}));
       }},
      {"amax", [&] { amax(ConstView(src.get(), f32, {count})); }},
      {"measure",
       [&] {
         Options options;
         options.effort = Effort::measure;
         permute(dst.get(), ConstView(src.get(), f32, {7, 11, 13}), {2, 1, 0}, options);
       }},
  };
  for (const auto& [what, call] : calls) {
    ++report.runs[what];
    try {
      call();
      report.expect(false, what + " says that all is well");
    } catch (const Error& error) {
      ++report.refused;
      report.expect(error.status() == Status::device_error, what + ": " + error.what());
    }
  }
  // The CPU goes on.
  Bytes contents = some_values(3), turned(contents.size()), back(contents.size());
  try {
    transpose(turned.data(), contents.data(), rows, columns, f32);
    transpose(back.data(), turned.data(), columns, rows, f32);
    report.expect(back == contents, "the CPU's result is wrong");
  } catch (const Error& error) {
    ++report.refused;
    report.expect(error.status() == Status::device_error,
                  std::string("host memory: ") + error.what());
  }
  report.problems = static_cast<std::int64_t>(report.runs.size());
  return report;
}

}  // namespace cornerturn::campaign
