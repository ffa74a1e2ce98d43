"""Small chunks of HDF5: many of them are read and written by one call of the library."""

from __future__ import annotations

from typing import Any

import numpy

from cornerturn._chunks.boxes import Box

TOGETHER = 1 << 20  # bytes of chunks in one call, which costs as much as to move about 10 KiB
_PLAIN = 256 << 10  # bytes of a chunk without filters from which on a call for each costs nothing
_CODED = 16 << 10  # bytes of one with filters: larger ones are encoded and decoded here, beside each other


def is_small(size: int, coded: bool) -> bool:
    """Is a chunk of so many bytes left to the library?"""
    return size < (_CODED if coded else _PLAIN)


def _spaces(dataset: Any, box: Box) -> tuple[Any, Any]:
    from h5py import h5s

    inside = dataset.id.get_space()
    if not box.shape:
        return inside, inside
    inside.select_hyperslab(box.start, box.shape)
    return h5s.create_simple(box.shape), inside


def read(dataset: Any, box: Box, values: numpy.ndarray) -> None:
    """The elements of `box`, byte by byte as the file has them, go into `values`."""
    dataset.id.read(*_spaces(dataset, box), values, dataset.id.get_type())


def write(dataset: Any, box: Box, values: numpy.ndarray) -> None:
    """The elements of `box`, byte by byte."""
    dataset.id.write(*_spaces(dataset, box), numpy.ascontiguousarray(values), dataset.id.get_type())
