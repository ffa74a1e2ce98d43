// cornerturn plan: what would be done, and why.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "analyse/plan_report.hpp"
#include "api/any_plan.hpp"
#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/array_file.hpp"
#include "io/schedule.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::cli {
namespace {

// So many candidates of a GPU are run in the emulator.
constexpr std::size_t candidates_counted = 8;

struct PlanArguments {
  std::string file;
  std::string shape;
  std::string dtype = "f32";
  std::string on;
  std::string device = "cpu";
  OrderArguments order;
  WorkArguments work;
  ValueArguments values;
  bool explain = false;
  bool json = false;
};

struct Array {
  std::vector<std::int64_t> shape;
  std::int64_t item_size;
  bool fortran_order;
  std::string descr;
};

Array array_of(const PlanArguments& arguments) {
  if (!arguments.file.empty()) {
    const io::NpyHeader header = io::open_header(arguments.file, {}).header;
    return {header.shape, header.item_size, header.fortran_order, header.descr};
  }
  const DtypeArgument dtype = parse_dtype("--dtype", arguments.dtype);
  Array array{parse_numbers("--shape", arguments.shape), dtype.size, false, dtype.descr};
  io::array_bytes(array.shape, array.item_size);
  return array;
}

// What "--on" and "--device" ask for.
std::string device_of(const PlanArguments& arguments) {
  if (!arguments.on.empty()) {
    plan::gpu::device_named(arguments.on, "--on");  // its error names the option
    return arguments.on;
  }
  return parse_device("--device", arguments.device);
}

void plan(const PlanArguments& arguments) {
  const Array array = array_of(arguments);
  Options options = arguments.work.options();
  options.device = device_of(arguments);
  const std::vector<int> permutation =
      arguments.order.permutation(static_cast<int>(array.shape.size()));
  if (array.item_size == 0) {
    throw Error(Status::unsupported, "the elements have 0 bytes: there is nothing to plan");
  }
  Problem problem =
      io::file_problem(array.shape, array.item_size, array.fortran_order, permutation);
  Epilogue epilogue;
  float bias = 0;
  if (arguments.values.any()) {
    problem.src_type = arguments.values.source_type(array.descr, array.item_size);
    problem.dst_type = arguments.values.result_type(problem.src_type);
    for (Mode& mode : problem.modes) {
      mode.dst_stride = mode.dst_stride / array.item_size * problem.dst_type.size();
    }
    epilogue = arguments.values.epilogue(bias);
  }

  Extents shape, src_strides, dst_strides;
  for (const Mode& mode : problem.modes) {
    shape.push_back(mode.extent);
    src_strides.push_back(mode.src_stride);
    dst_strides.push_back(mode.dst_stride);
  }
  const Plan plan =
      make_plan(View(nullptr, problem.dst_type, shape, dst_strides),
                ConstView(nullptr, problem.src_type, shape, src_strides), epilogue, options);
  const std::int64_t memory = arguments.work.memory_bytes();
  std::optional<io::Schedule> schedule;
  if (memory > 0 && !arguments.values.any() && plan.bytes() > 0 && plan.device() == "cpu") {
    io::Limits limits;
    limits.threads = cpu::resolve_threads(options.threads);
    limits.memory = memory;
    schedule = io::make_schedule(problem, limits);
  }

  const plan::gpu::Plan* on_gpu = plan.impl().of_gpu();
  std::optional<PlanReport> accesses;
  if (on_gpu != nullptr && (arguments.json || arguments.explain)) {
    accesses = report_of(*on_gpu, candidates_counted);
  }

  if (arguments.json) {
    nlohmann::json json = nlohmann::json::parse(plan.to_json());
    if (accesses) json["accesses"] = nlohmann::json::parse(accesses->json(*on_gpu));
    if (schedule) json["schedule"] = nlohmann::json::parse(io::to_json(*schedule));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (arguments.explain) {
    fmt::print("{}", plan.explain());
    if (accesses) fmt::print("{}", accesses->text(*on_gpu));
  } else {
    fmt::print("{}\nwhy: {}\n", plan.to_string(), plan.why());
  }
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
  CLI::Option* on =
      command
          .add_option("--on", arguments->on,
                      "Plan for this GPU, which need not be here: one that `devices` describes, or "
                      "a JSON file")
          ->type_name("h200|FILE");
  command.add_option("--device", arguments->device, "Plan for the CPU, or for the GPU here")
      ->type_name("cpu|gpu")
      ->excludes(on);
  arguments->order.add_to(command);
  arguments->work.add_to(command, false);
  arguments->values.add_to(command);
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
