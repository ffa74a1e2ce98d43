// How many threads to use.
#pragma once

namespace cornerturn::cpu {

/// Cores that this process may use: those that its affinity allows, fewer when a control group
/// grants less time than they have. Half a core counts as one.
int usable_cores();

/// `requested` threads; 0: what CORNERTURN_THREADS says, else usable_cores(). Throws when either is
/// negative, too large or no number.
int resolve_threads(int requested);

}  // namespace cornerturn::cpu
