// Runs a kernel of the kernel form on the CPU.
//
//   Emulator emulator;
//   emulator.input("src", src.data(), bytes);
//   emulator.output("dst", dst.data(), bytes);
//   emulator.launch("smem", Mode::recording, launch, [&](auto& ctx) { run(ctx, args); });
//   for (const Finding& f : emulator.findings()) ... f.message()
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "workshop/simt/context.hpp"

namespace cornerturn::simt {

class Emulator {
 public:
  /// What the kernel may read, and what it must write: each byte of an output exactly once.
  /// A step over the end of a buffer that lands in another one is not seen as such: leave a gap.
  void input(std::string name, const void* p, std::size_t bytes) {
    memory_.add(std::move(name), p, bytes, Use::input);
  }
  void output(std::string name, void* p, std::size_t bytes) {
    memory_.add(std::move(name), p, bytes, Use::output);
  }
  /// What the kernel may read and write, each byte at most once. Who reads a byte that another
  /// thread writes must be ordered with it by a barrier, whichever of the two comes first.
  void update(std::string name, void* p, std::size_t bytes) {
    memory_.add(std::move(name), p, bytes, Use::update);
  }
  void clear() { memory_.clear(); }
  /// Where requests say that the buffer begins which contains `p`.
  std::uint64_t device_address(const void* p) { return memory_.find(p, 1)->device_address; }

  /// Runs body(context) for each thread. When recording, `visitor` sees each warp's requests.
  template <class Body>
  void launch(
      const std::string& kernel, Mode mode, const Launch& launch, Body&& body,
      const Visitor& visitor = [](const Request&) {}) {
    using Plain = std::remove_reference_t<Body>;
    struct Call {
      Engine& engine;
      Plain& body;
    } call{engine_, body};
    const auto thread = [](void* user) {
      Call& to = *static_cast<Call*>(user);
      Context context(to.engine);
      to.body(context);
    };
    engine_.run(kernel, launch, mode, memory_, visitor, thread, &call);
  }

  /// A thread that makes more accesses and waits than this is stopped. 0: no limit.
  void limit_steps(std::uint64_t steps) { engine_.limit_steps(steps); }

  /// What the last launch did wrong: one finding for each pair of places, the first 32.
  const std::vector<Finding>& findings() const { return engine_.findings(); }
  /// How often it happened.
  std::uint64_t finding_count() const { return engine_.finding_count(); }
  /// Bytes of shared memory that a block of the last launch had.
  std::int64_t shared_bytes() const { return engine_.shared_bytes(); }

 private:
  GlobalMemory memory_;
  Engine engine_;
};

}  // namespace cornerturn::simt
