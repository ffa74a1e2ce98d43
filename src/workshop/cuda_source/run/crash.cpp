#include "workshop/cuda_source/run/crash.hpp"

#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/report.hpp"
#include "workshop/cuda_source/run/running.hpp"

namespace cornerturn::cuda_source {

namespace {

constexpr std::size_t stack_bytes = 256 << 10;
constexpr unsigned seconds_for_report = 20;

std::string what(int signal, const siginfo_t* info) {
  switch (signal) {
    case SIGFPE:
      return "the program divides an integer by zero";
    case SIGABRT:
      return "the program aborts";
    case SIGILL:
      return "the program runs into an instruction that does not exist";
    case SIGXCPU:
      return "the program has used the processor time that it may";
    case SIGBUS:
    case SIGSEGV: {
      const auto* at = static_cast<const std::byte*>(info->si_addr);
      if (running.in_kernel && running.stacks.has(at)) {
        return "a thread of a kernel needs more stack than the 124 KiB that it has";
      }
      char text[96];
      std::snprintf(text, sizeof text,
                    "the program touches the address %p, where there is no memory", info->si_addr);
      return text;
    }
    default:
      return "the program is ended by a signal";
  }
}

// The innermost place in the program's own code, not in a library or in this one.
Where crashed_at() {
  void* frames[64];
  const int count = backtrace(frames, 64);
  struct Code {
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;
  } code;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* user) {
        for (int i = 0; i < program->dlpi_phnum; ++i) {
          const auto& part = program->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          *static_cast<Code*>(user) = {program->dlpi_addr + part.p_vaddr, part.p_memsz};
        }
        return 1;
      },
      &code);
  // Frames of the handler come first; the signal's own frame lies in the C library.
  bool left = false;
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[i]);
    const bool own = at - code.first < code.bytes;
    if (own && left) return {nullptr, 0, at - 1};
    left = left || !own;
  }
  return {};
}

void crashed(int signal, siginfo_t* info, void*) {
  std::signal(signal, SIG_DFL);
  std::signal(SIGALRM, SIG_DFL);
  alarm(seconds_for_report);  // for a crash that holds a lock that the report needs
  ProgramFinding finding;
  finding.kind = signal == SIGXCPU ? "never_ends" : "crash";
  finding.message = what(signal, info);
  finding.places.emplace_back();
  FindingPlace& place = finding.places.back();
  place.where = crashed_at();
  place.action = "is";
  if (running.in_kernel) {
    finding.kernel = running.kernel;
    place.of_thread = true;
    place.block = engine().block_id();
    place.thread = engine().thread_id();
  }
  add_finding(std::move(finding));
  std::fflush(stdout);
  write_report(true);
  raise(signal);
}

}  // namespace

void catch_crashes() {
  // A stack of its own: the thread's may be full.
  void* memory =
      mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = stack_bytes;
  sigaltstack(&stack, nullptr);
  void* first[1];
  backtrace(first, 1);  // loads what it needs before it is needed
  struct sigaction action {};
  action.sa_sigaction = &crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace cornerturn::cuda_source
