"""What `cornerturn.rechunk` reads: zarr, HDF5, netCDF, .npy and dask, all of them piece by piece."""

from __future__ import annotations

import math
import os
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy

from cornerturn._arrays import shown
from cornerturn._chunks import direct, hdf5_chunks, marks, metadata, metadata_hdf5
from cornerturn._chunks.boxes import Box, Extents, Grid, together
from cornerturn._chunks.chunk_files import ChunkFiles, chunk_files
from cornerturn._chunks.metadata import Meaning

_PIECE = 16 << 20  # bytes of a file without chunks that are mapped at a time
_TOGETHER = 4 << 20  # bytes of chunks that zarr is asked for at a time: it reads them side by side
_PAGE = 4096
_LOOKING = threading.Lock()  # one thread looks for the places of chunks, and the others wait for it


class Source:
    """An array that is read in boxes. It can be pickled where other processes can open it."""

    whole = False  # are pieces computed when they are read?
    beside = False  # does it take no more memory to read several pieces at a time?
    reads_into = False  # can it be read into an array that is given?
    fastest = -1  # the axis along which the elements of the target lie together
    local = False  # does it live in the memory of this process?
    marks = 0  # how many entries at the end of its identity are another after a change of single chunks

    def __init__(self, name: str, shape: Extents, dtype: Any, chunks: Extents):
        self.name, self.shape, self.chunks = name, tuple(shape), tuple(chunks)
        self.dtype = _moveable(numpy.dtype(dtype), name)

    @property
    def overhead(self) -> int:
        """A chunk as it is stored, as it is decoded, and as it is returned."""
        return 3 * math.prod(self.chunks) * self.dtype.itemsize

    @property
    def unit(self) -> Extents:
        """The extents of what is read at a time; less of it costs as much."""
        return self.chunks

    def pieces(self, box: Box) -> Iterator[Box]:
        """`box` in the pieces in which it is read."""
        grid = Grid(self.shape, self.chunks)
        return (grid.box(index).common(box) for index in grid.meeting(box))

    def read(self, box: Box) -> numpy.ndarray:
        raise NotImplementedError

    def read_into(self, box: Box, array: numpy.ndarray) -> None:
        """`box` goes into an array of its shape, where `reads_into` says that this can be done."""
        raise NotImplementedError

    def paths(self) -> list[str]:
        """The files and folders that it is read from, where they are known."""
        return []

    def identity(self) -> list[Any]:
        """What says whether a source is the one that an interrupted run has read."""
        return [self.name, list(self.shape), str(self.dtype), list(self.chunks)]

    def meaning(self) -> Meaning:
        """What its elements mean."""
        return Meaning()


def _moveable(dtype: numpy.dtype, name: str) -> numpy.dtype:
    if dtype.hasobject or dtype.kind == "T" or dtype.itemsize == 0:
        raise TypeError(f"source = {name} holds {dtype}: its elements are references, which have no place in a chunk")
    return dtype


class FileSource(Source):
    """An array that lies in memory, or in a .npy file, without chunks."""

    def __init__(self, name: str, array: Any, path: str | None):
        row = max(1, _PAGE // max(array.dtype.itemsize, 1))
        order = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
        chunks = [min(row, max(n, 1)) if k == order[-1] else 1 for k, n in enumerate(array.shape)]
        super().__init__(name, array.shape, array.dtype, tuple(chunks))
        self.path, self.slowest = path, order
        self.array = array if path is None else None
        self.local = path is None

    @property
    def overhead(self) -> int:
        return _PIECE

    def pieces(self, box: Box) -> Iterator[Box]:
        # In slabs along the axes that are slowest in memory.
        bytes_left, step = self.dtype.itemsize, list(box.shape)
        for axis in reversed(self.slowest):
            step[axis] = max(1, min(step[axis], _PIECE // max(bytes_left, 1)))
            bytes_left *= step[axis]
        grid = Grid(box.shape, tuple(step))
        for index in grid.meeting(Box((0,) * len(step), box.shape)):
            part = grid.box(index)
            moved = [tuple(a + b for a, b in zip(at, box.start, strict=True)) for at in part]
            yield Box(*moved)

    def read(self, box: Box) -> numpy.ndarray:
        # Mapped anew for each piece: what was read does not count as memory of the process for long.
        array = numpy.load(self.path, mmap_mode="r") if self.path is not None else self.array
        return array[box.slices]

    def paths(self) -> list[str]:
        mapped = getattr(self.array, "filename", None)  # of an array that NumPy maps
        return [os.fspath(path) for path in (self.path, mapped) if path is not None]

    def identity(self) -> list[Any]:
        return [*super().identity(), *(marks.of_file(self.path) if self.path else marks.of_values(self))]


class ZarrSource(Source):
    """An array of zarr. Chunks that are plain files are read here, others by zarr, several small ones at once."""

    def __init__(self, name: str, array: Any):
        self._array = array
        self.local = type(array.store).__name__ == "MemoryStore"
        # Other processes open it anew: chunks that a process cannot see would be fill values for it.
        root = getattr(array.store, "root", None) if type(array.store).__name__ == "LocalStore" else None
        self.place = None if root is None else (os.path.abspath(root), array.path)
        self.marks = 0 if root is None else 2
        super().__init__(name, array.shape, array.dtype, tuple([max(c, 1) for c in array.chunks]))
        from cornerturn.zarr import prototype_for

        self.prototype = prototype_for(array)
        self._files = chunk_files(array)
        self.plain = self.beside = self._files is not None
        self.step = together(self.chunks, self.shape, _TOGETHER // self.dtype.itemsize)

    @property
    def array(self) -> Any:
        if self._array is None and self.place is not None:
            import zarr

            self._array = zarr.open_array(self.place[0], path=self.place[1] or None, mode="r")
        return self._array

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_array": self._array if self.place is None else None, "_files": None}

    def paths(self) -> list[str]:
        return [] if self.place is None else [os.path.join(*self.place) if self.place[1] else self.place[0]]

    def identity(self) -> list[Any]:
        if self.place is not None:
            return [*super().identity(), *marks.of_folder(self.paths()[0])]  # two of them
        packed = getattr(self.array.store, "path", None)  # of a store in one file
        return [*super().identity(), *(marks.of_file(packed) if packed and os.path.isfile(packed) else [])]

    @property
    def files(self) -> ChunkFiles | None:
        if self.plain and self._files is None:
            self._files = chunk_files(self.array)
        return self._files

    @property
    def unit(self) -> Extents:
        return self.chunks if self.files is None else self.files.unit

    @property
    def overhead(self) -> int:
        return _PIECE if self.plain else 3 * math.prod(self.step) * self.dtype.itemsize

    def pieces(self, box: Box) -> Iterator[Box]:
        if self.files is not None:
            return self.files.pieces(box, self.fastest)
        grid = Grid(self.shape, self.step)
        return (grid.box(index).common(box) for index in grid.meeting(box))

    def read(self, box: Box) -> numpy.ndarray:
        values = self.files.read(box, self.fastest) if self.files is not None else None
        if values is not None:
            return values
        return numpy.asarray(self.array.get_basic_selection(box.slices, prototype=self.prototype))

    def meaning(self) -> Meaning:
        found = metadata.of_zarr(self.array)
        return with_scales(found, self._coordinate)

    def _coordinate(self, name: str) -> Source | None:
        """The array beside this one that has the name of a dimension and lies along it."""
        import zarr

        folder, _, own = self.array.path.rpartition("/")
        if name == own or not own or "/" in name:
            return None
        try:
            found = zarr.open_array(self.array.store, path=f"{folder}/{name}".strip("/"), mode="r")
        except (OSError, KeyError, ValueError, TypeError):
            return None
        along = metadata.of_zarr(found).names == (name,) and found.shape[0] in self.shape
        return ZarrSource(str(found.store_path), found) if along else None


class Hdf5Source(Source):
    """A dataset of HDF5. Chunks without filters are read from their places in the file, those with gzip and shuffle as
    they are stored, and are decoded here, since all calls of the library itself wait for each other. Many small chunks are
    read together, which costs less than a call for each of them."""

    _kept = direct.Kept()

    def __init__(self, path: str, key: str):
        self.path, self.key = path, key
        dataset = self._dataset()
        if dataset.shape is None:
            raise TypeError(f"source = {path}::{key} is empty: HDF5 has a dtype for it, and neither shape nor elements")
        chunks = dataset.chunks or rows(dataset.shape, dataset.dtype.itemsize)
        super().__init__(f"{path}::{key}", dataset.shape, dataset.dtype, chunks)
        plist = dataset.id.get_create_plist()
        filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
        size = math.prod(self.chunks) * self.dtype.itemsize
        self.filters = filters
        self.small = dataset.chunks is not None and hdf5_chunks.is_small(size, bool(filters))
        raw = dataset.chunks is not None and hdf5_chunks.has_its_dtype(dataset)
        self.direct = raw and not self.small and filters in ([], [1], [2, 1])  # shuffle 2, gzip 1
        self.plain = raw and not filters and hdf5_chunks.is_as_on_disk(dataset)
        self.reads_into = not self.plain and (self.small or not filters)
        # Read from their places, they are there as the file has them, with gaps, in order, and as an array: within what
        # every task is granted.
        most = (hdf5_chunks.TOGETHER // (4 if self.plain else 1)) if self.small else 0
        self.step = together(self.chunks, self.shape, most // self.dtype.itemsize)

    def _dataset(self) -> Any:
        import h5py

        dataset = getattr(self, "_open", None)
        if dataset is None:
            dataset = self._open = h5py.File(self.path, "r")[self.key]
        return dataset

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_open", "_found")}

    @property
    def overhead(self) -> int:
        return max(super().overhead, math.prod(self.step) * self.dtype.itemsize)

    def pieces(self, box: Box) -> Iterator[Box]:
        grid = Grid(self.shape, together(self.chunks, box.shape, math.prod(self.step)) if self.small else self.chunks)
        return (grid.box(index).common(box) for index in grid.meeting(box))

    def read(self, box: Box) -> numpy.ndarray:
        if self.plain and (found := self._read_plain(box)) is not None:
            return found
        dataset = self._dataset()
        if self.small:
            values = numpy.empty(box.shape, self.dtype)
            hdf5_chunks.read(dataset, box, values)
            return values
        if not self.direct:
            return dataset[box.slices]
        start = tuple([a // c * c for a, c in zip(box.start, self.chunks, strict=True)])
        outer = Box(start, tuple([a + c for a, c in zip(start, self.chunks, strict=True)]))
        try:
            skipped, stored = dataset.id.read_direct_chunk(start)
        except (RuntimeError, OSError):  # it was never written, or the library says what is wrong
            return dataset[box.slices]
        return self._decoded(skipped, stored).reshape(self.chunks)[box.within(outer)]

    def _places(self) -> numpy.ndarray | None:
        with _LOOKING:
            if not hasattr(self, "_found"):
                size = math.prod(self.chunks) * self.dtype.itemsize
                self._found = hdf5_chunks.places_of(self._dataset(), Grid(self.shape, self.chunks), size)
            return self._found

    def _read_plain(self, box: Box) -> numpy.ndarray | None:
        """The elements of a box, of chunks that are read from their places; None where the library has to read them.
        They may be where they are until this thread reads again."""
        places = self._places()
        if places is None:
            return None
        cut = zip(box.start, box.stop, self.chunks, strict=True)
        inside = places[tuple([slice(start // step, -(-stop // step)) for start, stop, step in cut])]
        read = hdf5_chunks.read_at(self.path, inside, math.prod(self.chunks) * self.dtype.itemsize, self._kept)
        if read is None:
            return None
        rank, begin = len(self.chunks), tuple([start // step * step for start, step in zip(box.start, self.chunks, strict=True)])
        end = tuple([a + n * step for a, n, step in zip(begin, inside.shape, self.chunks, strict=True)])
        outer = Box(begin, end)
        values = read.view(self.dtype).reshape(*inside.shape, *self.chunks)
        order = [axis for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for axis in pair]
        return values.transpose(order).reshape(outer.shape)[box.within(outer)]

    def read_into(self, box: Box, array: numpy.ndarray) -> None:
        hdf5_chunks.read(self._dataset(), box, array)

    def _decoded(self, skipped: int, stored: bytes) -> numpy.ndarray:
        values = numpy.frombuffer(stored, "u1")
        for i in reversed(range(len(self.filters))):
            if skipped >> i & 1:
                continue
            if self.filters[i] == 1:
                values = numpy.frombuffer(zlib.decompress(values), "u1")
            else:
                size = self.dtype.itemsize
                values = numpy.ascontiguousarray(values.reshape(size, -1).T).reshape(-1)
        return values.view(self.dtype)

    def paths(self) -> list[str]:
        return [self.path]

    def identity(self) -> list[Any]:
        return [*super().identity(), *marks.of_file(self.path)]

    def meaning(self) -> Meaning:
        dataset = self._dataset()
        scales = [dimension[0] for dimension in dataset.dims if len(dimension)] if not metadata_hdf5.is_scale(dataset) else []
        paths = {each.name.rsplit("/", 1)[-1]: each.name for each in scales if not metadata_hdf5.is_bare_dimension(each)}
        return with_scales(
            metadata_hdf5.of_hdf5(dataset), lambda name: Hdf5Source(self.path, paths[name]) if name in paths else None
        )


class DaskSource(Source):
    whole = True

    def __init__(self, array: Any):
        if any(math.isnan(n) for n in array.shape):
            raise ValueError(f"source has the shape {array.shape}: its chunks have to be known")
        largest = tuple([max(sizes, default=1) for sizes in array.chunks])
        regular = all(set(sizes[:-1]) <= {most} for sizes, most in zip(array.chunks, largest, strict=True))
        self.array = array if regular else array.rechunk(largest)
        super().__init__(f"dask array {array.name}", array.shape, array.dtype, tuple([max(n, 1) for n in largest]))

    def read(self, box: Box) -> numpy.ndarray:
        return numpy.asarray(self.array[box.slices].compute(scheduler="synchronous"))


class Letters:
    """Strings of one length, which HDF5 does not have, in the form of an array of strings of any length."""

    def __init__(self, source: Source):
        self._source, self.shape, self.chunks = source, source.shape, source.chunks

    def __getitem__(self, slices: tuple[slice, ...]) -> numpy.ndarray:
        return self._source.read(Box(tuple([each.start for each in slices]), tuple([each.stop for each in slices])))


def rows(shape: Extents, itemsize: int) -> Extents:
    """Pieces of a dataset without chunks."""
    chunks, left = [], _PIECE // max(itemsize, 1)
    for extent in reversed(shape):
        chunks.append(max(1, min(extent, left)))
        left //= chunks[-1]
    return tuple(reversed(chunks))


def with_scales(meaning: Meaning, find: Callable[[str], Source | None]) -> Meaning:
    """With the coordinates along those dimensions that have a name."""
    scales, lost = {}, list(meaning.lost)
    for name in filter(None, meaning.names):
        try:
            found = find(name)
        except TypeError as error:  # of strings
            lost.append(f"the coordinates {name} ({error})")
            continue
        if found is not None and len(found.shape) == 1:
            scales[name] = found
    return replace(meaning, scales=scales, lost=tuple(lost))


def open_source(source: Any) -> Source:
    """The array that `source` is, or names."""
    zarr, h5py, dask = (sys.modules.get(name) for name in ("zarr", "h5py", "dask.array"))
    if isinstance(source, Source):
        return source
    if zarr is not None and isinstance(source, zarr.Array):
        return ZarrSource(str(source.store_path), source)
    if h5py is not None and isinstance(source, h5py.Dataset):
        return Hdf5Source(source.file.filename, source.name)
    if dask is not None and isinstance(source, dask.Array):
        return DaskSource(source)
    if isinstance(source, numpy.ndarray):
        return FileSource("an array in memory", source, None)
    if isinstance(source, (str, os.PathLike)):
        return _open_path(os.fspath(source))
    if type(source).__module__.partition(".")[0] == "xarray":
        from cornerturn._chunks.xarray_source import array_of_xarray, is_of_xarray

        if is_of_xarray(source):
            return array_of_xarray(source)
    raise TypeError(
        f"source = {shown(source)} is none of: a path, a zarr array, a dataset of HDF5, a dask array, an array of NumPy, "
        "a DataArray or a Dataset of xarray"
    )


def _open_path(text: str) -> Source:
    path, _, key = text.partition("::")
    if "://" in path or os.path.isdir(path):
        return _open_zarr(path, key)
    if not os.path.exists(path):
        raise FileNotFoundError(f"source = {text!r} does not exist")
    with open(path, "rb") as file:
        begin = file.read(8)
    why = marks.half_transposed(path)
    if why is not None:
        raise ValueError(f"source = {text!r} {why}")
    if begin[:6] == b"\x93NUMPY":
        try:
            array = numpy.load(path, mmap_mode="r")
        except ValueError as error:
            raise TypeError(f"source = {text!r}: {error}") from None
        return FileSource(path, array, os.path.abspath(path))
    if begin[:4] in (b"CDF\x01", b"CDF\x02", b"CDF\x05"):
        from cornerturn._chunks.netcdf_source import open_netcdf

        return open_netcdf(path, key)
    return _open_hdf5(path, key)


def _open_zarr(path: str, key: str) -> Source:
    import zarr

    try:
        found = zarr.open(path, path=key or None, mode="r")
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        message = " ".join(str(error).split())
        raise ValueError(f"source = {path + ('::' + key) * bool(key)!r} is no zarr array that can be read: {message}") from None
    if isinstance(found, zarr.Array):
        return ZarrSource(str(found.store_path), found)
    names = [name for name, _ in found.arrays()]
    if len(names) == 1:
        return _open_zarr(path, f"{key}/{names[0]}".strip("/"))
    raise ValueError(f"source = {path!r} is a group: name one of its arrays, {path}::NAME, of {', '.join(names) or 'none'}")


def _holds_values(item: Any) -> bool:
    import h5py

    return isinstance(item, h5py.Dataset) and not metadata_hdf5.is_bare_dimension(item)


def _open_hdf5(path: str, key: str) -> Source:
    import h5py

    if not h5py.is_hdf5(path):
        raise ValueError(f"source = {path!r} is neither a zarr array nor a file of HDF5, netCDF or .npy")
    with h5py.File(path, "r") as file:  # open until the source has it open: the library then shares it
        if not key or not isinstance(file.get(key), h5py.Dataset):
            names: list[str] = []
            file.visititems(lambda name, item: names.append(name) if _holds_values(item) else None)
            if key or len(names) != 1:
                raise ValueError(f"source = {path!r}: name one of its datasets, {path}::NAME, of {', '.join(names) or 'none'}")
            key = names[0]
        return Hdf5Source(os.path.abspath(path), key)
