"""Arrays in files of all kinds that `cornerturn.rechunk` writes: for its tests and for scripts/soak.py."""

import os

import h5py
import numpy as np
import zarr

from cornerturn._chunks.place import place_of

OLD = np.arange(8.0)  # what a target holds before, and other arrays of its file or store do
TARGETS = ["y.npy", "y.h5", "y.h5::g/t", "y.zarr", "y.zarr::g/t"]


def save(target, array, chunks=None, other=False, version=3):
    """A file or a store of zarr with this array, and with another one where it has names."""
    path, _, key = target.partition("::")
    if path.endswith(".npy"):
        np.save(path, array)
    elif path.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file.create_dataset(key or "data", data=array, chunks=chunks)
            if other:
                file["other"] = OLD
    else:
        options = dict(chunks=chunks or array.shape, compressors=None)
        if key:
            group = zarr.create_group(path, zarr_format=version)
            for name, values in {key: array, **({"other": OLD} if other else {})}.items():
                made = options if name == key else {}
                group.create_array(name, shape=values.shape, dtype=values.dtype, **made)[...] = values
        else:
            zarr.create_array(path, shape=array.shape, dtype=array.dtype, zarr_format=version, **options)[...] = array


def load(target):
    """None where the file is there and the array is not."""
    path, _, key = target.partition("::")
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            return file[key or "data"][...] if (key or "data") in file else None
    return zarr.open_array(path, path=key or None, mode="r")[...]


def make_old(target):
    save(target, OLD, None if target.endswith(".h5") else (3,), other=True)


def what_is_there(target, want, others):
    """"old", "new", or None where no array has the name: which is whole. `others` says that other arrays are there even
    where this one is new."""
    if not os.path.lexists(place_of(target).path):
        return None
    found = load(target)
    if "::" in target and (others or found is not None and found.shape == OLD.shape):
        assert (load(f"{target.partition('::')[0]}::other") == OLD).all(), "another array has changed"
    if found is None:
        return None
    if found.shape == OLD.shape:
        assert (found == OLD).all(), "the old array has changed"
        return "old"
    np.testing.assert_array_equal(found, want)
    return "new"
