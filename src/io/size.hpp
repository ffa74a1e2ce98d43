// Sizes as people write them. They mean the same behind every option.
#pragma once

#include <cstdint>
#include <string>

namespace cornerturn::io {

/// "512MiB", "2G", "1000000": bytes. K, M, G and T are powers of 1024; kB, MB, GB and TB of 1000.
/// `name` is the option's: "--memory".
std::int64_t parse_size(const std::string& name, const std::string& text);

}  // namespace cornerturn::io
