"""What tells whether a source has changed since a run began: sizes and times of files, sums of what is in memory."""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy

from cornerturn import _core
from cornerturn._chunks.boxes import Box

_SAMPLES = 1 << 14
HALF = "is in the middle of a transposition in place"  # what the library says of such a file


def of_file(path: str) -> list[Any]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def of_folder(path: str) -> list[Any]:
    """How many files there are, and a sum over their names, sizes and times."""
    number = total = 0
    folders = [""]
    while folders:
        before = folders.pop()
        with os.scandir(os.path.join(path, before)) as entries:
            for entry in entries:
                name = f"{before}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                    continue
                found = entry.stat()
                number += 1
                total += zlib.crc32(f"{name} {found.st_size} {found.st_mtime_ns}".encode()) << 32 | zlib.crc32(name.encode())
    return [number, total % (1 << 64)]


def of_values(source: Any) -> list[Any]:
    """Sums over the bytes of an array in memory, and a check of elements from all over it, in their order."""
    array = source.array
    if array.size == 0:
        return []
    total, every = 0, 0
    for piece in source.pieces(Box((0,) * array.ndim, array.shape)):
        part = numpy.ascontiguousarray(source.read(piece)).reshape(-1).view("u1")
        words, rest = part[: part.size // 8 * 8].view("u8"), part[part.size // 8 * 8 :]
        total += int(words.sum(dtype="u8")) + int(rest.sum())
        every ^= int(numpy.bitwise_xor.reduce(words, initial=0)) ^ zlib.crc32(rest)
    step = max(array.size // _SAMPLES, 1) | 1
    return [total % (1 << 64), every, zlib.crc32(array.flat[::step].tobytes())]


def half_transposed(path: str) -> str | None:
    """Why a .npy file is not to be read or replaced: a transposition in place has been interrupted."""
    try:
        _core.file_shape(path)
    except (OSError, ValueError, RuntimeError) as error:
        text = " ".join(str(error).split())
        if HALF in text:
            return text[text.index(HALF) :]
    return None
