// The ladder as data: what a program needs to list its rungs, choose some and run them, whatever
// their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/element_type.hpp"
#include "kernels/context.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::ladder {

/// What a rung is run on: rows x cols elements of `bytes` bytes, row-major; or a stack of such
/// matrices, which becomes the stack of their transposes.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int bytes = 4;  ///< of an element
  std::int64_t batch = 1;
  /// The source has row 0 of each matrix, then row 1 of each: ggml's fused case, nb00 > nb02.
  bool fused = false;

  std::int64_t size() const { return rows * cols * bytes * batch; }
  /// Which element of the source element (row, col) of matrix m is.
  std::int64_t src_at(std::int64_t m, std::int64_t row, std::int64_t col) const {
    return (fused ? row * batch + m : m * rows + row) * cols + col;
  }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// Where the elements of a rung's tile lie in shared memory.
struct TileMap {
  int rows = 0;
  int columns = 0;
  int slot_bytes = 4;  ///< that one element takes
  int chunk = 1;       ///< so many neighbours of a row stay neighbours
  std::int64_t (*at)(int row, int column) = nullptr;  ///< in slots
};

/// One rung for one size of element.
struct RungBody {
  int bytes = 0;
  std::optional<TileMap> tile;  ///< if it has one
  bool takes_stacks = false;
  Launch (*launch)(const void* src, void* dst, const Matrix& matrix) = nullptr;
  /// All threads of the launch, over buffers that `emulator` knows.
  void (*run)(simt::Emulator& emulator, simt::Mode mode, const void* src, void* dst,
              const Matrix& matrix, const simt::Visitor& visitor) = nullptr;
};

/// The types of a rung that changes them.
struct Conversion {
  ElementType src;
  ElementType dst;
};

enum class Family {
  kernel_form,  ///< src/workshop/rungs: runs in the emulator and on a GPU
  cute          ///< src/workshop/cuda/cute: in CuTe's words; its accesses follow from layouts
};

struct Rung {
  std::string_view name;
  std::string_view shows;  ///< one line
  std::string_view after;  ///< the rung it is compared with; empty for the first
  Family family = Family::kernel_form;
  bool transposes = true;
  std::vector<RungBody> bodies = {};      ///< kernel form: one for each size of element it takes
  std::optional<TileMap> cute_tile = {};  ///< CuTe's, of elements of 4 bytes
  /// Where it can change the type of the elements: all threads of such a launch. False: it does not
  /// know these types.
  bool (*convert)(simt::Emulator& emulator, const void* src, void* dst, std::int64_t rows,
                  std::int64_t cols, const Conversion& types) = nullptr;

  const RungBody* body(int bytes) const;
  /// If it has a tile of such elements.
  std::optional<TileMap> tile(int bytes) const;
};

/// All rungs in the order of the climb: of the kernel form, then CuTe's, which every build knows.
std::span<const Rung> rungs();
/// Null if there is none of this name.
const Rung* find_rung(std::string_view name);

/// Why a rung of the kernel form does not take such elements, or a stack of such matrices, if so.
std::optional<std::string> refused(const Rung& rung, const Matrix& matrix);

/// Why the rung cannot run on this matrix, if so.
std::optional<std::string> why_not(const Rung& rung, const Matrix& matrix);

/// Why the rung cannot change the type of elements in this way, if so.
std::optional<std::string> why_not(const Rung& rung, const Conversion& types);

/// Throws Error when the matrix has more bytes than fit in 64 bits.
Matrix make_matrix(std::int64_t rows, std::int64_t cols, int bytes, std::int64_t batch = 1,
                   bool fused = false);

}  // namespace cornerturn::ladder
