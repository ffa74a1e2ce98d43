"""zarr: arrays that are stored transposed or in F order are read and written fast.

After `cornerturn.zarr.enable()` zarr-python moves the elements of chunks through Cornerturn. It does so too where
its own configuration names NDBuffer and Pipeline. What is stored stays the same to the byte, and so do all results.
Arrays of versions 2 and 3 of the format, sharded or not, gain from it wherever the order of a chunk differs from
that of the array that it belongs to. So do xarray, dask and anndata, which read and write by zarr-python.
"""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import numpy
import zarr
import zarr.registry
from zarr.codecs import sharding
from zarr.codecs._v2 import V2Codec
from zarr.core.buffer import BufferPrototype, cpu, default_buffer_prototype
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.storage import LocalStore, StorePath

from cornerturn import _core

__all__ = ["NDBuffer", "Pipeline", "disable", "enable"]

_SMALL = 4096  # bytes: NumPy moves less sooner than a call of another library begins


def _move(target: numpy.ndarray, source: numpy.ndarray) -> bool:
    """target[...] = source, where Cornerturn is the one to do it. It says whether it has done it."""
    if target.shape != source.shape or target.nbytes < _SMALL or target.dtype.hasobject:
        return False
    if type(target) is not numpy.ndarray or type(source) is not numpy.ndarray:
        return False
    if source.dtype.kind == "T":
        return False
    order = range(source.ndim)
    if target.dtype == source.dtype:
        return _core.quick_transpose(source, tuple(order), target) is not None
    if target.dtype.kind in "iufc" and target.dtype == source.dtype.newbyteorder():
        # The bytes go to their places as they are, and are swapped where they lie.
        moved = _core.quick_transpose(source, tuple(order), target.view(source.dtype)) is not None
        if moved:
            target.byteswap(inplace=True)
        return moved
    return False


def _is_basic(key: Any) -> bool:
    """Does NumPy answer this index with a view?"""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is Ellipsis or part is None or isinstance(part, (slice, int, numpy.integer)) and part is not True
        and part is not False
        for part in parts
    )


class NDBuffer(cpu.NDBuffer):
    """zarr's own buffer in host memory, whose elements are moved by Cornerturn."""

    def __setitem__(self, key: Any, value: Any) -> None:
        source = value._data if isinstance(value, cpu.NDBuffer) else value
        if isinstance(source, numpy.ndarray) and source.nbytes >= _SMALL and _is_basic(key):
            target = self._data[key]
            if isinstance(target, numpy.ndarray) and _move(target, source):
                return
        super().__setitem__(key, value)

    def transpose(self, axes: Any) -> NDBuffer:
        return Transposed(self._data.transpose(axes))

    def all_equal(self, other: Any, equal_nan: bool = True) -> bool:
        # zarr asks whether a chunk holds nothing but its fill value. Mostly the first element says no.
        data = self._data
        if data.size > 1 and other is not None and not data.dtype.hasobject and data.dtype.kind != "T":
            first = type(self)(data[(slice(0, 1),) * data.ndim])
            if not first.all_equal(other, equal_nan):
                return False
        return super().all_equal(other, equal_nan)


class Transposed(NDBuffer):
    """What zarr's transpose codec made: a view, which is packed where an encoder asks for its array."""

    def as_ndarray_like(self) -> Any:
        data = self._data
        if not data.flags.c_contiguous and data.nbytes >= _SMALL:
            packed = numpy.empty(data.shape, data.dtype)
            if _move(packed, data):
                self._data = packed
        return self._data


class ChunkFile:
    """A chunk of a store in the file system. Where it is asked for as a whole, its bytes are read into an
    array of NumPy: large ones begin with huge pages, which bytes of Python do not, and to take memory
    page by page costs more than to read."""

    def __init__(self, path: StorePath) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._path, name)

    async def get(self, prototype: Any = None, byte_range: Any = None) -> Any:
        store = self._path.store
        if byte_range is not None or prototype is None or not store._is_open:
            return await self._path.get(prototype, byte_range)
        try:
            data = await asyncio.to_thread(_contents, store.root / self._path.path)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None  # as zarr's own store says that there is no such chunk
        return prototype.buffer.from_array_like(data)


def _contents(path: Path) -> numpy.ndarray:
    with path.open("rb", buffering=0) as file:
        data = numpy.empty(os.fstat(file.fileno()).st_size, "u1")
        done = 0
        while done < data.size:
            read = file.readinto(memoryview(data)[done:])
            if not read:
                break
            done += read
        return data[:done]


class Pipeline(BatchedCodecPipeline):
    """zarr's own pipeline, which puts whole chunks of version 2 in F order by Cornerturn, and reads files
    of chunks into memory that NumPy takes."""

    @classmethod
    def from_codecs(cls, *args: Any, **kwargs: Any) -> Pipeline:
        _read_index_by_configuration()
        return super().from_codecs(*args, **kwargs)

    async def read_batch(self, batch_info: Any, *args: Any, **kwargs: Any) -> Any:
        if self.supports_partial_decode:  # shards, of which parts are read
            return await super().read_batch(batch_info, *args, **kwargs)
        batch = [
            (ChunkFile(path), *rest) if type(path) is StorePath and type(path.store) is LocalStore else (path, *rest)
            for path, *rest in batch_info
        ]
        return await super().read_batch(batch, *args, **kwargs)

    async def encode_batch(self, chunk_arrays_and_specs: Any) -> Any:
        batch = list(chunk_arrays_and_specs)
        if isinstance(self.array_bytes_codec, V2Codec):
            batch = [(_in_order(array, spec.order), spec) for array, spec in batch]
        return await super().encode_batch(batch)


def _in_order(buffer: Any, order: str) -> Any:
    """`buffer`, or a copy of it whose first axis is the fastest, where `order` is F."""
    if order != "F" or not isinstance(buffer, NDBuffer) or buffer._data.flags.f_contiguous:
        return buffer
    packed = numpy.empty(buffer.shape, buffer.dtype, order="F")
    return type(buffer)(packed) if _move(packed, buffer._data) else buffer


def prototype_for(array: Any) -> BufferPrototype | None:
    """What one call on `array` reads or writes by Cornerturn with; None where only `enable` does it."""
    if any(type(codec).__name__ == "ShardingCodec" for codec in array.async_array.codec_pipeline):
        return None  # shards take the prototype of zarr's configuration and no other
    return BufferPrototype(buffer=cpu.Buffer, nd_buffer=NDBuffer)


_NDBUFFER = f"{NDBuffer.__module__}.{NDBuffer.__qualname__}"
_PIPELINE = f"{Pipeline.__module__}.{Pipeline.__qualname__}"
_OWN = {"ndbuffer": "zarr.buffer.cpu.NDBuffer"}
_OWN["codec_pipeline.path"] = "zarr.core.codec_pipeline.BatchedCodecPipeline"
# A shard within a shard hands out bytes only to the buffers of zarr's configuration, and the index of
# shards is read by buffers that zarr names here.
_INDEX_PROTOTYPE = "numpy_buffer_prototype"
_of_index = vars(sharding).get(_INDEX_PROTOTYPE)


def _index_prototype() -> BufferPrototype:
    configured = default_buffer_prototype()
    return configured if configured.nd_buffer is NDBuffer else _of_index()


def _read_index_by_configuration() -> None:
    if _of_index is not None:
        setattr(sharding, _INDEX_PROTOTYPE, _index_prototype)


_lock = threading.Lock()
_users = 0
_before: dict[str, str] = {}  # what zarr's configuration held


class enable:
    """From this call on zarr-python moves the elements of chunks through Cornerturn.

    It holds for the whole process until `disable()` is called. As a context manager it ends with its
    block: `with cornerturn.zarr.enable(): ...`. Nothing that is stored changes, and no result does.
    Arrays that are open gain from it too, except that single chunks of version 2 in F order are written
    as before by arrays that were opened before. Other processes enable it by themselves: those of a
    cluster by `client.run(cornerturn.zarr.enable)`.

    Raises RuntimeError where zarr's configuration names other buffers than those in host memory, as
    after `zarr.config.enable_gpu()`.
    """

    def __init__(self) -> None:
        global _users
        with _lock:
            if _users == 0:
                _turn_on()
            _users += 1

    def __repr__(self) -> str:
        return f"<cornerturn.zarr.enable: {'on' if _users else 'off'}>"

    def __enter__(self) -> enable:
        return self

    def __exit__(self, *_: object) -> None:
        global _users
        with _lock:
            if _users > 0:
                _users -= 1
                if _users == 0:
                    _turn_off()


def disable() -> None:
    """zarr-python moves the elements of chunks by itself again, however often it was enabled.

    Its configuration is what it was before. Nothing happens where it is off.
    """
    global _users
    with _lock:
        if _users > 0:
            _users = 0
            _turn_off()


def _turn_on() -> None:
    found = zarr.config.get("ndbuffer")
    if found not in (_NDBUFFER, _OWN["ndbuffer"], "zarr.core.buffer.cpu.NDBuffer"):
        raise RuntimeError(f"zarr's ndbuffer is {found}: Cornerturn is for buffers in host memory")
    zarr.registry.register_ndbuffer(NDBuffer)
    zarr.registry.register_pipeline(Pipeline)
    _before["ndbuffer"] = found
    wanted = {"ndbuffer": _NDBUFFER}
    # Another pipeline than zarr's own, as that of zarrs, stays.
    if zarr.config.get("codec_pipeline.path") == _OWN["codec_pipeline.path"]:
        _before["codec_pipeline.path"] = _OWN["codec_pipeline.path"]
        wanted["codec_pipeline.path"] = _PIPELINE
    zarr.config.set(wanted)
    _read_index_by_configuration()


def _turn_off() -> None:
    ours = {"ndbuffer": _NDBUFFER, "codec_pipeline.path": _PIPELINE}
    for name, value in _before.items():
        if zarr.config.get(name) == ours[name]:  # unless the program has chosen another since
            zarr.config.set({name: value})
    _before.clear()
    if _of_index is not None and zarr.config.get("ndbuffer") != _NDBUFFER:
        setattr(sharding, _INDEX_PROTOTYPE, _of_index)
