// One plan for many matrices of the same shape: the choice is made once, and can be read.
#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

#include "cornerturn/cornerturn.hpp"

int main() try {
  constexpr std::int64_t rows = 1000, columns = 1500;
  constexpr int frames = 20;
  std::vector<std::vector<double>> in(frames, std::vector<double>(rows * columns));
  std::vector<double> out(rows * columns);
  for (int frame = 0; frame < frames; ++frame) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      in[static_cast<std::size_t>(frame)][i] = static_cast<double>(i) + frame;
    }
  }

  const auto source = cornerturn::view(in[0].data(), {rows, columns});
  const auto destination = cornerturn::view(out.data(), {columns, rows});
  const cornerturn::Plan plan = cornerturn::make_plan(destination, source.permuted({1, 0}));
  std::printf("%s\n", plan.to_string().c_str());

  const auto start = std::chrono::steady_clock::now();
  for (const std::vector<double>& frame : in) cornerturn::execute(plan, out.data(), frame.data());
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%d matrices, %.1f GB/s read and written\n", frames,
              2.0 * frames * static_cast<double>(plan.bytes()) / time.count() / 1e9);

  const double expected = static_cast<double>(5 * columns + 3) + frames - 1;
  return out[3 * rows + 5] == expected ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "plan_once_run_often: %s\n", error.what());
  return 1;
}
