// A kernel of the kernel form as the data that runs it (rung.hpp): what the ladder does with its
// own kernels and `cornerturn check` with other people's.
#pragma once

#include <optional>

#include "workshop/ladder/rung.hpp"
#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

template <class Kernel, class T>
std::optional<TileMap> tile_map_of() {
  if constexpr (requires { typename Kernel::template SharedMap<T>; }) {
    using Map = typename Kernel::template SharedMap<T>;
    TileMap tile{Map::rows, Map::columns, static_cast<int>(sizeof(T)), 1, &Map::at};
    if constexpr (requires { Map::chunks; }) tile.chunk = Map::columns / Map::chunks;
    if constexpr (requires { Kernel::slot_bytes; }) tile.slot_bytes = Kernel::slot_bytes;
    return tile;
  }
  return std::nullopt;
}

template <class Kernel>
constexpr const char* kernel_name() {
  if constexpr (requires { Kernel::name; }) return Kernel::name;
  return "kernel";
}

template <class Kernel, class T>
RungBody body_of() {
  RungBody body;
  body.bytes = static_cast<int>(sizeof(T));
  body.tile = tile_map_of<Kernel, T>();
  body.takes_stacks = TakesStacks<Kernel, T>;
  body.launch = [](const void* src, void* dst, const Matrix& matrix) {
    return with_args<Kernel, T>(src, dst, matrix,
                                [](const auto& args) { return Launch(Kernel::launch(args)); });
  };
  body.run = [](simt::Emulator& emulator, simt::Mode mode, const void* src, void* dst,
                const Matrix& matrix, const simt::Visitor& visitor) {
    with_args<Kernel, T>(src, dst, matrix, [&](const auto& args) {
      emulator.launch(
          kernel_name<Kernel>(), mode, Kernel::launch(args),
          [&](simt::Context& ctx) { Kernel::run(ctx, args); }, visitor);
    });
  };
  return body;
}

}  // namespace cornerturn::ladder
