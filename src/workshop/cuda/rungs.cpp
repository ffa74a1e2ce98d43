// The list of rungs, which needs no GPU and no nvcc.
#if defined(CORNERTURN_CUTE)
#include "workshop/cuda/cute_rungs.hpp"
#endif
#include "workshop/cuda/ladder.hpp"
#include "workshop/rungs/registry.hpp"

namespace cornerturn::cuda {

std::string why_no_cute() {
#if defined(CORNERTURN_CUTE)
  return "";
#elif defined(CORNERTURN_CUDA)
  return "built without the CUTLASS headers (`scripts/setup.sh full` adds them)";
#else
  return "built without device code (CORNERTURN_CUDA=ON, which needs nvcc, adds it)";
#endif
}

std::vector<RungInfo> rungs() {
  std::vector<RungInfo> list;
  ladder::for_each_rung([&]<class Rung>(Rung) {
    RungInfo info{Rung::name, Rung::shows, "cuda", Rung::transposes, {}};
    if (Rung::template takes<std::uint8_t>) info.element_bytes.push_back(1);
    if (Rung::template takes<std::uint16_t>) info.element_bytes.push_back(2);
    if (Rung::template takes<std::uint32_t>) info.element_bytes.push_back(4);
    if (Rung::template takes<std::uint64_t>) info.element_bytes.push_back(8);
    list.push_back(info);
  });
#if defined(CORNERTURN_CUTE)
  for (const ladder::CuteRung& rung : ladder::cute_rungs()) {
    list.push_back({rung.name, rung.shows, "cute", rung.transposes, {rung.element_bytes}});
  }
#endif
  return list;
}

}  // namespace cornerturn::cuda
