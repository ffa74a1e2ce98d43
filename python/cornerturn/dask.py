"""dask: the chunks of an array are permuted, each in one pass, and are packed then.

`x.transpose(1, 2, 0)` of dask makes views: whoever reads the chunks later pays for their order. Here a
chunk is moved once, and may be converted on the way. Nothing is computed before dask does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import dask.array

import cornerturn
from cornerturn._arrays import order_of, shown
from cornerturn._options import Dtype
from cornerturn._files import _type_name
from cornerturn._pattern import layout_of

__all__ = ["rearrange", "repeat", "transpose"]


def transpose(
    x: Any,
    axes: Sequence[int] | None = None,
    *,
    dtype: Dtype | None = None,
    alpha: float = 1.0,
    conjugate: bool = False,
    saturate: bool = False,
    rounding: Literal["nearest", "towards_zero"] | None = None,
) -> Any:
    """Returns the dask array `x` with its axes in the order `axes` and its chunks packed.

    Args:
        x: a dask array, whose chunks are arrays of NumPy or of any other framework.
        axes: as in `cornerturn.transpose`.
        dtype, alpha, conjugate, saturate, rounding: as in `cornerturn.transpose`.

    Raises:
        TypeError: `x` is no dask array, or its values are not converted to `dtype`.
        ValueError: `axes` is no permutation; or `rounding` is "stochastic", which chunks would repeat.

    Example:
        >>> import dask.array
        >>> x = dask.array.ones((4, 6, 8), chunks=(2, 3, 8))
        >>> cornerturn.dask.transpose(x, (2, 0, 1)).chunks
        ((8,), (2, 2), (3, 3))
    """
    _check(x)
    if rounding == "stochastic":
        raise ValueError("rounding = 'stochastic' is not for dask arrays: all chunks would have the same random bits")
    order = order_of(axes, x.ndim)
    name = None if dtype is None else _type_name(dtype)
    values: dict[str, Any] = dict(alpha=alpha, conjugate=conjugate, saturate=saturate, rounding=rounding)
    # An empty chunk says what dtype and which kind of array come out, and what cannot be converted.
    meta = _moved(x._meta, order, name, values)
    return dask.array.blockwise(
        _moved, order, x, tuple(range(x.ndim)), order=order, name_of_dtype=name, values=values, dtype=meta.dtype, meta=meta
    )


def _moved(chunk: Any, order: tuple[int, ...], name_of_dtype: str | None, values: dict[str, Any]) -> Any:
    return cornerturn.transpose(chunk, order, dtype=name_of_dtype, **values)


def rearrange(x: Any, pattern: str, **axes_lengths: int) -> Any:
    """Returns the dask array `x` rearranged as in `cornerturn.rearrange`, with its chunks packed.

    Axes that are taken apart or merged are reshaped by dask, which may cut chunks anew for that.

    Raises:
        EinopsError: the pattern is wrong, or does not fit.
        TypeError: `x` is no dask array.

    Example:
        >>> import dask.array
        >>> x = dask.array.ones((8, 16, 12), chunks=(2, 16, 12))
        >>> cornerturn.dask.rearrange(x, "b s (h d) -> b h s d", h=4).shape
        (8, 4, 16, 3)
    """
    return _arranged(x, pattern, axes_lengths, False)


def repeat(x: Any, pattern: str, **axes_lengths: int) -> Any:
    """Returns the dask array `x` repeated along new axes as in `cornerturn.repeat`, with its chunks packed.

    Raises:
        EinopsError, TypeError: as in `rearrange`.

    Example:
        >>> import dask.array
        >>> cornerturn.dask.repeat(dask.array.ones((4, 6), chunks=2), "h w -> h w c", c=3).shape
        (4, 6, 3)
    """
    return _arranged(x, pattern, axes_lengths, True)


def _arranged(x: Any, pattern: str, axes_lengths: dict[str, int], repeats: bool) -> Any:
    _check(x)
    layout = layout_of(pattern, tuple(x.shape), axes_lengths, repeats)
    parts = x.reshape(layout.split) if layout.split != x.shape else x
    if layout.new:
        parts = dask.array.broadcast_to(parts[(...,) + (None,) * len(layout.new)], (*parts.shape, *layout.new))
    moved = transpose(parts, layout.order)
    return moved.reshape(layout.shape) if layout.shape != moved.shape else moved


def _check(x: Any) -> None:
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"x = {shown(x)} is a {type(x).__name__}: not a dask array")
