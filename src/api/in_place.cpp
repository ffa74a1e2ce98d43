// The public functions that permute an array within its memory: check, find the plan, run it.
#include "cornerturn/in_place.hpp"

#include <fmt/format.h>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/in_place.hpp"
#include "core/refuse.hpp"

namespace cornerturn {
namespace {

std::shared_ptr<const plan::Plan> find_in_place(const Problem& problem, const View& array,
                                                const Options& options) {
  Target target = target_of(options, {{"array", array.data}});
  if (target.gpu >= 0) target = target_on(target.gpu, array.data, array.data);
  Options how = options;
  how.effort = Effort::estimate;  // a candidate that is timed would permute the array
  return find_plan(problem, how, target, {}).plan;
}

}  // namespace

View permute_in_place(const View& array, std::span<const int> permutation, const Options& options) {
  require_here(options);
  const in_place::InPlaceProblem asked = in_place::problem_in_place(array, permutation);
  const bool empty = asked.problem.elements() == 0;
  if (array.data == nullptr && !empty) refuse("array = null, but it has elements");
  const auto plan = find_in_place(asked.problem, array, options);
  if (!empty) run(*plan, {array.data, array.data}, options.stream);
  return asked.result;
}

View transpose_in_place(void* array, std::int64_t rows, std::int64_t columns, ElementType type,
                        const Options& options) {
  for (const auto& [name, value] : {std::pair{"rows", rows}, std::pair{"columns", columns}}) {
    if (value < 0) refuse(fmt::format("{} = {} is negative", name, value));
  }
  return permute_in_place(View(array, type, {rows, columns}), {1, 0}, options);
}

Plan plan_in_place(const View& array, std::span<const int> permutation, const Options& options) {
  const in_place::InPlaceProblem asked = in_place::problem_in_place(array, permutation);
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, asked.problem, options));
  }
  return Plan(find_in_place(asked.problem, array, options));
}

}  // namespace cornerturn
