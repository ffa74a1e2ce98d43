"""One task of `cornerturn.rechunk`: boxes are read, put in order in memory, and written."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from cornerturn import _core
from cornerturn._chunks import direct
from cornerturn._chunks.boxes import Box, Extents, Grid
from cornerturn._chunks.metadata_hdf5 import as_elements
from cornerturn._chunks.planning import Stage
from cornerturn._chunks.sources import Source
from cornerturn._chunks.targets import Target, chunk_grid
from cornerturn._operations import copy

LITTLE = 1 << 20  # bytes that a task reads and writes for which no thread begins and no memory is given back
_SMALL = 4096  # bytes that NumPy moves sooner than a call of the engine begins
_PIECE = 4 << 20  # bytes of an intermediate file that are read before they are put in order
_TRIES = 4
_FINAL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR}


_kept = direct.Kept()

Load = Callable[[], tuple[Box, numpy.ndarray]]


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

    def run(self, stage: int, number: int, rooms: Rooms | None = None, hands: Hands | None = None) -> None:
        """Does the task with this number. Done twice it leaves what it leaves when it is done once."""
        rooms, hands, one = rooms or Rooms(), hands or Hands(1), Hands(1)
        box = self.grid(stage).numbered(number)
        last = stage + 1 == len(self.stages)
        outer = chunk_grid(self.target, self.stages[stage].box) if last else self.grid(stage + 1)
        parts = {index: outer.box(index).common(box) for index in outer.meeting(box)}
        rooms.keep([math.prod(part.shape) * self.target.dtype.itemsize for part in parts.values()])
        arrays = {index: (part, rooms.take(part.shape, self.target.dtype)) for index, part in parts.items()}

        def read(load: Load) -> None:
            _scatter(outer, arrays, *load())

        def write(index: Extents) -> None:
            part, array = arrays.pop(index)  # each is given back when it is written
            _again(lambda: self.target.write(part, array))
            rooms.give(array)

        if stage == 0 and len(arrays) == 1 and self._straight():
            for part, array in arrays.values():
                _again(partial(self.source.read_into, part, array))
        else:
            many = stage == 1 or self.source.beside
            (hands if many else one).each(read, self._loads(stage, box))
        if last:
            (hands if self.target.beside else one).each(write, list(arrays))
        else:
            _again(lambda: self._write_pieces(number, arrays))
            for _, array in arrays.values():
                rooms.give(array)
        if self.weight(stage) > LITTLE:
            _give_back()

    def _straight(self) -> bool:
        """Are the elements of the source those of the target, in the same order?"""
        alike = self.source.dtype == self.target.dtype and tuple(self.axes) == tuple(range(len(self.axes)))
        return alike and self.source.reads_into

    def _loads(self, stage: int, box: Box) -> Iterator[Load]:
        """What reads the pieces of `box`, their axes in the order of the target."""
        if stage == 0:
            back = tuple(sorted(range(len(self.axes)), key=self.axes.__getitem__))
            return (partial(self._load, piece) for piece in self.source.pieces(box.permuted(back)))
        return self._loads_of_files(box)

    def _load(self, piece: Box) -> tuple[Box, numpy.ndarray]:
        values = _again(lambda: self.source.read(piece)).transpose(self.axes)
        return piece.permuted(self.axes), as_elements(values, self.target.dtype)

    # Intermediate files: one for each task of the first stage. It holds the parts of the task's box that
    # the tasks of the second stage want, one after the other, in the order of their numbers.
    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number // 1000}", f"{number}.raw")

    def _write_pieces(self, number: int, arrays: dict[Extents, tuple[Box, numpy.ndarray]]) -> None:
        path = self._path(number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        unfinished = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
        try:
            direct.write(unfinished, (array for _, array in arrays.values()), self._around())
            os.replace(unfinished, path)
        except BaseException:
            if os.path.exists(unfinished):
                os.remove(unfinished)
            raise

    def _loads_of_files(self, box: Box) -> Iterator[Load]:
        first, itemsize = self.grid(0), self.target.dtype.itemsize
        for index in first.meeting(box):
            outer = first.box(index)
            part = outer.common(box)
            path, at = self._path(first.number(index)), _offset(outer, part) * itemsize
            for slab in _slabs(part, max(_PIECE // itemsize, 1)):
                yield partial(self._load_slab, path, at, slab)
                at += math.prod(slab.shape) * itemsize

    def _load_slab(self, path: str, at: int, slab: Box) -> tuple[Box, numpy.ndarray]:
        size = math.prod(slab.shape) * self.target.dtype.itemsize
        values = _kept.take(size)
        around = self._around() and not direct.in_cache(path)
        _again(lambda: direct.read(path, [memoryview(values)], [at], around))
        return slab, values.view(self.target.dtype).reshape(slab.shape)

    def _around(self) -> bool:
        return direct.worth(math.prod(self.target.shape) * self.target.dtype.itemsize)


def _slabs(box: Box, most: int) -> Iterator[Box]:
    """`box` in parts of at most `most` elements, or one, that lie one after the other."""
    shape = box.shape
    axis = next(k for k in range(max(len(shape), 1)) if math.prod(shape[k + 1 :]) <= most)
    step = [*[1] * axis, *[max(most // max(math.prod(shape[axis + 1 :]), 1), 1)] * (axis < len(shape)), *shape[axis + 1 :]]
    grid = Grid(shape, tuple(step))
    for index in grid.meeting(Box((0,) * len(shape), shape)):
        part = grid.box(index)
        yield Box(*[tuple(map(int.__add__, at, box.start)) for at in part])


class Hands:
    """Threads that read, move and write the parts of a task beside each other."""

    def __init__(self, number: int):
        self.number = number
        self._pool: Any = None

    def each(self, call: Callable[[Any], None], items: Iterable[Any]) -> None:
        """`call` with each of the items. The first error ends it."""
        if self.number == 1:
            for item in items:
                call(item)
            return
        from concurrent.futures import ThreadPoolExecutor, wait

        self._pool = self._pool or ThreadPoolExecutor(self.number, "cornerturn-hands")
        left, failed = iter(list(items)), threading.Event()

        def work() -> None:
            before = _core.limit_threads(1)
            try:
                for item in left:
                    if failed.is_set():
                        break
                    call(item)
            except BaseException:
                failed.set()
                raise
            finally:
                _core.limit_threads(before)

        running = [self._pool.submit(work) for _ in range(self.number)]
        wait(running)
        for future in running:
            future.result()


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
    return direct.room(size).view(dtype).reshape(shape)


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
