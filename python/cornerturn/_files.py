"""transpose_file: .npy files, also larger than memory."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from operator import index
from typing import Any, Union

from cornerturn import _core
from cornerturn._arrays import order_of, shown
from cornerturn._options import Dtype
from cornerturn._progress import Progress, told
from cornerturn._threads import with_threads
from cornerturn._values import type_name as _type_name

Path = Union[str, "os.PathLike[str]"]
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def transpose_file(
    src: Path,
    dst: Path,
    axes: Sequence[int] | None = None,
    *,
    dtype: Dtype | None = None,
    memory: int | str | None = None,
    progress: Progress = None,
    threads: int | None = None,
) -> None:
    """Writes the array in the .npy file `src` to the .npy file `dst` with its axes in the order `axes`.

    The file may be larger than memory. `dst` appears whole or not at all: an error or Ctrl-C leaves what
    was there before. It is on the disk when the function returns.

    Args:
        src: the path of a .npy file, of any shape and any dtype without references.
        dst: the path of the .npy file to write, which may be there, and may not be `src`.
        axes: as in `transpose`.
        dtype: the dtype of the result, as in `transpose`; ">f4" writes big-endian values. None is that
            of `src`.
        memory: the most bytes of memory to use, 32 MiB at least: a number, or "512M", "2GiB". None lets
            the system keep of the files what it can, and takes half of the memory that is free for a
            file that is larger than that.
        progress: is called about ten times a second with the bytes that are written and those that will
            be. What it raises ends the work. True shows a line on standard error.
        threads: as in `transpose`.

    Raises:
        OSError: a file cannot be read or written, is no .npy file, or there is no room for it (ENOSPC).
            It is a FileNotFoundError where `src` or the folder of `dst` is missing.
        TypeError: `src` or `dst` is no path, `memory` is no number of bytes, or the values of `src` are not converted.
        ValueError: as in `transpose`; `memory` is too little; `dst` is `src`, or no file.

    Example:
        >>> cornerturn.transpose_file("images.npy", "planes.npy", (0, 3, 1, 2), memory="512M")
    """
    if threads is not None:
        options = dict(dtype=dtype, memory=memory, progress=progress)
        return with_threads(threads, transpose_file, src, dst, axes, **options)
    source, target = _path("src", src), _path("dst", dst)
    for name, path, needed in (("src", source, source), ("dst", target, os.path.dirname(target) or ".")):
        if not os.path.exists(needed):
            raise FileNotFoundError(errno.ENOENT, f"{name}: {os.strerror(errno.ENOENT)}", path)
    if os.path.exists(target) and os.path.exists(source) and os.path.samefile(source, target):
        raise ValueError(f"dst = {target!r} is the same file as src: it has to be another")
    shape, size = _core.file_shape(source)
    order = order_of(axes, len(shape))
    limit = _bytes_of(memory) if memory is not None else 0
    if memory is None and size > _free_memory() // 2:
        limit = max(_free_memory() // 2, 32 << 20)
    name = "" if dtype is None else _type_name(dtype)
    try:
        with told(progress) as tell:
            _core.transpose_file(source, target, order, name, limit, tell)
    except MemoryError as error:
        if " has no room for " not in str(error):
            raise
        raise OSError(errno.ENOSPC, f"dst: {os.strerror(errno.ENOSPC)}", target) from None
    except RuntimeError as error:
        if name and str(error).startswith("dtype = "):
            raise TypeError(str(error)) from None
        if name and str(error).startswith("dst.type"):
            raise TypeError(f"src has other values than dtype = {name} can be made of: {error}") from None
        raise


def _path(name: str, given: Any) -> str:
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} = {shown(given)} is not a path")
    return os.fsdecode(given)


def _bytes_of(memory: Any) -> int:
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)i?B?\s*", memory)
        if found is None:
            raise ValueError(f'memory = {memory!r} is no number of bytes: write 536870912, "512M" or "2GiB"')
        number = int(found[1]) * _UNITS[found[2]]
    else:
        try:
            number = index(memory)
        except TypeError:
            raise TypeError(f'memory = {shown(memory)} is no number of bytes, and none as "512M"') from None
    if number < 32 << 20:
        raise ValueError(f"memory = {shown(memory)} is too little: the least is 32 MiB")
    return number


def _free_memory() -> int:
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 1 << 62
