"""Small chunks of HDF5. Many of them are read from the file at once where they are as they lie in memory; others are read,
and all are written, by one call of the library for many."""

from __future__ import annotations

import math
from typing import Any

import numpy

from cornerturn._chunks import direct
from cornerturn._chunks.boxes import Box, Grid

TOGETHER = 1 << 20  # bytes of chunks in one call, which costs as much as to move about 10 KiB
_PLAIN = 256 << 10  # bytes of a chunk without filters from which on a call for each costs nothing
_CODED = 16 << 10  # bytes of one with filters: larger ones are encoded and decoded here, beside each other
_MOST = 1 << 20  # chunks whose places are kept, 8 bytes each


def is_small(size: int, coded: bool) -> bool:
    """Is a chunk of so many bytes left to the library?"""
    return size < (_CODED if coded else _PLAIN)


def _type(dataset: Any) -> Any:
    from h5py import h5t

    return h5t.py_create(dataset.dtype, logical=True)


def has_its_dtype(dataset: Any) -> bool:
    """Are the elements in the file as NumPy has them? Integers of fewer bits than their bytes have, for instance, are not."""
    return dataset.id.get_type().equal(_type(dataset))


def is_as_on_disk(dataset: Any) -> bool:
    """Is the dataset in one file of the system, of which nothing waits in the library to be written?"""
    from h5py import h5f

    file = dataset.file
    return file.driver == "sec2" and file.userblock_size == 0 and file.id.get_intent() == h5f.ACC_RDONLY


def places_of(dataset: Any, grid: Grid, size: int) -> numpy.ndarray | None:
    """Where the file has each chunk of the grid, -1 for one that it does not have. None: there are too many, or some
    have not `size` bytes."""
    if len(grid) > _MOST or not hasattr(dataset.id, "chunk_iter"):
        return None
    places = numpy.full(grid.counts, -1, "i8")
    flat, whole = places.reshape(-1), True
    weights = [math.prod(grid.counts[axis + 1 :]) for axis in range(len(grid.counts))]
    axes = list(zip(grid.step, weights, strict=True))

    def found(chunk: Any) -> None:
        nonlocal whole
        whole = whole and chunk.size == size
        number = 0
        for at, (step, weight) in zip(chunk.chunk_offset, axes, strict=True):
            number += at // step * weight
        flat[number] = chunk.byte_offset

    dataset.id.chunk_iter(found)
    return places if whole else None


def read_at(path: str, places: numpy.ndarray, size: int, kept: direct.Kept) -> numpy.ndarray | None:
    """The `size` bytes at each of the places, in their order. None: some are not there.

    They may be where they are until this thread reads again, and take at most three times their bytes.
    """
    flat = places.reshape(-1)
    if flat.min() < 0:
        return None
    order = flat.argsort(kind="stable")
    ordered = flat[order]
    # What lies together is read at once, with gaps of a chunk at most.
    begins = numpy.flatnonzero(numpy.diff(ordered, prepend=-2 * size - 1) > 2 * size)
    starts = ordered[begins]
    lengths = ordered[numpy.append(begins[1:], flat.size) - 1] + size - starts
    ends = lengths.cumsum()
    room = kept.take(int(ends[-1]))
    view, cuts = memoryview(room), [0, *ends.tolist()]
    direct.read(path, map(view.__getitem__, map(slice, cuts, cuts[1:])), starts.tolist(), False)
    found = numpy.empty_like(flat)
    found[order] = ordered - numpy.repeat(starts - ends + lengths, numpy.diff(begins, append=flat.size))
    if numpy.array_equal(found, numpy.arange(flat.size) * size):
        return room
    return numpy.lib.stride_tricks.sliding_window_view(room, size)[found].reshape(-1)


def _spaces(dataset: Any, box: Box) -> tuple[Any, Any]:
    from h5py import h5s

    inside = dataset.id.get_space()
    if box.shape == dataset.shape:  # of all elements the library knows at once which are in which chunk
        return inside, inside
    inside.select_hyperslab(box.start, box.shape)
    return h5s.create_simple(box.shape), inside


def read(dataset: Any, box: Box, values: numpy.ndarray) -> None:
    """The elements of `box` go into `values`, which has the dataset's dtype."""
    dataset.id.read(*_spaces(dataset, box), values, _type(dataset))


def write(dataset: Any, box: Box, values: numpy.ndarray) -> None:
    """The elements of `box`, of the dataset's dtype."""
    dataset.id.write(*_spaces(dataset, box), numpy.ascontiguousarray(values), _type(dataset))
