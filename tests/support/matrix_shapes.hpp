// The matrices on which every rung of the ladder is run, in the emulator and on a GPU.
#pragma once

#include <cstdint>
#include <vector>

namespace cornerturn::test {

struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Nothing, one element, one row, one column, less than a tile, whole tiles, ragged ones.
inline const std::vector<MatrixShape> matrix_shapes = {
    {0, 0},   {0, 5},   {1, 1},    {1, 300},  {300, 1},  {5, 7},   {32, 32},
    {33, 31}, {64, 64}, {100, 36}, {127, 65}, {256, 48}, {16, 48}, {130, 258}};

/// Larger than an emulator is patient: primes, long rows and columns, edges of every tile.
inline const std::vector<MatrixShape> large_matrix_shapes = {
    {5, 0},       {7, 1},       {1, 100003},  {100003, 1},  {2, 65537},  {65537, 2}, {3, 1000003},
    {1000003, 3}, {1009, 1013}, {4099, 2053}, {127, 129},   {257, 1023}, {512, 512}, {1000, 1000},
    {1024, 4096}, {4096, 1024}, {4092, 4100}, {8191, 8193}, {8192, 8192}};

/// More than 2^31 elements: whole 16-byte rows, ragged ones, one row, one column.
inline const std::vector<MatrixShape> huge_matrix_shapes = {
    {65536, 32784}, {46349, 46351}, {1, 2147483659}, {2147483659, 1}};

}  // namespace cornerturn::test
