// The legs that the analyser gives the CuTe rungs, against CuTe's own partitions of the layouts
// that the kernels use. Each thread's elements in order, and where they lie. Prints what differs.
// CuTe's names first: the maps have some of the same.
#include "workshop/cuda/cute/layouts.hpp"

#include "workshop/analyse/cute_legs.hpp"

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

namespace with_cute = cornerturn::with_cute;
using with_cute::Element;

int compared = 0;
int different = 0;

struct Taken {
  int row;
  int col;
  int place;  // in the tile; -1 for global legs
};

// A tile whose elements say where they lie.
alignas(1024) Element places[64 * 66];

void compare(const char* rung, std::size_t leg_index, int thread,
             const std::vector<Taken>& theirs) {
  const cornerturn::CuteLeg leg = cornerturn::cute_legs(rung).at(leg_index);
  const int tile_rows = cornerturn::ladder::find_cute(rung)->tile_rows;
  bool equal = leg.takes.layout.mode(1).size() == static_cast<std::int64_t>(theirs.size());
  for (std::size_t step = 0; equal && step < theirs.size(); ++step) {
    const Taken& taken = theirs[step];
    equal = leg.takes(thread, static_cast<std::int64_t>(step)) == taken.row + tile_rows * taken.col;
    if (taken.place >= 0) equal = equal && leg.tile(taken.row, taken.col) == taken.place;
  }
  ++compared;
  if (equal) return;
  if (++different < 20) std::printf("%s, leg %zu, thread %d differs\n", rung, leg_index, thread);
}

template <class Coords>
std::vector<Taken> global(const Coords& coords) {
  std::vector<Taken> list;
  for (int i = 0; i < cute::size(coords); ++i) {
    list.push_back({cute::get<0>(coords(i)), cute::get<1>(coords(i)), -1});
  }
  return list;
}

template <bool turned, class Coords, class Tile>
std::vector<Taken> shared(const Coords& coords, const Tile& tile) {
  std::vector<Taken> list = global(coords);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].place = static_cast<int>(tile(static_cast<int>(i)));
    if (turned) std::swap(list[i].row, list[i].col);
  }
  return list;
}

template <class Rung>
void naive(const char* rung) {
  for (int t = 0; t < 256; ++t) {
    const auto numbers = make_identity_tensor(typename Rung::Block{});
    const auto mine = global(cute::local_partition(numbers, typename Rung::Threads{}, t));
    compare(rung, 0, t, mine);
    compare(rung, 1, t, mine);
  }
}

template <class Rung>
void staged(const char* rung) {
  using namespace cute;
  using Threads = typename Rung::Threads;
  using Block = typename Rung::Block;
  const Tensor rows = make_tensor(make_smem_ptr(places), typename Rung::SourceView{});
  const Tensor columns = make_tensor(make_smem_ptr(places), typename Rung::DestinationView{});
  const auto load =
      make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<Element>, Element>{}, Threads{});
  for (int t = 0; t < 256; ++t) {
    const auto mine = load.get_slice(t);
    compare(rung, 0, t,
            shared<false>(mine.partition_S(make_identity_tensor(Block{})), mine.partition_D(rows)));
    auto turned =
        shared<true>(local_partition(make_identity_tensor(reverse(Block{})), Threads{}, t),
                     local_partition(columns, Threads{}, t));
    compare(rung, 1, t, turned);
    for (Taken& taken : turned) taken.place = -1;
    compare(rung, 2, t, turned);
  }
}

void tma_store() {
  using namespace cute;
  using Rung = with_cute::TmaStore;
  const Tensor tile = as_position_independent_swizzle_tensor(
      make_tensor(make_smem_ptr(places), Rung::DestinationTile{}));
  const Tensor turned = tile.compose(Rung::Transposed{});
  const auto load = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Element>{}, Rung::Threads{},
                                    Rung::Values{});
  for (int t = 0; t < 256; ++t) {
    const auto mine = load.get_slice(t);
    const Tensor numbers = mine.partition_S(make_identity_tensor(Rung::Block{}));
    compare("cute_tma_store", 0, t, global(numbers(_0{}, _, _)));
    compare("cute_tma_store", 1, t, shared<false>(numbers, mine.partition_D(turned)));
  }
}

void tma() {
  using namespace cute;
  using Rung = with_cute::Tma;
  const Tensor in = as_position_independent_swizzle_tensor(
      make_tensor(make_smem_ptr(places), Rung::SourceTile{}));
  const Tensor out = as_position_independent_swizzle_tensor(
      make_tensor(make_smem_ptr(places), Rung::DestinationTile{}));
  const auto first = [](const uint128_t& chunk) { return reinterpret_cast<const Element&>(chunk); };
  for (int t = 0; t < 256; ++t) {
    const auto numbers = local_partition(make_identity_tensor(Rung::Block{}), Rung::Columns{}, t);
    compare("cute_tma", 1, t, shared<false>(numbers, local_partition(in, Rung::Columns{}, t)));
    compare("cute_tma", 2, t,
            shared<false>(numbers,
                          local_partition(out.compose(Rung::Transposed{}), Rung::Columns{}, t)));

    const int block = Rung::Diagonal{}(t);
    const Tensor from =
        local_tile(recast<uint128_t>(in), Shape<_4, _1>{}, make_coord(block % 16, block / 16));
    const Tensor to =
        local_tile(recast<uint128_t>(out), Shape<_4, _1>{}, make_coord(block / 16, block % 16));
    std::vector<Taken> reads;
    std::vector<Taken> writes;
    for (int i = 0; i < 4; ++i) {
      const int row = block % 16 * 4;
      const int col = block / 16 * 4;
      reads.push_back({row + i, col, static_cast<int>(first(from(i)))});
      writes.push_back({row, col + i, static_cast<int>(first(to(i)))});
    }
    compare("cute_tma_diagonal", 1, t, reads);
    compare("cute_tma_diagonal", 2, t, writes);
  }
}

}  // namespace

int main() {
  std::iota(std::begin(places), std::end(places), 0U);
  naive<with_cute::NaiveSquare>("cute_naive");
  naive<with_cute::NaiveWide>("cute_naive_wide");
  staged<with_cute::Smem>("cute_smem");
  staged<with_cute::SmemPad>("cute_smem_pad");
  staged<with_cute::SmemSwizzle32>("cute_smem_swizzle");
  staged<with_cute::SmemSwizzleTwoWay>("cute_smem_swizzle_2way");
  staged<with_cute::SmemSwizzle64>("cute_smem_swizzle_64");
  tma_store();
  tma();
  std::printf("%d compared, %d different\n", compared, different);
  return different == 0 ? 0 : 1;
}
