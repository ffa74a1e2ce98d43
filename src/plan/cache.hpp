// Plans that were made before, for the whole process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "core/problem.hpp"
#include "cornerturn/plan.hpp"
#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

/// What a plan was asked for.
struct CacheKey {
  Problem problem;
  Request request;
  int gpu = -1;  ///< its number; -1: the CPU
  Effort effort = Effort::estimate;
  Crossing crossing = {};

  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

struct CacheKeyHash {
  std::size_t operator()(const CacheKey& key) const noexcept;
};

/// Thread-safe. Holds at most `capacity` plans and starts over when it is full.
class PlanCache {
 public:
  static constexpr std::size_t capacity = 4096;

  /// Null when there is none.
  std::shared_ptr<const Plan> find(const CacheKey& key) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }

  void insert(const CacheKey& key, std::shared_ptr<const Plan> plan) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (plans_.size() >= capacity) plans_.clear();
    plans_.insert_or_assign(key, std::move(plan));
  }

  /// What there is, or else `plan`, which is there from now on.
  std::shared_ptr<const Plan> find_or_insert(const CacheKey& key,
                                             const std::shared_ptr<const Plan>& plan) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (plans_.size() >= capacity) plans_.clear();
    return plans_.try_emplace(key, plan).first->second;
  }

  /// For forks (core/fork.hpp).
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void renew() { std::construct_at(&mutex_); }

  void clear() {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    plans_.clear();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<CacheKey, std::shared_ptr<const Plan>, CacheKeyHash> plans_;
};

}  // namespace cornerturn::plan
