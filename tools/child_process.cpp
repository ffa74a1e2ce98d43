#include "child_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

constexpr int no_program = 127;

[[noreturn]] void become(const std::vector<std::string>& words, int output, int errors,
                         unsigned cpu_seconds) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  const rlimit limit{cpu_seconds, cpu_seconds};
  setrlimit(RLIMIT_CPU, &limit);
  execvp(arguments[0], arguments.data());
  _exit(no_program);
}

// Until both ends are closed: a program that fills one must not wait for the other to be read.
void drain(std::array<int, 2> pipes, std::array<std::string*, 2> texts) {
  std::array<pollfd, 2> ends{pollfd{pipes[0], POLLIN, 0}, pollfd{pipes[1], POLLIN, 0}};
  for (int open = 2; open > 0;) {
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || (ends[i].revents & (POLLIN | POLLHUP)) == 0) continue;
      std::array<char, 65536> part;
      const ssize_t count = read(ends[i].fd, part.data(), part.size());
      if (count > 0) {
        texts[i]->append(part.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        close(ends[i].fd);
        ends[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

Finished run_program(const std::vector<std::string>& words, unsigned cpu_seconds) {
  int output[2];
  int errors[2];
  if (pipe(output) != 0 || pipe(errors) != 0) {
    throw Error(Status::io_error, fmt::format("no pipe to {}: {}", words[0], std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child < 0) {
    throw Error(Status::io_error, fmt::format("{}: {}", words[0], std::strerror(errno)));
  }
  if (child == 0) {
    close(output[0]);
    close(errors[0]);
    become(words, output[1], errors[1], cpu_seconds);
  }
  close(output[1]);
  close(errors[1]);
  Finished done;
  drain({output[0], errors[0]}, {&done.output, &done.errors});
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  done.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  done.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (done.exit_code == no_program && done.output.empty()) {
    throw Error(Status::unsupported, fmt::format("the program '{}' cannot be run", words[0]));
  }
  return done;
}

}  // namespace cornerturn::cli
