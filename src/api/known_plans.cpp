// Plans that this process knows: those it made, those that files told it of, and the one that each
// thread used last.
#include "api/known_plans.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "api/measure.hpp"
#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
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

// Counts how often plans were forgotten.
std::atomic<std::uint64_t> forgotten = 0;

void forget_cached() {
  cache().clear();
  forgotten.fetch_add(1, std::memory_order_release);
}

std::string_view forced_by_environment() {
  const char* kernel = std::getenv("CORNERTURN_KERNEL");
  return kernel == nullptr ? std::string_view() : kernel;
}

plan::Request request_of(const Options& options, const Problem& problem) {
  const int threads = cpu::resolve_threads(options.threads, plan::useful_threads(problem));
  if (!options.kernel.empty()) return {threads, options.kernel};
  return {threads, std::string(forced_by_environment())};
}

// The call before, of one thread. Who calls again with arrays of the same shape, as loops do, has
// no need of another check, nor of a look into the cache.
class LastCall {
 public:
  void remember(const View& dst, const ConstView& src, const Options& options,
                const plan::Request& request, std::uint64_t when,
                std::shared_ptr<const plan::Plan> plan) {
    src_type_ = src.type;
    dst_type_ = dst.type;
    src_shape_ = src.shape;
    dst_shape_ = dst.shape;
    src_strides_ = src.strides;
    dst_strides_ = dst.strides;
    options_ = options;
    request_ = request;
    when_ = when;
    plan_ = std::move(plan);
  }

  /// Null when this call differs.
  std::shared_ptr<const plan::Plan> find(const View& dst, const ConstView& src,
                                         const Options& options) const {
    const bool same = plan_ != nullptr && src.shape == src_shape_ && dst.shape == dst_shape_ &&
                      src.strides == src_strides_ && dst.strides == dst_strides_ &&
                      src.type == src_type_ && dst.type == dst_type_ &&
                      options.threads == options_.threads && options.kernel == options_.kernel &&
                      options.effort == options_.effort &&
                      when_ == forgotten.load(std::memory_order_acquire);
    // The environment and the processors that may be used can change from call to call.
    if (!same || request_of(options, plan_->problem) != request_) return nullptr;
    return plan_;
  }

 private:
  ElementType src_type_{Kind::u8}, dst_type_{Kind::u8};
  Extents src_shape_, dst_shape_, src_strides_, dst_strides_;
  Options options_;
  plan::Request request_;
  std::uint64_t when_ = 0;
  std::shared_ptr<const plan::Plan> plan_;
};

thread_local LastCall last_call;

// In the cache, or made anew.
FoundPlan look_up(const plan::CacheKey& key, const View& dst, const ConstView& src) {
  if (auto known = cache().find(key)) return {std::move(known), false};
  const plan::CpuInfo& cpu = cpu::cpu_info();
  plan::Plan plan = plan::make_plan(key.problem, cpu, key.request);
  FoundPlan found;
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

FoundPlan find_plan(const View& dst, const ConstView& src, const Options& options) {
  if (auto known = last_call.find(dst, src, options)) return {std::move(known), false};
  const std::uint64_t when = forgotten.load(std::memory_order_acquire);
  plan::CacheKey key;
  key.problem = make_problem(src, dst);
  key.request = request_of(options, key.problem);
  key.measured = options.effort == Effort::measure;
  FoundPlan found = look_up(key, dst, src);
  last_call.remember(dst, src, options, key.request, when, found.plan);
  return found;
}

void load_winners(const std::string& path) {
  winners().parse(read_text(path), path);
  forget_cached();  // plans made before may now lose
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
  forget_cached();
}

}  // namespace cornerturn
