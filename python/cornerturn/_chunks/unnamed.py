"""A small new array is made in a file without a name, and has its name when it is whole.

Nothing is left of such a file where the run is killed or the power fails, so that no record says what is done of it.
That spares most of the waits for the disk, which take longer than a small array.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator
from typing import Any

from cornerturn._chunks import replacing
from cornerturn._chunks.place import Place
from cornerturn._chunks.record import Record
from cornerturn._chunks.renaming import sync_folder
from cornerturn._chunks.tasks import Job

# Bytes of an array that is made anew in a second or two; one of HDF5 is in memory until it is whole.
MOST = {"npy": 256 << 20, "hdf5": 8 << 20, "zarr": -1}

_CANNOT = (errno.EISDIR, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT)


def suits(place: Place, job: Job, client: Any) -> bool:
    """Is it one file, small, written by this process, that holds nothing else?"""
    size = math.prod(job.target.shape) * job.target.dtype.itemsize
    small = client is None and len(job.stages) <= 1 and size <= MOST[place.kind]
    return small and (place.kind == "npy" or replacing.is_alone(place))


@contextlib.contextmanager
def opened(folder: str) -> Iterator[str | None]:
    """The path, for this process, of a new file without a name; None where the system has no such files."""
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        yield None
        return
    try:
        path = f"/proc/self/fd/{file}"
        yield path if os.path.exists(path) else None
    finally:
        os.close(file)


def give_name(path: str, record: Record, old: replacing.Identity | None, overwrite: bool) -> None:
    """The file at `path` is on the disk, and has the name of the target, where `old` was when the run began."""
    file, final = int(os.path.basename(path)), record.final
    os.fsync(file)
    record.check_final(overwrite, old)
    name = final if old is None else record.placing
    if old is not None:
        record.remove("placing")  # of a run that was killed here
    # Given a descriptor of a folder, which an absolute path does not need, the call follows the link that `path` is.
    os.link(path, name, src_dir_fd=file, follow_symlinks=True)
    if old is not None:
        os.replace(name, final)
    sync_folder(os.path.dirname(final))
