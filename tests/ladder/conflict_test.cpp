// No rung but `smem` has bank conflicts; and a copy of a rung without its xor is found out, with
// the lanes that collide and their bank.
#include <gtest/gtest.h>

#include <vector>

#include "workshop/analyse/access.hpp"
#include "workshop/analyse/kernel_report.hpp"
#include "workshop/ladder/emulate.hpp"
#include "workshop/rungs/smem_vec.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::ladder {
namespace {

bool conflict_free_tile(const KernelReport& report) {
  for (const Leg& leg : report.legs) {
    if (leg.is_shared() && !leg.conflict_free()) return false;
  }
  return true;
}

TEST(Conflicts, NoRungButSmemHasAny) {
  for (const Rung& rung : rungs()) {
    for (const RungBody& body : rung.bodies) {
      const KernelReport report = emulate(rung, {256, 256, body.bytes}).report;
      EXPECT_EQ(conflict_free_tile(report), rung.name != "smem")
          << rung.name << ", " << body.bytes << " B: " << report.text();
    }
  }
}

// smem_xor_vec, element (row, col) at col instead of col ^ row.
struct WithoutXor : VectorTile<RowMajor<32, 32>> {
  static constexpr const char* name = "without_xor";
};

TEST(Conflicts, ACopyOfARungWithoutTheXorIsToldWhichLanesCollide) {
  std::vector<float> src(64 * 64);
  std::vector<float> dst(src.size());
  const auto args = matrix_args(src.data(), dst.data(), 64, 64);
  simt::Emulator emulator;
  emulator.input("src", src.data(), src.size() * sizeof(float));
  emulator.output("dst", dst.data(), dst.size() * sizeof(float));
  KernelReport report;
  report.kernel = WithoutXor::name;
  emulator.launch(
      WithoutXor::name, simt::Mode::recording, WithoutXor::launch(args),
      [&](auto& ctx) { WithoutXor::run(ctx, args); },
      [&](const simt::Request& request) { report.add(request); });
  ASSERT_TRUE(emulator.findings().empty()) << emulator.findings()[0].message();
  EXPECT_FALSE(conflict_free_tile(report));
  const Leg load = report.total(simt::Op::shared_load);
  EXPECT_EQ(describe(load.collision), "lanes 0 and 1 want words 0 and 128, both in bank 0");
  EXPECT_EQ(to_string(load.site).substr(0, 13), "smem_vec.hpp:");
}

}  // namespace
}  // namespace cornerturn::ladder
