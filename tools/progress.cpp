#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "io/print.hpp"
#include "io/schedule.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::chrono::milliseconds quiet_time{1000};
constexpr std::chrono::milliseconds period{200};

std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(std::int64_t done, std::int64_t total, double seconds) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  std::string text =
      fmt::format("{:4.0f} %   {} of {}   {}/s", 100 * share, io::size_text(done),
                  io::size_text(total), io::size_text(static_cast<std::int64_t>(rate)));
  if (rate > 0) {
    text += fmt::format("   {} left", time_text(static_cast<double>(total - done) / rate));
  }
  return text;
}

ProgressLine::ProgressLine(std::int64_t total, std::function<std::int64_t()> done)
    : total_(total), done_(std::move(done)) {
  if (io::shows_progress()) thread_ = std::thread([this] { show(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressLine::show() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  if (wake_.wait_for(lock, quiet_time, [&] { return finished_; })) return;
  do {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    io::show_progress(progress_text(done_(), total_, seconds.count()));
  } while (!wake_.wait_for(lock, period, [&] { return finished_; }));
  io::show_progress("");
}

}  // namespace cornerturn::cli
