"""The order of a result's elements in memory: order= as NumPy says it, memory_format= as PyTorch does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import shown
from cornerturn._frameworks import framework_of, is_traced

_FORMATS = {"channels_last": 4, "channels_last_3d": 5}


def memory_order(x: Any, rank: int, order: str | None, memory_format: Any) -> tuple[int, ...] | None:
    """The axes of a result of `rank` axes from the slowest to the fastest; None for "C"."""
    if memory_format is None:
        if order not in (None, "C", "F"):
            raise ValueError(f"order = {shown(order)} is neither 'C' nor 'F'")
        return tuple(reversed(range(rank))) if order == "F" else None
    if order is not None:
        raise ValueError("order and memory_format say the same: give one of them")
    if framework_of(x).module != "torch":
        raise TypeError(f"memory_format belongs to tensors of PyTorch: x is a {type(x).__name__}; use order=")
    name = str(memory_format).removeprefix("torch.")
    if name == "contiguous_format":
        return None
    if name not in _FORMATS:
        raise ValueError(
            f"memory_format = {shown(memory_format)} is none of contiguous_format, {', '.join(_FORMATS)}"
        )
    if rank != _FORMATS[name]:
        raise ValueError(f"memory_format = {name} is for {_FORMATS[name]} axes, x has {rank}")
    return _slowest_first(rank, True)


def view(x: Any, order: Sequence[int]) -> Any:
    """`x` with its axes in this order, without a copy."""
    if framework_of(x).module == "torch":
        return x.permute(tuple(order))
    if framework_of(x).module in ("numpy", "cupy"):
        return x.transpose(order)
    numpy = sys.modules.get("numpy")
    if framework_of(x).module == "jax" or numpy is None:
        raise TypeError(f"x is a {type(x).__name__}, whose memory has one order: leave order=")
    return numpy.asarray(x).transpose(order)


def with_strides_of_new(x: Any, memory_format: Any = None) -> Any:
    """`x`, which is in this order in memory, with the strides that PyTorch gives a new tensor.

    Strides along axes of extent 1, and all those of a tensor without elements, are no matter to any
    element, but PyTorch asks for them: `x.view(dtype)` of the last one, `is_contiguous(memory_format=)` of all.
    """
    framework = framework_of(x)
    if framework.module != "torch" or not (0 in x.shape or 1 in x.shape):
        return x
    if not (framework.is_memory(x) or is_traced()):
        return x
    name = str(memory_format).removeprefix("torch.")
    strides, step = [0] * x.dim(), 1
    for axis in reversed(_slowest_first(x.dim(), name in _FORMATS)):
        strides[axis] = step
        # Those of channels_last become 0 behind an empty axis.
        step *= x.shape[axis] if name in _FORMATS else max(x.shape[axis], 1)
    return x if x.stride() == tuple(strides) else x.as_strided(x.shape, strides)


def _slowest_first(rank: int, channels_last: bool) -> tuple[int, ...]:
    return (0, *range(2, rank), 1) if channels_last else tuple(range(rank))


def inverse_of(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
