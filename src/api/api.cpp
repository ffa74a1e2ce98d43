// The public functions: check, look the plan up or make it, run it.
#include <fmt/format.h>

#include "api/known_plans.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"

namespace cornerturn {

void copy(const View& dst, const ConstView& src, const Options& options) {
  const FoundPlan found = find_plan(dst, src, options);
  if (found.executed) return;
  check_pointers(found.plan->problem, src.data, dst.data);
  cpu::execute(*found.plan, src.data, dst.data);
}

void permute(void* dst, const ConstView& src, std::span<const int> permutation,
             const Options& options) {
  const ConstView turned = src.permuted(permutation);
  copy(View(dst, src.type, turned.shape), turned, options);
}

void transpose(void* dst, const void* src, std::int64_t rows, std::int64_t columns,
               ElementType type, const Options& options) {
  for (const auto& [name, value] : {std::pair{"rows", rows}, std::pair{"columns", columns}}) {
    if (value < 0) {
      throw Error(Status::invalid_argument, fmt::format("{} = {} is negative", name, value));
    }
  }
  permute(dst, ConstView(src, type, {rows, columns}), {1, 0}, options);
}

Plan make_plan(const View& dst, const ConstView& src, const Options& options) {
  return Plan(find_plan(dst, src, options).plan);
}

void execute(const Plan& plan, void* dst, const void* src) {
  check_pointers(plan.impl().problem, src, dst);
  cpu::execute(plan.impl(), src, dst);
}

std::string_view Plan::kernel() const {
  return impl_->kernel();
}
int Plan::threads() const {
  return impl_->threads;
}
std::int64_t Plan::bytes() const {
  return impl_->problem.bytes();
}
double Plan::predicted_seconds() const {
  return impl_->predicted_ns() * 1e-9;
}
std::string Plan::to_string() const {
  return plan::to_string(*impl_);
}
std::string Plan::explain() const {
  return plan::explain(*impl_, cpu::cpu_info());
}
std::string Plan::to_json() const {
  return plan::to_json(*impl_, cpu::cpu_info());
}
bool operator==(const Plan& a, const Plan& b) {
  return a.impl() == b.impl();
}

const char* version() noexcept {
#define CT_TEXT(x) #x
#define CT_VERSION_TEXT(a, b, c) CT_TEXT(a) "." CT_TEXT(b) "." CT_TEXT(c)
  return CT_VERSION_TEXT(CORNERTURN_VERSION_MAJOR, CORNERTURN_VERSION_MINOR,
                         CORNERTURN_VERSION_PATCH);
}

}  // namespace cornerturn
