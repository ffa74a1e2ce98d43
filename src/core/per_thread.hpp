// A value that each thread has, and that may be used as late as code runs in the thread.
#pragma once

#include <pthread.h>

#include <memory>

namespace cornerturn {

/// Each thread's own T. Unlike a thread_local object it is there for destructors of other
/// thread_local objects, for handlers of atexit and for destructors of static objects: a thread's T
/// is destroyed after the thread's C++ objects (and made again, should something later need one),
/// and that of the main thread never is.
template <class T>
class PerThread {
 public:
  /// Made at its first use. Throws what that throws.
  static T& get() {
    if (kept == nullptr) make();
    return *kept;
  }

  /// Null where the thread has not used it.
  static T* find() noexcept { return kept; }

 private:
  static void make() {
    auto made = std::make_unique<T>();
    static const Key key;
    // Without a key, of which a process has some hundreds, the value stays when the thread ends.
    if (key.exists) pthread_setspecific(key.key, made.get());
    kept = made.release();
  }

  static void destroy(void* value) noexcept {
    kept = nullptr;
    delete static_cast<T*>(value);
  }

  struct Key {
    pthread_key_t key{};
    bool exists = pthread_key_create(&key, destroy) == 0;
  };

  static inline constinit thread_local T* kept = nullptr;
};

}  // namespace cornerturn
