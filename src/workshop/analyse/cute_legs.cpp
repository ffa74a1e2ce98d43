#include "workshop/analyse/cute_legs.hpp"

#include <fmt/format.h>

#include "cornerturn/error.hpp"

namespace cornerturn {

using ladder::CuteInfo;
using simt::Op;

namespace {

constexpr int element_size = 4;

constexpr Layout mode(std::initializer_list<Layout> leaves) {
  return make_layout(leaves);
}
constexpr Layout leaf(std::int64_t extent, std::int64_t stride) {
  return make_leaf(extent, stride);
}

/// (thread, step) -> element
constexpr SwizzledLayout takes(const Layout& thread, const Layout& step) {
  return {{}, 0, make_layout({thread, step})};
}

// 8 x 32 threads over a tile of `rows` x `cols`, the warps along the source's rows; and the same
// over the tile seen with the destination's coordinates.
constexpr SwizzledLayout along_rows(std::int64_t rows, std::int64_t cols) {
  return takes(mode({leaf(32, rows), leaf(8, 1)}),
               mode({leaf(rows / 8, 8), leaf(cols / 32, 32 * rows)}));
}
constexpr SwizzledLayout along_columns(std::int64_t rows, std::int64_t cols) {
  return takes(mode({leaf(32, 1), leaf(8, rows)}),
               mode({leaf(cols / 8, 8 * rows), leaf(rows / 32, 32)}));
}

std::vector<CuteLeg> copy_legs() {
  const SwizzledLayout vectors = takes(leaf(256, 4), leaf(4, 1024));
  return {{Op::global_load, 16, vectors, {}}, {Op::global_store, 16, vectors, {}}};
}

std::vector<CuteLeg> tma_copy_legs() {
  // 16-byte chunks of the rows of a box, 32 x 128 elements.
  const SwizzledLayout box = takes(mode({leaf(32, 4 * 32), leaf(32, 1)}), leaf(1, 0));
  return {{Op::global_load, 16, box, {}, true, true}, {Op::global_store, 16, box, {}, true, true}};
}

std::vector<CuteLeg> naive_legs(std::int64_t rows, std::int64_t cols) {
  return {{Op::global_load, 4, along_rows(rows, cols), {}},
          {Op::global_store, 4, along_rows(rows, cols), {}}};
}

std::vector<CuteLeg> staged_legs(std::int64_t side, const SwizzledLayout& tile) {
  return {{Op::async_copy, 4, along_rows(side, side), tile},
          {Op::shared_load, 4, along_columns(side, side), tile},
          {Op::global_store, 4, along_columns(side, side), {}}};
}

std::vector<CuteLeg> tma_store_legs() {
  const Layout threads = mode({leaf(16, 1), leaf(16, 4 * 32)});  // 16 rows x 16 chunks
  return {
      {Op::global_load, 16, takes(threads, leaf(2, 16)), {}},
      {Op::shared_store, 4, takes(threads, mode({leaf(4, 32), leaf(2, 16)})), cute_tiles::tma_store,
       false},
      // 64 rows of the destination, 8 chunks of 4 source rows each.
      {Op::global_store, 16, takes(mode({leaf(8, 4), leaf(64, 32)}), leaf(1, 0)), {}, true, true}};
}

std::vector<CuteLeg> tma_legs(const SwizzledLayout& reads, const SwizzledLayout& writes,
                              int width) {
  const SwizzledLayout rows =
      takes(mode({leaf(8, 4 * 64), leaf(64, 1), leaf(2, 32 * 64)}), leaf(1, 0));
  const SwizzledLayout columns = takes(mode({leaf(8, 4), leaf(64, 64), leaf(2, 32)}), leaf(1, 0));
  return {{Op::global_load, 16, rows, {}, true, true},
          {Op::shared_load, width, reads, cute_tiles::tma_source, false},
          {Op::shared_store, width, writes, cute_tiles::tma_destination, false},
          {Op::global_store, 16, columns, {}, true, true}};
}

std::vector<CuteLeg> tma_scalar_legs() {
  const SwizzledLayout column =
      takes(mode({leaf(32, 1), leaf(8, 64)}), mode({leaf(2, 32), leaf(8, 512)}));
  return tma_legs(column, column, 4);
}

std::vector<CuteLeg> tma_diagonal_legs() {
  // Block (k, c) of 4 x 4 elements begins at element 4 k + 64 * 4 c: k in bits 2-5, c in bits 8-11.
  const Layout block = mode({leaf(8, 4), leaf(8, 256), leaf(2, 32), leaf(2, 2048)});
  constexpr AnySwizzle diagonal = {3, 2, -6};
  return tma_legs({diagonal, 0, make_layout({block, leaf(4, 1)})},
                  {diagonal, 0, make_layout({block, leaf(4, 64)})}, 16);
}

// Do the threads move whole vectors in this tile, or one element after the other?
bool whole_vectors(const CuteInfo& rung, const CuteLeg& leg, bool full, std::int64_t cols) {
  if (leg.tma || (!simt::is_global(leg.op) && leg.op != Op::async_copy)) return true;
  return rung.transposes ? cols % 4 == 0 : full;
}

struct Tile {
  std::int64_t row;
  std::int64_t col;
};

class LegVisitor {
 public:
  LegVisitor(const CuteInfo& rung, std::int64_t rows, std::int64_t cols, KernelReport& report,
             std::vector<simt::Request>* first)
      : rung_(rung), rows_(rows), cols_(cols), report_(report), first_(first) {}

  void visit(const CuteLeg& leg, const Tile& tile) {
    const bool full = tile.row + rung_.tile_rows <= rows_ && tile.col + rung_.tile_cols <= cols_;
    const bool whole = whole_vectors(rung_, leg, full, cols_);
    const int width = whole ? leg.width : element_size;
    const std::int64_t steps = leg.takes.layout.mode(1).size();
    const std::int64_t threads = leg.takes.layout.mode(0).size();
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int part = 0; part < leg.width / width; ++part) {
        for (std::int64_t first = 0; first < threads; first += warp_lanes) {
          add(leg, tile, width, first, step, part);
        }
      }
    }
  }

 private:
  void add(const CuteLeg& leg, const Tile& tile, int width, std::int64_t first, std::int64_t step,
           int part) {
    simt::Request request;
    request.site = {leg.tma ? "TMA" : rung_.name, 0};
    request.op = leg.op;
    request.lanes.width = width;
    request.through_l1 = leg.op == Op::async_copy;  // CuTe's atom is the CACHEALWAYS one
    request.lanes.active = 0;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      const std::int64_t element = leg.takes(first + lane, step) + part * rung_.tile_rows;
      const std::int64_t row = element % rung_.tile_rows;
      const std::int64_t col = element / rung_.tile_rows;
      if (leg.predicated && (tile.row + row >= rows_ || tile.col + col >= cols_)) continue;
      const auto at = static_cast<std::size_t>(lane);
      const std::int64_t from = (tile.row + row) * cols_ + tile.col + col;
      const std::int64_t to = (tile.col + col) * rows_ + tile.row + row;
      const std::int64_t place = leg.op == Op::global_load                         ? from
                                 : leg.op == Op::global_store && !rung_.transposes ? from
                                 : leg.op == Op::global_store                      ? to
                                                              : leg.tile(row, col);
      request.lanes.active |= 1U << lane;
      request.lanes.address[at] = static_cast<std::uint64_t>(place) * element_size;
      request.source[at] = static_cast<std::uint64_t>(from) * element_size;
    }
    if (request.lanes.active == 0) return;
    report_.add(request);
    if (first_ != nullptr && report_.legs.size() > first_->size()) first_->push_back(request);
  }

  const CuteInfo& rung_;
  std::int64_t rows_;
  std::int64_t cols_;
  KernelReport& report_;
  std::vector<simt::Request>* first_;
};

}  // namespace

std::vector<CuteLeg> cute_legs(std::string_view rung) {
  namespace tiles = cute_tiles;
  if (rung == "cute_copy") return copy_legs();
  if (rung == "cute_tma_copy") return tma_copy_legs();
  if (rung == "cute_naive") return naive_legs(64, 64);
  if (rung == "cute_naive_wide") return naive_legs(32, 1024);
  if (rung == "cute_smem") return staged_legs(32, tiles::plain);
  if (rung == "cute_smem_pad") return staged_legs(32, tiles::padded);
  if (rung == "cute_smem_swizzle") return staged_legs(32, tiles::swizzled);
  if (rung == "cute_smem_swizzle_2way") return staged_legs(64, tiles::swizzled_two_way);
  if (rung == "cute_smem_swizzle_64") return staged_legs(64, tiles::swizzled_64);
  if (rung == "cute_tma_store") return tma_store_legs();
  if (rung == "cute_tma") return tma_scalar_legs();
  if (rung == "cute_tma_diagonal") return tma_diagonal_legs();
  throw Error(Status::invalid_argument, fmt::format("rung = '{}' is none of CuTe's", rung));
}

KernelReport cute_report(std::string_view rung, std::int64_t rows, std::int64_t cols,
                         int element_bytes, std::vector<simt::Request>* first) {
  const std::vector<CuteLeg> legs = cute_legs(rung);
  const CuteInfo& info = *ladder::find_cute(rung);
  if (const char* why = ladder::cute_why_not(info, rows, cols, element_bytes)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung, why));
  }
  if (!info.transposes && info.tile_rows == 1) {  // a copy by one axis
    cols *= rows;
    rows = cols == 0 ? 0 : 1;
  }
  KernelReport report;
  report.kernel = rung;
  LegVisitor visitor(info, rows, cols, report, first);
  for (const CuteLeg& leg : legs) {
    for (std::int64_t col = 0; col < cols; col += info.tile_cols) {
      for (std::int64_t row = 0; row < rows; row += info.tile_rows) visitor.visit(leg, {row, col});
    }
  }
  return report;
}

}  // namespace cornerturn
