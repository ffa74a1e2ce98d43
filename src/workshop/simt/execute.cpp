#include "workshop/simt/execute.hpp"

#include "plan/gpu/families.hpp"
#include "plan/gpu/parts.hpp"
#include "workshop/simt/run_family.hpp"

namespace cornerturn::simt {
namespace {

using RunFamily = void (*)(const Run&, const plan::Plan&, const Buffers&);

template <class... Family>
RunFamily of_number(int number, plan::TypeList<Family...>) {
  static constexpr RunFamily runs[] = {&run_family<Family>...};
  return runs[number];
}

}  // namespace

void execute(Emulator& emulator, const plan::Plan& plan, const Buffers& buffers, Mode mode,
             const Visitor& visitor) {
  if (plan.normal.elements() == 0) return;
  plan::gpu::for_each_part(plan, buffers, [&](const plan::Plan& one, const Buffers& its) {
    of_number(one.chosen.row->number, plan::gpu::Families())({emulator, mode, visitor}, one, its);
  });
}

}  // namespace cornerturn::simt
