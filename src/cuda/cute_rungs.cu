#include "cuda/cute_rungs.hpp"

#include <array>
#include <limits>

#include "cuda/cute/rungs.hpp"

namespace cornerturn::ladder {

namespace {

using with_cute::Call;

// Coordinates are 32-bit in CuTe's tensors, and the tiles are counted in one grid axis.
const char* why_not_any([[maybe_unused]] std::int64_t rows, [[maybe_unused]] std::int64_t cols,
                        int element_bytes) {
#if defined(CORNERTURN_HAS_CUTE)
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  if (element_bytes != 4) return "CuTe's rungs are compiled for elements of 4 bytes";
  if (rows > most || cols > most) return "CuTe's rungs count rows and columns with 31 bits";
  return nullptr;
#else
  (void)element_bytes;
  return "built without CuTe: nvidia-cutlass was not there (scripts/setup.sh full adds it)";
#endif
}

#if defined(CORNERTURN_HAS_CUTE)
template <cudaError_t (*run)(const Call&)>
int launch(const void* src, void* dst, std::int64_t rows, std::int64_t cols, cudaStream_t stream) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst);
  if (address % 16 != 0) return cudaErrorMisalignedAddress;
  return run({static_cast<const with_cute::Element*>(src), static_cast<with_cute::Element*>(dst),
              rows, cols, stream, nullptr});
}

template <cudaError_t (*run)(const Call&)>
CuteLaunch shape(std::int64_t rows, std::int64_t cols) {
  CuteLaunch result;
  run({nullptr, nullptr, rows, cols, nullptr, &result});
  return result;
}
#define CT_LAUNCH(rung) launch<with_cute::rung>, shape<with_cute::rung>
#else
#define CT_LAUNCH(rung) nullptr, nullptr
#endif

constexpr std::array rungs = {
    CuteRung{"cute_copy", "tiled copy, 16-byte accesses through registers: the ceiling", false, 4,
             why_not_any, CT_LAUNCH(cute_copy)},
};

}  // namespace

std::span<const CuteRung> cute_rungs() {
  return rungs;
}

}  // namespace cornerturn::ladder
