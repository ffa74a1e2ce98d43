#include "plan/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "cornerturn/error.hpp"

namespace cornerturn::plan {

using nlohmann::json;

Fields::Fields(std::string_view text, std::string_view kind, std::string_view file)
    : file_(fmt::format("{} '{}'", kind, file)) {
  if (text.empty()) refuse("is empty");
  try {
    json_ = json::parse(text);
  } catch (const json::parse_error& error) {
    refuse(fmt::format("is no JSON: byte {} breaks its syntax", error.byte));
  } catch (const json::exception& error) {  // a number that no double holds
    refuse(fmt::format("is no JSON: {}", error.what()));
  }
  if (!json_.is_object()) refuse("holds no JSON object");
}

std::string Fields::line(const char* name) {
  const json& value = field(name);
  if (!value.is_string()) refuse_value(name, "must be a text");
  auto text = value.get<std::string>();
  if (text.empty() || text.find_first_of("\t\n") != std::string::npos) {
    refuse_value(name, "must be one line, without tabs");
  }
  return text;
}

std::int64_t Fields::whole(const char* name, std::int64_t least, std::int64_t most) {
  const json& value = field(name);
  // A number too large for 64 bits with a sign comes as one without.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <=
                         static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    refuse_value(name, fmt::format("must be a whole number from {} to {}", least, most));
  }
  return value.get<std::int64_t>();
}

double Fields::number(const char* name, double least, double most) {
  const json& value = field(name);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
    refuse_value(name, fmt::format("must be a number from {:g} to {:g}", least, most));
  }
  return value.get<double>();
}

void Fields::refuse_others() const {
  const auto known = [this](const std::string& name) {
    return std::find(fields_.begin(), fields_.end(), name) != fields_.end();
  };
  for (const auto& [key, value] : json_.items()) {
    if (known(key)) continue;
    if (key == "note") {
      if (!value.is_string()) refuse_value("note", "must be a text");
    } else if (key == "measured" || key == "assumed") {
      const bool names =
          value.is_array() && std::all_of(value.begin(), value.end(), [&](const json& name) {
            return name.is_string() && known(name.get<std::string>());
          });
      if (!names) refuse_value(key.c_str(), "must be a list of fields of this file");
    } else {
      refuse(fmt::format("has the field '{}', which is none of {}, measured, assumed, note",
                         key.substr(0, 60), fmt::join(fields_, ", ")));
    }
  }
}

void Fields::refuse(const std::string& rule) const {
  throw Error(Status::invalid_argument, fmt::format("{} {}", file_, rule));
}

void Fields::refuse_value(const char* name, const std::string& rule) const {
  const std::string value = json_[name].dump(-1, ' ', true, json::error_handler_t::replace);
  throw Error(Status::invalid_argument,
              fmt::format("{}: {} = {} {}", file_, name, value.substr(0, 60), rule));
}

const json& Fields::field(const char* name) {
  if (!json_.contains(name)) refuse(fmt::format("has no field '{}'", name));
  if (std::find(fields_.begin(), fields_.end(), name) == fields_.end()) fields_.emplace_back(name);
  return json_[name];
}

}  // namespace cornerturn::plan
