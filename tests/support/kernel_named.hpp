// The kernel of the CPU that a family names.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "cpu/kernel.hpp"
#include "plan/plan.hpp"

namespace cornerturn::test {

inline const cpu::Kernel& kernel_named(std::string_view name) {
  for (const plan::Row& row : plan::cpu_registry()) {
    if (row.name == name) return cpu::kernel_of(row);
  }
  throw std::logic_error("no kernel is named " + std::string(name));
}

}  // namespace cornerturn::test
