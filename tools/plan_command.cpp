// cornerturn plan: what would be done, and why.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/array_file.hpp"
#include "io/schedule.hpp"

namespace cornerturn::cli {
namespace {

struct PlanArguments {
  std::string file;
  std::string shape;
  std::string dtype = "f32";
  OrderArguments order;
  WorkArguments work;
  bool explain = false;
  bool json = false;
};

struct Array {
  std::vector<std::int64_t> shape;
  std::int64_t item_size;
  bool fortran_order;
};

Array array_of(const PlanArguments& arguments) {
  if (!arguments.file.empty()) {
    const io::NpyHeader header = io::open_header(arguments.file, {}).header;
    return {header.shape, header.item_size, header.fortran_order};
  }
  Array array{parse_numbers("--shape", arguments.shape),
              parse_dtype("--dtype", arguments.dtype).size, false};
  io::array_bytes(array.shape, array.item_size);
  return array;
}

void plan(const PlanArguments& arguments) {
  const Array array = array_of(arguments);
  const Options options = arguments.work.options();
  const std::vector<int> permutation =
      arguments.order.permutation(static_cast<int>(array.shape.size()));
  if (array.item_size == 0) {
    throw Error(Status::unsupported, "the elements have 0 bytes: there is nothing to plan");
  }
  const Problem problem =
      io::file_problem(array.shape, array.item_size, array.fortran_order, permutation);

  Extents shape, src_strides, dst_strides;
  for (const Mode& mode : problem.modes) {
    shape.push_back(mode.extent);
    src_strides.push_back(mode.src_stride);
    dst_strides.push_back(mode.dst_stride);
  }
  const Plan plan = make_plan(View(nullptr, problem.dst_type, shape, dst_strides),
                              ConstView(nullptr, problem.src_type, shape, src_strides), options);
  const std::int64_t memory = arguments.work.memory_bytes();
  std::optional<io::Schedule> schedule;
  if (memory > 0 && plan.bytes() > 0) {
    schedule = io::make_schedule(problem, {cpu::resolve_threads(options.threads), memory, false});
  }

  if (arguments.json) {
    nlohmann::json json = nlohmann::json::parse(plan.to_json());
    if (schedule) json["schedule"] = nlohmann::json::parse(io::to_json(*schedule));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}\n", arguments.explain ? plan.explain() : plan.to_string());
  if (schedule) fmt::print("{}\n", io::to_string(*schedule));
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      *app.add_subcommand("plan", "Says how an array would be transposed, without doing it");
  CLI::Option* file =
      command.add_option("FILE", arguments->file, "Take shape and dtype from this .npy file")
          ->type_name("FILE");
  command.add_option("--shape", arguments->shape, "Shape of the array, row-major")
      ->type_name("3,4,5")
      ->excludes(file);
  command
      .add_option("--dtype", arguments->dtype, "Its element: f32, u8, c64, b12 or NumPy's \"<f4\"")
      ->type_name("TYPE")
      ->excludes(file);
  arguments->order.add_to(command);
  arguments->work.add_to(command, false);
  command.add_flag("--explain", arguments->explain,
                   "Show how the problem is simplified, step by step, and every candidate");
  command.add_flag("--json", arguments->json, "Report as JSON");
  command.callback([arguments, &command] {
    if (command.count("FILE") == 0 && command.count("--shape") == 0) {
      throw Error(Status::invalid_argument, "FILE or --shape is missing: plan needs one of them");
    }
    plan(*arguments);
  });
}

}  // namespace cornerturn::cli
