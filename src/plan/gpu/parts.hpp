// A plan that consists of other plans, which run one after the other on parts of the arrays and of
// a workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/buffers.hpp"
#include "kernels/passes.hpp"
#include "plan/gpu/family.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan::gpu {

/// What a part reads or writes. The array is the destination, also where it is its own source.
enum class Memory { array, workspace, source };

/// Where one side of a part begins.
struct PartPlace {
  Memory memory = Memory::array;
  std::int64_t offset = 0;  ///< bytes

  friend bool operator==(const PartPlace&, const PartPlace&) = default;
};

/// One plan that is run. Where it works within the array, both places are the same.
struct Part {
  std::shared_ptr<const Plan> plan;
  PartPlace dst;
  PartPlace src;
  std::int64_t workspace = 0;  ///< where its own workspace begins within that of all

  friend bool operator==(const Part& a, const Part& b) {
    return a.dst == b.dst && a.src == b.src && a.workspace == b.workspace &&
           (a.plan == b.plan || *a.plan == *b.plan);
  }
};

struct Parts {
  std::vector<Part> list;
  std::int64_t workspace = 0;  ///< bytes

  friend bool operator==(const Parts&, const Parts&) = default;
};

/// What families have in common that have no kernel: the plans of All::parts do the demand.
template <class All>
struct FamilyOfParts {
  struct Config {
    std::shared_ptr<const All> all;

    friend bool operator==(const Config& a, const Config& b) {
      return a.all == b.all || a.all->parts == b.all->parts;
    }
  };
  using Args = kernels::PassesArgs;

  static const Parts& parts(const Config& config) { return config.all->parts; }
  static Launchable<Args> prepare(const Config&, const Problem&) {
    return {{}, {{0, 1, 1}, {0, 1, 1}, 0}};
  }
  static void bind(Args&, const Problem&, const Buffers&, int) {}
};

/// Calls run(plan, buffers) for the plans that have kernels: the plan itself, or all its parts.
template <class Run>
void for_each_part(const Plan& plan, const Buffers& buffers, const Run& run) {
  if (plan.chosen.row->parts == nullptr) return run(plan, buffers);
  const auto written = [&](const PartPlace& place) {
    auto* const array = static_cast<std::byte*>(buffers.dst);
    return (place.memory == Memory::workspace ? buffers.workspace : array) + place.offset;
  };
  const auto read = [&](const PartPlace& place) -> const std::byte* {
    if (place.memory != Memory::source) return written(place);
    return static_cast<const std::byte*>(buffers.src) + place.offset;
  };
  for (const Part& part : plan.chosen.row->parts(plan.chosen.config)->list) {
    Buffers of_part{written(part.dst), read(part.src)};
    of_part.workspace = buffers.workspace + part.workspace;
    run(*part.plan, of_part);
  }
}

}  // namespace cornerturn::plan::gpu
