"""dask: the chunks of an array are permuted, each in one pass, and are packed then.

`x.transpose(1, 2, 0)` of dask makes views: whoever reads the chunks later pays for their order. Here a
chunk is moved once, and may be converted on the way. Nothing is computed before dask does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array

import cornerturn
from cornerturn._arrays import order_of, shown
from cornerturn._files import _type_name
from cornerturn._pattern import layout_of

__all__ = ["rearrange", "transpose"]


def transpose(x: Any, axes: Sequence[int] | None = None, *, dtype: Any = None) -> Any:
    """Returns the dask array `x` with its axes in the order `axes` and its chunks packed.

    Args:
        x: a dask array, whose chunks are arrays of NumPy or of any other framework.
        axes: as in `cornerturn.transpose`.
        dtype: as in `cornerturn.transpose`.

    Raises:
        TypeError: `x` is no dask array, or its values are not converted to `dtype`.
        ValueError: `axes` is no permutation.

    Example:
        >>> import dask.array
        >>> x = dask.array.ones((4, 6, 8), chunks=(2, 3, 8))
        >>> cornerturn.dask.transpose(x, (2, 0, 1)).chunks
        ((8,), (2, 2), (3, 3))
    """
    _check(x)
    order = order_of(axes, x.ndim)
    name = None if dtype is None else _type_name(dtype)
    # An empty chunk says what dtype and which kind of array come out, and what cannot be converted.
    meta = _moved(x._meta, order, name)
    return dask.array.blockwise(
        _moved, order, x, tuple(range(x.ndim)), order=order, name_of_dtype=name, dtype=meta.dtype, meta=meta
    )


def _moved(chunk: Any, order: tuple[int, ...], name_of_dtype: str | None) -> Any:
    return cornerturn.transpose(chunk, order, dtype=name_of_dtype)


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
    _check(x)
    layout = layout_of(pattern, tuple(x.shape), axes_lengths)
    parts = x.reshape(layout.split) if layout.split != x.shape else x
    moved = transpose(parts, layout.order)
    return moved.reshape(layout.shape) if layout.shape != moved.shape else moved


def _check(x: Any) -> None:
    if not isinstance(x, dask.array.Array):
        raise TypeError(f"x = {shown(x)} is a {type(x).__name__}: not a dask array")
