#include "plan/cache.hpp"

namespace cornerturn::plan {
namespace {

class Hash {
 public:
  explicit Hash(const Problem& problem) {
    for (const Mode& mode : problem.modes) mix(mode.extent, mode.src_stride, mode.dst_stride);
    mix(static_cast<std::int64_t>(problem.src_type.kind()), problem.src_type.size(),
        static_cast<std::int64_t>(problem.dst_type.kind()), problem.dst_type.size());
    if (problem.blocks != nullptr) {
      mix(problem.blocks->back, problem.blocks->rule.format, problem.blocks->first.axis,
          problem.blocks->second.has_value());
    }
    if (problem.lists != nullptr) {
      for (const ListMode& mode : problem.lists->modes) {
        mix(mode.extent, mode.src.places, mode.src.stride, mode.dst.places, mode.dst.stride);
      }
    }
    if (!problem.converts()) return;
    const Values& values = problem.values;
    mix(__builtin_bit_cast(std::int64_t, values.alpha),
        __builtin_bit_cast(std::int64_t, values.beta), values.seed, values.rounding,
        values.overflow, problem.scale.mode, problem.bias.mode);
  }

  template <class... Values>
  void mix(Values... values) {
    (mix_one(static_cast<std::int64_t>(values)), ...);
  }

  std::size_t value() const { return hash_; }

 private:
  void mix_one(std::int64_t value) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0xBF58476D1CE4E5B9u;
    hash_ ^= hash_ >> 29;
  }

  std::uint64_t hash_ = 0x9E3779B97F4A7C15u;
};

}  // namespace

std::size_t CacheKeyHash::operator()(const CacheKey& key) const noexcept {
  const Request& request = key.request;
  Hash hash(key.problem);
  hash.mix(key.gpu, request.threads, request.alignment.src, request.alignment.dst,
           request.dst_phase, std::hash<std::string>()(request.kernel),
           static_cast<int>(key.effort), key.crossing.way, key.crossing.pinned,
           key.crossing.captured, key.crossing.blocks);
  return hash.value();
}

}  // namespace cornerturn::plan
