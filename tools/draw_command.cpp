// cornerturn draw: pictures of tiles, thread-value layouts, sectors and orders of blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "matrix_arguments.hpp"
#include "picture_output.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/block_order.hpp"
#include "workshop/lab/page/page_link.hpp"
#include "workshop/lab/rung_picture.hpp"
#include "workshop/lab/warp_picture.hpp"

namespace cornerturn::cli {
namespace {

struct DrawArguments {
  std::string kind;
  std::string layout;
  std::string bytes;  // empty: 4, or what a pointer in the layout's text says
  std::string vector = "1";
  bool offsets = false;
  std::string tile;
  std::string shape = "1024,1024";
  std::string order = "output";
  std::string group = "4";
  std::string resident = "132";
  std::string batch = "1";
  std::string block;
  bool fused = false;
  PictureArguments output;
  PageArgument page;
};

int number(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> numbers = parse_numbers(name, text);
  if (numbers.size() != 1 || numbers[0] > std::numeric_limits<int>::max()) {
    throw Error(Status::invalid_argument, fmt::format("{} = '{}' is no number", name, text));
  }
  return static_cast<int>(numbers[0]);
}

int element_bytes(const DrawArguments& arguments) {
  return arguments.bytes.empty() ? 4 : number("--bytes", arguments.bytes);
}

/// The layout, and the bytes of its elements.
std::pair<SwizzledLayout, int> tile(const DrawArguments& arguments) {
  int bytes = arguments.bytes.empty() ? 0 : element_bytes(arguments);
  SwizzledLayout layout = parse_layout_of(arguments.layout, bytes);
  layout.layout = lab::tile_layout(layout.layout);
  return {layout, bytes};
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
  return lab::block_picture(
      {rows, columns, element_bytes(arguments), static_cast<int>(high), static_cast<int>(wide)},
      lab::parse_block_order(arguments.order), number("--group", arguments.group),
      number("--resident", arguments.resident));
}

// One warp's first accesses do not depend on how large the matrix is: a small one will do.
lab::Picture rung_way(const DrawArguments& arguments) {
  const ladder::Rung* rung = ladder::find_rung(arguments.layout);
  if (rung == nullptr) refuse_rung("LAYOUT", arguments.layout);
  const int batch = number("--batch", arguments.batch);
  if (batch < 1) {
    throw Error(Status::invalid_argument,
                fmt::format("--batch = '{}' is no number of matrices from 1 on", arguments.batch));
  }
  const ladder::Matrix matrix =
      ladder::make_matrix(512, 512, element_bytes(arguments), batch, arguments.fused);
  if (const auto reason = ladder::why_not(*rung, matrix)) {
    throw Error(Status::unsupported, fmt::format("{}: {}", rung->name, *reason));
  }
  std::optional<lab::BlockPlace> block;
  if (!arguments.block.empty()) {
    const auto [row, column] = pair("--block", arguments.block);
    block = lab::BlockPlace{row, column};
  }
  return lab::rung_picture(*rung, ladder::predict(*rung, matrix), block);
}

lab::Picture drawn(const DrawArguments& arguments) {
  if (!arguments.block.empty() && arguments.kind != "rung") {
    throw Error(Status::invalid_argument,
                "--block is for a rung: tiles and layouts have no blocks");
  }
  if (arguments.kind == "blocks") {
    if (!arguments.layout.empty()) {
      throw Error(Status::invalid_argument, "LAYOUT is not for blocks: --shape and --tile are");
    }
    return blocks(arguments);
  }
  if (arguments.kind != "tile" && arguments.kind != "threads" && arguments.kind != "sectors" &&
      arguments.kind != "rung") {
    throw Error(Status::invalid_argument,
                fmt::format("KIND = '{}' is none of tile, threads, sectors, blocks and rung",
                            arguments.kind));
  }
  if (arguments.layout.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("LAYOUT is missing: what is to be drawn as {}", arguments.kind));
  }
  if (arguments.kind == "rung") return rung_way(arguments);
  if (arguments.kind == "tile") {
    const auto [layout, bytes] = tile(arguments);
    return lab::tile_picture(layout, bytes, number("--vector", arguments.vector),
                             arguments.offsets);
  }
  if (arguments.kind == "sectors") {
    return lab::sectors_picture(lab::warp_request(parse_layout(arguments.layout),
                                                  element_bytes(arguments),
                                                  number("--vector", arguments.vector)));
  }
  if (arguments.tile.empty()) {
    throw Error(Status::invalid_argument,
                "--tile is missing: rows and columns of what the threads share");
  }
  const auto [rows, columns] = pair("--tile", arguments.tile);
  return lab::threads_picture(parse_layout(arguments.layout), rows, columns);
}

/// Where the page shows the same. Throws Error for what it does not show.
std::string page_link(const DrawArguments& arguments) {
  if (arguments.kind == "tile" && !arguments.offsets) {
    const auto [layout, bytes] = tile(arguments);
    return lab::link_to_tile(layout, bytes, {}, {});
  }
  const int bytes = element_bytes(arguments);
  if (arguments.kind == "sectors") {
    return fmt::format("view=sectors&lanes={}&bytes={}&vector={}", lab::link_part(arguments.layout),
                       bytes, number("--vector", arguments.vector));
  }
  if (arguments.kind == "rung" && number("--batch", arguments.batch) == 1 && !arguments.fused &&
      arguments.block.empty()) {
    return fmt::format("view=rung&rung={}&bytes={}", arguments.layout, bytes);
  }
  throw Error(Status::unsupported,
              "--html: the page shows a tile without --offsets, sectors, and a rung without "
              "--batch, --fused and --block; --svg draws this");
}

}  // namespace

void add_draw_command(CLI::App& app) {
  auto arguments = std::make_shared<DrawArguments>();
  CLI::App& command = *app.add_subcommand("draw",
                                          "Draws a tile over the banks, the threads that hold its "
                                          "elements, sectors, or orders of blocks");
  command
      .add_option("KIND", arguments->kind,
                  "What is drawn: a layout over the banks, without and with its swizzle (tile); a "
                  "thread-value layout (threads); what the lanes take of global memory (sectors); "
                  "the order in which blocks take the tiles of a matrix (blocks); the way of a "
                  "warp's data in a rung of the ladder (rung)")
      ->required()
      ->type_name("tile|threads|sectors|blocks|rung");
  command
      .add_option(
          "LAYOUT", arguments->layout,
          "A layout as CuTe writes it. It leads from rows and columns to offsets (tile), from "
          "thread and value to the tile's elements (threads), or from lanes to elements (sectors); "
          "or the name of a rung (rung)")
      ->type_name("LAYOUT|RUNG");
  command
      .add_option(
          "--bytes", arguments->bytes,
          "Take so many bytes for an element (default: what a pointer in LAYOUT says, or 4)")
      ->type_name("1|2|4|8|16");
  command
      .add_option("--vector", arguments->vector, "Take so many elements for an access (default: 1)")
      ->type_name("V");
  command.add_flag("--offsets", arguments->offsets, "Label the cells of a tile with offsets");
  command
      .add_option("--tile", arguments->tile,
                  "Take so many rows and columns for a tile (default for blocks: 32x32)")
      ->type_name("RxC");
  command
      .add_option("--shape", arguments->shape,
                  "Draw the blocks of a row-major matrix of this shape (default: 1024,1024)")
      ->type_name("M,N");
  command
      .add_option("--order", arguments->order,
                  "Order the blocks along the rows of the input or of the output, along those of "
                  "the input in groups of rows of tiles, or along a curve (default: output)")
      ->type_name("input|output|groups|morton|hilbert");
  command
      .add_option("--group", arguments->group,
                  "Take so many rows of tiles for a group (default: 4)")
      ->type_name("G");
  command
      .add_option("--resident", arguments->resident,
                  "Let so many blocks run at a time (default: 132)")
      ->type_name("R");
  command
      .add_option("--batch", arguments->batch,
                  "Take a stack of so many matrices for a rung of ggml's copy (default: 1)")
      ->type_name("N");
  command.add_flag("--fused", arguments->fused,
                   "Let the source of a rung have row 0 of each matrix, then row 1 of each");
  command
      .add_option("--block", arguments->block,
                  "Draw the block that has this tile of the source, row and column of the tile, "
                  "and where the tile goes (rung)")
      ->type_name("I,J");
  arguments->output.add_to(command);
  arguments->page.add_to(
      command,
      "Write the swizzle lab's page to this file, which opens with a tile, sectors or a rung");
  command.callback([arguments] {
    const lab::Picture picture = drawn(*arguments);
    const std::string link = arguments->page.asked() ? page_link(*arguments) : std::string();
    arguments->output.write(picture);
    arguments->page.write(link);
    io::print("{}\n{}\n\n", picture.title, picture.description);
    io::print_as_is(for_terminal(picture));
  });
}

}  // namespace cornerturn::cli
