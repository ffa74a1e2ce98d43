"""amax, and quantising with one scale for a whole tensor."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from cornerturn import _core
from cornerturn._arrays import HOST, Array, dtype_name, order_of, shown
from cornerturn._frameworks import Framework, framework_of
from cornerturn._values import Values, dtype_of, run

FORMATS = {"tensor_e4m3": "float8_e4m3fn", "tensor_e5m2": "float8_e5m2", "tensor_i8": "int8"}


def amax(x: Any) -> float:
    """The largest magnitude in `x`: NaN where any value is NaN, 0 where there are none.

    Args:
        x: an array in host memory, of real numbers of any dtype and any strides.

    Raises:
        TypeError: `x` is no array of real numbers.
        ValueError: `x` is on a GPU.
    """
    source = _on_host(framework_of(x).read(x, "x"), "x")
    return _call(
        _core.amax, source.address, dtype_name(source.dtype), source.shape, source.strides
    )


def quantise_tensor(x: Any, format: str, axes: Sequence[int] | None) -> tuple[Any, float]:
    """`quantise` with one scale for all values."""
    framework, source = _read(x, "x")
    source = source.permuted(order_of(range(source.rank) if axes is None else axes, source.rank))
    like = source._replace(dtype=dtype_of(framework, FORMATS[format]))
    values = framework.empty(x, like, source.shape, None)
    target = framework_of(values).read(values, "the result")
    scale = _call(
        _core.quantise_tensor,
        target.address,
        FORMATS[format],
        source.address,
        dtype_name(source.dtype),
        source.shape,
        source.strides,
    )
    return values, scale


def dequantise_tensor(
    values: Any, format: str, axes: Sequence[int] | None, scale: Any, dtype: Any
) -> Any:
    """`dequantise` with one scale for all values."""
    if not isinstance(scale, Real):
        raise TypeError(f"scales = {shown(scale)}: {format} has one number")
    framework, source = _read(values, "blocks")
    if dtype_name(source.dtype) != FORMATS[format]:
        raise TypeError(
            f"blocks.dtype = {dtype_name(source.dtype)}: {format} is {FORMATS[format]}"
        )
    order = order_of(range(source.rank) if axes is None else axes, source.rank)
    return run(framework, values, order, None, None, Values(dtype=dtype, scale=float(scale)))


def _read(x: Any, name: str) -> tuple[Framework, Array]:
    framework = framework_of(x)
    framework.will_lose_gradient(x, name)
    return framework, _on_host(framework.read(x, name), name)


def _on_host(array: Array, name: str) -> Array:
    if array.device != HOST:
        raise ValueError(f"{name} is on GPU {array.device}: amax is found in host memory")
    return array


def _call(work: Any, *arguments: Any) -> float:
    try:
        return work(*arguments)
    except RuntimeError as error:
        if "has no real values" in str(error):
            raise TypeError(str(error)) from None
        raise
