"""amax, and quantising with one scale for a whole tensor."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from cornerturn import _core
from cornerturn._arrays import dtype_name, order_of, shown
from cornerturn._frameworks import framework_of
from cornerturn._move import new_copy
from cornerturn._values import Values, operand
from cornerturn._work import Work, read, result

FORMATS = {"tensor_e4m3": "float8_e4m3fn", "tensor_e5m2": "float8_e5m2", "tensor_i8": "int8"}


def amax(x: Any, stream: Any = None) -> float:
    """`amax` of an array that is nothing but memory."""
    framework = framework_of(x)
    source = framework.read(x, "x")
    work = Work(framework, x, source, stream, "x")
    return work.run(_core.amax, operand(source))


def quantise_tensor(
    x: Any, format: str, axes: Sequence[int] | None, stream: Any
) -> tuple[Any, float]:
    """`quantise` with one scale for all values."""
    framework, source = read(x, "x")
    source = source.permuted(order_of(range(source.rank) if axes is None else axes, source.rank))
    work = Work(framework, x, source, stream, "x")
    values = work.empty(source.shape, FORMATS[format])
    scale = work.run(_core.quantise_tensor, operand(result(values)), operand(source))
    return values, scale


def dequantise_tensor(
    values: Any, format: str, axes: Sequence[int] | None, scale: Any, dtype: Any, stream: Any
) -> Any:
    """`dequantise` with one scale for all values."""
    framework, source = read(values, "blocks")
    scaled = dequantised(source.dtype, format, scale, dtype)
    order = order_of(range(source.rank) if axes is None else axes, source.rank)
    return new_copy(framework, values, source.permuted(order), stream, scaled)


def dequantised(found: Any, format: str, scale: Any, dtype: Any) -> Values:
    """How values of the dtype `found` become numbers again."""
    if not isinstance(scale, Real):
        raise TypeError(f"scales = {shown(scale)}: {format} has one number")
    found = str(found).removeprefix("torch.")
    if found != FORMATS[format]:
        raise TypeError(f"blocks.dtype = {found}: {format} is {FORMATS[format]}")
    return Values(dtype=dtype, scale=float(scale))
