// A line on the terminal that says how far the work is, at what rate, and how long it will take.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace cornerturn::cli {

/// While it lives, and when standard error is a terminal, shows `done()` of `total` bytes after the
/// first second. The line is wiped at the end.
class ProgressLine {
 public:
  ProgressLine(std::int64_t total, std::function<std::int64_t()> done);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

 private:
  void show();

  std::int64_t total_;
  std::function<std::int64_t()> done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool finished_ = false;
  std::thread thread_;
};

/// "  42 %   1.2 GiB of 2.9 GiB   3.1 GiB/s   1 s left"
std::string progress_text(std::int64_t done, std::int64_t total, double seconds);

}  // namespace cornerturn::cli
