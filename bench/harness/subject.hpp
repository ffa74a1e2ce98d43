// What is measured: something that performs a case between two buffers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/case.hpp"

namespace cornerturn::bench {

/// Another way to do the prepared case.
struct Candidate {
  std::string kernel;
  std::string description;
  double predicted_seconds = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Further versions and settings for the record: {"threading", "OpenMP"} ...
  virtual std::map<std::string, std::string> details() const { return {}; }

  /// Gets ready for `c` on `threads` threads. `src` and `dst` are the starts of buffers; run() gets
  /// others of the same alignment. Returns "" or the reason why the case is skipped.
  virtual std::string prepare(const Case& c, int threads, const std::byte* src, std::byte* dst) = 0;

  /// Performs the case. This is what is timed.
  virtual void run(const std::byte* src, std::byte* dst) = 0;

  /// So many calls of run() are for learning; the subject does the same in every one that follows.
  virtual int calls_to_settle() const { return 0; }

  /// A few words on how the prepared case is done, e.g. the kernel's name. May be empty.
  virtual std::string method() const { return ""; }

  /// All ways to do the prepared case that the subject knows, run() doing one of them.
  virtual std::vector<Candidate> candidates() { return {}; }
  virtual void run_candidate(std::size_t, const std::byte*, std::byte*) {}
};

}  // namespace cornerturn::bench
