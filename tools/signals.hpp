// What the command does when it is interrupted, or when its input shrinks under its hands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cornerturn::cli {

/// From now on SIGINT, SIGTERM and SIGHUP remove temporary files and end the process with 128 plus
/// the signal's number; a SIGBUS in the watched memory ends it with one line and exit code 2.
void catch_signals();

/// Memory whose file may shrink; `label` is what the line calls the file. Nothing else is watched
/// after this call.
void watch_mapping(const std::byte* data, std::int64_t size, const std::string& label);

}  // namespace cornerturn::cli
