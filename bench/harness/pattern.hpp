// What the source holds, and the obvious check that the destination got it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/case.hpp"

namespace cornerturn::bench {

// Source element number i (counted from the start of the buffer) is ordinary_value(i) of
// cuda/ordinary_values.hpp. Of 4-byte elements, the first 400 million are all distinct; of 2-byte
// elements, any 6000 in a row; of 1-byte elements, any 90. Elements of other sizes are made of
// 8-byte words, numbered through.

/// Fills `bytes` bytes with the pattern for elements of `element_bytes`.
void fill_pattern(void* buffer, std::int64_t bytes, int element_bytes);

/// Fills `bytes` bytes with the poison, by which an untouched element is known.
void fill_poison(void* buffer, std::int64_t bytes);

/// Checks every element of the destination against the pattern, one by one in the order of `shape`.
/// Returns "" or a sentence about the first that differs.
std::string check_elements(const Case& c, const void* dst);

/// Checks that nothing else was written: poisons every element of the destination and then looks
/// for bytes that are not poison among the first `bytes`. Returns "" or a sentence.
std::string check_gaps(const Case& c, void* dst, std::int64_t bytes);

}  // namespace cornerturn::bench
