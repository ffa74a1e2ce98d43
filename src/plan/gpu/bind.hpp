// Puts the addresses of the arrays into the arguments of launches.
#pragma once

#include <cstddef>
#include <variant>

#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan::gpu {

/// What is known of values when a plan runs alone: vectors, and a late factor.
template <class Args>
void bind_values(Args& args, const Buffers& buffers) {
  if constexpr (requires { args.scale; }) {
    args.scale.data = buffers.vectors.scale;
    args.bias.data = buffers.vectors.bias;
  }
  if (!buffers.late) return;
  if constexpr (requires { args.values.wide_alpha; }) {
    args.values.alpha = static_cast<float>(buffers.late->alpha);
    args.values.wide_alpha = buffers.late->alpha;
    args.values.addend = buffers.late->addend;
  } else if constexpr (requires { args.change; }) {
    args.change.values.alpha = buffers.late->alpha;
    args.change.arithmetic = true;
    args.change.addend = buffers.late->addend;
  }
}

/// For arguments that name both sides src and dst.
template <class Args>
void bind(Args& args, const Problem& normal, const Buffers& buffers) {
  args.src = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  args.dst = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  bind_values(args, buffers);
}

/// What a kernel takes of its family's arguments: the one of their forms that it names, or all.
template <class Kernel, class Args>
const auto& args_for(const Args& args) {
  if constexpr (requires { typename Kernel::Args; }) {
    return std::get<typename Kernel::Args>(args.form);
  } else {
    return args;
  }
}

/// Calls run(args, launch) for the launches of a plan of the family, one after the other.
template <class Family, class Run>
void for_each_launch(const Plan& plan, const Buffers& buffers, const Run& run) {
  int number = 0;
  for (const Prepared* one = &plan.ready; one != nullptr; one = one->then.get()) {
    auto args = one->template args_of<Family>();
    if constexpr (requires { Family::bind(args, plan.normal, buffers, number); }) {
      Family::bind(args, plan.normal, buffers, number++);
    } else {
      bind(args, plan.normal, buffers);
    }
    run(args, one->launch);
  }
}

}  // namespace cornerturn::plan::gpu
