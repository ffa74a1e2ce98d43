// What the command does when it is interrupted, or when its input shrinks under its hands.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::cli {

/// From now on SIGINT, SIGTERM and SIGHUP remove temporary files, say so and end the process with
/// 128 plus the signal's number; a SIGBUS in the watched memory ends it with one line and exit
/// code 2.
void catch_signals();

/// What a signal that ends the process says from now on behind "interrupted": the state that things
/// are in, and what goes on from there.
void say_when_interrupted(const std::string& state);

/// While it lives SIGINT, SIGTERM and SIGHUP wait: what has to be tidied up is tidied up first. The
/// first of them then ends the process as ever, when this is destroyed.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  /// Readable when a signal waits.
  int descriptor() const { return descriptor_; }
  /// For another program, which is not to hold them.
  void release() const;

 private:
  sigset_t before_;
  int descriptor_ = -1;
};

/// Memory whose file may shrink; `label` is what the line calls the file. Nothing else is watched
/// after this call.
void watch_mapping(const std::byte* data, std::int64_t size, const std::string& label);

}  // namespace cornerturn::cli
