#include <fmt/format.h>

#include <array>
#include <utility>

#include "workshop/analyse/cute_legs.hpp"
#include "workshop/ladder/make_body.hpp"
#include "workshop/ladder/rung.hpp"
#include "workshop/rungs/cute.hpp"
#include "workshop/rungs/registry.hpp"

namespace cornerturn::ladder {
namespace {

// A rung is explained by what it does otherwise than this one.
constexpr auto before = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"naive_read", "copy"},
    {"naive_read_8", "naive_read"},
    {"naive_read_32", "naive_read"},
    {"naive_write", "naive_read"},
    {"smem", "naive_read"},
    {"smem_pad", "smem"},
    {"smem_pad_vec", "smem_pad"},
    {"smem_xor_vec", "smem_pad_vec"},
    {"smem_rotate", "smem_pad"},
    {"smem_chunk_xor", "smem_xor_vec"},
    {"shuffle", "smem_chunk_xor"},
    {"block_order_rows", "smem_chunk_xor"},
    {"block_order_columns", "smem_chunk_xor"},
    {"block_order_grouped", "smem_chunk_xor"},
    {"block_order_morton", "smem_chunk_xor"},
    {"block_order_hilbert", "smem_chunk_xor"},
    {"cpy_flat", "naive_write"},
    {"cpy_one_element", "cpy_flat"},
    {"cpy_rows", "cpy_one_element"},
    {"cpy_transpose", "smem_pad"},
    {"cpy_by_hand", "cpy_rows"},
    {"cute_copy", "copy"},
    {"cute_tma_copy", "cute_copy"},
    {"cute_naive", "naive_read"},
    {"cute_naive_wide", "cute_naive"},
    {"cute_smem", "smem"},
    {"cute_smem_pad", "cute_smem"},
    {"cute_smem_swizzle", "cute_smem_pad"},
    {"cute_smem_swizzle_2way", "cute_smem_swizzle"},
    {"cute_smem_swizzle_64", "cute_smem_swizzle_2way"},
    {"cute_tma_store", "cute_smem_swizzle_64"},
    {"cute_tma", "cute_tma_store"},
    {"cute_tma_diagonal", "cute_tma"},
});

std::string_view rung_before(std::string_view name) {
  for (const auto& [rung, earlier] : before) {
    if (rung == name) return earlier;
  }
  return {};
}

template <class Kernel>
bool convert(simt::Emulator& emulator, const void* src, void* dst, std::int64_t rows,
             std::int64_t cols, const Conversion& types) {
  return with_cpy_types(types.src.kind(), types.dst.kind(), [&]<class S, class D>() {
    const auto args = Kernel::template of_matrix<S, D>(
        static_cast<const kernels::Bits<S>*>(src), static_cast<kernels::Bits<D>*>(dst), rows, cols);
    emulator.launch(Kernel::name, simt::Mode::recording, Kernel::launch(args),
                    [&](simt::Context& ctx) { Kernel::run(ctx, args); });
  });
}

template <class Kernel>
Rung rung_of() {
  Rung rung{.name = Kernel::name,
            .shows = Kernel::shows,
            .after = rung_before(Kernel::name),
            .transposes = Kernel::transposes};
  const auto add = [&]<class T>(T) {
    if constexpr (Kernel::template takes<T>) rung.bodies.push_back(body_of<Kernel, T>());
  };
  add(std::uint8_t{});
  add(std::uint16_t{});
  add(std::uint32_t{});
  add(std::uint64_t{});
  if constexpr (Converts<Kernel>) rung.convert = &convert<Kernel>;
  return rung;
}

template <const SwizzledLayout& layout>
TileMap cute_tile_of(int chunk) {
  return {static_cast<int>(layout.layout.mode(0).size()),
          static_cast<int>(layout.layout.mode(1).size()), 4, chunk,
          [](int row, int column) { return layout(row, column); }};
}

// By (row, col) of the source; the first of two.
std::optional<TileMap> cute_tile(std::string_view name) {
  namespace tiles = cute_tiles;
  if (name == "cute_smem") return cute_tile_of<tiles::plain>(1);
  if (name == "cute_smem_pad") return cute_tile_of<tiles::padded>(1);
  if (name == "cute_smem_swizzle") return cute_tile_of<tiles::swizzled>(1);
  if (name == "cute_smem_swizzle_2way") return cute_tile_of<tiles::swizzled_two_way>(1);
  if (name == "cute_smem_swizzle_64") return cute_tile_of<tiles::swizzled_64>(1);
  if (name == "cute_tma_store") return cute_tile_of<tiles::tma_store>(1);
  if (name == "cute_tma") return cute_tile_of<tiles::tma_source>(1);
  if (name == "cute_tma_diagonal") return cute_tile_of<tiles::tma_source>(4);
  return std::nullopt;
}

}  // namespace

std::span<const Rung> rungs() {
  static const std::vector<Rung> all = [] {
    std::vector<Rung> list;
    for_each_rung([&](auto kernel) { list.push_back(rung_of<decltype(kernel)>()); });
    for (const CuteInfo& info : cute_infos) {
      list.push_back({.name = info.name,
                      .shows = info.shows,
                      .after = rung_before(info.name),
                      .family = Family::cute,
                      .transposes = info.transposes,
                      .cute_tile = cute_tile(info.name)});
    }
    return list;
  }();
  return all;
}

const Rung* find_rung(std::string_view name) {
  for (const Rung& rung : rungs()) {
    if (rung.name == name) return &rung;
  }
  return nullptr;
}

std::optional<std::string> why_not(const Rung& rung, const Matrix& matrix) {
  if (rung.family == Family::cute) {
    if (matrix.batch != 1)
      return fmt::format("it takes one matrix, not a stack of {}", matrix.batch);
    const char* why = cute_why_not(*find_cute(rung.name), matrix.rows, matrix.cols, matrix.bytes);
    return why == nullptr ? std::nullopt : std::optional<std::string>(why);
  }
  return refused(rung, matrix);
}

std::optional<std::string> why_not(const Rung& rung, const Conversion& types) {
  if (rung.convert == nullptr) return "it moves elements, and converts none";
  const bool swapped = types.src.is_swapped() || types.dst.is_swapped();
  if (!swapped && with_cpy_types(types.src.kind(), types.dst.kind(), []<class, class>() {})) {
    return std::nullopt;
  }
  return fmt::format("it converts f32, f16, bf16 and i32 into each other, not {} into {}",
                     types.src.name(), types.dst.name());
}

}  // namespace cornerturn::ladder
