#include "plan/cache.hpp"

namespace cornerturn::plan {

std::size_t CacheKeyHash::operator()(const CacheKey& key) const noexcept {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  const auto mix = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  };
  for (const Mode& mode : key.problem.modes) {
    mix(mode.extent);
    mix(mode.src_stride);
    mix(mode.dst_stride);
  }
  mix(static_cast<std::int64_t>(key.problem.src_type.kind()));
  mix(key.problem.src_type.size());
  mix(key.request.threads);
  mix(static_cast<std::int64_t>(std::hash<std::string>()(key.request.kernel)));
  mix(key.measured);
  return hash;
}

std::shared_ptr<const Plan> PlanCache::find(const CacheKey& key) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto found = plans_.find(key);
  return found == plans_.end() ? nullptr : found->second;
}

void PlanCache::insert(const CacheKey& key, std::shared_ptr<const Plan> plan) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (plans_.size() >= capacity) plans_.clear();
  plans_.insert_or_assign(key, std::move(plan));
}

void PlanCache::clear() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  plans_.clear();
}

}  // namespace cornerturn::plan
