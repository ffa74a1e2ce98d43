#include "io/print.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace cornerturn::io {
namespace {

// The reason why standard output could first not be written.
std::atomic<int> output_error{0};

void note_output_error() {
  int none = 0;
  output_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

// While it lives, writing to a pipe that nobody reads is an error and no signal, in this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending{};
    sigpending(&pending);
    pending_ = sigismember(&pending, SIGPIPE) != 0;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    constexpr timespec at_once{};
    if (!pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool pending_ = false;
};

// What nobody can read is dropped: who cannot be told of an error has the exit code.
void write_error(std::string_view text) noexcept {
  const NoPipeSignal quiet;
  while (!text.empty()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace

void keep_standard_streams() {
  // In the mode that nothing is to be had from.
  for (const auto& [descriptor, mode] :
       {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY),
        std::pair(STDERR_FILENO, O_RDONLY)}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free is the one that was closed.
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
}

void print_as_is(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_output_error();
}

bool finish_output() {
  errno = 0;
  if (std::fflush(stdout) != 0) note_output_error();
  if (output_error == 0) return true;
  complain(fmt::format("standard output cannot be written: {}", std::strerror(output_error)));
  return false;
}

void complain(const std::string& message) {
  std::string line = "cornerturn: " + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\r', ' ');
  write_error(visible(line) + "\n");
}

void print_error(std::string_view text) {
  write_error(visible(text, "\n"));
}

void show_progress(const std::string& text) {
  write_error("\r" + visible(text) + "\033[K");
}

bool shows_progress() {
  return isatty(STDERR_FILENO) != 0;
}

}  // namespace cornerturn::io
