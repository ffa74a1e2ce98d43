"""What `cornerturn.rechunk` may replace: an array of the kind that it writes, at the very path of the target.

Groups, other folders and files, links, the source, what holds the source or the working folder are refused. Of a
file of HDF5 one dataset is replaced, in a copy of the file that takes the place of the file when it is whole.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from typing import Any

from cornerturn._chunks import array_folder, groups, marks
from cornerturn._chunks.array_folder import Foreign
from cornerturn._chunks.place import Place

_WHAT = {"npy": "a .npy file", "hdf5": "a dataset in a file of HDF5", "zarr": "an array of zarr"}

Identity = list[int]


def identity(path: str) -> Identity | None:
    """What tells a file or a folder from another one, and a file from what it is after a change. None: nothing is there."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [found.st_ino] if stat.S_ISDIR(found.st_mode) else [found.st_ino, found.st_size, found.st_mtime_ns]


def check_neighbours(place: Place, sources: list[str]) -> None:
    """Raises ValueError where the target is the source, holds it or lies within it, or within another array."""
    for source in map(os.path.realpath, sources):
        if os.path.exists(place.path) and os.path.exists(source) and os.path.samefile(place.path, source):
            raise ValueError(f"target = {place.name!r} is the same file as source: it has to be another")
        for outer, inner, how in (
            (source, place.path, "lies within source"), (place.path, source, "holds source"),
            (place.folder, source, f"has its intermediate files in {place.folder!r}, which holds source"),
        ):
            if _within(inner, outer):
                raise ValueError(f"target = {place.name!r} {how}: it has to lie apart")
    outer_array = array_folder.enclosing(place.path)
    if outer_array is not None:
        raise ValueError(f"target = {place.name!r} lies within the zarr array {outer_array!r}: it has to lie apart")


def _within(inner: str, outer: str) -> bool:
    return os.path.commonpath([inner, outer]) == outer


def check_present(place: Place, overwrite: bool) -> None:
    """Raises FileExistsError where something is at the target that is not replaced."""
    if identity(place.path) is None and not place.groups():
        return
    try:
        present = _LOOK[place.kind](place)
        if present and place.kind == "zarr" and _within(os.path.realpath(os.getcwd()), place.path):
            raise Foreign("holds the working directory")
    except Foreign as error:
        why = str(error)
        why = f"is not replaced: {why}" if why.startswith("'") else why
        raise FileExistsError(f"target = {place.name!r} {why}: overwrite=True replaces {_WHAT[place.kind]} alone") from None
    if present and not overwrite:
        raise FileExistsError(f"target = {place.name!r} exists: overwrite=True replaces it")


def _look_at_file(place: Place) -> None:
    mode = os.lstat(place.path).st_mode
    if stat.S_ISLNK(mode):
        raise Foreign("is a symbolic link")
    if stat.S_ISDIR(mode):
        raise Foreign("is a folder")
    if not stat.S_ISREG(mode):
        raise Foreign("is no regular file")


def _npy(place: Place) -> bool:
    from numpy.lib import format as npy

    _look_at_file(place)
    why = marks.half_transposed(place.path)
    if why is not None:
        raise Foreign(why)
    try:
        with open(place.path, "rb") as file:
            version = npy.read_magic(file)
            (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
    except ValueError:
        raise Foreign("is a file and no .npy file") from None
    return True


def _zarr(place: Place) -> bool:
    if os.path.ismount(place.root):
        raise Foreign("is where a file system is mounted, into which nothing is renamed")
    if not groups.require_groups(place) or identity(place.path) is None:
        return False
    mode = os.lstat(place.path).st_mode
    if not stat.S_ISDIR(mode):
        raise Foreign("is a symbolic link" if stat.S_ISLNK(mode) else "is a file")
    array_folder.require_array(place.path)
    return True


def _hdf5(place: Place) -> bool:
    """Is the dataset there? Without a name that was given, a file that holds others is not added to."""
    import h5py

    _look_at_file(place)
    if not h5py.is_hdf5(place.path):
        raise Foreign("is a file and none of HDF5")
    try:
        # HDF5 locks what it writes to. In this process it would open it once more.
        with open(place.path, "rb") as file:
            lock(file.fileno(), fcntl.LOCK_SH)
        with h5py.File(place.path, "r") as file:
            found = _dataset(file, place.key)
    except BlockingIOError:
        raise Foreign("is open for writing") from None
    except OSError as error:
        raise Foreign(f"cannot be opened ({error})") from None
    if not found and not place.named:
        raise Foreign(f"holds no dataset {place.key!r}, and none is named by {place.name}::NAME")
    return found


def _dataset(file: Any, key: str) -> bool:
    import h5py

    group, parts = file, key.split("/")
    for number, part in enumerate(parts):
        link = group.get(part, getlink=True)
        if link is None:
            return False
        if not isinstance(link, h5py.HardLink):
            raise Foreign(f"is in a file where {part!r} is a link")
        item, last = group[part], number + 1 == len(parts)
        if not isinstance(item, h5py.Dataset if last else h5py.Group):
            raise Foreign(f"is in a file where {part!r} is {'no dataset' if last else 'no group'}")
        group = item
    if group.is_scale and "REFERENCE_LIST" in group.attrs:
        raise Foreign("is a scale of the dimensions of other datasets")
    return True


_LOOK: dict[str, Callable[[Place], bool]] = {"npy": _npy, "hdf5": _hdf5, "zarr": _zarr}


def lock(file: int, how: int) -> None:
    """Raises BlockingIOError where another one has locked the file. Some file systems have no locks."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
            raise


# ---- files of HDF5 ----


def is_alone(place: Place) -> bool:
    """Is there no file at the path of the target, or one that holds the dataset and nothing else?"""
    import h5py

    if identity(place.path) is None:
        return True
    with h5py.File(place.path, "r") as file:
        return _alone(file, place.key)


def copy_others(place: Place, path: str, old: Identity | None) -> None:
    """A copy of the file without the dataset, at `path`, unless the file holds nothing else, or is not there."""
    import h5py

    if os.path.lexists(path):
        os.unlink(path)
    if old is None:
        return
    with h5py.File(place.path, "r") as file:
        if _alone(file, place.key):
            return
        import shutil

        shutil.copy2(place.path, path)
    if identity(place.path) != old:
        os.unlink(path)
        raise FileExistsError(f"target = {place.name!r} has changed while it was copied: {place.path!r} is as it is")
    with h5py.File(path, "r+") as file:
        _remove_dataset(file, place.key)


def _alone(file: Any, key: str) -> bool:
    group = file
    if file.userblock_size:
        return False
    for part in key.split("/"):
        if list(group) != [part] or len(group.attrs):
            return False
        group = group[part]
    return True


def _remove_dataset(file: Any, key: str) -> None:
    if key not in file:
        return
    dataset = file[key]
    for dimension in dataset.dims:
        for scale in list(dimension.values()):
            dimension.detach_scale(scale)
    del file[key]
