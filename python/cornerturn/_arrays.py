"""What a call needs to know of an array, and the rules that hold between two of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
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
        """This memory with its axes in another order."""
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


def axis_error(message: str) -> ValueError:
    """NumPy's error where NumPy is there: it is a ValueError and an IndexError."""
    exceptions = getattr(sys.modules.get("numpy"), "exceptions", None)
    return getattr(exceptions, "AxisError", ValueError)(message)


def is_integer(value: Any) -> bool:
    """Is it one integer? Arrays of integers have `__index__` as well; without axes they are one."""
    return hasattr(value, "__index__") and (not hasattr(value, "__len__") or getattr(value, "ndim", None) == 0)


def order_of(axes: Any, rank: int) -> tuple[int, ...]:
    """`axes` counted from the front; all axes reversed where it is None."""
    if axes is None:
        return tuple(range(rank - 1, -1, -1))
    if isinstance(axes, (set, frozenset, dict)):
        raise TypeError(f"axes = {shown(axes)} is a {type(axes).__name__}, which has no order of its own")
    try:
        numbers = [index(axis) for axis in ((axes,) if is_integer(axes) else axes)]
    except TypeError:
        raise TypeError(f"axes = {shown(axes)}: axes has to be a sequence of integers") from None
    if len(numbers) != rank:
        raise ValueError(f"axes = {shown(tuple(numbers))} has {len(numbers)} entries, x has rank {rank}")
    order: list[int] = []
    for i, axis in enumerate(numbers):
        if not -rank <= axis < rank:
            raise axis_error(f"axes[{i}] = {axis} is out of range for rank {rank}")
        axis %= rank
        if axis in order:
            raise ValueError(f"axes[{i}] = {numbers[i]} repeats axes[{order.index(axis)}]")
        order.append(axis)
    return tuple(order)


def axis_of(axis: Any, rank: int) -> int:
    """The argument `axis`, counted from the front."""
    try:
        number = index(axis)
    except TypeError:
        raise TypeError(f"axis = {shown(axis)} is not an integer") from None
    if not -rank <= number < rank:
        raise axis_error(f"axis = {number} is out of range for rank {rank}")
    return number % rank


def place(array: Array) -> str:
    return "host memory" if array.device == HOST else f"the memory of GPU {array.device}"


@lru_cache(maxsize=256, typed=True)
def dtype_name(dtype: Any) -> str:
    """`float32`, `bfloat16`, ...: the same for all frameworks."""
    return str(dtype).removeprefix("torch.")


def check_pair(
    dst: Array,
    src: Array,
    dst_name: str,
    src_name: str,
    shape_of: str,
    dtype: Any = None,
    may_cross: bool = False,
) -> None:
    """Raises unless `dst` can take what `src` holds.

    `shape_of` says where src's shape is from; `dtype` is the one that `dst` has to have, src's own
    where it is None. `may_cross` lets one of the two lie in host memory, and the other one on a GPU.
    """
    if dst.shape != src.shape:
        raise ValueError(f"{dst_name}.shape = {dst.shape} differs from {src.shape}, {shape_of}")
    wanted = src.dtype if dtype is None else dtype
    if type(dst.dtype) is type(wanted):
        same = dst.dtype == wanted
    else:
        same = dtype_name(dst.dtype) == dtype_name(wanted)
    if not same and dtype is None:
        raise TypeError(
            f"{dst_name}.dtype = {dtype_name(dst.dtype)} differs from "
            f"{src_name}.dtype = {dtype_name(wanted)}: values are not converted"
        )
    if not same:
        raise TypeError(
            f"{dst_name}.dtype = {dtype_name(dst.dtype)} differs from dtype = {dtype_name(wanted)}"
        )
    if dst.device != src.device and not (may_cross and HOST in (dst.device, src.device)):
        or_host = ", or one of them in host memory" if may_cross else ""
        raise ValueError(
            f"{dst_name} is in {place(dst)}, {src_name} in {place(src)}: both have to be in one{or_host}"
        )
    if dst.readonly:
        raise ValueError(f"{dst_name} is read-only")
    for i, (extent, stride) in enumerate(zip(dst.shape, dst.strides, strict=True)):
        if extent > 1 and stride == 0 and 0 not in dst.shape:
            raise ValueError(
                f"{dst_name}.strides[{i}] = 0 with extent {extent}: elements would be written "
                "more than once"
            )
    if overlap(dst, src) and elements_overlap(dst, src):
        raise ValueError(
            f"{dst_name} overlaps {src_name} in memory: a transposition works out of place; pass "
            f"a copy of {src_name}"
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
    """Do the bounds of their memory overlap?"""
    a_low, a_high = reach(a)
    b_low, b_high = reach(b)
    return a_low < b_high and b_low < a_high and a_low != a_high and b_low != b_high


def elements_overlap(a: Array, b: Array) -> bool:
    """May an element of the one share a byte with an element of the other?

    An element of `b` lies b.address - a.address + sum of u_k * step_k from one of `a`, with a whole
    number u_k from 0 to count_k for each of the two arrays' axes. Steps are tried from the largest
    down, as far as the smaller ones can still lead between -b.itemsize and a.itemsize. Where that
    takes too long the answer is yes.
    """
    counts: dict[int, int] = {}
    start = b.address - a.address
    for array, sign in ((a, -1), (b, 1)):
        for extent, stride in zip(array.shape, array.strides, strict=True):
            step = sign * stride
            start += min(step, 0) * (extent - 1)
            if step != 0:
                counts[abs(step)] = counts.get(abs(step), 0) + extent - 1
    steps = sorted(counts.items(), reverse=True)
    rest = [sum(step * count for step, count in steps[k:]) for k in range(len(steps) + 1)]
    left = 2000

    def found(k: int, at: int) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            return True
        if k == len(steps):
            return -b.itemsize < at < a.itemsize
        step, count = steps[k]
        first = max(0, -((at + rest[k + 1] + b.itemsize - 1) // step))
        last = min(count, (a.itemsize - 1 - at) // step)
        return any(found(k + 1, at + u * step) for u in range(first, last + 1))

    return found(0, start)


class Crossing(NamedTuple):
    """How a call goes between host memory and a GPU."""

    non_blocking: bool = False
    blocks: int = 0  # of kernels that reach over the link, at most; 0: as many as the GPU takes

    def check_is_across(self, across: bool, one: str, other: str) -> None:
        if self.blocks != 0 and not across:
            raise ValueError(
                f"blocks = {self.blocks}, but {one} and {other} are in one memory: it limits kernels that reach "
                "from a GPU into host memory"
            )


_AS_USUAL = Crossing()


def crossing_of(non_blocking: bool, blocks: Any) -> Crossing:
    """`non_blocking` and `blocks` as a caller gives them."""
    if blocks is None:
        return Crossing(non_blocking) if non_blocking else _AS_USUAL
    if not is_integer(blocks) or isinstance(blocks, bool):
        raise TypeError(f"blocks = {shown(blocks)} is no integer")
    number = index(blocks)
    if not 0 <= number < 1 << 31:
        raise ValueError(f"blocks = {shown(number)} is out of range: 0 to 2147483647")
    return Crossing(non_blocking, number)


def is_across(dst: Array, src: Array) -> bool:
    """Does one of the two lie in host memory, and the other one on a GPU?"""
    return dst.device != src.device


def gpu_side(dst: Array, src: Array) -> Array:
    return src if dst.device == HOST else dst


def execute(
    dst: Array,
    src: Array,
    stream: int,
    names: tuple[str, str] = ("dst", "src"),
    crossing: Crossing = Crossing(),
) -> None:
    """dst[i] = src[i]; both have the same shape. `names` are what errors call the two."""
    if 0 in src.shape:
        return
    sides = dst.address, src.address, src.itemsize, src.shape, dst.strides, src.strides
    try:
        if is_across(dst, src):
            gpu = gpu_side(dst, src).device
            if _core.execute_across(*sides, gpu, stream, not crossing.non_blocking, crossing.blocks):
                _core.keep((dst.owner, src.owner), gpu, stream)
        else:
            _core.execute(*sides, src.device, stream)
    except ValueError as error:
        renamed = with_names(str(error), names)
        if renamed == str(error):
            raise
        raise ValueError(renamed) from None


def with_names(message: str, names: tuple[str, str]) -> str:
    """What the library says of `dst` and `src`, in the words of the caller."""
    for known, name in zip(("dst", "src"), names, strict=True):
        if message.startswith((f"{known}.", f"{known} ")):
            return name + message.removeprefix(known)
    return message
