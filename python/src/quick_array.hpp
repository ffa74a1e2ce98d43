// What the quick path knows of an array, and what it asks the engine for.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "cornerturn/error.hpp"
#include "execute.hpp"

namespace cornerturn::python {

/// An array, as long as it is not changed.
struct Array {
  std::uintptr_t data = 0;
  std::int64_t itemsize = 0;
  int rank = 0;
  const std::int64_t* shape = nullptr;
  std::array<std::int64_t, max_rank> strides;  ///< in bytes
  int device = host;
  std::uint64_t type = 0;  ///< differs where the dtypes do
};

/// Axes of an array in the order of the result, counted from the front.
using AxisOrder = std::array<int, max_rank>;

/// Reads `axes`; None reverses them. False unless they name each axis once.
bool read_axes(nanobind::handle axes, int rank, AxisOrder& order);

/// Both sides of a permutation from `src` into `dst`. Null unless `dst` has the right shape and
/// place. Valid until the thread's next call, whose vectors need no new memory.
const Sides* permuted_into(const Array& src, const Array& dst, const AxisOrder& order);

inline bool same_elements(const Array& a, const Array& b) {
  return a.type == b.type && a.itemsize == b.itemsize;
}

/// execute_in_pieces() without the GIL, unless giving it back would take as long as the work.
void execute_quickly(const Sides& sides, int device, std::uintptr_t stream);

/// work(); false where the library refuses.
template <class Work>
bool try_to(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A list of packed arrays of one shape whose rows take turns in a result.
struct Turns {
  std::vector<std::int64_t> numbers;  ///< of the arrays, in the order of their turns
  std::int64_t rows = 0;              ///< of an array
  std::int64_t row = 0;               ///< elements
  std::vector<std::int64_t> shape;    ///< of the result
};

/// How values change on their way.
struct Change {
  nanobind::handle dtype = Py_None;  ///< of the result; None: that of the source
  double alpha = 1;
  bool none() const { return dtype.is_none() && alpha == 1; }
};

/// The arrays of one framework.
class QuickArrays {
 public:
  QuickArrays() = default;
  QuickArrays(const QuickArrays&) = delete;
  QuickArrays& operator=(const QuickArrays&) = delete;
  virtual ~QuickArrays() = default;

  /// See quick_transpose() and quick_convert().
  virtual nanobind::object transpose(nanobind::handle x, nanobind::handle axes,
                                     nanobind::handle out, const Change& change) = 0;
  /// See quick_interleave(). `arrays` is a tuple of arrays of one type.
  virtual nanobind::object interleave(nanobind::handle arrays, const Turns& turns) = 0;

 protected:
  /// Reads the arrays in the order of their turns, by read(array, Array&) -> bool. False unless
  /// they are packed, in host memory, and alike.
  template <class Read>
  static bool read_all(nanobind::handle arrays, const Turns& turns, Stack& stack, Read&& read);
};

/// Are the elements side by side, the last axis fastest?
bool is_packed(const Array& array);

/// interleave_in_pieces(), without the GIL where that is worth it.
void interleave_quickly(std::uintptr_t dst, const Stack& stack);

template <class Read>
bool QuickArrays::read_all(nanobind::handle arrays, const Turns& turns, Stack& stack, Read&& read) {
  Array first, array;
  for (const std::int64_t number : turns.numbers) {
    const nanobind::handle item = PyTuple_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(number));
    if (!item.is_valid()) nanobind::raise_python_error();
    const bool is_first = stack.arrays.empty();
    Array& found = is_first ? first : array;
    if (!read(item, found) || found.device != host || !is_packed(found)) return false;
    if (!same_elements(first, found) || found.rank != first.rank ||
        !std::equal(first.shape, first.shape + first.rank, found.shape)) {
      return false;
    }
    stack.arrays.push_back(found.data);
  }
  stack.itemsize = first.itemsize;
  stack.rows = turns.rows;
  stack.row = turns.row;
  return true;
}

}  // namespace cornerturn::python
