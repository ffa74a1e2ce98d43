// cornerturn info: what is in a file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/array_file.hpp"
#include "io/npy_dtype.hpp"
#include "io/print.hpp"
#include "io/schedule.hpp"

namespace cornerturn::cli {
namespace {

struct InfoArguments {
  std::string file;
  bool json = false;
};

void info(const InfoArguments& arguments) {
  io::InputArray input = io::open_header(arguments.file, {});
  const io::NpyHeader& header = input.header;
  if (input.file.is_regular()) io::require_whole(input);
  std::int64_t elements = header.item_size > 0 ? input.bytes / header.item_size : 0;
  if (arguments.json) {
    const nlohmann::json json = {{"file", arguments.file},
                                 {"npy_version", fmt::format("{}.0", header.version)},
                                 {"dtype", io::descr_text(header)},
                                 {"item_size", header.item_size},
                                 {"fortran_order", header.fortran_order},
                                 {"shape", header.shape},
                                 {"elements", elements},
                                 {"offset", input.offset},
                                 {"bytes", input.bytes},
                                 {"bytes_after", input.bytes_after}};
    io::print_json(json);
    return;
  }
  io::print("file     {}\n", arguments.file);
  io::print("format   .npy {}.0\n", header.version);
  io::print("dtype    {}  {} bytes each\n", io::descr_text(header), header.item_size);
  io::print("shape    {}  {} order\n", io::shape_text(header.shape),
            header.fortran_order ? "Fortran" : "C");
  io::print("elements {}\n", elements);
  io::print("bytes    {} ({}) from byte {}\n", input.bytes, io::size_text(input.bytes),
            input.offset);
  if (input.bytes_after > 0) {
    io::print("behind   {} that transpose and plan leave out, as NumPy does\n",
              io::size_text(input.bytes_after));
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App& command = *app.add_subcommand("info", "Says what is in a .npy file");
  command.add_option("FILE", arguments->file, "A .npy file; - is standard input")
      ->required()
      ->type_name("FILE");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments] { info(*arguments); });
}

}  // namespace cornerturn::cli
