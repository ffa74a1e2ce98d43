// How many threads to use.
#pragma once

namespace cornerturn::cpu {

/// `requested` threads; 0: what CORNERTURN_THREADS says, else every core this process may use.
/// Throws when either is negative, too large or no number.
int resolve_threads(int requested);

}  // namespace cornerturn::cpu
