#include "signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "commands.hpp"
#include "core/visible.hpp"
#include "files/temporary_name.hpp"

namespace cornerturn::cli {
namespace {

// Read by the handler: plain memory only.
std::atomic<const std::byte*> watched_begin{nullptr};
std::atomic<const std::byte*> watched_end{nullptr};
std::array<char, 1024> shrank_message{};
std::atomic<std::size_t> shrank_length{0};

// Two places take turns, so that a handler finds a whole message at any time.
std::array<std::array<char, 2048>, 2> end_messages{};
std::array<std::size_t, 2> end_lengths{};
std::atomic<int> end_message{-1};

constexpr char clear_line[] = "\r\033[K";

void clear_progress() {
  if (isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, clear_line, sizeof clear_line - 1);
  }
}

void tell_of_end() {
  constexpr char plain[] = "cornerturn: interrupted\n";
  const int which = end_message.load();
  const char* text = which < 0 ? plain : end_messages[static_cast<std::size_t>(which)].data();
  const std::size_t length =
      which < 0 ? sizeof plain - 1 : end_lengths[static_cast<std::size_t>(which)];
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, length);
}

extern "C" void on_end(int signal) {
  files::remove_temporary_files();
  clear_progress();
  if (signal != SIGPIPE) tell_of_end();
  _exit(128 + signal);
}

extern "C" void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  if (address < watched_begin.load() || address >= watched_end.load()) {
    // Not ours: the access is repeated without a handler.
    ::signal(signal, SIG_DFL);
    return;
  }
  files::remove_temporary_files();
  clear_progress();
  [[maybe_unused]] const ssize_t put =
      ::write(STDERR_FILENO, shrank_message.data(), shrank_length.load());
  _exit(exit_bad_input);
}

// Who starts a command with a signal ignored (nohup) means it.
bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // To write into a pipe that nobody reads is no other end.
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGPIPE);
  if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
}

}  // namespace

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&held, signal);  // a signal that waits is not dropped
  }
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  descriptor_ = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

HeldSignals::~HeldSignals() {
  if (descriptor_ >= 0) close(descriptor_);
  release();
}

void HeldSignals::release() const {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void catch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) handle(signal, on_end);
  // A file-size limit is then an error of write(), like a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

void say_when_interrupted(const std::string& state) {
  const std::string message = "cornerturn: interrupted: " + visible(state);
  const std::size_t which = end_message.load() == 0 ? 1 : 0;
  std::array<char, 2048>& text = end_messages[which];
  const std::size_t length = std::min(message.size(), text.size() - 1);
  std::memcpy(text.data(), message.data(), length);
  text[length] = '\n';
  end_lengths[which] = length + 1;
  end_message = static_cast<int>(which);
}

void watch_mapping(const std::byte* data, std::int64_t size, const std::string& label) {
  const std::string message = "cornerturn: " + label +
                              " shrank while it was read: a file has to keep its size until the "
                              "command ends\n";
  const std::size_t length = std::min(message.size(), shrank_message.size());
  watched_end = nullptr;
  std::memcpy(shrank_message.data(), message.data(), length);
  shrank_length = length;
  watched_begin = data;
  watched_end = data + size;
}

}  // namespace cornerturn::cli
