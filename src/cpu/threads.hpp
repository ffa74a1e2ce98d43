// How many threads to use.
#pragma once

namespace cornerturn::cpu {

/// Cores that this process may use: those that its affinity allows, fewer when a control group
/// grants less time than they have. Half a core counts as one.
int usable_cores();

/// More threads than anybody has.
inline constexpr int most_threads = 1024;

/// `requested` threads; 0: what CORNERTURN_THREADS says, else usable_cores(). At most `useful`; if
/// one is enough, nobody asks for the cores, which takes longer than a small transposition. Throws
/// when a number of threads is negative, too large or no number.
int resolve_threads(int requested, int useful = most_threads);

/// As many of `threads` as find a processor, where `running` threads of the whole machine want one
/// of its `processors`. Those of this process are among them.
int threads_that_run(int threads, int running, int processors);

/// As many as find a processor of the machine as it is now, looked at once in a millisecond:
/// `threads` where it does not say. For work that is shorter than a time slice: a thread that is
/// put aside in mid-work then holds up the others for longer than it has helped them.
int threads_that_run(int threads);

}  // namespace cornerturn::cpu
