// The public functions: check, look the plan up or make it, run it.
#include <fmt/format.h>

#include <utility>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {

namespace {

Vectors vectors_of(const Epilogue& epilogue) {
  return {epilogue.scale, epilogue.bias};
}

void check_matrix(std::int64_t rows, std::int64_t columns) {
  for (const auto& [name, value] : {std::pair{"rows", rows}, std::pair{"columns", columns}}) {
    if (value < 0) {
      throw Error(Status::invalid_argument, fmt::format("{} = {} is negative", name, value));
    }
  }
}

// The plans of other operations have more arrays than a source and a destination.
void check_two_arrays(const Problem& problem) {
  if (problem.lists != nullptr) {
    throw Error(Status::invalid_argument,
                "plan: it has lists, whose tables execute() does not take; copy() of "
                "cornerturn/lists.hpp finds and runs such plans");
  }
  const Operation operation = problem.operation();
  if (operation == Operation::move || operation == Operation::convert) return;
  const char* header = operation == Operation::reduce     ? "amax.hpp"
                       : operation == Operation::in_place ? "in_place.hpp"
                                                          : "blocks.hpp";
  throw Error(
      Status::invalid_argument,
      fmt::format("plan: its operation is {}, execute() runs move and convert; the functions "
                  "of cornerturn/{} find and run such plans",
                  name_of(operation), header));
}

}  // namespace

void copy(const View& dst, const ConstView& src, const Options& options) {
  copy(dst, src, Epilogue{}, options);
}

void copy(const View& dst, const ConstView& src, const Epilogue& epilogue, const Options& options) {
  require_here(options);
  copy_on(target_of(options, dst.data, src.data, vectors_of(epilogue)), dst, src, epilogue,
          options);
}

void copy_on(const Target& target, const View& dst, const ConstView& src, const Epilogue& epilogue,
             const Options& options) {
  run_found(find_plan(dst, src, epilogue, options, target), dst, src, epilogue, options);
}

void run_found(const FoundPlan& found, const View& dst, const ConstView& src,
               const Epilogue& epilogue, const Options& options) {
  if (found.executed) return;
  check_pointers(found.plan->problem, dst.data, src.data);
  check_vectors(found.plan->problem, dst.data, vectors_of(epilogue));
  run_and_learn(found.plan, {dst.data, src.data, vectors_of(epilogue)}, options.stream);
}

void permute(void* dst, const ConstView& src, std::span<const int> permutation,
             const Options& options) {
  permute(dst, src.type, src, permutation, {}, options);
}

void permute(void* dst, ElementType dst_type, const ConstView& src,
             std::span<const int> permutation, const Epilogue& epilogue, const Options& options) {
  const ConstView permuted = src.permuted(permutation);
  copy(View(dst, dst_type, permuted.shape), permuted, epilogue, options);
}

void transpose(void* dst, const void* src, std::int64_t rows, std::int64_t columns,
               ElementType type, const Options& options) {
  transpose(dst, type, src, rows, columns, type, {}, options);
}

void transpose(void* dst, ElementType dst_type, const void* src, std::int64_t rows,
               std::int64_t columns, ElementType src_type, const Epilogue& epilogue,
               const Options& options) {
  check_matrix(rows, columns);
  ConstView transposed(src, src_type, {rows, columns});
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  copy(View(dst, dst_type, transposed.shape), transposed, epilogue, options);
}

Plan make_plan(const View& dst, const ConstView& src, const Options& options) {
  return make_plan(dst, src, Epilogue{}, options);
}

Plan make_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
               const Options& options) {
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, make_problem(dst, src, epilogue), options));
  }
  const Target target = target_of(options, dst.data, src.data, vectors_of(epilogue));
  Options asked = options;  // turns are for those who want the problem solved
  if (asked.effort == Effort::automatic) asked.effort = Effort::estimate;
  return Plan(find_plan(dst, src, epilogue, asked, target).plan);
}

void execute(const Plan& plan, void* dst, const void* src, void* stream) {
  execute(plan, dst, src, Epilogue{}, stream);
}

void execute(const Plan& plan, void* dst, const void* src, const Epilogue& epilogue, void* stream) {
  check_two_arrays(plan.impl().problem);
  if (plan.impl().problem.elements() == 0) return;
  const Buffers buffers{dst, src, vectors_of(epilogue)};
  check_runs_on(plan.impl(), buffers);
  run(plan.impl(), buffers, stream);
}

std::string_view Plan::kernel() const {
  return impl_->kernel();
}
std::string Plan::device() const {
  return impl_->machine.name();
}
int Plan::threads() const {
  if (const auto* link = impl_->machine.link()) return link->threads;
  return impl_->machine.gpu() != nullptr ? 0 : impl_->threads;
}
std::int64_t Plan::bytes() const {
  return impl_->problem.bytes();
}
double Plan::predicted_seconds() const {
  return impl_->predicted_seconds();
}
std::string Plan::to_string() const {
  return plan::to_string(*impl_);
}
std::string Plan::why() const {
  return plan::why(*impl_);
}
std::string Plan::explain() const {
  return plan::explain(*impl_);
}
std::string Plan::to_json() const {
  return plan::to_json(*impl_);
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
