// The fields of a JSON file that describes a machine. Bad ones end here: the message names the
// file, the field, its value and the rule.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::plan {

class Fields {
 public:
  /// `kind` is what errors call such a file: "device file".
  Fields(std::string_view text, std::string_view kind, std::string_view file);

  /// One line: names are columns of other files.
  std::string line(const char* name);
  std::int64_t whole(const char* name, std::int64_t least, std::int64_t most);
  double number(const char* name, double least, double most);
  bool has(const char* name) const { return json_.contains(name); }

  /// Call it last. What no one has asked for may say where the numbers are from, and nothing else:
  /// "measured" and "assumed" are lists of fields, "note" is a text.
  void refuse_others() const;
  [[noreturn]] void refuse_value(const char* name, const std::string& rule) const;

 private:
  [[noreturn]] void refuse(const std::string& rule) const;
  const nlohmann::json& field(const char* name);

  std::string file_;  ///< "device file 'h200.json'"
  nlohmann::json json_;
  std::vector<std::string> fields_;
};

}  // namespace cornerturn::plan
