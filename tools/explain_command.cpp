// cornerturn explain: what accesses to a layout in shared memory cost, and why.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <utility>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "picture_output.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/lab/explain.hpp"
#include "workshop/lab/explain_picture.hpp"
#include "workshop/lab/page/page_link.hpp"
#include "workshop/lab/rung_access.hpp"
#include "workshop/lab/solve.hpp"

namespace cornerturn::cli {
namespace {

struct ExplainArguments {
  std::string layout;
  std::vector<std::string> accesses;
  std::string dtype;  // empty: as the layout says it
  int vector = 0;
  bool store = false;
  bool load = false;
  std::string on = "h200";
  bool json = false;
  LabPictureArguments pictures;
};

int explain_layout(const ExplainArguments& arguments) {
  int bytes =
      arguments.dtype.empty() ? 0 : static_cast<int>(parse_dtype("--dtype", arguments.dtype).size);
  SwizzledLayout layout = parse_layout_of(arguments.layout, bytes);
  layout.layout = lab::tile_layout(layout.layout);
  const lab::TileShape tile = lab::tile_shape(layout.layout, bytes);
  const lab::AccessDefaults defaults = {arguments.store ? SharedOp::store : SharedOp::load,
                                        lab::checked_width("--vector", arguments.vector)};
  std::vector<lab::Access> accesses;
  for (const std::string& text : arguments.accesses) {
    std::vector<lab::Access> parsed = lab::parse_accesses(text, tile, defaults);
    std::move(parsed.begin(), parsed.end(), std::back_inserter(accesses));
  }
  const lab::Explanation explanation =
      lab::explain(layout, bytes, accesses, plan::gpu::device_named(arguments.on, "--on"));
  std::string picture;
  if (arguments.pictures.asked()) {
    picture =
        arguments.pictures.write(lab::picture_of(explanation),
                                 lab::link_to_tile(layout, bytes, arguments.accesses, defaults));
  }
  io::print("{}", arguments.json ? explanation.to_json() + "\n" : explanation.to_text());
  if (!arguments.json) io::print_as_is(picture);
  return explanation.same_place ? exit_failed : 0;
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command = *app.add_subcommand(
      "explain", "Says what warps' accesses to a layout in shared memory cost, and why");
  command
      .add_option("LAYOUT", arguments->layout,
                  "A layout of rows and columns, as CuTe writes it: \"Swizzle<3,2,6> o "
                  "(64,64):(64,1)\"; or "
                  "as CuTe prints it with its pointer, whose swizzle counts bytes")
      ->required();
  command
      .add_option("--access", arguments->accesses,
                  "Say what an access costs: rows, columns, blocks, diagonal, ldmatrix, stmatrix, "
                  "tv:LAYOUT, table:LANES or rung:NAME, with :load or :store and the bytes a lane, "
                  "as in columns:store:16. The option may be repeated")
      ->type_name("ACCESS")
      ->allow_extra_args(false);
  command
      .add_option(
          "--dtype", arguments->dtype,
          "Take elements of this type, of 1, 2, 4, 8 or 16 bytes (default: what a pointer in "
          "LAYOUT says, or f32)")
      ->type_name("TYPE");
  command
      .add_option("--vector", arguments->vector,
                  "Take so many bytes a lane (default: those of one element)")
      ->type_name("1|2|4|8|16");
  CLI::Option* store =
      command.add_flag("--store", arguments->store, "Treat accesses that say neither as stores");
  command.add_flag("--load", arguments->load, "Treat them as loads, which is the default")
      ->excludes(store);
  command
      .add_option(
          "--on", arguments->on,
          "Compute the time for this GPU: a name such as h200, or a JSON file (default: h200)")
      ->type_name("GPU|FILE");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  arguments->pictures.add_to(command);
  command.callback([arguments] {
    if (const int code = explain_layout(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
