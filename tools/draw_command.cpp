// cornerturn draw: pictures of tiles, thread-value layouts, sectors and orders of blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "analyse/notation.hpp"
#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "lab/block_order.hpp"
#include "lab/warp_picture.hpp"
#include "picture_output.hpp"

namespace cornerturn::cli {
namespace {

struct DrawArguments {
  std::string kind;
  std::string layout;
  std::string bytes = "4";
  std::string vector = "1";
  bool offsets = false;
  std::string tile;
  std::string shape = "1024,1024";
  std::string order = "output";
  std::string group = "4";
  std::string resident = "132";
  PictureArguments output;
};

int number(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> numbers = parse_numbers(name, text);
  if (numbers.size() != 1 || numbers[0] > std::numeric_limits<int>::max()) {
    throw Error(Status::invalid_argument, fmt::format("{} = '{}' is no number", name, text));
  }
  return static_cast<int>(numbers[0]);
}

/// "64x32" or "64,32".
std::array<std::int64_t, 2> pair(const std::string& name, std::string text) {
  std::replace(text.begin(), text.end(), 'x', ',');
  const std::vector<std::int64_t> numbers = parse_numbers(name, text);
  if (numbers.size() != 2 || std::max(numbers[0], numbers[1]) > std::numeric_limits<int>::max()) {
    throw Error(Status::invalid_argument,
                fmt::format("{} = '{}' is not rows and columns, as in 64x32", name, text));
  }
  return {numbers[0], numbers[1]};
}

lab::Picture blocks(const DrawArguments& arguments) {
  const auto [rows, columns] = pair("--shape", arguments.shape);
  const auto [high, wide] = pair("--tile", arguments.tile.empty() ? "32x32" : arguments.tile);
  return lab::block_picture({rows, columns, number("--bytes", arguments.bytes),
                             static_cast<int>(high), static_cast<int>(wide)},
                            lab::parse_block_order(arguments.order),
                            number("--group", arguments.group),
                            number("--resident", arguments.resident));
}

lab::Picture drawn(const DrawArguments& arguments) {
  if (arguments.kind == "blocks") {
    if (!arguments.layout.empty()) {
      throw Error(Status::invalid_argument, "LAYOUT is not for blocks: --shape and --tile are");
    }
    return blocks(arguments);
  }
  if (arguments.kind != "tile" && arguments.kind != "threads" && arguments.kind != "sectors") {
    throw Error(
        Status::invalid_argument,
        fmt::format("KIND = '{}' is none of tile, threads, sectors and blocks", arguments.kind));
  }
  if (arguments.layout.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("LAYOUT is missing: what is to be drawn as {}", arguments.kind));
  }
  if (arguments.kind == "tile") {
    return lab::tile_picture(parse_swizzled_layout(arguments.layout),
                             number("--bytes", arguments.bytes),
                             number("--vector", arguments.vector), arguments.offsets);
  }
  if (arguments.kind == "sectors") {
    return lab::sectors_picture(lab::warp_request(parse_layout(arguments.layout),
                                                  number("--bytes", arguments.bytes),
                                                  number("--vector", arguments.vector)));
  }
  if (arguments.tile.empty()) {
    throw Error(Status::invalid_argument,
                "--tile is missing: rows and columns of what the threads share");
  }
  const auto [rows, columns] = pair("--tile", arguments.tile);
  return lab::threads_picture(parse_layout(arguments.layout), rows, columns);
}

}  // namespace

void add_draw_command(CLI::App& app) {
  auto arguments = std::make_shared<DrawArguments>();
  CLI::App& command = *app.add_subcommand(
      "draw", "Draws a tile over the banks, who holds what of it, sectors, or orders of blocks");
  command
      .add_option("KIND", arguments->kind,
                  "tile: a layout over the banks, without and with its swizzle; threads: a "
                  "thread-value layout; sectors: what the lanes take of global memory; blocks: in "
                  "which order they take the tiles of a matrix")
      ->required()
      ->type_name("tile|threads|sectors|blocks");
  command
      .add_option("LAYOUT", arguments->layout,
                  "As CuTe writes it. tile: from rows and columns to offsets; threads: from thread "
                  "and value to the tile's elements; sectors: from lanes to elements")
      ->type_name("LAYOUT");
  command.add_option("--bytes", arguments->bytes, "Bytes of an element; 4")
      ->type_name("1|2|4|8|16");
  command.add_option("--vector", arguments->vector, "Elements an access; 1")->type_name("V");
  command.add_flag("--offsets", arguments->offsets, "Label the cells of a tile with offsets");
  command.add_option("--tile", arguments->tile, "Rows and columns of a tile; blocks: 32x32")
      ->type_name("RxC");
  command.add_option("--shape", arguments->shape, "The matrix of blocks, row-major; 1024,1024")
      ->type_name("M,N");
  command
      .add_option(
          "--order", arguments->order,
          "Of blocks: along the rows of the input, of the output, of the input in groups of rows "
          "of tiles, or along a curve; output")
      ->type_name("input|output|groups|morton|hilbert");
  command.add_option("--group", arguments->group, "Rows of tiles in a group; 4")->type_name("G");
  command.add_option("--resident", arguments->resident, "Blocks that run at a time; 132")
      ->type_name("R");
  arguments->output.add_to(command);
  command.callback([arguments] {
    const lab::Picture picture = drawn(*arguments);
    arguments->output.write(picture);
    fmt::print("{}\n{}\n\n{}", picture.title, picture.description, for_terminal(picture));
  });
}

}  // namespace cornerturn::cli
