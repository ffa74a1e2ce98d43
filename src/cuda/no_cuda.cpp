// A build without device code: says so.
#include "cornerturn/error.hpp"
#include "cuda/backend.hpp"
#include "cuda/crossing.hpp"
#include "cuda/device.hpp"
#include "cuda/in_turns.hpp"
#include "cuda/peers.hpp"

namespace cornerturn::cuda {

namespace {

[[noreturn]] void refuse() {
  throw Error(Status::unsupported, "no GPU: " + *why_no_gpu());
}

}  // namespace

std::optional<std::string> why_no_gpu() {
  return "this build has no device code (CORNERTURN_CUDA=ON, which needs nvcc, adds it)";
}

int device_count() {
  return 0;
}
DeviceInfo device_info() {
  refuse();
}
DeviceInfo device_info(int) {
  refuse();
}
DeviceInfo device_info_without_clocks(int) {
  refuse();
}
Clocks clocks_of(int) {
  refuse();
}

int current_device() {
  if (const auto device = device_of_context()) return *device;
  refuse();
}
const plan::Machine& machine_of(int) {
  refuse();
}
bool is_captured(Stream) {
  refuse();
}
void refuse_captured(Stream, const char*, const char*) {
  refuse();
}
std::vector<double> seconds_of(const std::vector<plan::Plan>&, const Buffers&, Stream) {
  refuse();
}
plan::Timing execute_timed(const plan::Plan&, const Buffers&, Stream) {
  refuse();
}
void execute(const plan::Plan&, const Buffers&, Stream) {
  refuse();
}
void execute_across(const plan::Plan&, const Buffers&, Stream) {
  refuse();
}
bool is_loaded(const plan::Plan&) {
  refuse();
}
CurrentGpu::CurrentGpu(int gpu) : before_(gpu), gpu_(gpu) {
  refuse();
}
CurrentGpu::~CurrentGpu() = default;
void allow_access(int, int, const void*) {
  refuse();
}
Event::Event() {
  refuse();
}
Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
void Event::record(Stream) {
  refuse();
}
void Event::hold(Stream) const {
  refuse();
}
Branches::~Branches() = default;
Stream Branches::operator[](int) {
  refuse();
}
void Branches::join() {
  refuse();
}
bool can_run_in_turns(const plan::Plan&, int) {
  refuse();
}
void execute_in_turns(const plan::Plan&, const Buffers&, const Turns&, Stream) {
  refuse();
}
bool engines_can(const Problem&) {
  refuse();
}
void copy_by_engines(const Problem&, void*, const void*, Stream) {
  refuse();
}
std::uint64_t largest_magnitude(const plan::Plan&, const void*, Stream) {
  refuse();
}

}  // namespace cornerturn::cuda
