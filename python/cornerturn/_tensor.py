"""amax, and quantising with one scale for a whole tensor."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from cornerturn import _core
from cornerturn._arrays import dtype_name, order_of, shown
from cornerturn._frameworks import framework_of
from cornerturn._values import Values, run
from cornerturn._work import Work, address_of, read

FORMATS = {"tensor_e4m3": "float8_e4m3fn", "tensor_e5m2": "float8_e5m2", "tensor_i8": "int8"}


def amax(x: Any, *, stream: Any = None) -> float:
    """The largest magnitude in `x`: NaN where any value is NaN, 0 where there are none.

    Args:
        x: an array of real numbers of any dtype and any strides, in host memory or on a GPU.
        stream: for a GPU, as in `transpose`. The call waits for it, as a number comes back; it may
            not be captured in a graph.

    Raises:
        TypeError: `x` is no array of real numbers.
        RuntimeError: the stream is being captured.
    """
    framework = framework_of(x)
    source = framework.read(x, "x")
    work = Work(framework, x, source, stream, "x")
    return work.run(
        _core.amax,
        source.address,
        dtype_name(source.dtype),
        source.shape,
        source.strides,
        source.device,
        work.number,
    )


def quantise_tensor(
    x: Any, format: str, axes: Sequence[int] | None, stream: Any
) -> tuple[Any, float]:
    """`quantise` with one scale for all values."""
    framework, source = read(x, "x")
    source = source.permuted(order_of(range(source.rank) if axes is None else axes, source.rank))
    work = Work(framework, x, source, stream, "x")
    values = work.empty(source.shape, FORMATS[format])
    scale = work.run(
        _core.quantise_tensor,
        address_of(values),
        FORMATS[format],
        source.address,
        dtype_name(source.dtype),
        source.shape,
        source.strides,
        source.device,
        work.number,
    )
    return values, scale


def dequantise_tensor(
    values: Any, format: str, axes: Sequence[int] | None, scale: Any, dtype: Any, stream: Any
) -> Any:
    """`dequantise` with one scale for all values."""
    if not isinstance(scale, Real):
        raise TypeError(f"scales = {shown(scale)}: {format} has one number")
    framework, source = read(values, "blocks")
    if dtype_name(source.dtype) != FORMATS[format]:
        raise TypeError(
            f"blocks.dtype = {dtype_name(source.dtype)}: {format} is {FORMATS[format]}"
        )
    order = order_of(range(source.rank) if axes is None else axes, source.rank)
    return run(framework, values, order, None, stream, Values(dtype=dtype, scale=float(scale)))
