// A build without device code has no ladder on a GPU, and no lanes to one.
#include "cornerturn/error.hpp"
#include "workshop/cuda/ladder.hpp"
#include "workshop/cuda/lane.hpp"

namespace cornerturn::cuda {

namespace {

[[noreturn]] void refuse() {
  throw Error(Status::unsupported, "no GPU: " + *why_no_gpu());
}

}  // namespace

struct LadderCase::Impl {};
struct Lane::Buffers {};

Lane::Lane(std::int64_t, std::int64_t) {
  refuse();
}
Lane::Lane(Lane&&) noexcept = default;
Lane::~Lane() = default;

std::byte* Lane::in() const noexcept {
  return nullptr;
}
std::byte* Lane::out() const noexcept {
  return nullptr;
}
std::byte* Lane::device_in() const noexcept {
  return nullptr;
}
std::byte* Lane::device_out() const noexcept {
  return nullptr;
}
void* Lane::stream() const noexcept {
  return nullptr;
}
void Lane::run(std::int64_t, std::int64_t, const std::function<void()>&) const {
  refuse();
}

void run_rung(std::string_view, const DeviceMatrix&, int, CUstream_st*) {
  refuse();
}

void run_converting_rung(std::string_view, const DeviceMatrix&, ElementType, ElementType, int,
                         CUstream_st*) {
  refuse();
}

LadderCase::LadderCase(std::int64_t, std::int64_t, int, const MeasureOptions&, const Stack&) {
  refuse();
}
LadderCase::~LadderCase() = default;
LadderCase::LadderCase(LadderCase&&) noexcept = default;
LadderCase& LadderCase::operator=(LadderCase&&) noexcept = default;

Measurement LadderCase::measure(std::string_view) {
  refuse();
}
std::string LadderCase::launch(std::string_view) {
  refuse();
}

}  // namespace cornerturn::cuda
