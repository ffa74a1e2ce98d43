"""xarray: `x.cornerturn.transpose("lat", "lon", "time")` of DataArrays and Datasets.

Importing this module adds the accessor `.cornerturn`. Dims, coordinates and attributes are kept. The
values are in the new order in memory, and those of dask stay lazy.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal

import xarray

import cornerturn
from cornerturn._options import Dtype

if TYPE_CHECKING:
    from types import EllipsisType

__all__ = ["DataArrayAccessor", "DatasetAccessor"]

MissingDims = Literal["raise", "warn", "ignore"]


def _packed(variable: Any, dtype: Any) -> Any:
    """The values of `variable`, whose dims are in the new order already, in that order in memory."""
    values = variable.data
    held = variable.dtype
    if getattr(held, "hasobject", False) or getattr(held, "kind", "") == "T":
        # References are no bytes to be moved; NumPy copies them.
        if dtype is not None:
            raise TypeError(f"dtype = {held}: its elements hold references, which are not converted")
        return values.copy(order="C") if hasattr(values, "flags") else values
    return cornerturn.transpose(values, tuple(range(variable.ndim)), dtype=dtype)


@xarray.register_dataarray_accessor("cornerturn")
class DataArrayAccessor:
    """`DataArray.cornerturn`."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def transpose(
        self,
        *dim: Hashable | EllipsisType,
        transpose_coords: bool = True,
        missing_dims: MissingDims = "raise",
        dtype: Dtype | None = None,
    ) -> Any:
        """`DataArray.transpose` with the values in the new order in memory, too, converted to `dtype`.

        All else is xarray's: without names the dims are reversed, `...` stands for those that are not named, and
        `missing_dims` says what becomes of names that are no dims.
        """
        labels = self._array.transpose(*dim, transpose_coords=transpose_coords, missing_dims=missing_dims)
        return labels.copy(data=_packed(labels.variable, dtype))


@xarray.register_dataset_accessor("cornerturn")
class DatasetAccessor:
    """`Dataset.cornerturn`."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def transpose(
        self, *dim: Hashable | EllipsisType, missing_dims: MissingDims = "raise", dtype: Dtype | None = None
    ) -> Any:
        """`Dataset.transpose` with the values of each variable in the new order in memory, too.

        Each variable has those of the dims that it has. `dtype` converts the variables and leaves the coordinates. A
        variable of Python's objects is copied by NumPy.
        """
        labels = self._dataset.transpose(*dim, missing_dims=missing_dims)
        packed = {}
        for name, array in labels.data_vars.items():
            try:
                packed[name] = array.variable.copy(data=_packed(array.variable, dtype))
            except TypeError as error:
                raise TypeError(f"variable {name!r}: {error}") from None
        return labels.assign(packed)
