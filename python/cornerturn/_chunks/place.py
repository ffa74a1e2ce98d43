"""Where a target of `cornerturn.rechunk` lies: a file, the folder of a store, or a dataset within a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from cornerturn._arrays import shown

_SUFFIXES = {"npy": (".npy",), "hdf5": (".h5", ".hdf5", ".nc", ".nc4")}


def kind_of(path: str) -> str:
    name = path.partition("::")[0].lower()
    return next((kind for kind, suffixes in _SUFFIXES.items() if name.endswith(suffixes)), "zarr")


@dataclass(frozen=True)
class Place:
    kind: str  # "npy", "hdf5" or "zarr"
    name: str  # as it was given, and as errors call it
    path: str  # of the file or the folder; no link is on the way to it
    key: str  # of the dataset in a file of HDF5
    named: bool  # is the key one that was given?

    @property
    def folder(self) -> str:
        """What holds the array until it is whole."""
        return self.path + ".partial"


def place_of(target: Any) -> Place:
    """The place that `target` names. It says nothing of what is there."""
    text = os.fspath(target) if isinstance(target, (str, os.PathLike)) else target
    if not isinstance(text, str):
        raise TypeError(f"target = {shown(target)} is not a path")
    path, _, key = text.partition("::")
    if "://" in path:
        raise ValueError(f"target = {path!r} is an address: a target is a path in a file system")
    kind, bare = kind_of(path.rstrip("/")), path.rstrip("/")
    last = os.path.basename(bare)
    if last in ("", ".", "..", "~"):
        raise ValueError(f"target = {text!r} does not end in a name of its own: an array needs one")
    if kind != "zarr" and bare != path:
        raise ValueError(f"target = {text!r} ends as a folder does: {'.npy' if kind == 'npy' else 'HDF5'} is a file")
    above = os.path.dirname(bare) or "."
    if not os.path.isdir(above):
        raise FileNotFoundError(f"target = {text!r}: the folder {os.path.abspath(above)!r} does not exist")
    if key and kind != "hdf5":
        raise ValueError(f"target = {text!r}: ::NAME names a dataset in a file of HDF5")
    parts = key.strip("/").split("/") if key else []
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"target = {text!r}: {key!r} is no name of a dataset")
    return Place(kind, text, os.path.join(os.path.realpath(above), last), "/".join(parts) or "data", bool(parts))
