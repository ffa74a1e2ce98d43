"""xarray: `x.cornerturn.transpose("lat", "lon", "time")` of DataArrays and Datasets.

Importing this module adds the accessor `.cornerturn`. Dims, coordinates and attributes are kept. The
values are in the new order in memory, and those of dask stay lazy.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import xarray

import cornerturn
from cornerturn._arrays import shown

__all__ = ["DataArrayAccessor", "DatasetAccessor"]


def _order(dims: tuple[Hashable, ...], given: tuple[Any, ...], strict: bool) -> tuple[Hashable, ...]:
    """All of `dims` in the order that was asked for; an ellipsis stands for those that are not named.

    Unless `strict`, dims that are not there are passed over, and those left out come first.
    """
    if not given:
        return tuple(reversed(dims))
    named = [dim for dim in given if dim is not ...]
    rest = [dim for dim in dims if dim not in named]
    if len(set(named)) != len(named) or len(given) - len(named) > 1:
        raise ValueError(f"dims = {shown(given)} names one twice")
    if strict:
        _check_dims(dims, given, named, rest)
    order: list[Hashable] = []
    for dim in given if ... in given else (..., *given):
        if dim is ...:
            order += rest
        elif dim in dims:
            order.append(dim)
    return tuple(order)


def _check_dims(
    dims: tuple[Hashable, ...], given: tuple[Any, ...], named: list[Any], rest: list[Hashable]
) -> None:
    unknown = [dim for dim in named if dim not in dims]
    if unknown:
        raise ValueError(f"dims = {shown(given)}: there is no dim {unknown[0]!r}, but {dims}")
    if rest and ... not in given:
        raise ValueError(f"dims = {shown(given)} leaves {rest[0]!r} out: name it, or write ...")


def _moved(values: Any, axes: tuple[int, ...], dtype: Any) -> Any:
    if hasattr(values, "dask"):
        from cornerturn.dask import transpose

        return transpose(values, axes, dtype=dtype)
    return cornerturn.transpose(values, axes, dtype=dtype)


def _variable(variable: Any, order: tuple[Hashable, ...], dtype: Any) -> Any:
    axes = tuple(variable.dims.index(dim) for dim in order)
    return variable.transpose(*order).copy(data=_moved(variable.data, axes, dtype))


@xarray.register_dataarray_accessor("cornerturn")
class DataArrayAccessor:
    """`DataArray.cornerturn`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def transpose(self, *dims: Any, dtype: Any = None) -> Any:
        """The array with its dims in this order, also in memory, converted to `dtype`. Without names they are
        reversed, and `...` stands for those that are not named."""
        array = self._array
        order = _order(array.dims, dims, True)
        return array.transpose(*order).copy(data=_variable(array.variable, order, dtype).data)


@xarray.register_dataset_accessor("cornerturn")
class DatasetAccessor:
    """`Dataset.cornerturn`."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def transpose(self, *dims: Any, dtype: Any = None) -> Any:
        """The dataset with the dims of each variable in this order, also in memory. Each variable has those of
        the named dims that it has; `dtype` converts the variables and leaves the coordinates."""
        dataset = self._dataset
        unknown = [dim for dim in dims if dim is not ... and dim not in dataset.dims]
        if unknown:
            raise ValueError(f"dims = {shown(dims)}: there is no dim {unknown[0]!r}, but {tuple(dataset.dims)}")
        new = {
            name: _variable(array.variable, _order(array.dims, dims, False), dtype)
            for name, array in dataset.data_vars.items()
        }
        return dataset.assign(new)
