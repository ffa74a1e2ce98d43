"""Where a target of `cornerturn.rechunk` lies: a file, a dataset within a file, a folder, or an array in a group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from cornerturn._arrays import shown
from cornerturn._chunks import array_folder

_NO_NAMES = {"hdf5": ("", ".", "..")}
_NO_NAMES["zarr"] = (*_NO_NAMES["hdf5"], "zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_OF_ZARR = ("", ".zarr", ".zr")
_OF_OTHERS = (".n5",)  # has a digit; what has letters alone is the suffix of another format too
_SUFFIXES = {"npy": (".npy",), "hdf5": (".h5", ".hdf5", ".nc", ".nc4")}


def kind_of(path: str) -> str:
    name = path.partition("::")[0].lower()
    return next((kind for kind, suffixes in _SUFFIXES.items() if name.endswith(suffixes)), "zarr")


@dataclass(frozen=True)
class Place:
    kind: str  # "npy", "hdf5" or "zarr"
    name: str  # as it was given, and as errors call it
    root: str  # of the file, or of the store; no link is on the way to it
    key: str  # of the dataset, or of the array in its store; "" is the store itself
    named: bool  # is the key one that was given?

    @property
    def path(self) -> str:
        """The path of the file, or of the folder of the array."""
        return os.path.join(self.root, self.key) if self.kind == "zarr" and self.key else self.root

    @property
    def netcdf(self) -> bool:
        return self.path.lower().endswith((".nc", ".nc4"))

    @property
    def folder(self) -> str:
        """What holds the array until it is whole. It lies beside the store."""
        if self.path == self.root:
            return f"{self.root}.partial"
        from urllib.parse import quote

        return f"{self.root}:{quote(self.key, safe='')}.partial"

    def groups(self) -> list[str]:
        """The folders of the groups of zarr in which the array lies, that of the store first."""
        parts = self.key.split("/")[:-1] if self.path != self.root else None
        return [] if parts is None else [os.path.join(self.root, *parts[:n]) for n in range(len(parts) + 1)]


def _check_suffix(text: str, root: str) -> None:
    """Another format's file is not meant to become a store of zarr. What is one already may have any name, and so may
    what lies in a group."""
    suffix = os.path.splitext(root)[1]
    if suffix.lower() in _OF_ZARR or not (suffix[1:].isalpha() or suffix.lower() in _OF_OTHERS):
        return
    if not array_folder.node(root)[0] and array_folder.node(os.path.dirname(root))[0] != "group":
        raise ValueError(
            f"target = {text!r}: no format that is written has the suffix {suffix!r}: name it .npy, .h5, .hdf5, .nc, "
            ".nc4, or for zarr .zarr or without a suffix"
        )


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
    if key and kind == "npy":
        raise ValueError(f"target = {text!r}: a .npy file holds one array, which has no name")
    parts = key.strip("/").split("/") if key else []
    if any(part in _NO_NAMES[kind] or kind == "zarr" and part.startswith("__") for part in parts):
        raise ValueError(f"target = {text!r}: {key!r} is no name of {'an array' if kind == 'zarr' else 'a dataset'}")
    root = os.path.join(os.path.realpath(above), last)
    if kind == "zarr":
        _check_suffix(text, root)
    if kind == "hdf5":
        return Place(kind, text, root, "/".join(parts) or "data", bool(parts))
    if kind == "zarr":
        if parts and os.path.exists(root):
            root = os.path.realpath(root)
        while array_folder.node(os.path.dirname(root))[0] == "group":
            root, parts = os.path.dirname(root), [os.path.basename(root), *parts]
    return Place(kind, text, root, "/".join(parts), bool(parts))
