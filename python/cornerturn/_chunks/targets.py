"""What `cornerturn.rechunk` writes: zarr, HDF5 and .npy."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import zlib
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy

from cornerturn._arrays import shown
from cornerturn._chunks import hdf5_chunks
from cornerturn._chunks.boxes import Box, Extents, Grid, together
from cornerturn._chunks.chunk_files import ChunkFiles, chunk_files
from cornerturn._chunks.metadata import Meaning
from cornerturn._chunks.metadata_hdf5 import create_dataset

_CODED = 1.25  # an encoded chunk and what its encoder takes beside it, in bytes of the chunk
# Attributes of more than 64 KiB need what version 1.8 has brought, and netCDF asks for the order of all items.
_FORMAT: dict[str, Any] = dict(libver=("v108", "latest"), track_order=True)
_RUN = 16 << 10  # bytes that are worth a call of the system
_CODECS = ("none", "gzip", "zstd", "lz4", "blosc", "crc32c")


class Target:
    """An array that is written in whole chunks, at a path that exists only while it is written."""

    @property
    def beside(self) -> bool:
        """Does it take no more memory to write several chunks at a time?"""
        return False


    def __init__(self, path: str, shape: Extents, dtype: numpy.dtype, chunks: Extents, codec: Any):
        self.path, self.shape, self.dtype, self.chunks, self.codec = path, shape, dtype, chunks, codec
        self.group = 0  # bytes that are put aside for what is written at a time

    @property
    def overhead(self) -> int:
        """A chunk that is encoded, and one at an end of the array that is filled up."""
        sides = zip(self.shape, self.chunks, strict=True)
        ragged = max([n % chunk / chunk for n, chunk in sides if chunk], default=0)
        factor = ragged + _CODED * (self.codec != "none")
        return max(int(factor * math.prod(self.chunks) * self.dtype.itemsize), self.group)

    def create(self) -> None:
        raise NotImplementedError

    def write(self, box: Box, values: numpy.ndarray) -> None:
        raise NotImplementedError

    @contextlib.contextmanager
    def unnamed(self, path: str) -> Iterator[None]:
        """The array is made, and then is, in a file that is there, has no name, and is this process's alone."""
        self.path = path
        self.create()
        yield

    def step(self, box: Extents) -> Extents:
        """The extents of the arrays that are written."""
        return self.chunks


class NpyTarget(Target):
    def create(self) -> None:
        numpy.lib.format.open_memmap(self.path, "w+", self.dtype, self.shape)
        with open(self.path, "r+b") as file, contextlib.suppress(AttributeError):
            # The room is taken now: a write into a map of a full disk would end the process.
            os.posix_fallocate(file.fileno(), 0, max(os.fstat(file.fileno()).st_size, 1))

    def step(self, box: Extents) -> Extents:
        return box

    def write(self, box: Box, values: numpy.ndarray) -> None:
        mapped = numpy.load(self.path, mmap_mode="r+")
        first, strides = self._first_whole(box), mapped.strides
        begin = mapped.offset + sum(map(int.__mul__, box.start, strides))
        if math.prod(values.shape[first:]) * values.itemsize < _RUN:
            mapped[box.slices] = values
            return
        with open(self.path, "r+b", buffering=0) as file:  # a map would take a fault of the processor for each new page
            for index in product(*map(range, values.shape[:first])):
                run = memoryview(values[index].reshape(-1).view("u1"))
                _write_at(file.fileno(), run, begin + sum(map(int.__mul__, index, strides)))

    def _first_whole(self, box: Box) -> int:
        """The first axis from which on the elements of `box` lie together in the file."""
        axis = max(len(self.shape) - 1, 0)
        while axis and box.shape[axis] == self.shape[axis]:
            axis -= 1
        return axis


def _write_at(file: int, left: memoryview, at: int) -> None:
    while left:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done


class ZarrTarget(Target):
    """An array of zarr. The codecs, and what else is known of it, are options of `zarr.create_array`."""

    def __init__(self, path: Any, shape: Extents, dtype: numpy.dtype, chunks: Extents, codec: Any, options: Any):
        super().__init__(path, shape, dtype, chunks, codec)
        self.options = options
        self._array: Any = None
        self._files: ChunkFiles | None = None

    def create(self) -> None:
        import zarr

        self._array = zarr.create_array(self.path, shape=self.shape, dtype=self.dtype, **self.options)
        if zarr.open_array(self.path, mode="r").dtype != self.dtype:
            raise TypeError(f"target: zarr would keep {self.dtype} as another type, with other values: name a dtype")

    def opened(self) -> Any:
        import zarr

        if self._array is None:
            self._array = zarr.open_array(self.path, mode="r+")
        if self._files is None:
            self._files = chunk_files(self._array)
        return self._array

    @property
    def beside(self) -> bool:
        self.opened()
        return self._files is not None and self.overhead == 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_array": None, "_files": None}

    def _filled(self, values: numpy.ndarray, fill: Any) -> numpy.ndarray:
        """The whole chunk."""
        if values.shape == self.chunks:
            return values
        whole = numpy.full(self.chunks, fill, self.dtype)
        whole[tuple(map(slice, values.shape))] = values
        return whole

    def write(self, box: Box, values: numpy.ndarray) -> None:
        from cornerturn.zarr import prototype_for

        array = self.opened()
        # zarr does not store chunks that hold nothing but the fill value: where one may, it decides.
        fill = array.fill_value
        plain = self._files is not None and self._files.dtype == values.dtype
        if plain and fill is not None and values.flat[0] != fill:
            self._files.write(box, self._filled(values, fill))
            return
        array.set_basic_selection(box.slices, values, prototype=prototype_for(array))


class Hdf5Target(Target):
    """A dataset of HDF5. Chunks are encoded here and written as they are stored: only the writing waits
    for other threads. Small ones are left to the library, many in one call. The file is open for one call alone: a run
    that is killed between two of them leaves it whole."""

    def __init__(
        self, path: str, shape: Extents, dtype: numpy.dtype, chunks: Extents, codec: Any, key: str, meaning: Meaning
    ):
        super().__init__(path, shape, dtype, chunks, codec)
        self.key, self.meaning = key, meaning
        self.shared = False  # do several processes write to it?
        self._lock = threading.Lock()
        self._held: Any = None  # the file of a target without a name
        self.small = hdf5_chunks.is_small(math.prod(chunks) * dtype.itemsize, self.codec != "none") or not shape
        self.group = math.prod(self.step(shape)) * dtype.itemsize

    def step(self, box: Extents) -> Extents:
        return together(self.chunks, box, hdf5_chunks.TOGETHER // self.dtype.itemsize)

    def create(self) -> None:
        grows = None in self.meaning.limits
        whole = not self.shape or 0 in self.shape and not grows
        options: dict[str, Any] = dict(chunks=None if whole else self.chunks)
        if self.codec == "gzip" and not whole:
            options |= dict(compression="gzip", compression_opts=4)
        # The file may hold what else the target has.
        with self._opened("a") as file:
            above, _, name = self.key.rpartition("/")
            group = file.require_group(above) if above else file
            create_dataset(group, name, self.shape, self.dtype, self.meaning, **options)

    @contextlib.contextmanager
    def _opened(self, mode: str) -> Iterator[Any]:
        import h5py

        if self._held is not None:
            yield self._held
            return
        with h5py.File(self.path, mode, **(_FORMAT if mode == "a" else {})) as file:
            yield file

    @contextlib.contextmanager
    def unnamed(self, path: str) -> Iterator[None]:
        import h5py

        # The library opens no file without a name: the array is in memory until then, under a name that no other has.
        with h5py.File(os.urandom(8).hex(), "w", driver="core", backing_store=False, **_FORMAT) as self._held:
            self.create()
            yield
            self._held.flush()
            with open(path, "r+b", buffering=0) as file:
                _write_at(file.fileno(), memoryview(self._held.id.get_file_image()), 0)
        self._held = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "meaning": Meaning(fill=self.meaning.empty)}

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self.shared:
            with self._lock:
                yield
            return
        from distributed import Lock

        with Lock(f"cornerturn {self.path}"):
            yield

    def write(self, box: Box, values: numpy.ndarray) -> None:
        stored = [] if self.small else [(part.start, self._stored(values[part.within(box)])) for part in self._chunks_of(box)]
        with self._exclusive(), self._opened("r+") as file:
            dataset = file[self.key]
            if self.small:
                hdf5_chunks.write(dataset, box, values)
            for start, chunk in stored:
                dataset.id.write_direct_chunk(start, chunk)

    def _chunks_of(self, box: Box) -> Iterator[Box]:
        grid = Grid(self.shape, self.chunks)
        return (grid.box(index) for index in grid.meeting(box))

    def _stored(self, values: numpy.ndarray) -> bytes:
        """A chunk as the file has it."""
        if values.shape != self.chunks:
            filled = numpy.zeros(self.chunks, self.dtype)
            if self.meaning.empty is not None:
                filled[...] = self.meaning.empty
            filled[tuple(map(slice, values.shape))] = values
            values = filled
        stored = values.tobytes()
        return zlib.compress(stored, 4) if self.codec == "gzip" else stored


def _zarr_codec(name: str) -> Any:
    from zarr import codecs

    return {
        "none": None,
        "gzip": codecs.GzipCodec(level=5),
        "zstd": codecs.ZstdCodec(level=3),
        "lz4": codecs.BloscCodec(cname="lz4"),
        "blosc": codecs.BloscCodec(cname="zstd"),
        "crc32c": codecs.Crc32cCodec(),
    }[name]


def check_codec(codec: Any, kind: str, shards: Any) -> None:
    if codec is not None and codec not in _CODECS:
        raise ValueError(f"codec = {shown(codec)} is none of {', '.join(_CODECS)}")
    if kind != "zarr" and codec not in {"npy": (None, "none"), "hdf5": (None, "none", "gzip")}[kind]:
        said = "has no codecs" if kind == "npy" else "takes none and gzip"
        raise ValueError(f"codec = {shown(codec)}: a target of {'.npy' if kind == 'npy' else 'HDF5'} {said}")
    if kind != "zarr" and shards is not None:
        raise ValueError(f"shards = {shown(shards)}: shards are for targets of zarr")


def zarr_options(source: Any, meant: dict[str, Any], chunks: Extents, codec: Any, shards: Any) -> Any:
    """The options of `zarr.create_array`: what is `meant`, and of the source's own codecs what is still true."""
    options: dict[str, Any] = dict(chunks=chunks, zarr_format=3, **meant)
    if shards is not None:
        options["shards"] = shards
    if codec is not None:
        options["compressors"] = _zarr_codec(codec)
    elif type(source).__name__ == "ZarrSource" and source.array.metadata.zarr_format == 3:
        options["compressors"] = source.array.compressors or None
    return options


def make_target(
    kind: str, path: str, key: str, shape: Extents, dtype: Any, chunks: Extents, codec: Any, options: Any, meaning: Meaning
) -> Target:
    if kind == "npy":
        return NpyTarget(path, shape, dtype, chunks, "none")
    if kind == "hdf5":
        return Hdf5Target(path, shape, dtype, chunks, codec or "none", key, meaning)
    outer = options.get("shards") or chunks
    coded = "none" if "compressors" in options and not options["compressors"] else "some"
    return ZarrTarget(path, shape, dtype, tuple(outer), coded, options)


def chunk_grid(target: Target, box: Extents) -> Grid:
    return Grid(target.shape, target.step(box))
