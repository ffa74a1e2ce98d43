"""Names in a file system that change places, or are given only where nothing has them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys

_NOREPLACE, _EXCHANGE, _HERE = 1, 2, -100
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def _renameat2(old: str, new: str, flags: int) -> bool:
    """False where the system or the file system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    sys.audit("os.rename", old, new, _HERE, _HERE)
    if call(_HERE, os.fsencode(old), _HERE, os.fsencode(new), ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), old, None, new)


def exchange(a: str, b: str) -> bool:
    """Both names are there at every moment. False where the file system cannot."""
    return _renameat2(a, b, _EXCHANGE)


def rename_new(old: str, new: str) -> None:
    """Raises FileExistsError where something has the name `new`."""
    if _renameat2(old, new, _NOREPLACE):
        return
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), old, None, new)
    os.rename(old, new)


def sync_folder(path: str) -> None:
    """Returns when the names in a folder are on the disk, where a folder can be asked for that."""
    with contextlib.suppress(PermissionError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):
                os.fsync(folder)
        finally:
            os.close(folder)


def sync_all(path: str) -> None:
    """Returns when all files of the file system of a folder are on the disk."""
    call = getattr(ctypes.CDLL(None), "syncfs", None)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if call is None or call(folder) != 0:
            os.sync()
    finally:
        os.close(folder)


def sync_tree(path: str) -> None:
    """Returns when a file, or all that is in a folder, is on the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            sync_file(os.path.join(folder, name))
        sync_folder(folder)
    if not os.path.isdir(path):
        sync_file(path)


def sync_file(path: str) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
