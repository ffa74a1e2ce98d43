// What a process needs in order to fork while its threads work.
#pragma once

namespace cornerturn {

namespace detail {
struct ForkLock {
  void* what;
  void (*lock)(void*);
  void (*unlock)(void*);
  void (*renew)(void*);
};
void add_fork_lock(const ForkLock& lock);
}  // namespace detail

/// Whoever forks calls guarded.lock() first, so that no other thread is in the middle of a change.
/// The parent then calls guarded.unlock(), and the child guarded.renew(), which makes a new mutex:
/// the old one may count threads as waiting that the child has not. `guarded` must never be
/// destroyed. No thread may hold the mutexes of two such objects at a time.
template <class Guarded>
void hold_over_forks(Guarded& guarded) {
  detail::add_fork_lock({&guarded, [](void* what) { static_cast<Guarded*>(what)->lock(); },
                         [](void* what) { static_cast<Guarded*>(what)->unlock(); },
                         [](void* what) { static_cast<Guarded*>(what)->renew(); }});
}

/// Was this process forked from one that had called hold_over_forks()? Of its parent's threads it
/// has only the one that forked.
bool is_forked_child() noexcept;

}  // namespace cornerturn
