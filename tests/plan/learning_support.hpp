// Plans of which tests learn.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "plan/learning.hpp"
#include "plan/planner.hpp"

namespace cornerturn::plan::of_learning {

inline Problem transposed_matrix(std::int64_t rows, std::int64_t columns,
                                 const Epilogue& epilogue = {}) {
  const ElementType floats(Kind::f32);
  const ConstView packed(nullptr, floats, {rows, columns});
  const ConstView src = packed.permuted({1, 0});
  return make_problem(View(nullptr, floats, src.shape), src, epilogue);
}

// Kernels take it in many ways.
inline Problem scrambled() {
  const ElementType floats(Kind::f32);
  const ConstView src = ConstView(nullptr, floats, {31, 8, 31, 12, 7}).permuted({1, 3, 4, 2, 0});
  return make_problem(View(nullptr, floats, src.shape), src);
}

// Predicted to take so many milliseconds; the plan has as many candidates.
inline Plan plan_of(const std::vector<double>& predicted,
                    const Problem& problem = transposed_matrix(1033, 517),
                    const Machine& machine = CpuInfo{}) {
  Plan plan = make_plan(problem, machine, {});
  EXPECT_GE(plan.candidates.size(), predicted.size());
  plan.candidates.resize(predicted.size());
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    plan.candidates[i].estimate.seconds = 1e-3 * predicted[i];
  }
  plan.choose(plan.candidates.front(), Choice::estimated);
  return plan;
}

inline std::size_t number_of(const Plan& trial, const Plan& plan) {
  std::size_t i = 0;
  while (i < plan.candidates.size() && !(plan.candidates[i] == trial.chosen)) ++i;
  return i;
}

// As a call does it.
inline std::shared_ptr<const Plan> call(Learning& learning, const Plan& plan,
                                        const Solver& solver) {
  const Plan* const plain = learning.plain_call(plan);
  if (plain == nullptr) return learning.solve(plan, solver);
  solver.run(*plain);
  return nullptr;
}

}  // namespace cornerturn::plan::of_learning
