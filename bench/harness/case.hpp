// A benchmark case: one strided copy at one element size, and the suites that hold them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::bench {

/// dst[dst_offset + sum(i_k * dst_strides_k)] = src[src_offset + sum(i_k * src_strides_k)] for
/// every index i of `shape`. Strides and offsets are in elements.
struct Case {
  std::string suite;
  std::string name;
  std::string group;  ///< the class that geometric means are taken over, e.g. "matrix-aligned"
  int element_bytes = 1;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> src_strides;
  std::vector<std::int64_t> dst_strides;
  std::int64_t src_offset = 0;
  std::int64_t dst_offset = 0;

  std::int64_t elements() const noexcept;
  /// Bytes that arrive at the destination; memcpy is measured over as many.
  std::int64_t payload_bytes() const noexcept { return elements() * element_bytes; }
  /// Bytes from the start of the buffer to the end of the last element that is touched.
  std::int64_t src_span_bytes() const noexcept;
  std::int64_t dst_span_bytes() const noexcept;
  /// True when latency counts: the case is timed warm, many calls at a time.
  bool warm() const noexcept { return group == "latency"; }

  friend bool operator==(const Case&, const Case&) = default;
};

/// "everyday/matrix_4096 4 B".
std::string to_string(const Case& c);

struct Suite {
  std::string name;
  std::string note;
  std::vector<Case> cases;  ///< one for each element size of each entry, in the file's order
};

/// Reads a suite from JSON text. `origin` names the text in errors. Throws Error naming the case,
/// the field, its value and the rule.
Suite parse_suite(const std::string& text, const std::string& origin);

/// The suite called `name_or_path`: a name of an embedded suite, "random:..." or "fields:..."
/// (random_suite.hpp), or a path of a JSON file.
Suite load_suite(const std::string& name_or_path);

/// A suite's JSON text, compiled into the program.
struct EmbeddedSuite {
  std::string_view name;
  std::string_view text;
};

/// The suites of bench/suites/, in alphabetical order.
const std::vector<EmbeddedSuite>& embedded_suites();

/// What narrows a suite down. Empty lists accept everything.
struct CaseFilter {
  std::vector<int> element_bytes;
  std::vector<std::string> name_globs;
  std::vector<std::string> groups;
  std::int64_t max_payload_bytes = 0;  ///< 0: no limit

  bool accepts(const Case& c) const;
};

}  // namespace cornerturn::bench
