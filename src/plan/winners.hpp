// Winners that measuring found, remembered as text: one line a problem, for shipping to machines of
// the same kind.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plan/plan.hpp"

namespace cornerturn::plan {

/// Thread-safe. A line of the file:
///   processor <tab> threads <tab> normalised problem <tab> kernel <tab> configuration
/// For a GPU its name stands in the place of the processor, and the alignment of source and
/// destination, as 16:4, in that of the threads;
/// where there are blocks, those of all their arrays.
class Winners {
 public:
  /// Reads the lines of `text` (the contents of the file `name`). Throws an Error with the line's
  /// number when one is malformed, and then remembers none of them.
  void parse(const std::string& text, const std::string& name);
  std::string to_text() const;

  void remember(const Plan& plan);
  /// Makes the remembered winner the chosen one, if there is one among the plan's candidates.
  void apply(Plan& plan) const;
  void clear();
  bool empty() const;

  /// For forks (core/fork.hpp).
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void renew() { std::construct_at(&mutex_); }

 private:
  void remember(const std::string& key, const std::string& value);
  std::optional<std::string> find(const std::string& key) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> winner_of_;  // both are tab-joined
};

}  // namespace cornerturn::plan
