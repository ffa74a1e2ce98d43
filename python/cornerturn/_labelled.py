"""DataArrays of xarray: arrays whose axes have names, and coordinates beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from cornerturn._arrays import is_integer, order_of, shown


def is_labelled(x: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(x, xarray.DataArray)


def transpose_labelled(transpose: Callable[..., Any], x: Any, axes: Any, options: dict[str, Any]) -> Any:
    """`x` with its dims in another order; its values are in the new order in memory."""
    if axes is not None:
        names = (axes,) if isinstance(axes, str) or is_integer(axes) else tuple(axes)
        unknown = [name for name in names if isinstance(name, str) and name not in x.dims]
        if unknown:
            raise ValueError(f"axes = {shown(axes)}: x has no dim {unknown[0]!r}, but {x.dims}")
        axes = [x.dims.index(name) if isinstance(name, str) else name for name in names]
    order = order_of(axes, x.ndim)
    labels = x.transpose(*[x.dims[axis] for axis in order])
    return labels.copy(data=transpose(x.data, order, **options))
