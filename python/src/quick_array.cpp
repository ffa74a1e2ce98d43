#include "quick_array.hpp"

#include <algorithm>

namespace nb = nanobind;

namespace cornerturn::python {
namespace {

// Moved in less time than the GIL takes to be given back.
constexpr std::int64_t few_bytes = 32 << 10;

// Both sides of a permutation from `src` into a packed array at `dst`. Valid until the thread's
// next call, whose vectors need no new memory.
Sides& permuted(const Array& src, std::uintptr_t dst, const AxisOrder& order) {
  thread_local Sides sides;
  sides.dst = dst;
  sides.src = src.data;
  sides.itemsize = src.itemsize;
  const auto rank = static_cast<std::size_t>(src.rank);
  sides.shape.resize(rank);
  sides.dst_strides.resize(rank);
  sides.src_strides.resize(rank);
  std::int64_t step = src.itemsize;
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    sides.shape[i] = src.shape[axis];
    sides.src_strides[i] = src.strides[axis];
    sides.dst_strides[i] = step;
    step *= std::max<std::int64_t>(src.shape[axis], 1);
  }
  return sides;
}

}  // namespace

bool read_axes(nb::handle axes, int rank, AxisOrder& order) {
  if (axes.is_none()) {
    for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
    return true;
  }
  if (!PyTuple_CheckExact(axes.ptr()) && !PyList_CheckExact(axes.ptr())) return false;
  if (PySequence_Size(axes.ptr()) != rank) return false;
  std::uint64_t seen = 0;
  for (int i = 0; i < rank; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(axes.ptr(), i));
    if (!item.is_valid() || !PyLong_CheckExact(item.ptr())) return false;
    int overflow = 0;
    const long axis = PyLong_AsLongAndOverflow(item.ptr(), &overflow);
    if (overflow != 0 || axis < -rank || axis >= rank) return false;
    const int from_front = static_cast<int>(axis < 0 ? axis + rank : axis);
    if ((seen >> from_front & 1) != 0) return false;
    seen |= std::uint64_t{1} << from_front;
    order[static_cast<std::size_t>(i)] = from_front;
  }
  return true;
}

const Sides* permuted_into(const Array& src, const Array& dst, const AxisOrder& order) {
  if (dst.rank != src.rank || dst.device != src.device) return nullptr;
  Sides& sides = permuted(src, dst.data, order);
  if (!std::equal(sides.shape.begin(), sides.shape.end(), dst.shape)) return nullptr;
  sides.dst_strides.assign(dst.strides.begin(), dst.strides.begin() + dst.rank);
  return &sides;
}

bool is_packed(const Array& array) {
  std::int64_t step = array.itemsize;
  for (int i = array.rank; i-- > 0;) {
    const std::int64_t extent = array.shape[i];
    if (extent != 1 && array.strides[static_cast<std::size_t>(i)] != step) return extent == 0;
    step *= extent;
  }
  return true;
}

void interleave_quickly(std::uintptr_t dst, const Stack& stack) {
  const std::int64_t bytes = std::ssize(stack.arrays) * stack.rows * stack.row * stack.itemsize;
  if (bytes <= few_bytes) return interleave_in_pieces(dst, stack);
  const nb::gil_scoped_release released;
  interleave_in_pieces(dst, stack);
}

void execute_quickly(const Sides& sides, int device, std::uintptr_t stream) {
  std::int64_t bytes = sides.itemsize;
  for (const std::int64_t extent : sides.shape) {
    if (bytes <= few_bytes || extent == 0) bytes *= extent;
  }
  if (device == host && bytes <= few_bytes) return execute(sides, device, stream);
  const nb::gil_scoped_release released;
  execute_in_pieces(sides, device, stream);
}

}  // namespace cornerturn::python
