"""rearrange and repeat: splitting, permuting, merging and repeating axes in one pass."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, overload

from cornerturn import _core
from cornerturn._arrays import Array, execute, packed_strides, shown
from cornerturn._frameworks import Framework, framework_of, stream_for
from cornerturn._labelled import is_labelled, is_lazy
from cornerturn._move import new_copy
from cornerturn._operations import transpose
from cornerturn._pattern import Layout, extent_of, layout_of
from cornerturn._threads import with_threads

ArrayT = TypeVar("ArrayT")


@overload
def rearrange(
    x: list[ArrayT] | tuple[ArrayT, ...], /, pattern: str, *, threads: int | None = None, **axes_lengths: int
) -> ArrayT: ...


@overload
def rearrange(x: ArrayT, /, pattern: str, *, threads: int | None = None, **axes_lengths: int) -> ArrayT: ...


def rearrange(x: Any, /, pattern: str, *, threads: int | None = None, **axes_lengths: int) -> Any:
    """Returns `x` with its axes split, permuted and merged as `pattern` says, in einops' notation.

    Args:
        x: an array as in `transpose`, or a list of arrays of one shape, dtype and device, which are
            stacked along a first axis.
        pattern: `"b (h p) w -> (b h) w p"`, for instance. It has names of axes, groups of them in
            parentheses, an ellipsis for any number of axes, and 1 or () for an axis of extent 1. Both
            sides have the same names.
        threads: as in `transpose`; but the extent of an axis where one has this name.
        axes_lengths: the extents of names that do not follow from the shape, as in `p=2`.

    Returns:
        A new packed array, never a view of `x`, made in one pass. PyTorch tensors keep their
        gradient.

    Raises:
        EinopsError: the pattern is wrong or does not fit the shape, as einops says it. It is a
            ValueError, and an `einops.EinopsError` where einops is imported.
        ValueError: the arrays of a list differ in shape, dtype or device.
        TypeError: as in `transpose`; or a list is empty, or an extent is no integer.

    Example:
        >>> cornerturn.rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=16, q=16).shape
        (1568, 768)
    """
    if threads is not None and _is_axis("threads", pattern):
        axes_lengths["threads"] = threads
    elif threads is not None:
        if is_lazy(x):
            raise TypeError("threads is not for arrays of dask, whose scheduler decides that")
        return with_threads(threads, rearrange, x, pattern, **axes_lengths)
    if type(x).__module__ == "numpy" and not axes_lengths and isinstance(pattern, str):
        order = _permutation(pattern, x.shape)
        if order is not None and (result := _core.quick_transpose(x, order, None)) is not None:
            return result
    return _arranged(x, pattern, axes_lengths, False)


@overload
def repeat(
    x: list[ArrayT] | tuple[ArrayT, ...], /, pattern: str, *, threads: int | None = None, **axes_lengths: int
) -> ArrayT: ...


@overload
def repeat(x: ArrayT, /, pattern: str, *, threads: int | None = None, **axes_lengths: int) -> ArrayT: ...


def repeat(x: Any, /, pattern: str, *, threads: int | None = None, **axes_lengths: int) -> Any:
    """Returns `x` repeated along new axes, its axes split, permuted and merged, in einops' notation.

    Args:
        x: as in `rearrange`.
        pattern: `"h w -> h (w k) c"`, for instance. What stands on the right only is a new axis, along
            which everything is repeated: a name with an extent, or a number.
        threads: as in `rearrange`.
        axes_lengths: the extents of new axes, and of names that do not follow from the shape.

    Returns:
        A new packed array, written in one pass: nothing is repeated in memory before.

    Raises:
        EinopsError, ValueError, TypeError: as in `rearrange`.

    Example:
        >>> cornerturn.repeat(numpy.zeros((4, 6)), "h w -> (h k) w c", k=2, c=3).shape
        (8, 6, 3)
    """
    if threads is not None and _is_axis("threads", pattern):
        axes_lengths["threads"] = threads
    elif threads is not None:
        if is_lazy(x):
            raise TypeError("threads is not for arrays of dask, whose scheduler decides that")
        return with_threads(threads, repeat, x, pattern, **axes_lengths)
    return _arranged(x, pattern, axes_lengths, True)


@lru_cache(maxsize=1024)
def _permutation(pattern: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of the axes where the pattern does nothing but permute them."""
    layout = layout_of(pattern, shape, {}, False)
    same = layout.split == shape and layout.shape == tuple([shape[axis] for axis in layout.order])
    return tuple(layout.order) if same and not layout.new else None


def _is_axis(name: str, pattern: str) -> bool:
    return isinstance(pattern, str) and name in re.findall(r"\w+", pattern)


def _arranged(x: Any, pattern: str, axes_lengths: dict[str, int], repeats: bool) -> Any:
    if not isinstance(pattern, str):
        raise TypeError(f"pattern = {shown(pattern)} is a {type(pattern).__name__}: it has to be a str")
    lengths = {name: extent_of(name, value) for name, value in axes_lengths.items()}
    if is_labelled(x):
        x = x.data
    if is_lazy(x):
        import cornerturn.dask

        return (cornerturn.dask.repeat if repeats else cornerturn.dask.rearrange)(x, pattern, **lengths)
    if isinstance(x, (list, tuple)):
        return _of_list(x, pattern, lengths, repeats)
    framework = framework_of(x)
    if framework.splits_to_views(x):
        layout = layout_of(pattern, tuple(x.shape), lengths, repeats)
        x = x.reshape(layout.split)
        if layout.new:
            x = framework.repeated(x, layout.new)
        return transpose(x, layout.order).reshape(layout.shape)
    source = framework.read(x, "x")
    layout = layout_of(pattern, source.shape, lengths, repeats)
    parts = _taken_apart(source, layout).permuted(layout.order)
    return new_copy(framework, x, parts, shape=layout.shape)


def _taken_apart(source: Array, layout: Layout) -> Array:
    """This memory with each axis split into the extents of its group, and the new axes."""
    shape: list[int] = []
    strides: list[int] = []
    for stride, group in zip(source.strides, layout.groups, strict=True):
        shape.extend(group)
        strides.extend(packed_strides(group, stride))
    return source._replace(
        shape=(*shape, *layout.new), strides=(*strides, *[0 for _ in layout.new])
    )


def _of_list(arrays: Sequence[Any], pattern: str, lengths: dict[str, int], repeats: bool) -> Any:
    if not arrays:
        raise TypeError("Rearrange/Reduce/Repeat can't be applied to an empty list")
    if any(is_lazy(array) for array in arrays):
        import dask.array

        return _arranged(dask.array.stack(arrays), pattern, lengths, repeats)
    framework = framework_of(arrays[0])
    if framework.stacks(arrays):
        return _arranged(framework.stack(arrays), pattern, lengths, repeats)
    result = _of_plain_arrays(framework, arrays, pattern, lengths, repeats)
    if result is not None:
        return result
    sources = [framework_of(array).read(array, f"x[{i}]") for i, array in enumerate(arrays)]
    first = sources[0]
    for i, source in enumerate(sources):
        for field in ("shape", "dtype", "device"):
            value, expected = getattr(source, field), getattr(first, field)
            if value != expected:
                raise ValueError(f"x[{i}].{field} = {value} differs from x[0].{field} = {expected}")
    layout = layout_of(pattern, (len(sources), *first.shape), lengths, repeats)
    result = framework.empty(arrays[0], first, layout.shape, None)
    whole = framework_of(result).read(result, "the result")
    stream = stream_for(framework, first.device, None, "x")
    if _stacks_first(layout, first.itemsize):
        stacked = framework.empty(arrays[0], first, (len(sources), *first.shape), None)
        pile = framework_of(stacked).read(stacked, "the arrays")
        for i, source in enumerate(sources):
            place = pile.address + i * pile.strides[0]
            one = pile._replace(address=place, shape=pile.shape[1:], strides=pile.strides[1:])
            execute(one, source, stream)
        parts = _taken_apart(pile, layout).permuted(layout.order)
        packed = packed_strides(parts.shape, whole.itemsize)
        execute(whole._replace(shape=parts.shape, strides=packed), parts, stream)
        return result

    # The first axis is the list's: each array fills its part of the result.
    target = _parts_of_result(whole, layout)
    leading = len(layout.groups[0])
    inner = layout._replace(groups=layout.groups[1:])
    for number, source in enumerate(sources):
        address = target.address
        for axis in reversed(range(leading)):
            number, position = divmod(number, target.shape[axis])
            address += position * target.strides[axis]
        part = target._replace(
            address=address, shape=target.shape[leading:], strides=target.strides[leading:]
        )
        execute(part, _taken_apart(source, inner), stream)
    return result


def _of_plain_arrays(
    framework: Framework, arrays: Sequence[Any], pattern: str, lengths: dict[str, int], repeats: bool
) -> Any:
    """The result for plain arrays of NumPy or PyTorch of which single elements or short rows take turns; None
    for all others."""
    shape = getattr(arrays[0], "shape", None)
    itemsize = getattr(getattr(arrays[0], "dtype", None), "itemsize", None)
    if not isinstance(shape, tuple) or not isinstance(itemsize, int):
        return None
    layout = layout_of(pattern, (len(arrays), *shape), lengths, repeats)
    if not _stacks_first(layout, itemsize):
        return None
    turns = _turns_of(layout)
    if turns is not None and turns.pay(itemsize):
        result = _core.quick_interleave(arrays, turns.numbers, turns.rows, turns.row, layout.shape)
        if result is not None:
            return result
    return _arranged(framework.stack(arrays), pattern, lengths, repeats) if framework.may_stack(arrays) else None


_LONG_ROW = 256  # bytes
_LARGE = 1 << 20


def _stacks_first(layout: Layout, itemsize: int) -> bool:
    """Are writes to single elements here and there slower than a second pass?"""
    return bool(layout.new) or _row_of_one_array(layout) * itemsize < _LONG_ROW


class _Turns(NamedTuple):
    """A result in which packed arrays take turns, a row each."""

    numbers: tuple[int, ...]  # of the arrays, in the order of their turns
    rows: int  # of an array
    row: int  # elements

    def pay(self, itemsize: int) -> bool:
        """Is it faster than to stack them first?"""
        arrays, row = len(self.numbers), self.row * itemsize
        in_registers = arrays <= 4 and row in (1, 2, 4, 8)
        return in_registers or arrays * self.rows * row >= _LARGE


@lru_cache(maxsize=256)
def _turns_of(layout: Layout) -> _Turns | None:
    """None where the arrays' own axes change their order, or arrays are repeated."""
    if layout.new:
        return None
    extents, leading = layout.split, len(layout.groups[0])
    order = [axis for axis in layout.order if extents[axis] != 1]
    places = [place for place, axis in enumerate(order) if axis < leading]
    own = [axis for axis in order if axis >= leading]
    if not places or places[-1] - places[0] >= len(places) or own != sorted(own):
        return None
    steps = packed_strides(extents[:leading], 1)
    numbers = [0]
    for place in places:
        axis = order[place]
        numbers = [number + i * steps[axis] for number in numbers for i in range(extents[axis])]
    rows, row = order[: places[0]], order[places[-1] + 1 :]
    return _Turns(
        tuple(numbers), math.prod([extents[axis] for axis in rows]), math.prod([extents[axis] for axis in row])
    )


def _row_of_one_array(layout: Layout) -> int:
    """How many elements of one array of a list lie side by side in the result."""
    leading = len(layout.groups[0])
    extents = layout.split
    count = 1
    for axis in reversed(layout.order):
        if axis < leading and extents[axis] > 1:
            break
        count *= extents[axis]
    return count


def _parts_of_result(result: Array, layout: Layout) -> Array:
    """The result's memory with the axes that the array has when it is taken apart."""
    extents = layout.split
    packed = packed_strides([extents[axis] for axis in layout.order], result.itemsize)
    strides = [0] * len(extents)
    for axis, stride in zip(layout.order, packed, strict=True):
        strides[axis] = stride
    return result._replace(shape=extents, strides=tuple(strides))
