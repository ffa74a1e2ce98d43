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
#include "cuda/backend.hpp"
#include "plan/cache.hpp"
#include "plan/planner.hpp"
#include "plan/winners.hpp"

namespace cornerturn {
namespace {

using plan::AnyPlan;

// One cache for the plans of the CPU, and one for those of the GPUs.
template <class Key>
plan::BoundedCache<Key, AnyPlan>& cache() {
  static plan::BoundedCache<Key, AnyPlan> instance;
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
  cache<plan::CacheKey>().clear();
  cache<plan::GpuCacheKey>().clear();
  forgotten.fetch_add(1, std::memory_order_release);
}

std::string_view forced_by_environment() {
  const char* kernel = std::getenv("CORNERTURN_KERNEL");
  return kernel == nullptr ? std::string_view() : kernel;
}

std::string kernel_of(const Options& options) {
  return options.kernel.empty() ? std::string(forced_by_environment()) : options.kernel;
}

// What a GPU's plan does not depend on is left alone.
plan::Request request_of(const Options& options, const Problem& problem, const Target& target) {
  if (target.gpu >= 0) return {1, kernel_of(options)};
  return {cpu::resolve_threads(options.threads, plan::useful_threads(problem)), kernel_of(options)};
}

// A plan depends on whether there are vectors, not on where they lie.
Epilogue without_addresses(Epilogue epilogue) {
  static constexpr float somewhere = 1;
  if (epilogue.scale != nullptr) epilogue.scale = &somewhere;
  if (epilogue.bias != nullptr) epilogue.bias = &somewhere;
  return epilogue;
}

// The call before, of one thread. Who calls again with arrays of the same shape, as loops do, has
// no need of another check, nor of a look into the cache.
class LastCall {
 public:
  void remember(const View& dst, const ConstView& src, const Epilogue& epilogue,
                const Options& options, const Target& target, const plan::Request& request,
                std::uint64_t when, std::shared_ptr<const AnyPlan> plan) {
    epilogue_ = without_addresses(epilogue);
    src_type_ = src.type;
    dst_type_ = dst.type;
    src_shape_ = src.shape;
    dst_shape_ = dst.shape;
    src_strides_ = src.strides;
    dst_strides_ = dst.strides;
    options_ = options;
    target_ = target;
    request_ = request;
    when_ = when;
    plan_ = std::move(plan);
  }

  /// Null when this call differs.
  std::shared_ptr<const AnyPlan> find(const View& dst, const ConstView& src,
                                      const Epilogue& epilogue, const Options& options,
                                      const Target& target) const {
    const bool same =
        plan_ != nullptr && src.shape == src_shape_ && dst.shape == dst_shape_ &&
        src.strides == src_strides_ && dst.strides == dst_strides_ && src.type == src_type_ &&
        dst.type == dst_type_ && target == target_ && without_addresses(epilogue) == epilogue_ &&
        options.threads == options_.threads && options.kernel == options_.kernel &&
        options.effort == options_.effort && when_ == forgotten.load(std::memory_order_acquire);
    // The environment and the processors that may be used can change from call to call.
    if (!same || request_of(options, plan_->problem(), target) != request_) return nullptr;
    return plan_;
  }

 private:
  ElementType src_type_{Kind::u8}, dst_type_{Kind::u8};
  Extents src_shape_, dst_shape_, src_strides_, dst_strides_;
  Epilogue epilogue_;
  Options options_;
  Target target_;
  plan::Request request_;
  std::uint64_t when_ = 0;
  std::shared_ptr<const AnyPlan> plan_;
};

thread_local LastCall last_call;

// In the cache, or made by `make(found)`, which says whether it has run as well.
template <class Key, class Make>
FoundPlan look_up(const Key& key, const Make& make) {
  if (auto known = cache<Key>().find(key)) return {std::move(known), false};
  FoundPlan found;
  found.plan = std::make_shared<const AnyPlan>(make(found.executed));
  cache<Key>().insert(key, found.plan);
  return found;
}

// Not where the destination is read as well: each run would change what the next one finds.
bool to_be_measured(bool asked, plan::Choice choice, const Problem& normal) {
  return asked && choice == plan::Choice::estimated && normal.elements() > 0 &&
         normal.values.beta == 0;
}

FoundPlan plan_on_cpu(const plan::CacheKey& key, void* dst, const void* src,
                      const Vectors& vectors) {
  return look_up(key, [&](bool& executed) -> AnyPlan {
    const plan::CpuInfo& cpu = cpu::cpu_info();
    plan::Plan plan = plan::make_plan(key.problem, cpu, key.request);
    if (key.request.kernel.empty()) winners().apply(cpu, plan);
    if (to_be_measured(key.measured, plan.choice, plan.normal)) {
      check_pointers(key.problem, src, dst);
      check_vectors(key.problem, vectors);
      plan = measured(std::move(plan), dst, src, vectors);
      winners().remember(cpu, plan);
      executed = true;
    }
    return {std::move(plan), -1};
  });
}

FoundPlan plan_on_gpu(const plan::GpuCacheKey& key, void* dst, const void* src,
                      const Vectors& vectors, void* stream) {
  return look_up(key, [&](bool& executed) -> AnyPlan {
    plan::gpu::Plan plan = plan::gpu::make_plan(key.problem, {true, key.src, key.dst},
                                                cuda::description_of(key.gpu), key.kernel);
    if (key.kernel.empty()) winners().apply(plan);
    if (to_be_measured(key.measured, plan.choice, plan.normal)) {
      check_pointers(key.problem, src, dst);
      check_vectors(key.problem, vectors);
      plan = measured(std::move(plan), dst, src, vectors, stream);
      winners().remember(plan);
      executed = true;
    }
    return {std::move(plan), key.gpu};
  });
}

}  // namespace

FoundPlan find_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Options& options, const Target& target) {
  if (auto known = last_call.find(dst, src, epilogue, options, target)) {
    return {std::move(known), false};
  }
  const std::uint64_t when = forgotten.load(std::memory_order_acquire);
  const Problem problem = make_problem(src, dst, epilogue);
  const plan::Request request = request_of(options, problem, target);
  const bool measure = options.effort == Effort::measure;
  FoundPlan found =
      target.gpu < 0
          ? plan_on_cpu({problem, request, measure}, dst.data, src.data,
                        {epilogue.scale, epilogue.bias})
          : plan_on_gpu({problem, target.gpu, target.src, target.dst, request.kernel, measure},
                        dst.data, src.data, {epilogue.scale, epilogue.bias}, options.stream);
  last_call.remember(dst, src, epilogue, options, target, request, when, found.plan);
  return found;
}

Plan plan_for(const plan::gpu::DeviceInfo& device, const View& dst, const ConstView& src,
              const Epilogue& epilogue, const Options& options) {
  if (options.effort == Effort::measure) {
    throw Error(
        Status::invalid_argument,
        fmt::format("options.effort = measure, but options.device = '{}' is only described: "
                    "it cannot be timed",
                    options.device));
  }
  plan::gpu::Plan plan =
      plan::gpu::make_plan(make_problem(src, dst, epilogue), {}, device, kernel_of(options));
  if (plan.choice == plan::Choice::estimated) winners().apply(plan);
  return Plan(std::make_shared<const AnyPlan>(AnyPlan{std::move(plan), -1}));
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
