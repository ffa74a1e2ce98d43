"""The order of a result's elements in memory: order= as NumPy says it, memory_format= as PyTorch does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cornerturn._arrays import shown
from cornerturn._frameworks import framework_of

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
    return (0, *range(2, rank), 1)


def view(x: Any, order: Sequence[int]) -> Any:
    """`x` with its axes in this order, without a copy."""
    if framework_of(x).module == "torch":
        return x.permute(*order)
    if framework_of(x).module in ("numpy", "cupy"):
        return x.transpose(order)
    numpy = sys.modules.get("numpy")
    if framework_of(x).module == "jax" or numpy is None:
        raise TypeError(f"x is a {type(x).__name__}, whose memory has one order: leave order=")
    return numpy.asarray(x).transpose(order)


def inverse_of(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
