#include "workshop/cuda/cute_rungs.hpp"

#include <array>
#include <utility>

#include "workshop/cuda/cute/rungs.hpp"
#include "workshop/rungs/cute.hpp"

namespace cornerturn::ladder {

namespace {

using with_cute::Call;

template <std::size_t row>
const char* why_not(std::int64_t rows, std::int64_t cols, int element_bytes) {
#if defined(CORNERTURN_HAS_CUTE)
  return cute_why_not(cute_infos[row], rows, cols, element_bytes);
#else
  (void)rows, (void)cols, (void)element_bytes;
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
#endif

template <std::size_t row, cudaError_t (*run)(const Call&)>
constexpr CuteRung make_rung() {
  constexpr CuteInfo info = cute_infos[row];
  CuteRung rung{info.name, info.shows, info.transposes, 4, why_not<row>, nullptr, nullptr};
#if defined(CORNERTURN_HAS_CUTE)
  rung.launch = launch<run>;
  rung.shape = shape<run>;
#endif
  return rung;
}

// In the order of cute_infos.
template <cudaError_t (*... run)(const Call&), std::size_t... row>
constexpr auto make_rungs(std::index_sequence<row...>) {
  return std::array{make_rung<row, run>()...};
}

}  // namespace

std::span<const CuteRung> cute_rungs() {
  using namespace with_cute;
  static constexpr auto rungs =
      make_rungs<cute_copy, cute_tma_copy, cute_naive, cute_naive_wide, cute_smem, cute_smem_pad,
                 cute_smem_swizzle, cute_smem_swizzle_2way, cute_smem_swizzle_64, cute_tma_store,
                 cute_tma, cute_tma_diagonal>(std::make_index_sequence<cute_infos.size()>());
  return rungs;
}

}  // namespace cornerturn::ladder
