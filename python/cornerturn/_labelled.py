"""Arrays that are more than memory: those of xarray, whose axes have names, and those of dask, which are computed later."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from cornerturn._arrays import is_integer, order_of, shown

_OF_DASK = frozenset({"dtype", "alpha", "conjugate", "saturate", "rounding"})
_OF_DATASETS = frozenset({"dtype"})


def is_labelled(x: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(x, xarray.DataArray)


def is_dataset(x: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(x, xarray.Dataset)


def is_lazy(x: Any) -> bool:
    """Is `x` an array of dask?"""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(x, dask.Array)


def is_special(x: Any) -> bool:
    return is_labelled(x) or is_lazy(x) or is_dataset(x)


def transpose_special(transpose: Callable[..., Any], x: Any, axes: Any, options: dict[str, Any]) -> Any:
    """`options` are those that are not the defaults."""
    if is_labelled(x):
        return transpose_labelled(transpose, x, axes, options)
    import cornerturn

    known, what = (_OF_DASK, "arrays of dask") if is_lazy(x) else (_OF_DATASETS, "Datasets")
    for name in options:
        if name not in known:
            raise TypeError(f"{name} is not for {what}: those take {', '.join(sorted(known))}")
    if is_lazy(x):
        return cornerturn.dask.transpose(x, axes, **options)
    dims = () if axes is None else (axes,) if isinstance(axes, str) or axes is ... else tuple(axes)
    return cornerturn.xarray.DatasetAccessor(x).transpose(*dims, **options)


def transpose_labelled(transpose: Callable[..., Any], x: Any, axes: Any, options: dict[str, Any]) -> Any:
    """`x` with its dims in another order; its values are in the new order in memory."""
    order = order_of(_places(x, axes), x.ndim)
    labels = x.transpose(*[x.dims[axis] for axis in order])
    return labels.copy(data=transpose(x.data, order, **options))


def _places(x: Any, axes: Any) -> Any:
    """Numbers in the place of names, and of `...`, which stands for the axes that are not named."""
    if axes is None:
        return None
    names = (axes,) if isinstance(axes, str) or is_integer(axes) or axes is ... else tuple(axes)
    unknown = [name for name in names if isinstance(name, str) and name not in x.dims]
    if unknown:
        raise ValueError(f"axes = {shown(axes)}: x has no dim {unknown[0]!r}, but {x.dims}")
    places = [x.dims.index(name) if isinstance(name, str) else name for name in names]
    if ... not in places:
        return places
    at = places.index(...)
    if ... in places[at + 1 :]:
        raise ValueError(f"axes = {shown(axes)}: ... stands once")
    named = {place % x.ndim for place in places if is_integer(place)} if x.ndim else set()
    return [*places[:at], *[axis for axis in range(x.ndim) if axis not in named], *places[at + 1 :]]
