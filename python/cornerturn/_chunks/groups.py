"""The groups of zarr in which a target lies: they are made where they are missing, and their consolidated metadata,
a copy of that of all arrays below, say what is there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import warnings
from collections.abc import Iterator
from typing import Any

from cornerturn._chunks import array_folder
from cornerturn._chunks.array_folder import Foreign
from cornerturn._chunks.place import Place
from cornerturn._chunks.renaming import rename_new, sync_file, sync_folder

_NEW = {"attributes": {}, "zarr_format": 3, "node_type": "group"}


def require_groups(place: Place) -> bool:
    """Are all groups there? Raises Foreign where something else has the name of one."""
    for folder in place.groups():
        try:
            found = os.lstat(folder)
        except FileNotFoundError:
            return False
        kind, version = array_folder.node(folder) if stat.S_ISDIR(found.st_mode) else ("", 0)
        if kind != "group":
            raise Foreign(f"is in {folder!r}, which is no group of zarr")
        if version != 3:
            raise Foreign(f"is in {folder!r}, a group of version {version}, and arrays are written in version 3")
    return True


def make_missing(place: Place, aside: str) -> None:
    """Each group appears whole. It is made in the folder `aside`, of which nothing is left."""
    for folder in place.groups():
        if os.path.lexists(folder):
            continue
        remove_begun(aside)
        os.mkdir(aside)
        path = os.path.join(aside, "zarr.json")
        with open(path, "w") as file:
            json.dump(_NEW, file, indent=2)
        sync_file(path)
        sync_folder(aside)
        with contextlib.suppress(FileExistsError):  # another run has made it
            rename_new(aside, folder)
            sync_folder(os.path.dirname(folder))
            sync_folder(os.path.dirname(aside))
    remove_begun(aside)


def remove_begun(aside: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(aside, "zarr.json"))
        os.rmdir(aside)


@contextlib.contextmanager
def locked(place: Place) -> Iterator[None]:
    """Runs that write to one store give their arrays names one after the other."""
    above = place.groups()[0] if place.groups() else ""
    if not os.path.isdir(above):
        yield
        return
    folder = os.open(above, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def consolidated(place: Place) -> list[str]:
    """The groups that have consolidated metadata, or are to: a store that is not there gets them, as from xarray."""
    folders = place.groups()
    if folders and not os.path.lexists(folders[0]):
        return folders[:1]
    return [folder for folder in folders if _metadata(folder).get("consolidated_metadata")]


def _metadata(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, "zarr.json")) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def drop(folders: list[str], aside: str) -> None:
    """Until they are made again readers look for what is there."""
    for folder in folders:
        metadata = _metadata(folder)
        if metadata.pop("consolidated_metadata", None) is not None:
            with open(aside, "w") as file:
                json.dump(metadata, file, indent=2)
            _replace(aside, os.path.join(folder, "zarr.json"))


def _replace(new: str, old: str) -> None:
    """The file `new` takes the place of `old`, and is on the disk before."""
    sync_file(new)
    os.replace(new, old)
    sync_folder(os.path.dirname(old))
    sync_folder(os.path.dirname(new))


def consolidate(folders: list[str], aside: str) -> None:
    import zarr
    from zarr.storage import LocalStore

    class Durable(LocalStore):
        """Metadata are on the disk before they take the place of older ones."""

        async def set(self, key: str, value: Any) -> None:
            with open(aside, "wb") as file:
                file.write(value.to_bytes())
            _replace(aside, os.path.join(self.root, key))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that version 3 of the format does not have it yet
        for folder in reversed(folders):
            zarr.consolidate_metadata(Durable(folder))
