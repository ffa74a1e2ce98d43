// cornerturn convert-swizzle: one swizzle in the words of CuTe, bytes, Triton and TMA.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "workshop/lab/access.hpp"
#include "workshop/lab/convert.hpp"

namespace cornerturn::cli {
namespace {

struct ConvertArguments {
  std::string swizzle;
  std::string dtype = "f32";
  std::int64_t row = 0;
  bool json = false;
};

void convert_swizzle(const ConvertArguments& arguments) {
  const auto bytes = static_cast<int>(parse_dtype("--dtype", arguments.dtype).size);
  lab::tile_shape(make_leaf(1, 1), bytes);  // refuses other sizes of elements
  if (arguments.row < 0) {
    throw Error(Status::invalid_argument,
                fmt::format("--row = {}: a row has at least one element", arguments.row));
  }
  const AnySwizzle of_bytes = lab::parse_any_swizzle(arguments.swizzle, bytes, arguments.row);
  // First as it was asked for, then recast.
  std::vector<lab::Conversion> all = {lab::convert(of_bytes, bytes, arguments.row * bytes)};
  for (const int other : {1, 2, 4, 8, 16}) {
    if (other != bytes) all.push_back(lab::convert(of_bytes, other, arguments.row * bytes));
  }
  if (arguments.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const lab::Conversion& one : all) {
      out.push_back(nlohmann::ordered_json::parse(one.to_json()));
    }
    io::print_json(out);
    return;
  }
  for (const lab::Conversion& one : all) io::print("{}", one.to_text());
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& command = *app.add_subcommand(
      "convert-swizzle",
      "Says a swizzle in the words of CuTe, in bytes, and in the words of Triton and TMA");
  command
      .add_option("SWIZZLE", arguments->swizzle,
                  "A swizzle: \"Swizzle<3,2,3>\" in elements, \"bytes:Swizzle<3,4,3>\", "
                  "\"triton:4,1,8\" (vec, per_phase, max_phase) or \"tma:128B\"")
      ->required();
  command
      .add_option("--dtype", arguments->dtype,
                  "Take elements of this type, of 1, 2, 4, 8 or 16 bytes (default: f32)")
      ->type_name("TYPE");
  command
      .add_option("--row", arguments->row,
                  "Take so many elements for a row; Triton's numbers depend on it")
      ->type_name("N");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments] { convert_swizzle(*arguments); });
}

}  // namespace cornerturn::cli
