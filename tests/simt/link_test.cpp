// Routes across the link, with a host and a GPU in the emulator: two memories, of which kernels
// reach the GPU's and what is pinned, and two queues whose work is done as late, and in as odd an
// order, as their events allow.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/validate.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "link/lanes.hpp"
#include "plan/link/few_blocks.hpp"
#include "plan/link/pieces.hpp"
#include "plan/planner.hpp"
#include "support/listed_cases.hpp"
#include "support/random_problem.hpp"
#include "workshop/simt/execute.hpp"

namespace cornerturn::link {
namespace {

using plan::Crossing;
using plan::link::LinkInfo;
using plan::link::Question;
using plan::link::Route;
using plan::link::RouteConfig;
using plan::link::Wire;

using Bytes = std::vector<std::byte>;

class LateQueues {
 public:
  explicit LateQueues(std::uint64_t seed) : random_(seed) {}

  void add(Queue queue, std::function<void()> work) {
    of(queue).push_back({0, 0, std::move(work)});
  }
  void record(Queue queue, int event) {
    ++asked_[event];
    of(queue).push_back({0, 0, [this, event] { ++done_[event]; }});
  }
  void wait(Queue queue, int event) {
    of(queue).push_back({event, asked_[event], [] {}});
  }

  // Works until the event has happened as often as it was recorded.
  void wait_here(int event) {
    while (done_[event] < asked_[event]) step();
  }
  void finish() {
    while (!of(Queue::caller).empty() || !of(Queue::engine).empty()) step();
  }
  // What a stream's order alone promises: the engine's work may come later.
  void finish_caller() {
    while (!of(Queue::caller).empty()) step();
  }

 private:
  struct Work {
    int event;
    int times;  // that it has to have happened before
    std::function<void()> run;
  };

  std::deque<Work>& of(Queue queue) { return queues_[queue == Queue::caller ? 0 : 1]; }

  void step() {
    std::vector<std::deque<Work>*> ready;
    for (auto& queue : queues_) {
      if (!queue.empty() && done_[queue.front().event] >= queue.front().times) {
        ready.push_back(&queue);
      }
    }
    ASSERT_FALSE(ready.empty()) << "the queues wait for each other";
    auto& queue = *ready[random_() % ready.size()];
    const Work work = std::move(queue.front());
    queue.pop_front();
    work.run();
  }

  std::mt19937_64 random_;
  std::array<std::deque<Work>, 2> queues_;
  std::map<int, int> asked_;
  std::map<int, int> done_;
};

// Memory with poison around it and in it.
struct Memory {
  static constexpr std::int64_t guard = 64;

  explicit Memory(std::int64_t size, std::int64_t phase = 0)
      : bytes(static_cast<std::size_t>(size + 2 * guard + 16 + phase), std::byte{0xa5}) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    first = bytes.data() + guard + (16 - address % 16) % 16 + phase;
  }

  Bytes bytes;
  std::byte* first;
};

class EmulatedLanes : public Lanes {
 public:
  explicit EmulatedLanes(std::uint64_t seed) : queues(seed) {}

  std::byte* gpu_memory(std::int64_t bytes) override {
    EXPECT_EQ(gpu_slots, nullptr);
    gpu_slots = std::make_unique<Memory>(bytes);
    reached.emplace_back(gpu_slots->first, bytes);
    // Somebody's earlier work on the caller's queue may have this memory still.
    queues.add(Queue::caller, [at = gpu_slots->first, bytes] {
      std::memset(at, 0x5a, static_cast<std::size_t>(bytes));
    });
    return gpu_slots->first;
  }
  std::byte* pinned_memory(std::int64_t bytes) override {
    EXPECT_EQ(pinned_slots, nullptr);
    pinned_slots = std::make_unique<Memory>(bytes);
    return pinned_slots->first;
  }
  void copy(Queue queue, void* dst, const void* src, std::int64_t bytes) override {
    queues.add(queue, [=] { std::memcpy(dst, src, static_cast<std::size_t>(bytes)); });
  }
  void run(const plan::Plan& plan, const Buffers& buffers, int) override {
    queues.add(Queue::caller, [this, plan, buffers] {
      simt::Emulator emulator;
      for (const auto& [at, bytes] : reached) {
        emulator.update("memory", at, static_cast<std::size_t>(bytes));
      }
      Buffers its = buffers;
      Bytes workspace(static_cast<std::size_t>(plan.workspace()));
      its.workspace = workspace.data();
      simt::execute(emulator, plan, its, simt::Mode::fast);
      for (const simt::Finding& finding : emulator.findings()) ADD_FAILURE() << finding.message();
    });
  }
  void record(Queue queue, int event) override { queues.record(queue, event); }
  void wait(Queue queue, int event) override { queues.wait(queue, event); }
  void wait_here(int event) override { queues.wait_here(event); }

  LateQueues queues;
  std::vector<std::pair<std::byte*, std::int64_t>> reached;  // by kernels
  std::unique_ptr<Memory> gpu_slots;
  std::unique_ptr<Memory> pinned_slots;
};

LinkInfo some_link(Crossing::Way way, bool pinned) {
  LinkInfo link;
  link.gpu.name = "test device";
  link.gpu.arch = 90;
  link.gpu.shared_per_sm = 228 << 10;
  link.gpu.shared_per_block = 227 << 10;
  link.gpu.threads_per_sm = 2048;
  link.gpu.blocks_per_sm = 32;
  link.cpu = *cpu::machine().cpu();
  link.threads = 2;
  link.crossing.way = way;
  link.crossing.pinned = pinned;
  return link;
}

// Runs a plan by a route, and compares with the CPU.
class Runs {
 public:
  Runs(const Problem& problem, std::uint64_t seed) : problem_(problem), seed_(seed) {
    const Reach from = src_reach(problem);
    const Reach to = dst_reach(problem);
    src_ = std::make_unique<Memory>(from.high - from.low, static_cast<std::int64_t>(seed % 3) * 4);
    dst_ = std::make_unique<Memory>(to.high - to.low, static_cast<std::int64_t>(seed % 5) * 2);
    src_bytes_ = from.high - from.low;
    dst_bytes_ = to.high - to.low;
    src_zero_ = src_->first - from.low;
    dst_zero_ = dst_->first - to.low;
    std::mt19937_64 random(seed);
    for (std::byte& byte : src_->bytes) byte = static_cast<std::byte>(random() % 120);
    contents_ = src_->bytes;
    cpu::execute(plan::make_plan(problem, cpu::machine(), {}), {dst_zero_, src_zero_});
    expected_ = dst_->bytes;
  }

  Alignment alignment() const {
    return {true, test_alignment(src_zero_), test_alignment(dst_zero_)};
  }

  void by(const plan::Plan& plan) {
    const LinkInfo& link = *plan.machine.link();
    SCOPED_TRACE(to_string(plan) + "; " + to_string(problem_));
    std::fill(dst_->bytes.begin(), dst_->bytes.end(), std::byte{0xa5});
    src_->bytes = contents_;
    EmulatedLanes lanes(seed_++);
    if (link.crossing.pinned || !link.into_gpu())
      lanes.reached.emplace_back(src_->first, src_bytes_);
    if (link.crossing.pinned || link.into_gpu())
      lanes.reached.emplace_back(dst_->first, dst_bytes_);
    execute(plan, {dst_zero_, src_zero_}, lanes);
    const bool host_is_done = plan::link::route_of(plan).needs_cpu();
    if (host_is_done && link.into_gpu()) {  // whoever called may use it again
      std::fill(src_->bytes.begin(), src_->bytes.end(), std::byte{0xee});
    }
    if (!(host_is_done && !link.into_gpu())) lanes.queues.finish_caller();
    EXPECT_TRUE(dst_->bytes == expected_);
    lanes.queues.finish();
    EXPECT_TRUE(dst_->bytes == expected_) << "work that nobody waited for";
  }

 private:
  static std::int64_t test_alignment(const void* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p) | 16;
    return static_cast<std::int64_t>(address & -address);
  }

  Problem problem_;
  std::uint64_t seed_;
  std::unique_ptr<Memory> src_, dst_;
  std::int64_t src_bytes_ = 0, dst_bytes_ = 0;
  std::byte* src_zero_ = nullptr;
  std::byte* dst_zero_ = nullptr;
  Bytes contents_, expected_;
};

// Every route of a plan, and those in pieces so small that there are many.
int run_all(const Problem& problem, Crossing::Way way, bool pinned, std::uint64_t seed) {
  if (problem.elements() == 0) return 0;
  Runs runs(problem, seed);
  const plan::Machine machine(some_link(way, pinned));
  plan::Plan plan = plan::make_plan(problem, machine, {2, "", runs.alignment()});
  int count = 0;
  const plan::Candidates all = plan.candidates;
  for (const plan::Candidate& candidate : all) {
    plan.choose(candidate, plan::Choice::forced);
    runs.by(plan);
    ++count;
  }
  Alignment start = plan.alignment;
  start.src = std::gcd(start.src, plan.normal.src_offset);
  start.dst = std::gcd(start.dst, plan.normal.dst_offset);
  for (const Wire::Order order :
       {Wire::Order::as_it_lies, Wire::Order::of_host, Wire::Order::of_gpu}) {
    if (order == Wire::Order::as_it_lies && !pinned) continue;
    for (const bool converted : {false, true}) {
      if (converted && !problem.converts()) continue;
      for (const std::int64_t most : {1, 700, 4000}) {
        const auto route =
            route_by(Question{plan.normal, start, machine}, {order, converted, most});
        if (route == nullptr) continue;
        plan.chosen.config = RouteConfig{route};
        runs.by(plan);
        ++count;
      }
    }
  }
  return count;
}

class EveryRoute : public testing::TestWithParam<std::pair<Crossing::Way, bool>> {};

TEST_P(EveryRoute, RandomProblems) {
  const auto [way, pinned] = GetParam();
  test::RandomProblems problems(pinned ? 31 : 32, {6, 4 << 10});
  int count = 0;
  for (std::uint64_t n = 0; n < 60 && !HasFailure(); ++n) {
    count += run_all(problems.next(), way, pinned, n);
  }
  EXPECT_GT(count, 200);
}

TEST_P(EveryRoute, Conversions) {
  const auto [way, pinned] = GetParam();
  for (const auto& [from, to] :
       {std::pair{Kind::f32, Kind::bf16}, std::pair{Kind::f16, Kind::f32}}) {
    Problem problem;
    problem.src_type = ElementType(from);
    problem.dst_type = ElementType(to);
    const std::int64_t s = problem.src_type.size(), d = problem.dst_type.size();
    problem.modes = {{5, 30 * 41 * s, 30 * 41 * d}, {30, 41 * s, d}, {41, s, 30 * d}};
    problem.values.alpha = 2;
    EXPECT_GT(run_all(problem, way, pinned, 5), 5);
  }
}

// With a number of blocks `direct` has kernels that can do with so many, of which more are faster.
TEST_P(EveryRoute, FewBlocks) {
  const auto [way, pinned] = GetParam();
  if (!pinned) return;
  std::map<std::string, int> kernels;
  test::RandomProblems problems(33, {6, 64 << 10});
  for (int n = 0; n < 60; ++n) {
    const Problem problem = problems.next();
    if (problem.elements() == 0) continue;
    std::map<std::string, double> seconds;
    for (const int blocks : {64, 2}) {
      LinkInfo link = some_link(way, pinned);
      link.crossing.blocks = blocks;
      const plan::Plan plan =
          plan::make_plan(problem, plan::Machine(link), {2, "", {true, 16, 16}});
      for (const plan::Candidate& one : plan.candidates) {
        const Route& route = *one.config.as<RouteConfig>().route;
        if (route.direct == nullptr) continue;
        EXPECT_EQ(route.blocks, blocks);
        EXPECT_TRUE(plan::link::runs_in_few_blocks(*route.direct->chosen.row)) << route.words;
        ++kernels[std::string(route.direct->kernel())];
        const std::string words = route.words.substr(0, route.words.rfind(", "));
        if (blocks == 64) {
          seconds[words] = route.seconds;
        } else {
          EXPECT_LE(seconds[words], route.seconds) << words;
        }
      }
    }
  }
  for (const char* kernel : {"copy", "rows", "tile"}) EXPECT_GT(kernels[kernel], 0) << kernel;
}

// The destination holds each element 4096 times. Nothing keeps what has crossed for the next time:
// into the GPU a kernel that loads it again pays for it, and out of it none reads back what it has
// written.
TEST(Link, RepeatedElementsCrossAsOften) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType(Kind::f32);
  problem.modes = {{4096, 0, 2570 * 4}, {2570, 256, 4}};
  for (const auto way : {Crossing::Way::into_gpu, Crossing::Way::out_of_gpu}) {
    const plan::Plan plan =
        plan::make_plan(problem, plan::Machine(some_link(way, true)), {2, "", {true, 16, 16}});
    int direct = 0;
    for (const plan::Candidate& one : plan.candidates) {
      const Route& route = *one.config.as<RouteConfig>().route;
      if (route.direct == nullptr) continue;
      ++direct;
      const std::string_view kernel = route.direct->kernel();
      if (way == Crossing::Way::out_of_gpu) {
        EXPECT_NE(kernel, "repeat");
      }
      if (way == Crossing::Way::into_gpu && kernel == "gather") {
        const LinkInfo link = some_link(way, true);
        EXPECT_GT(route.seconds, static_cast<double>(problem.bytes()) / link.kernel_rate());
      }
    }
    EXPECT_GT(direct, 0);
  }
}

// A list of indices: a kernel reaches over where it can, and there is no other route.
TEST_P(EveryRoute, Lists) {
  const auto [way, pinned] = GetParam();
  test::listed::Cases cases(34);
  int moved = 0;
  for (int n = 0; n < 80; ++n) {
    test::listed::Case one = test::listed::random_case(cases, false);
    const bool is_across = one.src.data != nullptr && one.dst.data != nullptr;
    if (!one.has_list() || !is_across) continue;
    const plan::Request request{
        2, "", {true, test::listed::aligned(one.src), test::listed::aligned(one.dst)}};
    const auto make = [&, way = way, pinned = pinned](int blocks) {
      LinkInfo link = some_link(way, pinned);
      link.crossing.blocks = blocks;
      return plan::make_plan(one.problem, plan::Machine(link), request);
    };
    const auto refused = [&](int blocks) -> std::string {
      try {
        make(blocks);
      } catch (const Error& error) {
        return error.what();
      }
      return "nothing";
    };
    if (!pinned) {
      EXPECT_NE(refused(0).find("; direct: the GPU does not reach pageable memory; batch: a mode's "
                                "places come from a table"),
                std::string::npos)
          << refused(0);
      return;
    }
    EXPECT_NE(refused(8).find("direct: a list in so many blocks"), std::string::npos);
    test::listed::copy_plainly(one.dst, one.src, static_cast<std::size_t>(one.size));
    const auto wanted = one.dst.memory;
    plan::Plan plan = make(0);
    for (const plan::Candidate& candidate : plan::Candidates(plan.candidates)) {
      plan.choose(candidate, plan::Choice::forced);
      test::listed::fill(one.dst, test::listed::poison);
      EmulatedLanes lanes(static_cast<std::uint64_t>(n));
      for (test::listed::Side* side : {&one.src, &one.dst}) {
        lanes.reached.emplace_back(side->memory[0].data(), side->memory[0].size());
        for (auto [at, bytes] :
             {std::pair{static_cast<void*>(side->small.data()), 4 * side->small.size()},
              {static_cast<void*>(side->wide.data()), 8 * side->wide.size()}}) {
          if (bytes > 0) lanes.reached.emplace_back(static_cast<std::byte*>(at), bytes);
        }
      }
      execute(plan, one.buffers(), lanes);
      lanes.queues.finish();
      ASSERT_EQ(one.dst.memory, wanted) << to_string(one.problem) << " by " << to_string(plan);
      ++moved;
    }
  }
  EXPECT_GT(moved, 20);
}

INSTANTIATE_TEST_SUITE_P(Link, EveryRoute,
                         testing::Values(std::pair{Crossing::Way::into_gpu, true},
                                         std::pair{Crossing::Way::into_gpu, false},
                                         std::pair{Crossing::Way::out_of_gpu, true},
                                         std::pair{Crossing::Way::out_of_gpu, false}));

}  // namespace
}  // namespace cornerturn::link
