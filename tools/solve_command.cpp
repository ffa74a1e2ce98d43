// cornerturn solve: the layout under which a tile is written and read without bank conflicts.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "picture_output.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/lab/page/page_link.hpp"
#include "workshop/lab/solve.hpp"
#include "workshop/lab/solve_picture.hpp"

namespace cornerturn::cli {
namespace {

struct SolveArguments {
  std::string tile;
  std::string dtype = "f32";
  std::string write = "rows";
  std::string read = "columns";
  int vector = 0;
  bool tma = false;
  bool pad = false;
  std::string on = "h200";
  bool json = false;
  LabPictureArguments pictures;
};

// How far the search is, on a terminal, after the first second.
class SearchLine {
 public:
  void show(std::size_t done, std::size_t all) const {
    if (!terminal_ || Clock::now() - start_ < std::chrono::seconds(1)) return;
    io::show_progress(fmt::format("{} of {} layouts", done, all));
  }
  void wipe() const {
    if (terminal_) io::show_progress("");
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  bool terminal_ = io::shows_progress();
};

// "64x64"
lab::TileShape parse_tile(const std::string& text, int bytes) {
  std::string numbers = text;
  const std::size_t x = numbers.find('x');
  if (x != std::string::npos) numbers[x] = ',';
  const std::vector<std::int64_t> sides =
      x == std::string::npos ? std::vector<std::int64_t>{} : parse_numbers("--tile", numbers);
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1) {
    throw Error(Status::invalid_argument,
                fmt::format("--tile = '{}' is no ROWSxCOLUMNS, as in 64x64", text));
  }
  return {sides[0], sides[1], bytes};
}

// Writes the files and returns what the terminal shows.
std::string pictured(const SolveArguments& arguments, const lab::Answer& winner,
                     const plan::gpu::DeviceInfo& device) {
  if (!arguments.pictures.asked()) return {};
  std::optional<std::string> link;
  if (const auto layout = winner.choice.layout()) {
    const int bytes = winner.choice.tile.bytes;
    std::vector<std::string> accesses;
    for (const lab::Leg* leg : {&winner.write, &winner.read}) {
      if (!leg->by_tma) accesses.push_back(leg->access_text(bytes));
    }
    link = lab::link_to_tile(*layout, bytes, accesses, {});
  }
  return arguments.pictures.write(lab::picture_of(winner, device), link);
}

void solve_tile(const SolveArguments& arguments) {
  lab::Question question;
  question.tile =
      parse_tile(arguments.tile, static_cast<int>(parse_dtype("--dtype", arguments.dtype).size));
  question.write = lab::parse_side("--write", arguments.write);
  question.read = lab::parse_side("--read", arguments.read);
  question.width = lab::checked_width("--vector", arguments.vector);
  question.only_tma = arguments.tma;
  question.only_padding = arguments.pad;
  const SearchLine line;
  const plan::gpu::DeviceInfo device = plan::gpu::device_named(arguments.on, "--on");
  const lab::Solution solution = lab::solve(
      question, device, [&](std::size_t done, std::size_t all) { line.show(done, all); });
  line.wipe();
  const std::string picture = pictured(arguments, solution.winner(), device);
  io::print("{}", arguments.json ? solution.to_json() + "\n" : solution.to_text());
  if (!arguments.json) io::print_as_is(picture);
}

}  // namespace

void add_solve_command(CLI::App& app) {
  auto arguments = std::make_shared<SolveArguments>();
  CLI::App& command = *app.add_subcommand(
      "solve",
      "Finds the layout of a tile in shared memory that has no bank conflicts, and proves it");
  command.add_option("--tile", arguments->tile, "Take a tile of so many rows and columns")
      ->type_name("64x64")
      ->required();
  command
      .add_option("--dtype", arguments->dtype,
                  "Take elements of this type, of 1, 2, 4, 8 or 16 bytes (default: f32)")
      ->type_name("TYPE");
  const std::string sides = "rows, columns, blocks, diagonal or ldmatrix";
  command
      .add_option("--write", arguments->write,
                  "Write the tile by " + sides + ", or tma (default: rows)")
      ->type_name("SIDE");
  command
      .add_option("--read", arguments->read, "Read the tile by " + sides + " (default: columns)")
      ->type_name("SIDE");
  command
      .add_option("--vector", arguments->vector,
                  "Take so many bytes a lane (default: all widths are tried)")
      ->type_name("1|2|4|8|16");
  CLI::Option* tma = command.add_flag("--tma", arguments->tma, "Try only tiles that TMA can fill");
  command.add_flag("--pad", arguments->pad, "Try only rows that lie further apart")->excludes(tma);
  command
      .add_option("--on", arguments->on,
                  "Search for this GPU's shared memory: a name such as h200, or a JSON file "
                  "(default: h200)")
      ->type_name("GPU|FILE");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  arguments->pictures.add_to(command);
  command.callback([arguments] { solve_tile(*arguments); });
}

}  // namespace cornerturn::cli
