// What planning costs: a plan made anew, a plan found again, and a whole call on little data.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/validate.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/cpu_info.hpp"
#include "plan/planner.hpp"

namespace {

using namespace cornerturn;

struct Shape {
  const char* name;
  std::vector<std::int64_t> extents;
  std::vector<int> permutation;
};

std::vector<int> reversed(int rank) {
  std::vector<int> permutation;
  for (int i = rank; i-- > 0;) permutation.push_back(i);
  return permutation;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = {
      {"matrix", {4096, 4096}, {1, 0}},
      {"images", {256, 3, 224, 224}, {0, 2, 3, 1}},
      {"small_matrices", {100000, 33, 17}, {0, 2, 1}},
      {"rank6", {16, 12, 20, 8, 10, 14}, {3, 1, 5, 0, 4, 2}},
      {"rank24_of_twos", std::vector<std::int64_t>(24, 2), reversed(24)},
  };
  return list;
}

// Plans look at no data: any address will do.
struct Views {
  explicit Views(const Shape& shape)
      : src(ConstView(view(&nothing, shape.extents)).permuted(shape.permutation)),
        dst(view(&nothing, src.shape)) {}

  inline static float nothing = 0;
  ConstView src;
  View dst;
};

void new_plan(benchmark::State& state, const Shape& shape) {
  const Views views(shape);
  const Problem problem = make_problem(views.dst, views.src);
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan::make_plan(problem, cpu::machine()));
  }
}

// Values become narrower on their way: a plan for each shape of box is part of this one.
void new_conversion(benchmark::State& state, const Shape& shape) {
  const Views views(shape);
  const View to(nullptr, ElementType(Kind::bf16), views.dst.shape);
  const Problem problem = make_problem(to, views.src);
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan::make_plan(problem, cpu::machine()));
  }
}

void cached_plan(benchmark::State& state, const Shape& shape, int threads) {
  const Views views(shape);
  Options options;
  options.threads = threads;
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(views.dst, views.src, options));
}

void call(benchmark::State& state, int threads) {
  const float src[4] = {1, 2, 3, 4};
  float dst[4];
  Options options;
  options.threads = threads;
  const ConstView from = view(&src[0], {2, 2});
  const ConstView turned = from.permuted({1, 0});
  const View to = view(&dst[0], {2, 2});
  for (auto _ : state) {
    copy(to, turned, options);
    benchmark::DoNotOptimize(dst);
  }
}

// A conversion of a small matrix that passes through a stage.
void small_conversion(benchmark::State& state) {
  constexpr std::int64_t rows = 64, columns = 96;
  const std::vector<float> src(rows * columns, 1.5F);
  std::vector<std::uint16_t> dst(src.size());
  Options options;
  options.threads = 1;
  options.kernel = "convert";
  const ConstView turned = ConstView(view(src.data(), {rows, columns})).permuted({1, 0});
  const View to(dst.data(), ElementType(Kind::bf16), turned.shape);
  for (auto _ : state) {
    copy(to, turned, options);
    benchmark::DoNotOptimize(dst.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const Shape& shape : shapes()) {
    const auto name = [&](const char* what) { return std::string(what) + "/" + shape.name; };
    benchmark::RegisterBenchmark(name("new_plan").c_str(), new_plan, shape);
    benchmark::RegisterBenchmark(name("new_conversion").c_str(), new_conversion, shape);
    benchmark::RegisterBenchmark(name("cached_plan").c_str(), cached_plan, shape, 1);
    benchmark::RegisterBenchmark(name("cached_plan_all_threads").c_str(), cached_plan, shape, 0);
  }
  benchmark::RegisterBenchmark("call_of_4_elements", call, 1);
  benchmark::RegisterBenchmark("call_of_4_elements_all_threads", call, 0);
  benchmark::RegisterBenchmark("small_conversion", small_conversion);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
