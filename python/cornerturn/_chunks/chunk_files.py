"""Chunks of zarr that are files as they lie in memory: no codec packs them, and no event loop is asked for them.

zarr says where they are and how they are stored. Sharded arrays, packed ones and those in other stores are
left to it.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy

from cornerturn._chunks import direct
from cornerturn._chunks.boxes import Box, Extents, Grid

_PIECE = 4 << 20  # bytes that are read before they are put in order
_LINES = 256  # bytes of a run that is written in order
_RUN = 16 << 10  # bytes: fewer are not read by a call of their own
_UNIT = 64 << 10  # bytes that are worth a call in any case


class ChunkFiles:
    """The chunks of one array, each as the array that its file holds."""

    def __init__(self, root: str, metadata: Any, grid: Grid, dtype: numpy.dtype, order: Extents):
        self.root, self.metadata, self.grid = root, metadata, grid
        self.dtype, self.order = dtype, order  # as they are stored: axis i of the file is order[i] of the chunk
        stored = [grid.step[axis] for axis in order]
        self._strides = {axis: math.prod(stored[i + 1 :]) for i, axis in enumerate(order)}  # elements
        self._kept = direct.Kept()
        self.around = direct.worth(math.prod(grid.shape) * dtype.itemsize)

    @property
    def unit(self) -> Extents:
        """The extents of the smallest part of a chunk that is read without reading more than that."""
        unit, left = [1] * len(self.order), -(-_UNIT // self.dtype.itemsize)
        for axis in reversed(self.order):
            step = self.grid.step[axis]
            unit[axis] = next(n for n in range(min(left, step), step + 1) if step % n == 0)
            left = -(-left // unit[axis])
        return tuple(unit)

    def _spans(self, fastest: int) -> bool:
        """Does a piece take its part of this axis from several chunks?"""
        return fastest != self.order[-1]

    def pieces(self, box: Box, fastest: int) -> Iterator[Box]:
        """`box` in the pieces in which it is read for a target whose fastest axis is `fastest`.

        Of that axis a piece has enough to fill lines of memory; along all others it lies in one chunk.
        """
        left = _PIECE // self.dtype.itemsize
        most = [min(pair) for pair in zip(self.grid.step, box.shape, strict=True)]
        order = list(reversed(self.order))
        if self._spans(fastest):
            most[fastest] = min(max(_LINES // self.dtype.itemsize, self.unit[fastest]), box.shape[fastest])
            order.remove(fastest)
            order.insert(0, fastest)
        step = [1] * len(order)
        for axis in order:
            step[axis] = max(min(most[axis], left), 1)
            left //= step[axis]
        cuts = []
        for axis, (start, stop) in enumerate(zip(*box, strict=True)):
            chunk = stop if axis == fastest and self._spans(fastest) else self.grid.step[axis]
            begins = [start, *range((start // chunk + 1) * chunk, stop, chunk)]
            ends = [*begins[1:], stop]
            cuts.append([(i, min(i + step[axis], b)) for a, b in zip(begins, ends, strict=True)
                         for i in range(a, b, step[axis])])
        for pairs in product(*cuts):
            start, stop = zip(*pairs, strict=True)
            yield Box(start, stop)

    def path(self, box: Box) -> str:
        """The file of the chunk in which `box` begins."""
        index = tuple([a // step for a, step in zip(box.start, self.grid.step, strict=True)])
        return os.path.join(self.root, self.metadata.encode_chunk_key(index))

    def read(self, piece: Box, fastest: int) -> numpy.ndarray | None:
        """The elements of a piece; None where one of its chunks was never written.

        They are where they are until this thread reads again.
        """
        chunk, itemsize = self.grid.step, self.dtype.itemsize
        begin = [a % step for a, step in zip(piece.start, chunk, strict=True)]
        extent = list(piece.shape)
        spans = self._spans(fastest)
        together, run = self._run(begin, extent, fastest if spans else None)
        lies = [fastest] * spans + [axis for axis in self.order if not (spans and axis == fastest)]
        outer = [axis for axis in lies if axis not in together]
        room = self._kept.take(itemsize * math.prod(extent))
        rows = _rows(memoryview(room), run)
        first = sum(begin[axis] * self._strides[axis] for axis in together)
        around = None
        whole = itemsize * math.prod(chunk)
        for part in self._chunks(piece, fastest, spans):
            inside = [a % step for a, step in zip(part.start, chunk, strict=True)]
            ranges = [range(inside[axis], inside[axis] + part.shape[axis]) for axis in outer]
            strides = [self._strides[axis] for axis in outer]
            places = [itemsize * (first + sum(map(int.__mul__, index, strides))) for index in product(*ranges)]
            path = self.path(part)
            if around is None:  # the other chunks of a piece are where the first one is
                around = self.around and not direct.in_cache(path)
            try:
                direct.read(path, rows, places, around, whole)
            except FileNotFoundError:
                return None
        kept = [slice(a % step - b, a % step - b + n) for a, step, b, n in zip(piece.start, chunk, begin, piece.shape, strict=True)]
        values = room.view(self.dtype).reshape([extent[axis] for axis in lies])
        return values.transpose(numpy.argsort(lies))[tuple(kept)]

    def _run(self, begin: list[int], extent: list[int], stop: int | None) -> tuple[list[int], int]:
        """The axes whose elements are read at once, because they lie together, and so many bytes.

        Up to the axis `stop`. Of the axes behind a short part all is read: `begin` and `extent` say so.
        """
        chunk = self.grid.step
        together: list[int] = []
        run = self.dtype.itemsize
        for axis in reversed(self.order):
            if axis == stop:
                break
            enough = extent[axis] < chunk[axis] and run * extent[axis] >= _RUN
            if not enough:
                begin[axis], extent[axis] = 0, chunk[axis]
            together.insert(0, axis)
            run *= extent[axis]
            if enough:
                break
        return together, run

    def _chunks(self, piece: Box, fastest: int, spans: bool) -> Iterator[Box]:
        """The parts of a piece that lie in one chunk each."""
        if not spans:
            yield piece
            return
        step, start, stop = self.grid.step[fastest], piece.start[fastest], piece.stop[fastest]
        for at in [start, *range((start // step + 1) * step, stop, step)]:
            ends = min(at // step * step + step, stop)
            yield Box(*[(*side[:fastest], end, *side[fastest + 1 :]) for side, end in zip(piece, (at, ends), strict=True)])

    def write(self, box: Box, values: numpy.ndarray) -> None:
        """The whole chunk at `box`. It takes the place of an old one when it is whole."""
        path = self.path(box)
        unfinished = f"{path}.{os.getpid()}.{threading.get_ident()}.partial"
        parts = [numpy.ascontiguousarray(values.transpose(self.order))]
        try:
            try:
                direct.write(unfinished, parts, self.around)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                direct.write(unfinished, parts, self.around)
            os.replace(unfinished, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
            raise


def _rows(room: memoryview, size: int) -> Iterator[memoryview]:
    return (room[at : at + size] for at in range(0, len(room), size))


def chunk_files(array: Any) -> ChunkFiles | None:
    """Those of an array of zarr, where they are as plain as that."""
    from zarr.core.metadata import ArrayV2Metadata

    metadata, dtype = array.metadata, numpy.dtype(array.dtype)
    if type(array.store).__name__ != "LocalStore" or dtype.kind not in "biufcmM" or array.ndim == 0:
        return None
    if 0 in array.shape:
        return None
    order: Extents = tuple(range(array.ndim))
    if isinstance(metadata, ArrayV2Metadata):
        if metadata.compressor is not None or metadata.filters:
            return None
        if metadata.order == "F":
            order = order[::-1]
    else:
        codecs = list(metadata.codecs)
        if len(codecs) == 2 and type(codecs[0]).__name__ == "TransposeCodec":
            order = tuple(codecs.pop(0).order)
        if [type(codec).__name__ for codec in codecs] != ["BytesCodec"]:
            return None
        endian = getattr(codecs[0].endian, "value", codecs[0].endian)  # a name, or a member of an enumeration
        if endian is None and dtype.itemsize > 1:
            return None
        dtype = dtype.newbyteorder(">" if endian == "big" else "<")
    root = os.path.join(os.path.abspath(array.store.root), array.path)
    return ChunkFiles(root, metadata, Grid(array.shape, tuple(array.chunks)), dtype, order)
