// What the families of kernels for both kinds of machines have in common: plan/cpu/families.hpp
// lists those of the CPU, plan/gpu/families.hpp those of GPUs.
#pragma once

#include <functional>

namespace cornerturn::plan {

/// Takes the configurations that a family offers.
template <class Config>
using Add = std::function<void(const Config&)>;

/// Types, in order.
template <class... Types>
struct TypeList {};

}  // namespace cornerturn::plan
