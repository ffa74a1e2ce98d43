// How many threads the CPU may use for calls from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace cornerturn::python {

/// What the calling thread was limited to, else the process; 0: nobody has said.
int thread_limit();

/// Limits the calling thread as long as it lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// Adds the functions that set and read it to the module.
void add_threads(nanobind::module_& module);

}  // namespace cornerturn::python
