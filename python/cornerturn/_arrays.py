"""What a call needs to know of an array, and the rules that hold between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from cornerturn import _core

HOST = -1


class Array(NamedTuple):
    """An array as numbers."""

    address: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    device: int  # HOST, or the number of a GPU
    dtype: Any  # the framework's own; a name where there is no framework
    readonly: bool
    owner: Any  # keeps the memory alive

    @property
    def rank(self) -> int:
        return len(self.shape)

    def permuted(self, order: Sequence[int]) -> Array:
        """The same memory with its axes in another order."""
        return self._replace(
            shape=tuple([self.shape[i] for i in order]),
            strides=tuple([self.strides[i] for i in order]),
        )

    def is_packed(self) -> bool:
        if 0 in self.shape:
            return True
        step = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True


def shown(value: Any) -> str:
    """A value in an error: on one line, and not long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def packed_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(extent, 1)
    return tuple(reversed(strides))


def order_of(axes: Any, rank: int) -> tuple[int, ...]:
    """`axes` counted from the front; all axes reversed where it is None."""
    if axes is None:
        return tuple(range(rank - 1, -1, -1))
    try:
        numbers = [index(axis) for axis in axes]
    except TypeError:
        raise TypeError(f"axes = {shown(axes)}: axes has to be a sequence of integers") from None
    if len(numbers) != rank:
        raise ValueError(f"axes = {shown(tuple(numbers))} has {len(numbers)} entries, x has rank {rank}")
    order: list[int] = []
    for i, axis in enumerate(numbers):
        if not -rank <= axis < rank:
            raise ValueError(f"axes[{i}] = {axis} is out of range for rank {rank}")
        axis %= rank
        if axis in order:
            raise ValueError(f"axes[{i}] = {numbers[i]} repeats axes[{order.index(axis)}]")
        order.append(axis)
    return tuple(order)


def place(array: Array) -> str:
    return "host memory" if array.device == HOST else f"the memory of GPU {array.device}"


def dtype_name(dtype: Any) -> str:
    """`float32`, `bfloat16`, ...: the same for all frameworks."""
    name = str(dtype)
    return name.removeprefix("torch.")


def check_pair(dst: Array, src: Array, dst_name: str, src_name: str, shape_of: str) -> None:
    """Raises unless `dst` can take what `src` holds. `shape_of` says where src's shape is from."""
    if dst.shape != src.shape:
        raise ValueError(f"{dst_name}.shape = {dst.shape} differs from {src.shape}, {shape_of}")
    if type(dst.dtype) is type(src.dtype):
        same = dst.dtype == src.dtype
    else:
        same = dtype_name(dst.dtype) == dtype_name(src.dtype)
    if not same:
        raise TypeError(
            f"{dst_name}.dtype = {dtype_name(dst.dtype)} differs from "
            f"{src_name}.dtype = {dtype_name(src.dtype)}: values are not converted"
        )
    if dst.device != src.device:
        raise ValueError(
            f"{dst_name} is in {place(dst)}, {src_name} in {place(src)}: both have to be in one"
        )
    if dst.readonly:
        raise ValueError(f"{dst_name} is read-only")
    for i, (extent, stride) in enumerate(zip(dst.shape, dst.strides, strict=True)):
        if extent > 1 and stride == 0 and 0 not in dst.shape:
            raise ValueError(
                f"{dst_name}.strides[{i}] = 0 with extent {extent}: elements would be written "
                "more than once"
            )
    if overlap(dst, src):
        raise ValueError(
            f"{dst_name} overlaps {src_name} in memory: a transposition works out of place"
        )


def reach(array: Array) -> tuple[int, int]:
    """The addresses of the first byte and of that after the last one."""
    low = high = array.address
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if extent == 0:
            return array.address, array.address
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


def overlap(a: Array, b: Array) -> bool:
    a_low, a_high = reach(a)
    b_low, b_high = reach(b)
    return a_low < b_high and b_low < a_high and a_low != a_high and b_low != b_high


def execute(dst: Array, src: Array, stream: int, dst_name: str = "dst") -> None:
    """dst[i] = src[i]; both have the same shape."""
    if 0 in src.shape:
        return
    try:
        _core.execute(
            dst.address,
            src.address,
            src.itemsize,
            src.shape,
            dst.strides,
            src.strides,
            src.device,
            stream,
        )
    except ValueError as error:
        message = str(error)
        if not message.startswith("dst."):
            raise
        raise ValueError(dst_name + message.removeprefix("dst")) from None
