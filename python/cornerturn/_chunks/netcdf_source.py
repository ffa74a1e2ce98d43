"""Arrays in files of netCDF's classic formats. Those of netCDF-4 are files of HDF5, and are read as such."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy

from cornerturn._chunks import marks
from cornerturn._chunks.boxes import Box
from cornerturn._chunks.metadata import Meaning
from cornerturn._chunks.sources import Source, rows, with_scales

_lock = threading.Lock()  # netCDF's library is called by one thread at a time


class NetcdfSource(Source):
    """A variable, which the netCDF library reads."""

    def __init__(self, path: str, key: str):
        self.path, self.key = path, key
        with _lock:
            variable = self._variable()
            shape, dtype = variable.shape, variable.dtype
        super().__init__(f"{path}::{key}", shape, dtype, rows(shape, dtype.itemsize))

    def _variable(self) -> Any:
        import netCDF4

        if getattr(self, "_open", None) is None:
            self._open = netCDF4.Dataset(self.path)
            self._open.set_auto_maskandscale(False)
            self._open.set_auto_chartostring(False)
        return self._open.variables[self.key]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_open"}

    def read(self, box: Box) -> numpy.ndarray:
        with _lock:
            return numpy.asarray(self._variable()[box.slices])

    def paths(self) -> list[str]:
        return [self.path]

    def identity(self) -> list[Any]:
        return [*super().identity(), *marks.of_file(self.path)]

    def meaning(self) -> Meaning:
        with _lock:
            variable = self._variable()
            names, file = tuple(variable.dimensions), self._open
            attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
            limits = tuple([None if file.dimensions[name].isunlimited() else len(file.dimensions[name]) for name in names])
            along = {name for name in names if name != self.key and name in file.variables}
            along = {name for name in along if file.variables[name].dimensions == (name,)}
        found = Meaning(names, attributes, attributes.get("_FillValue"), limits)
        return with_scales(found, lambda name: NetcdfSource(self.path, name) if name in along else None)


def variables(path: str) -> list[str]:
    import netCDF4

    with _lock, netCDF4.Dataset(path) as file:
        return list(file.variables)


def attributes(path: str) -> dict[str, Any]:
    """Those of the file."""
    import netCDF4

    with _lock, netCDF4.Dataset(path) as file:
        return {name: file.getncattr(name) for name in file.ncattrs()}


def open_netcdf(path: str, key: str) -> Source:
    names = variables(path)
    if not key and len(names) == 1:
        key = names[0]
    if key not in names:
        raise ValueError(f"source = {path!r}: name one of its variables, {path}::NAME, of {', '.join(names) or 'none'}")
    return NetcdfSource(os.path.abspath(path), key)

