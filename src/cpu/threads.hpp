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

}  // namespace cornerturn::cpu
