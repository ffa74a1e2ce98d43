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
#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan {

/// What a plan for the CPU was asked for.
struct CacheKey {
  Problem problem;
  Request request;
  bool measured = false;

  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

/// What a plan for a GPU was asked for.
struct GpuCacheKey {
  Problem problem;
  int gpu = 0;            ///< its number
  std::int64_t src = 16;  ///< alignment of the pointers
  std::int64_t dst = 16;
  std::string kernel;  ///< forced; empty: none
  bool measured = false;

  friend bool operator==(const GpuCacheKey&, const GpuCacheKey&) = default;
};

struct CacheKeyHash {
  std::size_t operator()(const CacheKey& key) const noexcept;
  std::size_t operator()(const GpuCacheKey& key) const noexcept;
};

/// Thread-safe. Holds at most `capacity` plans and starts over when it is full.
template <class Key, class Value>
class BoundedCache {
 public:
  static constexpr std::size_t capacity = 4096;

  /// Null when there is none.
  std::shared_ptr<const Value> find(const Key& key) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = plans_.find(key);
    return found == plans_.end() ? nullptr : found->second;
  }

  void insert(const Key& key, std::shared_ptr<const Value> plan) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    if (plans_.size() >= capacity) plans_.clear();
    plans_.insert_or_assign(key, std::move(plan));
  }

  void clear() {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    plans_.clear();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Value>, CacheKeyHash> plans_;
};

using PlanCache = BoundedCache<CacheKey, Plan>;

}  // namespace cornerturn::plan
