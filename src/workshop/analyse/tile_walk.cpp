#include "workshop/analyse/tile_walk.hpp"

#include <fmt/format.h>

namespace cornerturn {

const char* name(LayoutWalk walk) {
  switch (walk) {
    case LayoutWalk::rows:
      return "rows";
    case LayoutWalk::columns:
      return "columns";
    case LayoutWalk::blocks:
      return "blocks";
    case LayoutWalk::diagonal:
      return "diagonal";
    default:
      return "ldmatrix";
  }
}

std::string TileWalk::why_not() const {
  if (width() % vector != 0 || height() % steps() != 0) {
    return fmt::format("{} x {} elements are no whole number of accesses", rows, columns);
  }
  if (kind == LayoutWalk::diagonal && (rows % (8 * vector) != 0 || columns % (8 * vector) != 0)) {
    return fmt::format("{0} x {1} elements are no whole number of 8 x 8 blocks of {2} x {2}", rows,
                       columns, vector);
  }
  if (kind == LayoutWalk::matrices &&
      (height() % matrix_rows() != 0 || width() % (matrix_columns() * vector) != 0)) {
    const int high = down ? matrix_columns() * vector : matrix_rows();
    const int wide = down ? matrix_rows() : matrix_columns() * vector;
    return fmt::format("{} x {} elements are no whole number of {} x {}, what {} matrices take",
                       rows, columns, high, wide, matrices);
  }
  return {};
}

std::int64_t TileWalk::requests() const {
  if (kind == LayoutWalk::matrices) {
    return height() / matrix_rows() * (width() / (matrix_columns() * vector));
  }
  const std::int64_t vectors = height() / steps() * (width() / vector);
  return (vectors + warp_lanes - 1) / warp_lanes * steps();
}

TilePoint TileWalk::at(std::int64_t request, int lane) const {
  const auto point = [&](std::int64_t row, std::int64_t column, bool inside) {
    const auto first = static_cast<int>(row);
    const auto second = static_cast<int>(column * vector);
    return down ? TilePoint{second, first, inside} : TilePoint{first, second, inside};
  };
  const std::int64_t high = height() / steps();
  const std::int64_t across = width() / vector;
  if (kind == LayoutWalk::matrices) {
    const std::int64_t boxes = height() / matrix_rows();
    return point(request % boxes * matrix_rows() + lane % matrix_rows(),
                 request / boxes * matrix_columns() + lane / matrix_rows(), lane < 8 * matrices);
  }
  const std::int64_t vectors = high * across;
  const std::int64_t i = request / steps() * warp_lanes + lane;
  const std::int64_t step = request % steps();
  if (kind == (down ? LayoutWalk::columns : LayoutWalk::rows)) {
    return point(i / across, i % across, i < vectors);
  }
  if (kind == LayoutWalk::diagonal) {
    const std::int64_t group = i / 64;
    const std::int64_t k = group % (high / 8) * 8 + i % 8;
    return point(k * steps() + step, group / (high / 8) * 8 + (i % 8 ^ i % 64 / 8), i < vectors);
  }
  return point(i % high * steps() + step, i / high, i < vectors);
}

}  // namespace cornerturn
