// What people read: standard output and standard error. Everything that is said goes through here.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/visible.hpp"

namespace cornerturn::io {

/// Opens what a caller has closed of standard input, output and error, so that no file that is
/// opened later takes one of their places. To read from or write to them then fails.
void keep_standard_streams();

/// Writes to standard output as it is: pictures with their colours, and what was made visible.
/// Never throws: finish_output() says what went wrong.
void print_as_is(std::string_view text) noexcept;

/// Writes lines to standard output, in which a terminal finds nothing to obey.
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_as_is(visible(fmt::format(format, std::forward<Values>(values)...), "\n"));
}

/// The JSON of a report, in ASCII.
template <class Json>
std::string report_text(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}
template <class Json>
void print_json(const Json& json) {
  print_as_is(report_text(json));
}

/// Sends what was printed on its way. False, with one line on standard error, when some of it, now
/// or before, could not be written.
bool finish_output();

/// One line on standard error, "cornerturn: MESSAGE", whatever the message holds. Where standard
/// error cannot be written, nothing happens.
void complain(const std::string& message);

/// Lines on standard error, without a name before them.
void print_error(std::string_view text);

/// A line on standard error that the next one overwrites, for terminals; an empty one wipes it.
void show_progress(const std::string& text);
/// Is there a terminal that shows it?
bool shows_progress();

}  // namespace cornerturn::io
