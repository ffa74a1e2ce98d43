#include "harness/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "harness/random_suite.hpp"

namespace cornerturn::bench {
namespace {

using nlohmann::json;

constexpr int max_element_bytes = 256;
constexpr std::size_t max_case_rank = 64;

[[noreturn]] void reject(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// The bytes from the start of the buffer to the end of the last element: what `strides` and
// `offset`, in elements, reach. The loader has checked that it fits in 64 bits.
std::int64_t span_bytes(const Case& c, const std::vector<std::int64_t>& strides,
                        std::int64_t offset) {
  if (c.elements() == 0) return 0;
  std::int64_t last = offset;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    if (strides[k] > 0) last += strides[k] * (c.shape[k] - 1);
  }
  return (last + 1) * c.element_bytes;
}

// One entry of the file, with errors that say where they are.
class Entry {
 public:
  Entry(const json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) reject(where_ + " is not an object");
  }

  void locate(std::string where) { where_ = std::move(where); }

  const json& at(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) reject(fmt::format("{} has no \"{}\"", where_, key));
    return *found;
  }

  std::string text(const char* key) const {
    const json& v = at(key);
    if (!v.is_string() || v.get_ref<const std::string&>().empty()) {
      fail(key, v, "must be a non-empty string");
    }
    return v.get<std::string>();
  }

  std::vector<std::int64_t> integers(const char* key) const {
    const json& v = at(key);
    if (!v.is_array()) fail(key, v, "must be a list of integers");
    std::vector<std::int64_t> out;
    for (const json& item : v) out.push_back(integer_of(key, item));
    return out;
  }

  std::int64_t integer(const char* key) const { return integer_of(key, at(key)); }

  [[noreturn]] void fail(const char* key, const json& v, const std::string& rule) const {
    std::string shown = v.dump(-1, ' ', false, json::error_handler_t::replace);
    if (shown.size() > 80) shown = shown.substr(0, 77) + "...";
    reject(fmt::format("{}: {} = {} {}", where_, key, shown, rule));
  }

 private:
  std::int64_t integer_of(const char* key, const json& v) const {
    if (!v.is_number_integer()) fail(key, v, "must be an integer");
    if (v.is_number_unsigned() && v.get<std::uint64_t>() > INT64_MAX) {
      fail(key, v, "does not fit in 64 bits");
    }
    return v.get<std::int64_t>();
  }

  const json& value_;
  std::string where_;
};

// Rejects what leaves the buffer at its start or does not fit in 64 bits.
void check_reach(const Entry& entry, const char* key, const Case& c,
                 const std::vector<std::int64_t>& strides, std::int64_t offset) {
  std::int64_t first = offset;
  std::int64_t last = offset;
  std::int64_t reach = 0;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    if (__builtin_mul_overflow(strides[k], c.shape[k] - 1, &reach) ||
        __builtin_add_overflow(reach > 0 ? last : first, reach, reach > 0 ? &last : &first)) {
      entry.fail(key, strides, "reaches beyond 64 bits");
    }
  }
  if (first < 0) {
    entry.fail(key, strides, fmt::format("reaches {} elements before the buffer", -first));
  }
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, static_cast<std::int64_t>(max_element_bytes), &last)) {
    entry.fail(key, strides, "reaches beyond 64 bits");
  }
}

// Everything but the element size and the class, which an entry has one of for each size.
Case parse_geometry(const Entry& entry, const std::string& suite, const std::string& name) {
  Case c;
  c.suite = suite;
  c.name = name;
  c.shape = entry.integers("shape");
  if (c.shape.size() > max_case_rank) entry.fail("shape", entry.at("shape"), "has a rank over 64");
  std::int64_t elements = 1;
  for (const std::int64_t extent : c.shape) {
    if (extent < 1) entry.fail("shape", entry.at("shape"), "has an extent below 1");
    if (__builtin_mul_overflow(elements, extent, &elements)) {
      entry.fail("shape", entry.at("shape"), "has more than 2^63 elements");
    }
  }
  c.src_strides = entry.integers("src_strides");
  c.dst_strides = entry.integers("dst_strides");
  c.src_offset = entry.integer("src_offset");
  c.dst_offset = entry.integer("dst_offset");
  for (const auto& [key, strides] :
       {std::pair("src_strides", &c.src_strides), std::pair("dst_strides", &c.dst_strides)}) {
    if (strides->size() != c.shape.size()) {
      entry.fail(key, entry.at(key), fmt::format("must have {} items, as shape", c.shape.size()));
    }
  }
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    if (c.dst_strides[k] == 0 && c.shape[k] > 1) {
      entry.fail("dst_strides", entry.at("dst_strides"), "writes an element more than once");
    }
  }
  check_reach(entry, "src_strides", c, c.src_strides, c.src_offset);
  check_reach(entry, "dst_strides", c, c.dst_strides, c.dst_offset);
  return c;
}

void append_cases(const json& value, const std::string& origin, std::size_t index,
                  std::set<std::string>& names, Suite& suite) {
  Entry entry(value, fmt::format("{}: cases[{}]", origin, index));
  const std::string name = entry.text("name");
  if (!names.insert(name).second) entry.fail("name", name, "appears twice");
  entry.locate(fmt::format("{}: case \"{}\"", origin, name));

  Case c = parse_geometry(entry, suite.name, name);
  const std::vector<std::int64_t> sizes = entry.integers("element_bytes");
  if (sizes.empty()) entry.fail("element_bytes", entry.at("element_bytes"), "is empty");
  const json& groups = entry.at("class");
  if (!groups.is_array() || groups.size() != sizes.size()) {
    entry.fail("class", groups, fmt::format("must have {} items, as element_bytes", sizes.size()));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > max_element_bytes) {
      entry.fail("element_bytes", sizes, "must be from 1 to 256");
    }
    if (!groups[i].is_string()) entry.fail("class", groups, "must hold strings");
    c.element_bytes = static_cast<int>(sizes[i]);
    c.group = groups[i].get<std::string>();
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(c.elements(), sizes[i], &bytes)) {
      entry.fail("shape", entry.at("shape"), "has more than 2^63 bytes");
    }
    suite.cases.push_back(c);
  }
}

}  // namespace

std::int64_t Case::elements() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::int64_t Case::src_span_bytes() const noexcept {
  return span_bytes(*this, src_strides, src_offset);
}

std::int64_t Case::dst_span_bytes() const noexcept {
  return span_bytes(*this, dst_strides, dst_offset);
}

std::string to_string(const Case& c) {
  return fmt::format("{}/{} {} B", c.suite, c.name, c.element_bytes);
}

Suite parse_suite(const std::string& text, const std::string& origin) {
  json file;
  try {
    file = json::parse(text);
  } catch (const json::exception& e) {
    reject(fmt::format("{} is not JSON: {}", origin, e.what()));
  }
  const Entry top(file, origin);
  Suite suite;
  suite.name = top.text("suite");
  if (file.contains("note")) suite.note = top.text("note");
  const json& cases = top.at("cases");
  if (!cases.is_array() || cases.empty()) top.fail("cases", cases, "must be a non-empty list");
  std::set<std::string> names;
  for (std::size_t i = 0; i < cases.size(); ++i) append_cases(cases[i], origin, i, names, suite);
  return suite;
}

Suite load_suite(const std::string& name_or_path) {
  if (is_random(name_or_path)) return random_suite(parse_random(name_or_path));
  for (const EmbeddedSuite& suite : embedded_suites()) {
    if (suite.name == name_or_path) {
      return parse_suite(std::string(suite.text), fmt::format("suite {}", suite.name));
    }
  }
  if (::access(name_or_path.c_str(), R_OK) != 0) {
    std::vector<std::string_view> names;
    for (const EmbeddedSuite& suite : embedded_suites()) names.push_back(suite.name);
    reject(fmt::format("suite = {} is neither a readable file nor one of {}", name_or_path,
                       fmt::join(names, ", ")));
  }
  return parse_suite(files::read_text(name_or_path, "suite"), name_or_path);
}

bool CaseFilter::accepts(const Case& c) const {
  const auto matches = [&](const std::string& glob) {
    return fnmatch(glob.c_str(), c.name.c_str(), 0) == 0;
  };
  return (element_bytes.empty() ||
          std::count(element_bytes.begin(), element_bytes.end(), c.element_bytes) > 0) &&
         (groups.empty() || std::count(groups.begin(), groups.end(), c.group) > 0) &&
         (name_globs.empty() || std::any_of(name_globs.begin(), name_globs.end(), matches)) &&
         (max_payload_bytes == 0 || c.payload_bytes() <= max_payload_bytes);
}

}  // namespace cornerturn::bench
