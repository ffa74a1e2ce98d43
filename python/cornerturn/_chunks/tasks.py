"""One task of `cornerturn.rechunk`: boxes are read, put in order in memory, and written."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from cornerturn._chunks.boxes import Box, Extents, Grid
from cornerturn._chunks.planning import Stage
from cornerturn._chunks.sources import Source
from cornerturn._chunks.targets import Target, chunk_grid
from cornerturn._operations import copy

_SMALL = 4096  # bytes that NumPy moves sooner than a call of the engine begins
_TRIES = 4
_FINAL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR}


@dataclass
class Job:
    """All that a task has to know. It can be pickled."""

    source: Source
    target: Target
    axes: Extents
    stages: tuple[Stage, ...]
    folder: str  # of the intermediate files

    def tasks(self, stage: int) -> int:
        return self.stages[stage].tasks

    def weight(self, stage: int) -> int:
        """The bytes that a task of this stage reads and writes, on average."""
        found = self.stages[stage]
        return (found.bytes_read + found.bytes_written) // max(found.tasks, 1)

    def grid(self, stage: int) -> Grid:
        return Grid(self.target.shape, self.stages[stage].box)

    def run(self, stage: int, number: int, rooms: Rooms | None = None) -> None:
        """Does the task with this number. Done twice it leaves what it leaves when it is done once."""
        rooms = rooms or Rooms()
        box = self.grid(stage).numbered(number)
        last = stage + 1 == len(self.stages)
        outer = chunk_grid(self.target, self.stages[stage].box) if last else self.grid(stage + 1)
        parts = {index: outer.box(index).common(box) for index in outer.meeting(box)}
        rooms.keep([math.prod(part.shape) * self.target.dtype.itemsize for part in parts.values()])
        arrays = {index: (part, rooms.take(part.shape, self.target.dtype)) for index, part in parts.items()}
        for part, values in self._pieces(stage, box):
            _scatter(outer, arrays, part, values)
            del values
        if last:
            while arrays:  # each is given back when it is written
                part, array = arrays.pop(next(iter(arrays)))
                _again(lambda part=part, array=array: self.target.write(part, array))
                rooms.give(array)
        else:
            _again(lambda: self._write_pieces(number, arrays))
            for _, array in arrays.values():
                rooms.give(array)
        _give_back()

    def _pieces(self, stage: int, box: Box) -> Iterator[tuple[Box, numpy.ndarray]]:
        """What is read for `box`, its axes in the order of the target."""
        if stage == 1:
            yield from self._read_pieces(box)
            return
        back = tuple(sorted(range(len(self.axes)), key=self.axes.__getitem__))
        for piece in self.source.pieces(box.permuted(back)):
            values = _again(lambda piece=piece: self.source.read(piece)).transpose(self.axes)
            if not values.dtype.isnative and values.dtype != self.target.dtype:
                values = values.astype(values.dtype.newbyteorder("="))
            yield piece.permuted(self.axes), values

    # Intermediate files: one for each task of the first stage. It holds the parts of the task's box that
    # the tasks of the second stage want, one after the other, in the order of their numbers.
    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number // 1000}", f"{number}.raw")

    def _write_pieces(self, number: int, arrays: dict[Extents, tuple[Box, numpy.ndarray]]) -> None:
        path = self._path(number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        unfinished = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
        try:
            with open(unfinished, "wb", buffering=0) as file:
                for _, array in arrays.values():
                    file.write(_bytes(array))
            os.replace(unfinished, path)
        except BaseException:
            if os.path.exists(unfinished):
                os.remove(unfinished)
            raise

    def _read_pieces(self, box: Box) -> Iterator[tuple[Box, numpy.ndarray]]:
        first = self.grid(0)
        for index in first.meeting(box):
            outer = first.box(index)
            part = outer.common(box)
            offset = _offset(outer, part) * self.target.dtype.itemsize
            path = self._path(first.number(index))

            values = _empty(part.shape, self.target.dtype)
            _again(lambda path=path, offset=offset, values=values: _fill(values, path, offset))
            yield part, values


def _fill(values: numpy.ndarray, path: str, offset: int) -> None:
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        if file.readinto(_bytes(values)) != values.nbytes:
            raise OSError(errno.EIO, "an intermediate file is shorter than it was written", path)


def _bytes(array: numpy.ndarray) -> memoryview:
    return memoryview(array.reshape(-1).view("u1"))


class Rooms:
    """Memory for the arrays of a task, which the next task of the same thread takes again.

    A new array costs as much as a copy into it: the system clears its pages.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[numpy.ndarray]] = {}

    def keep(self, sizes: list[int]) -> None:
        """What the next arrays, of so many bytes, do not need goes back to the system."""
        for size in list(self._free):
            del self._free[size][sizes.count(size) :]

    def take(self, shape: Extents, dtype: numpy.dtype) -> numpy.ndarray:
        free = self._free.get(math.prod(shape) * dtype.itemsize)
        return free.pop().view(dtype).reshape(shape) if free else _empty(shape, dtype)

    def give(self, array: numpy.ndarray) -> None:
        if array.nbytes >= _SMALL:
            self._free.setdefault(array.nbytes, []).append(array.reshape(-1).view("u1"))


def _empty(shape: Extents, dtype: numpy.dtype) -> numpy.ndarray:
    """A new array. Large ones are maps of their own: the system has their memory again as soon as they go."""
    size = math.prod(shape) * dtype.itemsize
    if size < 1 << 16:
        return numpy.empty(shape, dtype)
    return numpy.frombuffer(mmap.mmap(-1, size), "u1").view(dtype).reshape(shape)


def _give_back() -> None:
    """What the C library keeps of the memory that zarr and codecs took goes back to the system."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _offset(outer: Box, part: Box) -> int:
    """The elements before `part` in the file of `outer`."""
    before, volume = 0, math.prod(outer.shape)
    for start, stop, at, end in zip(outer.start, outer.stop, part.start, part.stop, strict=True):
        # All parts that lie before along this axis, then the extent of this one for the axes behind it.
        volume //= stop - start
        before = before + (at - start) * volume
        volume *= end - at
    return before


def _scatter(grid: Grid, arrays: dict[Extents, Any], box: Box, values: numpy.ndarray) -> None:
    """The values of `box` into those arrays that have elements of it."""
    for index in grid.meeting(box):
        part, array = arrays[index]
        common = part.common(box)
        _move(array[(..., *common.within(part))], values[(..., *common.within(box))])


def _move(target: numpy.ndarray, source: numpy.ndarray) -> None:
    if target.dtype == source.dtype and target.nbytes < _SMALL:
        target[...] = source
    elif target.dtype == source.dtype:
        copy(target, source)
    else:
        copy(target, source, convert=True)


def _again(call: Callable[[], Any]) -> Any:
    """`call`, and again where a store fails now and then. What will not mend is raised at once."""
    for left in reversed(range(_TRIES)):
        try:
            return call()
        except (OSError, ConnectionError) as error:
            if left == 0 or error.errno in _FINAL or isinstance(error, FileNotFoundError):
                raise
            time.sleep(0.05 * 4 ** (_TRIES - 1 - left))
    raise AssertionError
