"""DataArrays and Datasets of xarray as sources. xarray itself says how their variables are stored in a file."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy

from cornerturn._chunks.datasets import Dataset, Texts
from cornerturn._chunks.metadata import Meaning
from cornerturn._chunks.sources import DaskSource, FileSource, Source, with_scales


class _Values(FileSource):
    """A variable whose values are in memory, or are read by xarray."""

    def __init__(self, name: str, variable: Any):
        super().__init__(name, numpy.asarray(variable.data), None)
        self._meaning = _meaning(variable)

    def meaning(self) -> Meaning:
        return self._meaning


class _Lazy(DaskSource):
    """A variable that dask computes when it is read."""

    def __init__(self, name: str, variable: Any):
        super().__init__(variable.data)
        self._meaning = _meaning(variable)

    def meaning(self) -> Meaning:
        return self._meaning


class _Strings:
    """Strings of any length, in the form of an array of zarr."""

    chunks = None

    def __init__(self, variable: Any):
        self._data, self.shape = variable.data, variable.shape

    def __getitem__(self, slices: Any) -> numpy.ndarray:
        return numpy.asarray(self._data[slices])


def _meaning(variable: Any) -> Meaning:
    attributes = dict(variable.attrs)
    return Meaning(tuple(map(str, variable.dims)), attributes, attributes.get("_FillValue"))


def _source(name: str, variable: Any) -> Source | Texts:
    if variable.dtype == object or variable.dtype.kind == "T":
        return Texts(name, _Strings(variable), _meaning(variable))
    dask = sys.modules.get("dask.array")
    lazy = dask is not None and isinstance(variable.data, dask.Array)
    return _Lazy(name, variable) if lazy else _Values(name, variable)


def _stored(dataset: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables and the attributes that a file would have."""
    from xarray import conventions

    variables, attributes = conventions.encode_dataset_coordinates(dataset)
    return conventions.cf_encoder(variables, attributes)


def is_of_xarray(source: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(source, (xarray.DataArray, xarray.Dataset))


def _with_name(array: Any) -> tuple[Any, str]:
    """A Dataset with the array and its coordinates, and what it is called there."""
    name = "data" if array.name is None else array.name
    return (array.coords.to_dataset() if name in array.coords else array.to_dataset(name=name)), name


def dataset_of_xarray(source: Any) -> Dataset:
    """All variables of a Dataset, or a DataArray with its coordinates."""
    dataset = source if hasattr(source, "data_vars") else _with_name(source)[0]
    variables, attributes = _stored(dataset)
    sources = {str(name): _source(str(name), variable) for name, variable in variables.items()}
    return Dataset(f"a {type(source).__name__} of xarray", sources, attributes, _paths(source), [])


def array_of_xarray(source: Any) -> Source:
    """A DataArray, or a Dataset of one, without the coordinates that are not along its dimensions."""
    if hasattr(source, "data_vars"):
        if len(source.data_vars) != 1:
            names = ", ".join(map(str, source.data_vars)) or "none"
            raise ValueError(f"source is a Dataset of several variables: pass one of them, source[NAME], of {names}")
        (source,) = source.data_vars.values()
    dataset, name = _with_name(source)
    variables, _ = _stored(dataset)
    found = _source(str(name), variables[name])
    if isinstance(found, Texts):
        raise TypeError(f"source = {name} holds {source.dtype}: its elements are references, which have no place in a chunk")
    paths = _paths(source)
    # Those along its dimensions belong to it in every file; others are arrays of their own.
    along = {dim: variable for dim, variable in variables.items() if variable.dims == (dim,) and dim in source.dims and dim != name}
    found.paths = lambda: paths  # type: ignore[method-assign]
    found._meaning = with_scales(  # type: ignore[attr-defined]
        found.meaning(), lambda dim: _scale(dim, along[dim]) if dim in along else None
    )
    return found


def _scale(name: str, variable: Any) -> Source:
    found = _source(name, variable)
    if isinstance(found, Texts):
        raise TypeError("strings")
    return found


def _paths(source: Any) -> list[str]:
    """The file that xarray reads, which is no target."""
    path = source.encoding.get("source")
    return [os.path.abspath(path)] if isinstance(path, str) and os.path.exists(path) else []
