// The public functions: check, look the plan up or make it, run it.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "api/measure.hpp"
#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/threads.hpp"
#include "plan/cache.hpp"
#include "plan/planner.hpp"
#include "plan/winners.hpp"

namespace cornerturn {
namespace {

plan::PlanCache& cache() {
  static plan::PlanCache instance;
  return instance;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw Error(Status::io_error,
                fmt::format("winners file '{}' cannot be read: {}", path, std::strerror(errno)));
  }
  return text.str();
}

plan::Winners& winners() {
  static plan::Winners instance;
  static std::once_flag loaded;
  std::call_once(loaded, [] {
    const char* path = std::getenv("CORNERTURN_WINNERS");
    if (path != nullptr && *path != '\0') instance.parse(read_text(path), path);
  });
  return instance;
}

plan::Request request_of(const Options& options) {
  plan::Request request{cpu::resolve_threads(options.threads), options.kernel};
  if (request.kernel.empty()) {
    const char* forced = std::getenv("CORNERTURN_KERNEL");
    if (forced != nullptr) request.kernel = forced;
  }
  return request;
}

struct Found {
  std::shared_ptr<const plan::Plan> plan;
  bool executed = false;  // measuring has solved the problem already
};

Found find_plan(const View& dst, const ConstView& src, const Options& options) {
  plan::CacheKey key{make_problem(src, dst), request_of(options),
                     options.effort == Effort::measure};
  if (auto known = cache().find(key)) return {std::move(known), false};
  const plan::CpuInfo& cpu = cpu::cpu_info();
  plan::Plan plan = plan::make_plan(key.problem, cpu, key.request);
  Found found;
  if (key.request.kernel.empty()) winners().apply(cpu, plan);
  if (key.measured && plan.choice == plan::Choice::estimated && plan.normal.elements() > 0) {
    check_pointers(key.problem, src.data, dst.data);
    plan = measured(std::move(plan), dst.data, src.data);
    winners().remember(cpu, plan);
    found.executed = true;
  }
  found.plan = std::make_shared<const plan::Plan>(std::move(plan));
  cache().insert(key, found.plan);
  return found;
}

}  // namespace

void copy(const View& dst, const ConstView& src, const Options& options) {
  const Found found = find_plan(dst, src, options);
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

void load_winners(const std::string& path) {
  winners().parse(read_text(path), path);
  cache().clear();  // plans made before may now lose
}

void save_winners(const std::string& path) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary);
    file << winners().to_text();
    file.flush();
    if (!file) {
      const std::string reason = std::strerror(errno);
      std::remove(temporary.c_str());
      throw Error(Status::io_error,
                  fmt::format("winners file '{}' cannot be written: {}", path, reason));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw Error(Status::io_error,
                fmt::format("winners file '{}' cannot be written: {}", path, reason));
  }
}

void forget_plans() {
  winners().clear();
  cache().clear();
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
