// cornerturn plan: what would be done, and why.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "block_arguments.hpp"
#include "commands.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "index_arguments.hpp"
#include "io/array_file.hpp"
#include "io/print.hpp"
#include "io/rearrange_blocks.hpp"
#include "io/schedule.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/plan.hpp"
#include "plan_shards.hpp"
#include "workshop/analyse/plan_report.hpp"

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
  std::string host_side;
  int gpu_blocks = 0;
  OrderArguments order;
  IndexArguments index;
  WorkArguments work;
  ValueArguments values;
  MeshArguments devices;
  bool pad = false;
  bool explain = false;
  bool json = false;
};

// What a file says of an array, or the options do.
struct Array {
  io::NpyHeader header;
  std::string label;
};

Array array_of(const PlanArguments& arguments) {
  if (!arguments.file.empty()) {
    io::InputArray file = io::open_header(arguments.file, {});
    return {std::move(file.header), file.file.label()};
  }
  const DtypeArgument dtype = parse_dtype("--dtype", arguments.dtype);
  Array array;
  array.header.shape = parse_numbers("--shape", arguments.shape);
  array.header.descr = dtype.descr;
  array.header.item_size = dtype.size;
  array.label = "the array of --shape";
  io::array_bytes(array.header.shape, dtype.size);
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

// What "--host" asks for.
std::string host_side_of(const PlanArguments& arguments) {
  const std::string& side = arguments.host_side;
  if (side.empty()) return "";
  if (arguments.on.empty()) {
    throw Error(Status::invalid_argument,
                fmt::format("--host = '{}' needs the GPU on the other side: --on h200", side));
  }
  if (side == "src" || side == "dst") return side;
  if (side == "pageable-src") return "pageable src";
  if (side == "pageable-dst") return "pageable dst";
  throw Error(Status::invalid_argument,
              fmt::format("--host = '{}' is none of src, dst, pageable-src, pageable-dst", side));
}

// What "--gpu-blocks" asks for.
int gpu_blocks_of(const PlanArguments& arguments) {
  if (arguments.gpu_blocks < 0) {
    throw Error(Status::invalid_argument,
                fmt::format("--gpu-blocks = {} is negative", arguments.gpu_blocks));
  }
  if (arguments.gpu_blocks > 0 && arguments.host_side.empty()) {
    throw Error(
        Status::invalid_argument,
        fmt::format("--gpu-blocks = {} limits kernels that reach into host memory: it needs "
                    "--host",
                    arguments.gpu_blocks));
  }
  return arguments.gpu_blocks;
}

std::vector<int> order_of(const PlanArguments& arguments, const io::NpyHeader& array) {
  return arguments.order.permutation(static_cast<int>(array.shape.size()));
}

Problem problem_of(const PlanArguments& arguments, const io::NpyHeader& array) {
  const std::vector<int> permutation = order_of(arguments, array);
  if (array.item_size == 0) {
    throw Error(Status::unsupported, "the elements have 0 bytes: there is nothing to plan");
  }
  Problem problem =
      io::file_problem(array.shape, array.item_size, array.fortran_order, permutation);
  if (arguments.values.any()) {
    problem.src_type = arguments.values.source_type(array.descr, array.item_size);
    problem.dst_type = arguments.values.result_type(problem.src_type);
    for (Mode& mode : problem.modes) {
      mode.dst_stride = mode.dst_stride / array.item_size * problem.dst_type.size();
    }
  }
  return problem;
}

// With an axis that is read by a list.
Plan indexed_plan_of(const PlanArguments& arguments, const io::NpyHeader& array,
                     const Epilogue& epilogue, const Options& options) {
  const IndexFile index(arguments.index, array.shape);
  const io::IndexedArray indexed(array.shape, array.item_size, array.fortran_order,
                                 order_of(arguments, array), index.list());
  ConstListedView source = indexed.source();
  ElementType to = source.view.type;
  if (arguments.values.any()) {
    source.view.type = arguments.values.source_type(array.descr, array.item_size);
    to = arguments.values.result_type(source.view.type);
  }
  return make_plan(View(nullptr, to, source.view.shape), source, epilogue, options);
}

Plan plan_of(const Problem& problem, const Epilogue& epilogue, const Options& options) {
  Extents shape, src_strides, dst_strides;
  for (const Mode& mode : problem.modes) {
    shape.push_back(mode.extent);
    src_strides.push_back(mode.src_stride);
    dst_strides.push_back(mode.dst_stride);
  }
  return make_plan(View(nullptr, problem.dst_type, shape, dst_strides),
                   ConstView(nullptr, problem.src_type, shape, src_strides), epilogue, options);
}

Plan block_plan_of(const PlanArguments& arguments, const Array& array, const Options& options) {
  const BlockArguments blocks(arguments.values, arguments.pad);
  const std::vector<int> order = order_of(arguments, array.header);
  blocks.check(array.header, array.label, order);
  const io::BlockTask task = blocks.task(array.header, order);
  BlockOptions of_blocks;
  of_blocks.pad = arguments.pad;
  of_blocks.threads = options.threads;
  of_blocks.kernel = options.kernel;
  of_blocks.device = options.device;
  return io::piece_plan(task, io::block_piece(task, io::whole_piece(task), nullptr, nullptr),
                        of_blocks);
}

// How a file would go through the memory that it may take; nothing where none is said.
std::optional<io::Schedule> schedule_of(const PlanArguments& arguments, const Problem& problem,
                                        const Plan& plan) {
  const std::int64_t memory = arguments.work.memory_bytes();
  if (memory <= 0 || arguments.values.any() || plan.bytes() <= 0 || plan.device() != "cpu") {
    return std::nullopt;
  }
  io::Limits limits;
  limits.threads = cpu::resolve_threads(arguments.work.options().threads);
  limits.memory = memory;
  return io::make_schedule(problem, limits);
}

void print(const PlanArguments& arguments, const Plan& plan,
           const std::optional<io::Schedule>& schedule) {
  const plan::Plan& made = plan.impl();
  std::optional<PlanReport> accesses;
  // The emulator counts what moves and conversions do.
  const bool counted = made.machine.gpu() != nullptr && made.problem.blocks == nullptr &&
                       made.problem.lists == nullptr;
  if (counted && (arguments.json || arguments.explain)) {
    accesses = report_of(made, candidates_counted);
  }
  if (arguments.json) {
    nlohmann::json json = nlohmann::json::parse(plan.to_json());
    if (accesses) json["accesses"] = nlohmann::json::parse(accesses->json(made));
    if (schedule) json["schedule"] = nlohmann::json::parse(io::to_json(*schedule));
    io::print_json(json);
    return;
  }
  if (arguments.explain) {
    io::print("{}", plan.explain());
    if (accesses) io::print("{}", accesses->text(made));
  } else {
    io::print("{}\nwhy: {}\n", plan.to_string(), plan.why());
  }
  if (schedule) io::print("{}\n", io::to_string(*schedule));
}

void plan(const PlanArguments& arguments) {
  const Array array = array_of(arguments);
  arguments.index.refuse_with("--src, --dst or --mesh", arguments.devices.any(),
                              "arrays that are spread have no lists");
  arguments.index.refuse_with("--to or --from with blocks", has_blocks(arguments.values),
                              "it moves single values");
  if (arguments.devices.any()) {
    const std::vector<int> order = order_of(arguments, array.header);
    return arguments.devices.print_plan(array.header, order, arguments.on, arguments.explain,
                                        arguments.json);
  }
  Options options = arguments.work.options();
  options.device = device_of(arguments);
  options.host_side = host_side_of(arguments);
  options.blocks = gpu_blocks_of(arguments);
  if (has_blocks(arguments.values)) {
    if (!options.host_side.empty()) {
      throw Error(Status::unsupported,
                  "--host does not go with blocks, which do not cross the link");
    }
    return print(arguments, block_plan_of(arguments, array, options), std::nullopt);
  }
  refuse_pad(arguments.pad);
  const Problem problem = problem_of(arguments, array.header);
  float bias = 0;
  const Epilogue epilogue = arguments.values.any() ? arguments.values.epilogue(bias) : Epilogue{};
  if (arguments.index.any()) {
    const Plan made = indexed_plan_of(arguments, array.header, epilogue, options);
    return print(arguments, made, std::nullopt);
  }
  const Plan made = plan_of(problem, epilogue, options);
  print(arguments, made, schedule_of(arguments, problem, made));
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      *app.add_subcommand("plan", "Says how an array would be transposed, without doing it");
  CLI::Option* file =
      command.add_option("FILE", arguments->file, "Take shape and dtype from this .npy file")
          ->type_name("FILE");
  command.add_option("--shape", arguments->shape, "Plan for a row-major array of this shape")
      ->type_name("3,4,5")
      ->excludes(file);
  command
      .add_option("--dtype", arguments->dtype,
                  "Plan for elements of this type: f32, u8, c64, b12 or NumPy's \"<f4\"")
      ->type_name("TYPE")
      ->excludes(file);
  CLI::Option* on =
      command
          .add_option("--on", arguments->on,
                      "Plan for this GPU, which need not be here: one that `devices` describes, or "
                      "a JSON file; with --src for the GPUs of a host, as 8xh200")
          ->type_name("h200|FILE");
  command
      .add_option("--device", arguments->device, "Plan for the CPU, or for the GPU that is here")
      ->type_name("cpu|gpu")
      ->excludes(on);
  command
      .add_option("--host", arguments->host_side,
                  "Plan for the way between host memory and the GPU of --on: this side lies in the "
                  "host's pinned memory, or in pageable memory")
      ->type_name("src|dst|pageable-src|pageable-dst");
  command
      .add_option(
          "--gpu-blocks", arguments->gpu_blocks,
          "With --host: at most so many blocks of kernels that reach into the host's memory "
          "run at a time; 0 means as many as the GPU takes")
      ->type_name("N");
  arguments->order.add_to(command);
  arguments->index.add_to(command);
  arguments->work.add_to(command, false);
  arguments->values.add_to(command);
  command.add_flag(
      "--pad", arguments->pad,
      "Fill the last blocks of rows and columns with zeros, with --to q8_0 and the like");
  arguments->devices.add_to(command);
  command.add_flag("--explain", arguments->explain,
                   "Show how the problem is simplified, step by step, and every candidate");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments, &command] {
    if (command.count("FILE") == 0 && command.count("--shape") == 0) {
      throw Error(Status::invalid_argument, "FILE or --shape is missing: plan needs one of them");
    }
    if (command.count("--dtype") == 0 && is_from_blocks(arguments->values)) {
      arguments->dtype = "u8";  // as their bytes are stored
    }
    plan(*arguments);
  });
}

}  // namespace cornerturn::cli
