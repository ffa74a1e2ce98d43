#include "child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int no_program = 127;
constexpr std::size_t most_output = std::size_t{1} << 20;

template <class Resource>
void limit(Resource resource, rlim_t soft, rlim_t hard) {
  const rlimit both{soft, hard};
  setrlimit(resource, &both);
}

[[noreturn]] void become(const std::vector<std::string>& words, int output, int errors,
                         const Allowed& allowed, const HeldSignals& held, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(no_program);  // it ended before it could be told
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  limit(RLIMIT_CPU, allowed.cpu_seconds, allowed.cpu_seconds + allowed.grace_seconds);
  limit(RLIMIT_CORE, 0, 0);
  if (allowed.memory > 0) {
    limit(RLIMIT_DATA, static_cast<rlim_t>(allowed.memory), static_cast<rlim_t>(allowed.memory));
  }
  setenv("TMPDIR", allowed.temporary.c_str(), 1);
  for (const auto& [name, value] : allowed.environment) setenv(name.c_str(), value.c_str(), 1);
  held.release();
  execvp(arguments[0], arguments.data());
  _exit(no_program);
}

enum class Wait { done, late, interrupted };

class Child {
 public:
  Child(pid_t process, std::array<int, 2> pipes, Finished& done, unsigned seconds, int signals)
      : process_(process),
        ends_{pollfd{pipes[0], POLLIN, 0}, pollfd{pipes[1], POLLIN, 0}, pollfd{signals, POLLIN, 0}},
        texts_{&done.output, &done.errors},
        deadline_(Clock::now() + std::chrono::seconds(seconds)) {}

  // Until it has ended: a program that fills one pipe must not wait for the other to be read.
  Wait wait(int& status) {
    while (true) {
      const bool open = ends_[0].fd >= 0 || ends_[1].fd >= 0;
      if (!open && waitpid(process_, &status, WNOHANG) == process_) return Wait::done;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::max(deadline_ - Clock::now(), Clock::duration(0)));
      if (left.count() == 0 && !works()) return Wait::late;
      // Who has closed both pipes is asked again.
      const auto most = open ? std::clamp<std::int64_t>(left.count(), 10, 60000) : 10;
      if (poll(ends_.data(), ends_.size(), static_cast<int>(most)) < 0) continue;
      if ((ends_[2].revents & POLLIN) != 0) return Wait::interrupted;
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        if (ends_[i].fd >= 0 && (ends_[i].revents & (POLLIN | POLLHUP)) != 0) read_some(i);
      }
    }
  }

  ~Child() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (ends_[i].fd >= 0) close(ends_[i].fd);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  // Or would work, on a machine that has time for it? Its processor time has a limit of its own.
  bool works() const {
    std::ifstream stat(fmt::format("/proc/{}/stat", process_));
    const std::string line(std::istreambuf_iterator<char>(stat), {});
    const std::size_t name_end = line.rfind(')');
    return name_end != std::string::npos && line.compare(name_end, 3, ") R") == 0;
  }

  void read_some(std::size_t i) {
    std::array<char, 65536> part;
    const ssize_t count = read(ends_[i].fd, part.data(), part.size());
    if (count > 0) {
      const std::size_t room = most_output - texts_[i]->size();
      texts_[i]->append(part.data(), std::min(static_cast<std::size_t>(count), room));
    } else if (count == 0 || errno != EINTR) {
      close(ends_[i].fd);
      ends_[i].fd = -1;
    }
  }

  pid_t process_;
  std::array<pollfd, 3> ends_;
  std::array<std::string*, 2> texts_;
  Clock::time_point deadline_;
};

}  // namespace

Finished run_program(const std::vector<std::string>& words, const Allowed& allowed,
                     const HeldSignals& held) {
  int output[2];
  int errors[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) {
    throw Error(Status::io_error, fmt::format("no pipe to {}: {}", words[0], std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw Error(Status::io_error, fmt::format("{}: {}", words[0], std::strerror(errno)));
  }
  if (child == 0) become(words, output[1], errors[1], allowed, held, parent);
  setpgid(child, child);  // whoever comes first
  close(output[1]);
  close(errors[1]);
  Finished done;
  int status = 0;
  Wait how = Wait::done;
  {
    Child running(child, {output[0], errors[0]}, done, 5 * allowed.cpu_seconds, held.descriptor());
    how = running.wait(status);
  }
  kill(-child, SIGKILL);
  while (how != Wait::done && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (how == Wait::interrupted) {
    throw Error(Status::io_error, fmt::format("{}: a signal came", words[0]));
  }
  done.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  done.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  done.late = how == Wait::late;
  if (done.exit_code == no_program && done.output.empty()) {
    throw Error(Status::unsupported, fmt::format("the program '{}' cannot be run", words[0]));
  }
  return done;
}

}  // namespace cornerturn::cli
