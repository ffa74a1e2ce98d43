// Plans that this process knows: those it made, those that files told it of, and the one that each
// thread used last.
#include "api/known_plans.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/measure.hpp"
#include "core/fork.hpp"
#include "core/per_thread.hpp"
#include "core/validate.hpp"
#include "core/visible.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/threads.hpp"
#include "cuda/backend.hpp"
#include "cuda/crossing.hpp"
#include "files/output_file.hpp"
#include "plan/cache.hpp"
#include "plan/learning.hpp"
#include "plan/planner.hpp"
#include "plan/winners.hpp"

namespace cornerturn {
namespace {

// Neither is ever destroyed: calls may come from destructors of static objects.
plan::PlanCache& cache() {
  static plan::PlanCache& instance = []() -> plan::PlanCache& {
    auto& made = *new plan::PlanCache;
    hold_over_forks(made);
    return made;
  }();
  return instance;
}

plan::Winners& winners() {
  static plan::Winners& instance = []() -> plan::Winners& {
    auto made = std::make_unique<plan::Winners>();
    const char* path = std::getenv("CORNERTURN_WINNERS");
    if (path != nullptr && *path != '\0') {
      made->parse(files::read_text(path, "CORNERTURN_WINNERS"), path);
    }
    hold_over_forks(*made);
    return *made.release();
  }();
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

// Tells whether the environment has no variable of this library, as in most processes. To ask for
// one by its name takes a part of the time that a small array takes, and there may be hundreds: all
// are looked at once, and from then on only whether they are still the same.
class UnchangedEnvironment {
 public:
  bool holds() {
    if (environ == nullptr) return true;
    if (environ == where_ &&
        std::memcmp(environ, variables_.data(), variables_.size() * sizeof(char*)) == 0) {
      return true;
    }
    where_ = nullptr;
    variables_.clear();
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (std::string_view(*variable).starts_with("CORNERTURN_")) return false;
      variables_.push_back(*variable);
    }
    variables_.push_back(nullptr);
    where_ = environ;
    return true;
  }

 private:
  char** where_ = nullptr;
  std::vector<char*> variables_;  // and what ends their list
};

// The environment speaks of moves and conversions: what blocks and reductions need has other names.
void force_kernel(const Options& options, const Problem& problem, plan::Request& request) {
  if (options.kernel == any_kernel) return;
  request.kernel = options.kernel;
  const bool other =
      problem.blocks != nullptr || problem.reduces || problem.in_place || problem.lists != nullptr;
  if (!options.kernel.empty() || other) return;
  request.kernel = forced_by_environment();
  request.kernel_of_environment = !request.kernel.empty();
}

// Where a destination begins within a cache line. Small ones stay in the caches, where that is all
// the same: plans for them do not depend on it.
int phase_of(const void* dst, std::int64_t bytes) {
  constexpr std::uintptr_t line_bytes = 64;
  constexpr std::int64_t small = 256 << 10;
  return bytes < small ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(dst) % line_bytes);
}

// The CPU takes part in what crosses the link.
bool counts_threads(const Target& target) {
  return target.gpu < 0 || static_cast<bool>(target.crossing);
}

// What a GPU's plan does not depend on is left alone.
plan::Request request_of(const Options& options, const Problem& problem, const Target& target,
                         const void* dst) {
  plan::Request request;
  if (target.gpu >= 0) request.alignment = target.alignment;
  if (counts_threads(target)) {
    request.threads = cpu::resolve_threads(options.threads, plan::useful_threads(problem));
  }
  if (target.gpu < 0) request.dst_phase = phase_of(dst, problem.bytes());
  force_kernel(options, problem, request);
  return request;
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
                std::uint64_t when, std::shared_ptr<const plan::Plan> plan) {
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
    useful_threads_ = plan::useful_threads(plan->problem);
    bytes_ = plan->problem.bytes();
    plan_ = std::move(plan);
    environment_.holds();  // what it notes is noted now: calls that follow allocate nothing
  }

  /// Null when this call differs.
  std::shared_ptr<const plan::Plan> find(const View& dst, const ConstView& src,
                                         const Epilogue& epilogue, const Options& options,
                                         const Target& target) {
    const bool same = plan_ != nullptr && src.shape == src_shape_ && dst.shape == dst_shape_ &&
                      src.strides == src_strides_ && dst.strides == dst_strides_ &&
                      src.type == src_type_ && dst.type == dst_type_ && target == target_ &&
                      same_epilogue(epilogue) && options.threads == options_.threads &&
                      options.kernel == options_.kernel && options.effort == options_.effort &&
                      when_ == forgotten.load(std::memory_order_acquire);
    if (!same || !asks_for_the_same(options, target)) return nullptr;
    if (target.gpu < 0 && phase_of(dst.data, bytes_) != request_.dst_phase) return nullptr;
    if (plan_->learning != nullptr && plan_->learning->ended()) return nullptr;
    return plan_;
  }

 private:
  // The environment and the processors that may be used can change from call to call.
  bool asks_for_the_same(const Options& options, const Target& target) {
    const bool threads_matter = counts_threads(target);
    if (environment_.holds() && !(threads_matter && useful_threads_ > 1)) {
      return !request_.kernel_of_environment && !(threads_matter && request_.threads != 1);
    }
    plan::Request now;
    force_kernel(options, plan_->problem, now);
    return now.kernel == request_.kernel &&
           now.kernel_of_environment == request_.kernel_of_environment &&
           (!threads_matter ||
            cpu::resolve_threads(options.threads, useful_threads_) == request_.threads);
  }

  // To the bit: a factor of -0 gives other zeros than one of 0.
  bool same_epilogue(const Epilogue& epilogue) const {
    return without_addresses(epilogue) == epilogue_ &&
           std::signbit(epilogue.alpha) == std::signbit(epilogue_.alpha) &&
           std::signbit(epilogue.beta) == std::signbit(epilogue_.beta);
  }

  ElementType src_type_{Kind::u8}, dst_type_{Kind::u8};
  Extents src_shape_, dst_shape_, src_strides_, dst_strides_;
  Epilogue epilogue_;
  Options options_;
  Target target_;
  plan::Request request_;
  std::uint64_t when_ = 0;
  int useful_threads_ = 1;
  std::int64_t bytes_ = 0;
  UnchangedEnvironment environment_;
  std::shared_ptr<const plan::Plan> plan_;
};

// Not where the destination is read as well: each run would change what the next one finds.
bool to_be_measured(bool asked, const plan::Plan& plan) {
  return asked && plan.choice == plan::Choice::estimated && plan.normal.elements() > 0 &&
         plan.normal.values.beta == 0;
}

// A pointer of a move or a conversion that is null shows before the first candidate is timed. Other
// operations have been checked.
void check_before_timing(const Problem& problem, const Buffers& buffers) {
  if (problem.blocks != nullptr || problem.reduces || problem.in_place || problem.lists != nullptr)
    return;
  check_pointers(problem, buffers.dst, buffers.src);
  check_vectors(problem, buffers.dst, buffers.vectors);
}

// Whoever asks for less from now on gets the winner; estimates use it as it is where more is
// learned of it.
void use(plan::CacheKey key, const std::shared_ptr<const plan::Plan>& winner) {
  key.effort = Effort::automatic;
  cache().insert(key, winner);
  key.effort = Effort::estimate;
  if (winner->learning == nullptr) return cache().insert(key, winner);
  plan::Plan as_it_is = *winner;
  as_it_is.learning = nullptr;
  cache().insert(key, std::make_shared<const plan::Plan>(std::move(as_it_is)));
}

plan::Machine machine_of(const plan::CacheKey& key) {
  if (key.gpu < 0) return cpu::machine();
  const plan::Machine& gpu = cuda::machine_of(key.gpu);
  if (!key.crossing) return gpu;
  return plan::Machine(plan::link::LinkInfo{*gpu.gpu(), *cpu::machine().cpu(), key.request.threads,
                                            cuda::most_pinned_bytes(), key.crossing},
                       gpu.gpu_costs());
}

FoundPlan look_up(const plan::CacheKey& key, const Buffers& buffers, void* stream) {
  if (auto known = cache().find(key)) return {std::move(known), false};
  FoundPlan found;
  const plan::Machine machine = machine_of(key);
  plan::Plan plan = key.effort == Effort::measure
                        ? plan::make_plan(key.problem, machine, key.request)
                        : plan::make_quick_plan(key.problem, machine, key.request);
  plan.gpu = key.gpu;
  if (key.request.kernel.empty()) winners().apply(plan);
  if (to_be_measured(key.effort == Effort::measure, plan)) {
    check_before_timing(key.problem, buffers);
    plan = measured(std::move(plan), buffers, stream);
    found.executed = true;
  }
  if (key.effort == Effort::automatic && !key.crossing)
    plan.learning = plan::Learning::of(plan, key.request);
  found.plan = std::make_shared<const plan::Plan>(std::move(plan));
  if (found.plan->learning != nullptr) {
    found.plan = cache().find_or_insert(key, found.plan);  // threads that begin together share it
    return found;
  }
  cache().insert(key, found.plan);
  if (found.executed && found.plan->choice != plan::Choice::estimated) {
    winners().remember(*found.plan);
    use(key, found.plan);
  }
  return found;
}

}  // namespace

FoundPlan find_plan(const Problem& problem, const Options& options, const Target& target,
                    const Buffers& buffers) {
  return look_up(
      {problem, request_of(options, problem, target, buffers.dst), target.gpu,
       options.effort == Effort::measure ? Effort::measure : Effort::estimate, target.crossing},
      buffers, options.stream);
}

FoundPlan find_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                    const Options& options, const Target& target) {
  LastCall& last_call = PerThread<LastCall>::get();
  if (auto known = last_call.find(dst, src, epilogue, options, target)) {
    return {std::move(known), false};
  }
  const std::uint64_t when = forgotten.load(std::memory_order_acquire);
  const Problem problem = make_problem(dst, src, epilogue);
  const plan::Request request = request_of(options, problem, target, dst.data);
  FoundPlan found = look_up({problem, request, target.gpu, options.effort, target.crossing},
                            {dst.data, src.data, {epilogue.scale, epilogue.bias}}, options.stream);
  last_call.remember(dst, src, epilogue, options, target, request, when, found.plan);
  return found;
}

namespace {

plan::Crossing crossing_of(const std::string& host_side) {
  using Way = plan::Crossing::Way;
  plan::Crossing crossing;
  if (host_side.empty()) return crossing;
  for (const auto& [text, way, pinned] :
       {std::tuple{"src", Way::into_gpu, true}, std::tuple{"pageable src", Way::into_gpu, false},
        std::tuple{"dst", Way::out_of_gpu, true},
        std::tuple{"pageable dst", Way::out_of_gpu, false}}) {
    if (host_side != text) continue;
    crossing.way = way;
    crossing.pinned = pinned;
    return crossing;
  }
  throw Error(
      Status::invalid_argument,
      fmt::format("options.host_side = '{}' is none of src, dst, pageable src, pageable dst",
                  visible(host_side)));
}

}  // namespace

std::shared_ptr<const plan::Plan> plan_for(const plan::gpu::DeviceInfo& device,
                                           const Problem& problem, const Options& options) {
  if (options.effort == Effort::measure) {
    throw Error(
        Status::invalid_argument,
        fmt::format("options.effort = measure, but options.device = '{}' is only described: "
                    "it cannot be timed",
                    options.device));
  }
  plan::Request request;
  force_kernel(options, problem, request);
  plan::Crossing crossing = crossing_of(options.host_side);
  check_blocks(options, static_cast<bool>(crossing));
  crossing.blocks = options.blocks;
  if (crossing) request.threads = cpu::resolve_threads(options.threads, 1024);
  const plan::Machine machine =
      crossing ? plan::Machine(plan::link::LinkInfo{device, *cpu::machine().cpu(), request.threads,
                                                    cuda::most_pinned_bytes(), crossing})
               : plan::Machine(device);
  plan::Plan plan = plan::make_plan(problem, machine, request);
  if (plan.choice == plan::Choice::estimated) winners().apply(plan);
  return std::make_shared<const plan::Plan>(std::move(plan));
}

void run(const plan::Plan& plan, const Buffers& buffers, void* stream) {
  if (plan.machine.link() != nullptr) {
    cuda::execute_across(plan, buffers, static_cast<cuda::Stream>(stream));
  } else if (plan.machine.gpu() != nullptr) {
    cuda::execute(plan, buffers, static_cast<cuda::Stream>(stream));
  } else {
    cpu::execute(plan, buffers);
  }
}

namespace {

plan::Solver solver_on_cpu(const Buffers& buffers) {
  return {[&](const plan::Plan& one) { cpu::execute(one, buffers); },
          [&](const plan::Plan& one) -> plan::Timing {
            return [seconds = seconds_of(one, buffers)] { return std::optional(seconds); };
          }};
}

plan::Solver solver_on_gpu(const Buffers& buffers, const cuda::Stream& on) {
  return {[&](const plan::Plan& one) { cuda::execute(one, buffers, on); },
          [&](const plan::Plan& one) { return cuda::execute_timed(one, buffers, on); },
          [](const plan::Plan& one) { return cuda::is_loaded(one); }};
}

}  // namespace

void run_and_learn(const std::shared_ptr<const plan::Plan>& plan, const Buffers& buffers,
                   void* stream) {
  plan::Learning* learning = plan->learning.get();
  if (learning == nullptr) return run(*plan, buffers, stream);
  if (const plan::Plan* plain = learning->plain_call(*plan)) return run(*plain, buffers, stream);
  auto* const on = static_cast<cuda::Stream>(stream);
  const bool on_gpu = plan->machine.gpu() != nullptr;
  // A graph keeps what it is made of, and has no time of its own yet.
  if (on_gpu && cuda::is_captured(on)) return run(learning->fastest_of(*plan), buffers, stream);
  const auto winner =
      learning->solve(*plan, on_gpu ? solver_on_gpu(buffers, on) : solver_on_cpu(buffers));
  if (winner == nullptr) return;
  const plan::CacheKey key{plan->problem, learning->request(), plan->gpu, Effort::automatic};
  // Learned where this destination begins, and with less care than what is measured: it is no
  // winner for others. Where the cache has another plan, plans were forgotten meanwhile.
  const auto known = cache().find(key);
  if (known != nullptr && known->learning.get() == learning) use(key, winner);
  if (winner->learning == nullptr) learning->end();
}

void load_winners(const std::string& path) {
  winners().parse(files::read_text(path, "winners file"), path);
  forget_cached();  // plans made before may now lose
}

void save_winners(const std::string& path) {
  files::write_text(path, winners().to_text(), "winners file");
}

void forget_plans() {
  winners().clear();
  forget_cached();
}

}  // namespace cornerturn
