#include "plan/gpu/transposition.hpp"

#include <numeric>

namespace cornerturn::plan::gpu {

std::int64_t Transposition::matrices() const {
  std::int64_t count = 1;
  for (const Mode& mode : batch) count *= mode.extent;
  return count;
}

bool Transposition::is_packed() const {
  return batch.empty() || (batch.size() == 1 && batch[0].dst_stride == matrix_bytes());
}

std::int64_t Transposition::granule() const {
  std::int64_t granule = 16;
  for (const Mode& mode : batch) granule = std::gcd(granule, mode.dst_stride);
  return granule;
}

kernels::Walk Transposition::places() const {
  kernels::WalkMaker<kernels::Walk> maker;
  for (int i = batch.size(); i-- > 0;) {
    maker.add(batch[i].extent, batch[i].src_stride, batch[i].dst_stride);
  }
  return maker.walk;
}

std::optional<Transposition> transposition_of(const Problem& normal) {
  Transposition t;
  t.element = normal.src_type.size();
  const Mode* moved[2] = {};
  int count = 0;
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride != mode.dst_stride) {
      if (count == 2) return std::nullopt;
      moved[count++] = &mode;
    } else if (mode.dst_stride == normal.src_type.size()) {
      t.element = mode.extent * mode.dst_stride;
    } else {
      t.batch.push_back(mode);
    }
  }
  if (count != 2 || t.batch.size() > kernels::Walk::max_rank) return std::nullopt;
  t.columns = moved[0]->extent;
  t.rows = moved[1]->extent;
  const bool whole =
      moved[0]->src_stride == t.element && moved[0]->dst_stride == t.rows * t.element &&
      moved[1]->src_stride == t.columns * t.element && moved[1]->dst_stride == t.element;
  if (!whole) return std::nullopt;
  return t;
}

}  // namespace cornerturn::plan::gpu
