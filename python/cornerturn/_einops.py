"""rearrange: splitting, permuting and merging axes in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from cornerturn._arrays import Array, execute, packed_strides, shown
from cornerturn._frameworks import framework_of
from cornerturn._operations import new_array, stream_for, transpose
from cornerturn._pattern import Layout, layout_of


def rearrange(x: Any, pattern: str, /, **axes_lengths: int) -> Any:
    """`x` with its axes split, permuted and merged as `pattern` says, in einops' notation.

    Args:
        x: an array as in `transpose`, or a list of arrays of one shape, dtype and device, which are
            stacked along a first axis.
        pattern: `"b (h p) w -> (b h) w p"`: names of axes, groups of them in parentheses, an ellipsis
            for any number of axes, 1 or () for an axis of extent 1. Both sides have the same names.
        axes_lengths: the extents of names that do not follow from the shape, as `p=2`.

    Returns:
        A new packed array, never a view of `x`, made in one pass. PyTorch tensors keep their
        gradient.

    Raises:
        ValueError: the pattern is wrong or does not fit the shape, in einops' words; the arrays of a
            list differ in shape, dtype or device.
        TypeError: as in `transpose`; an empty list; an extent that is no integer.

    Example:
        >>> cornerturn.rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=16, q=16).shape
        (12, 768)
    """
    if not isinstance(pattern, str):
        raise TypeError(f"pattern = {shown(pattern)} is a {type(pattern).__name__}: it has to be a str")
    lengths = {name: _extent(name, value) for name, value in axes_lengths.items()}
    if isinstance(x, (list, tuple)):
        return _rearrange_list(x, pattern, lengths)
    framework = framework_of(x)
    if framework.splits_to_views(x):
        layout = layout_of(pattern, tuple(x.shape), lengths)
        return transpose(x.reshape(layout.split), layout.order).reshape(layout.shape)
    source = framework.read(x, "x")
    layout = layout_of(pattern, source.shape, lengths)
    parts = _taken_apart(source, layout.groups).permuted(layout.order)
    return new_array(framework, x, parts, layout.shape, None, "x")


def _extent(name: str, value: Any) -> int:
    try:
        extent = index(value)
    except TypeError:
        raise TypeError(f"{name} = {shown(value)}: the length of an axis has to be an integer") from None
    if extent < 0:
        raise ValueError(f"{name} = {extent} is negative")
    return extent


def _taken_apart(source: Array, groups: Sequence[Sequence[int]]) -> Array:
    """The same memory with each axis split into the extents of its group."""
    shape: list[int] = []
    strides: list[int] = []
    for stride, group in zip(source.strides, groups, strict=True):
        shape.extend(group)
        strides.extend(packed_strides(group, stride))
    return source._replace(shape=tuple(shape), strides=tuple(strides))


def _rearrange_list(arrays: Sequence[Any], pattern: str, lengths: dict[str, int]) -> Any:
    if not arrays:
        raise TypeError("Rearrange/Reduce/Repeat can't be applied to an empty list")
    framework = framework_of(arrays[0])
    if framework.stacks(arrays):
        return rearrange(framework.stack(arrays), pattern, **lengths)
    sources = [framework_of(array).read(array, f"x[{i}]") for i, array in enumerate(arrays)]
    first = sources[0]
    for i, source in enumerate(sources):
        for field in ("shape", "dtype", "device"):
            value, expected = getattr(source, field), getattr(first, field)
            if value != expected:
                raise ValueError(f"x[{i}].{field} = {value} differs from x[0].{field} = {expected}")

    # The first axis is the list's: each array fills its part of the result.
    layout = layout_of(pattern, (len(sources), *first.shape), lengths)
    result = framework.empty(arrays[0], first, layout.shape, None)
    whole = _parts_of_result(framework.read(result, "the result"), layout)
    leading = len(layout.groups[0])
    stream = stream_for(framework, first.device, None, "x")
    for number, source in enumerate(sources):
        address = whole.address
        for axis in reversed(range(leading)):
            number, position = divmod(number, whole.shape[axis])
            address += position * whole.strides[axis]
        target = whole._replace(
            address=address, shape=whole.shape[leading:], strides=whole.strides[leading:]
        )
        execute(target, _taken_apart(source, layout.groups[1:]), stream)
    return result


def _parts_of_result(result: Array, layout: Layout) -> Array:
    """The result's memory with the axes that the array has when it is taken apart."""
    extents = layout.split
    packed = packed_strides([extents[axis] for axis in layout.order], result.itemsize)
    strides = [0] * len(extents)
    for axis, stride in zip(layout.order, packed, strict=True):
        strides[axis] = stride
    return result._replace(shape=extents, strides=tuple(strides))
