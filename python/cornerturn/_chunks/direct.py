"""Files that are read and written around the page cache of the system.

To take pages for what is read once and written once costs more than to move it, and pushes out what others
have there. Files that fit into the cache easily go through it, and so does what is in it already.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import math
import mmap
import os
import threading
from collections.abc import Iterable, Iterator

import numpy

PAGE = 4096  # bytes: where a part of a file and of memory begins that is moved so, and what it has a multiple of
_SHARE = 64  # of the memory of the machine
_DIRECT = getattr(os, "O_DIRECT", 0)
_HUGE = 2 << 20  # bytes of a huge page, which takes one fault of the processor in the place of 512
_ADVICE = getattr(mmap, "MADV_HUGEPAGE", 0)


def worth(size: int) -> bool:
    """Is an array of so many bytes too large for the page cache?"""
    return _DIRECT != 0 and size > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _SHARE


def room(size: int) -> numpy.ndarray:
    """Bytes that begin with a page. The system has their memory again as soon as they go."""
    huge = size >= _HUGE and _ADVICE != 0
    whole = math.ceil(size / _HUGE) * _HUGE if huge else max(size, 1)  # which the system then aligns
    pages = mmap.mmap(-1, whole, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        with contextlib.suppress(OSError):
            pages.madvise(_ADVICE)
    return numpy.frombuffer(pages, "u1")[:size]


class Kept(threading.local):
    """Memory that each thread keeps for what it reads next, and that is overwritten then."""

    _held: numpy.ndarray | None = None

    def take(self, size: int) -> numpy.ndarray:
        if self._held is None or self._held.size < size:
            self._held = None  # the old one goes first
            self._held = room(size)
        return self._held[:size]


_aside = Kept()


@contextlib.contextmanager
def _opened(path: str, flags: int, around: bool) -> Iterator[int]:
    try:
        file = os.open(path, flags | (_DIRECT if around else 0), 0o666)
    except OSError as error:
        if not around or error.errno != errno.EINVAL:
            raise
        file = os.open(path, flags, 0o666)  # a file system that has no other way
    try:
        yield file
    finally:
        os.close(file)


def _is_around(file: int) -> bool:
    return _DIRECT != 0 and bool(fcntl.fcntl(file, fcntl.F_GETFL) & _DIRECT)


def _through_cache(file: int) -> None:
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) & ~_DIRECT)


# ---- writing ----


def write(path: str, parts: Iterable[numpy.ndarray], around: bool) -> None:
    """A new file with these parts, one after the other. Each is contiguous."""
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, around) as file:
        around, at = _is_around(file), 0
        for part in parts:
            left = memoryview(part.reshape(-1).view("u1"))
            address = _address(part)
            while left:
                whole = len(left) // PAGE * PAGE
                if around and (at % PAGE or address % PAGE or not whole):
                    _through_cache(file)
                    around = False
                try:
                    done = os.write(file, left[:whole] if around else left)
                except OSError as error:
                    if not around or error.errno != errno.EINVAL:
                        raise
                    _through_cache(file)
                    around = False
                    continue
                left, at, address = left[done:], at + done, address + done


# ---- reading ----


def read(path: str, rows: Iterable[memoryview], places: Iterable[int], around: bool, size: int | None = None) -> None:
    """Each row gets what lies at its place, in bytes, of the file; rows begin with a page where they have whole ones.

    `size` is what the whole file has to have.
    """
    with _opened(path, os.O_RDONLY, around) as file:
        if size is not None and (found := os.fstat(file).st_size) != size:
            raise ValueError(f"source: the chunk {path!r} has {found} bytes and not {size}")
        around = _is_around(file)
        for place, row in zip(places, rows, strict=False):
            if around:
                try:
                    _read_around(file, row, place, path)
                    continue
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    _through_cache(file)
                    around = False
            _read(file, row, place, len(row), path)


def _read(file: int, row: memoryview, place: int, needed: int, path: str) -> None:
    done = 0
    while done < needed:
        got = os.preadv(file, [row[done:]], place + done)
        if got == 0:
            raise OSError(f"{path}: the file ended while it was read")
        done += got


def _read_around(file: int, row: memoryview, place: int, path: str) -> None:
    before, size = place % PAGE, len(row)
    if not before and not size % PAGE:
        _read(file, row, place, size, path)
        return
    # By way of the pages that hold it.
    pages = math.ceil((before + size) / PAGE) * PAGE
    aside = memoryview(_aside.take(pages))
    _read(file, aside, place - before, before + size, path)
    row[:] = aside[before : before + size]


def in_cache(path: str) -> bool:
    """Are most pages of a file in the page cache? Asked of the first, the middle and the last one."""
    with contextlib.suppress(OSError, ValueError, AttributeError), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        # The map goes with the array over it.
        mapped = numpy.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), "u1")
        found = 0
        for place in (0, size // 2, size - 1):
            said = ctypes.c_ubyte(0)
            at = ctypes.c_void_p(_address(mapped) + place // PAGE * PAGE)
            if ctypes.CDLL(None).mincore(at, ctypes.c_size_t(PAGE), ctypes.byref(said)) == 0:
                found += said.value & 1
        return found >= 2
    return False


def _address(array: numpy.ndarray) -> int:
    return array.__array_interface__["data"][0]
