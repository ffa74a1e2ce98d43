#include "plan_shards.hpp"

#include <optional>
#include <utility>

#include "arguments.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "shards/plan.hpp"

namespace cornerturn::cli {

void MeshArguments::add_to(CLI::App& command) {
  src_option =
      command
          .add_option("--src", src,
                      "Plan for an array that is spread over devices: what each dimension of the "
                      "mesh does, S<axis>, S<axis>:<block> for block-cyclic, or R")
          ->type_name("S0,R");
  CLI::Option* to =
      command.add_option("--dst", dst, "How the result is spread over them")->type_name("S1,R");
  src_option->needs(to);
  to->needs(src_option);
  mesh_option =
      command
          .add_option("--mesh", mesh,
                      "The devices by coordinates; with --on 8xh200 all 8 in a row unless said")
          ->type_name("2,4")
          ->needs(src_option);
  for (const char* other : {"--device", "--host", "--threads", "--force", "--memory", "--to",
                            "--from", "--scale", "--bias", "--saturate", "--stochastic", "--pad"}) {
    src_option->excludes(command.get_option(other));
  }
}

void MeshArguments::print_plan(const io::NpyHeader& array, const std::vector<int>& permutation,
                               const std::string& on, bool explain, bool json) const {
  std::optional<shards::GpusOfHost> host;
  if (!on.empty()) host = shards::host_named(on, "--on");
  if (!host && mesh_option->count() == 0) {
    throw Error(Status::invalid_argument,
                "--mesh is missing: --src and --dst need it, or --on with a number of GPUs");
  }
  const shards::Numbers devices =
      mesh_option->count() > 0 ? parse_numbers("--mesh", mesh) : shards::Numbers{host->devices};
  shards::Numbers result;
  for (const int axis : permutation) result.push_back(array.shape[static_cast<std::size_t>(axis)]);
  const auto layout = [&](const shards::Numbers& shape, const char* name, const std::string& text) {
    return shards::placed(shape, devices, shards::parse_placements(text, name), name);
  };
  shards::Layout from = layout(array.shape, "--src", src);
  const shards::Redistribution what(std::move(from), layout(result, "--dst", dst), permutation,
                                    array.item_size);
  const shards::ShardPlan plan = shards::make_plan(what, host);
  io::print("{}", json ? shards::to_json(plan) : shards::to_string(plan, explain));
}

}  // namespace cornerturn::cli
