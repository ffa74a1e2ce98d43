#include "link/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cuda/check.hpp"
#include "harness/statistics.hpp"

namespace cornerturn::bench::link {
namespace {

constexpr std::int64_t cold_bytes = 256 << 20;  // that the buffers of a side have together
constexpr int most_slots = 64;
constexpr int vector_length = 64;
constexpr int untimed_calls = 2;
// A contestant is done after so many calls and seconds, or so many of either.
constexpr std::size_t least_calls = 5;
constexpr std::size_t most_calls = 400;
constexpr double enough_seconds = 0.04;
constexpr double most_seconds = 0.4;

std::size_t size_of(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Slots::Slots(const LinkCase& c)
    : host_step(round_to_page(std::max(c.host_span(), c.host_bytes()))),
      gpu_step(round_to_page(std::max(c.gpu_span(), c.host_bytes()))),
      count(static_cast<int>(std::clamp<std::int64_t>(cold_bytes / host_step, 1, most_slots))) {}

Sides::Sides(Accelerator& gpu, const std::vector<LinkCase>& cases)
    : gpu_(gpu),
      vectors_(Memory::pinned, 2 * vector_length * static_cast<std::int64_t>(sizeof(float))),
      gpu_vectors_(vectors_.bytes()) {
  std::map<std::pair<Memory, bool>, std::int64_t> needed;
  std::int64_t src = 0, dst = 0;
  for (const LinkCase& c : cases) {
    const Slots slots(c);
    for (const Memory memory : {c.memory, Memory::pinned}) {
      std::int64_t& bytes = needed[{memory, c.into_gpu}];
      bytes = std::max(bytes, slots.count * slots.host_step);
    }
    // One of the GPU's two buffers is the case's side, the other one is scratch memory.
    src = std::max(src, c.into_gpu ? slots.host_step : slots.count * slots.gpu_step);
    dst = std::max(dst, c.into_gpu ? slots.count * slots.gpu_step : slots.host_step);
  }
  for (const auto& [key, bytes] : needed) {
    hosts_[key] = std::make_unique<HostMemory>(key.first, bytes);
  }
  gpu.reserve(src, dst);
  auto* const numbers = reinterpret_cast<float*>(vectors_.data());
  for (int i = 0; i < 2 * vector_length; ++i) numbers[i] = 0.25F + 0.013F * static_cast<float>(i);
  cuda::check(
      cudaMemcpy(gpu_vectors_.get(), numbers, size_of(vectors_.bytes()), cudaMemcpyHostToDevice),
      "cudaMemcpy");
}

const float* Sides::vectors(bool on_gpu) const {
  return reinterpret_cast<const float*>(on_gpu ? gpu_vectors_.get() : vectors_.data());
}

Measurement::Measurement(const Sides& sides, const LinkCase& c)
    : sides_(sides),
      c_(c),
      slots_(c),
      host_(sides.host(c.memory, c.into_gpu)),
      on_gpu_(c.into_gpu ? sides.gpu().dst() : sides.gpu().src()),
      scratch_(c.into_gpu ? sides.gpu().src() : sides.gpu().dst()) {
  fill();
}

// All slots of the source hold what the first one does.
void Measurement::fill() {
  Accelerator& gpu = sides_.gpu();
  std::byte* const first = c_.into_gpu ? scratch_ : on_gpu_;
  gpu.fill(first, c_.src_span(), c_.from.size());
  for (int slot = c_.into_gpu ? 0 : 1; slot < slots_.count; ++slot) {
    cuda::check(cudaMemcpyAsync(src(slot), first, size_of(c_.src_span()), cudaMemcpyDefault,
                                sides_.stream()),
                "filling the source");
  }
  gpu.synchronize();
}

namespace {

// What a side was before somebody writes into it.
void poison(std::byte* at, std::int64_t bytes, bool on_gpu) {
  if (on_gpu) {
    cuda::check(cudaMemset(at, 0xa5, size_of(bytes)), "cudaMemset");
    cuda::check(cudaDeviceSynchronize(), "cudaMemset");
  } else {
    std::fill_n(at, bytes, std::byte{0xa5});
  }
}

}  // namespace

void Measurement::copy_and_wait(std::byte* to, const std::byte* from, std::int64_t bytes) const {
  cuda::check(cudaMemcpyAsync(to, from, size_of(bytes), cudaMemcpyDefault, sides_.stream()),
              "cudaMemcpyAsync");
  sides_.gpu().synchronize();
}

std::vector<std::byte> Measurement::bytes_of(const std::byte* at, std::int64_t bytes) const {
  std::vector<std::byte> out(size_of(bytes));
  copy_and_wait(out.data(), at, bytes);
  return out;
}

// Elements and what lies between them, by the GPU; a destination on the host is taken there.
std::string Measurement::difference(const Contestant& one) {
  Accelerator& gpu = sides_.gpu();
  const std::int64_t bytes = c_.dst_span();
  std::byte* const there = c_.into_gpu ? on_gpu(0) : scratch_;
  gpu.poison(c_.layout, there, bytes);
  gpu.synchronize();
  if (!c_.into_gpu) copy_and_wait(host(0), there, bytes);
  one.run(0);
  gpu.synchronize();
  if (!c_.into_gpu) copy_and_wait(there, host(0), bytes);
  return gpu.check(c_.layout, there, bytes);
}

// Values are those of the kernel `gather` on the GPU, bit by bit.
std::string Measurement::difference_of_values(const Contestant& one) {
  Accelerator& gpu = sides_.gpu();
  const std::int64_t bytes = c_.dst_span();
  if (expected_.empty()) {
    const cuda::DeviceBuffer from(c_.src_span()), to(bytes);
    copy_and_wait(from.get(), src(0), c_.src_span());
    poison(to.get(), bytes, true);
    Options options;
    options.kernel = "gather";
    options.stream = gpu.stream();
    copy(dst_view(to.get()), src_view(from.get()), epilogue(true), options);
    gpu.synchronize();
    expected_ = bytes_of(to.get(), bytes);
  }
  poison(dst(0), bytes, c_.into_gpu);
  one.run(0);
  gpu.synchronize();
  return bytes_of(dst(0), bytes) == expected_ ? "" : "differs from gather on the GPU";
}

void Measurement::check(Contestant& one) {
  try {
    if (one.is_copy || one.overwrites) {
      one.run(0);
      return sides_.gpu().synchronize();
    }
    one.wrong = c_.moves() ? difference(one) : difference_of_values(one);
  } catch (const std::exception& error) {
    one.wrong = error.what();
  }
}

void Measurement::take_turns() {
  using Clock = std::chrono::steady_clock;
  const auto is_done = [](const Contestant& one) {
    const std::size_t calls = one.seconds.size();
    return !one.wrong.empty() || calls >= most_calls || one.spent >= most_seconds ||
           (calls >= least_calls && one.spent >= enough_seconds);
  };
  int next = 0;
  for (int round = -untimed_calls; !std::all_of(contestants_.begin(), contestants_.end(), is_done);
       ++round) {
    for (Contestant& one : contestants_) {
      if (is_done(one)) continue;
      const int slot = next++ % slots_.count;
      const auto from = Clock::now();
      one.run(slot);
      sides_.gpu().synchronize();
      if (round < 0) continue;
      one.seconds.push_back(std::chrono::duration<double>(Clock::now() - from).count());
      one.spent += one.seconds.back();
    }
  }
}

void Measurement::run() {
  for (Contestant& one : contestants_) check(one);
  take_turns();
}

bool Measurement::is_right() const {
  return std::all_of(contestants_.begin(), contestants_.end(),
                     [](const Contestant& one) { return one.wrong.empty(); });
}

double Measurement::seconds_of(const std::string& name) const {
  for (const Contestant& one : contestants_) {
    if (one.name == name && !one.seconds.empty()) return median(one.seconds);
  }
  return 0;
}

nlohmann::ordered_json Measurement::to_json() const {
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.4g}", value)); };
  nlohmann::ordered_json out = link::to_json(c_);
  out["slots"] = slots_.count;
  for (const Contestant& one : contestants_) {
    nlohmann::ordered_json item = {{"name", one.name}};
    if (!one.plan.empty()) item["plan"] = one.plan;
    if (one.overwrites) item["overwrites"] = true;
    if (!one.wrong.empty()) item["wrong"] = one.wrong;
    if (!one.seconds.empty()) {
      item["seconds"] = rounded(median(one.seconds));
      item["best_seconds"] = rounded(*std::min_element(one.seconds.begin(), one.seconds.end()));
      item["calls"] = one.seconds.size();
    }
    out["contestants"].push_back(item);
  }
  if (!refused_.empty()) out["refused"] = refused_;
  return out;
}

}  // namespace cornerturn::bench::link
