// Arguments that several commands take, from text to values. All functions throw Error.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::cli {

/// --perm and --pattern; neither means the reverse order of axes.
struct OrderArguments {
  std::string perm;
  std::string pattern;
  // An empty text is an argument, too: a wrong one.
  CLI::Option* perm_option = nullptr;
  CLI::Option* pattern_option = nullptr;

  void add_to(CLI::App& command);
  std::vector<int> permutation(int rank) const;
};

/// --threads, --force, --effort and --memory.
struct WorkArguments {
  std::string threads;
  std::string kernel;
  std::string effort = "estimate";
  std::string memory;

  void add_to(CLI::App& command, bool with_effort);
  Options options() const;
  /// Bytes, or 0 when --memory was not given.
  std::int64_t memory_bytes() const;
};

/// --to, --from, --scale, --bias, --saturate and --stochastic: how values change.
struct ValueArguments {
  std::string to;
  std::string from;
  std::string scale;
  std::string bias;
  bool saturate = false;
  std::string stochastic;

  void add_to(CLI::App& command);
  bool any() const;
  /// The types, where the file (or --dtype) says that an element is `descr`, of `size` bytes. Both
  /// have values: nothing that is asked for can be left out because there are none.
  ElementType source_type(const std::string& descr, std::int64_t size) const;
  ElementType result_type(ElementType source) const;
  /// Does the result have a type of its own, whatever IN says of itself?
  bool names_type() const { return !to.empty() || !from.empty(); }
  /// `bias_storage` keeps the addend, to which the result may point.
  Epilogue epilogue(float& bias_storage) const;

 private:
  std::string first() const;  ///< of the options that were given, with its value
};

/// --scales, --scale-layout, --scale-rule and --tensor-scale: the scales of blocks that have an
/// array of their own.
struct ScaleArguments {
  std::string file;
  std::string layout;
  std::string rule;
  std::string tensor_scale;

  void add_to(CLI::App& command);
  /// The options that were given, and their values.
  std::vector<std::pair<const char*, std::string>> given() const;
};

/// "3,4,5" as numbers from 0; `name` is the option's: "--shape".
std::vector<std::int64_t> parse_numbers(const std::string& name, const std::string& text);

/// An element: the library's name ("f32", "u8", "float64", "b12") or NumPy's description with its
/// byte order ("<f4", "|S12"). `descr` is what a .npy header calls it.
struct DtypeArgument {
  std::string descr;
  std::int64_t size = 0;
};
DtypeArgument parse_dtype(const std::string& name, const std::string& text);

/// The type of elements that a header, or --dtype, describes so; `size` plain bytes where they have
/// no values.
ElementType described_type(const std::string& descr, std::int64_t size);

/// "cpu" or "gpu".
std::string parse_device(const std::string& name, const std::string& text);

/// Bytes of memory that may be used without pushing others out: what the machine has left, or the
/// container.
std::int64_t available_memory();

}  // namespace cornerturn::cli
