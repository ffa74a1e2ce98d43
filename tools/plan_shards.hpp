// cornerturn plan --mesh: what a redistribution between devices would do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "io/npy.hpp"

namespace cornerturn::cli {

/// --mesh, --src and --dst.
struct MeshArguments {
  std::string mesh;
  std::string src;
  std::string dst;
  CLI::Option* src_option = nullptr;
  CLI::Option* mesh_option = nullptr;

  /// After all options that do not go with these.
  void add_to(CLI::App& command);
  bool any() const { return src_option->count() > 0; }
  /// Prints the plan for an array whose axes go into the order `permutation`. `on` is what --on
  /// says, or empty.
  void print_plan(const io::NpyHeader& array, const std::vector<int>& permutation,
                  const std::string& on, bool explain, bool json) const;
};

}  // namespace cornerturn::cli
