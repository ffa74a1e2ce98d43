"""A call of `cornerturn.rechunk`: its arguments are checked, then its tasks are done, or done again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy

from cornerturn import _core
from cornerturn._arrays import axis_error, dtype_name, is_integer, order_of, shown
from cornerturn._chunks import metadata, metadata_hdf5, planning, replacing, runners, unnamed
from cornerturn._chunks.boxes import Extents
from cornerturn._chunks.place import place_of
from cornerturn._chunks.planning import RechunkPlan, Side
from cornerturn._chunks.record import CREATING, WORKING, Record
from cornerturn._chunks.sources import Source, open_source
from cornerturn._chunks.targets import Target, check_codec, make_target, zarr_options
from cornerturn._chunks.tasks import Job
from cornerturn._files import _bytes_of, _free_memory, _type_name

_RESERVE = 16 << 20  # bytes beside the arrays of all tasks: threads, and what codecs keep


class Prepared:
    """A plan, and the job that follows it."""

    def __init__(
        self, plan: RechunkPlan, job: Job, record: Record, said: dict[str, Any], cores: int, lost: list[str]
    ):
        self.plan, self.job, self.record, self.said, self.cores = plan, job, record, said, cores
        self.lost = lost  # what the target has no place for

    def run(self, client: Any, progress: Any, resume: bool, overwrite: bool) -> None:
        record, self.said = self.record, dict(source=self.job.source.identity(), **self.said)
        checked = not (resume and os.path.lexists(record.folder))
        if checked:
            replacing.check_present(record.place, overwrite)  # nothing is written where that fails
        with record.locked():
            if not record.step and unnamed.suits(record.place, self.job, client):
                with unnamed.opened(os.path.dirname(record.final)) as path:
                    if path is not None:
                        if not checked:
                            replacing.check_present(record.place, overwrite)
                        self._unnamed(path, progress, overwrite)
                        return
            if record.step and resume:
                changed = self._adopt(record.what)
                record.what["overwrite"] |= overwrite
                if changed and record.step in (CREATING, WORKING):
                    self._begin_anew(record.what["overwrite"])
            else:
                self._begin(overwrite)
            if record.step == CREATING:
                self._create()
            if record.step == WORKING:
                self._stages(client, progress, self._done())
            record.finish()

    def _unnamed(self, path: str, progress: Any, overwrite: bool) -> None:
        target, record = self.job.target, self.record
        old = replacing.identity(record.final)
        with target.unnamed(path):
            self._stages(None, progress, set(), keeps=False)
        unnamed.give_name(path, record, old, overwrite)

    def _begin(self, overwrite: bool) -> None:
        record = self.record
        replacing.check_present(record.place, overwrite)
        if record.step and not overwrite:
            raise FileExistsError(
                f"target = {record.place.name!r}: an interrupted run is in {record.folder!r}: resume=True goes on "
                "with it, overwrite=True begins anew"
            )
        self._begin_anew(overwrite)

    def _begin_anew(self, overwrite: bool) -> None:
        self.record.discard()
        self.record.begin({**self.said, "plan": self.plan.as_dict(), "overwrite": overwrite})

    def _create(self) -> None:
        try:
            self.record.create(self.job.target.create)
        except BaseException:
            self.record.discard()
            raise

    def _done(self) -> set[tuple[int, int]]:
        found, job = self.record.done(), self.job
        for stage, number in found:
            if stage >= len(job.stages) or number >= job.tasks(stage):
                raise self.record.refusal("has a damaged list 'done' of what is done")
        return found

    def _adopt(self, found: dict[str, Any]) -> bool:
        """The plan of the interrupted run, whose intermediate files have its boxes. Have chunks of the source changed
        since then, so that all has to be read again?"""
        source, mine = found.get("source"), json.loads(json.dumps(self.said["source"]))
        kept = len(mine) - self.job.source.marks
        changed = source != mine
        if changed and (not self.job.source.marks or not source or source[:kept] != mine[:kept]):
            raise ValueError(
                f"source = {self.job.source.name!r} is another one than the interrupted run has read, or has changed: "
                "resume=True goes on with the same only"
            )
        for name, value in self.said.items():
            if name != "source" and found.get(name) != json.loads(json.dumps(value)):
                raise ValueError(
                    f"{name} = {shown(value)} differs from that of the interrupted run, {shown(found.get(name))}: "
                    "resume=True goes on with the same only"
                )
        stages = tuple(
            planning.Stage(**{**stage, "box": tuple(stage["box"])}) for stage in found["plan"]["stages"]
        )
        needed = max([stage.memory for stage in stages], default=0)
        if needed > self.plan.memory:
            raise ValueError(
                f"memory = {planning.size(self.plan.memory)} is less than a task of the interrupted run needs, "
                f"{planning.size(needed)}"
            )
        threads = max(1, min(self.plan.threads, self.plan.memory // max(needed, 1)))
        self.job.stages = stages
        self.plan = RechunkPlan(**{**self.plan.__dict__, "stages": stages, "threads": threads})
        return changed

    def bytes_moved(self) -> int:
        return sum(self.job.tasks(stage) * self.job.weight(stage) for stage in range(len(self.job.stages)))

    def _stages(self, client: Any, progress: Any, done: set[tuple[int, int]], keeps: bool = True) -> None:
        job, total = self.job, self.bytes_moved()
        moved = sum(job.weight(stage) for stage, _ in done)
        told = 0.0

        def finished(stage: int, number: int) -> None:
            nonlocal moved, told
            if keeps:
                self.record.finish_task(stage, number)
            moved += job.weight(stage)
            now = time.monotonic()
            if progress is not None and (moved == total or now - told > 0.1):
                told = now
                progress(moved, total)

        for stage in range(len(job.stages)):
            numbers = [number for number in range(job.tasks(stage)) if (stage, number) not in done]
            if client is not None:
                runners.on_cluster(job, stage, numbers, client, finished)
            else:
                runners.on_threads(job, stage, numbers, self.plan.threads, self.cores, finished)


@dataclass(frozen=True)
class Aim:
    """Where an array is written while it is made, and what its target is called."""

    kind: str
    path: str
    key: str  # of the dataset in a file of HDF5
    shown: str
    leaf: str  # from which dimensions have their names where xarray needs some; "" where it does not
    pieces: str  # the folder of intermediate files
    netcdf: bool


def prepare(
    source: Any, target: Any, chunks: Any, axes: Any, dtype: Any, memory: Any, client: Any, threads: Any,
    codec: Any, shards: Any,
) -> Prepared:
    array = open_source(source)
    place = place_of(target)
    replacing.check_neighbours(place, array.paths())
    record, inner = Record(place), bool(place.groups())
    aim = Aim(
        place.kind, record.array, place.key, f"{place.root}::{place.key}" if inner else place.path,
        place.key.rpartition("/")[2] if inner else "", record.pieces, place.netcdf,
    )
    return prepare_array(array, aim, chunks, axes, dtype, memory, client, threads, codec, shards, record)


def prepare_array(
    array: Source, aim: Aim, chunks: Any, axes: Any, dtype: Any, memory: Any, client: Any, threads: Any,
    codec: Any, shards: Any, record: Record, coordinates: bool = True,
) -> Prepared:
    rank, meaning = len(array.shape), array.meaning()
    if not coordinates:  # they are variables like the others
        meaning = replace(meaning, scales={})
    order = order_of(metadata.axes_of(meaning.names, range(rank) if axes is None else axes, False), rank)
    shape = tuple([array.shape[axis] for axis in order])
    values, kind = _dtype(array, dtype), aim.kind
    check_codec(codec, kind, shards)
    source_chunks = tuple([min(array.chunks[axis], max(array.shape[axis], 1)) for axis in order])
    meaning = metadata.named(meaning.permuted(order).converted(array.dtype, values, array.name), aim.leaf, rank)
    cut = _chunks(chunks, shape, source_chunks, array, values, kind, meaning.names)
    sharded = None if shards is None else _shards(shards, cut, shape, meaning.names)
    options: dict[str, Any] = {}
    if kind == "zarr":
        if any(field.subdtype for field, *_ in (values.fields or {}).values()):
            raise TypeError(f"source = {array.name} holds {values}: zarr has no elements of which a field is an array")
        options, lost = metadata.for_zarr(meaning, values)
        options = zarr_options(array, options, cut, codec, sharded)
    elif kind == "hdf5":
        stored = metadata_hdf5.hdf5_dtype(values, aim.netcdf)
        meaning, lost = metadata_hdf5.hdf5_meaning(meaning, aim.key, values, aim.netcdf)
        values = stored
    else:
        lost = metadata.npy_losses(meaning)
    made = make_target(kind, aim.path, aim.key, shape, values, cut, codec, options, meaning)
    at_once = _at_once(client, threads, array, made)
    given = _memory(memory, client)
    limit = given - min(_RESERVE, given // 4)
    array.fastest = order[-1] if order else -1
    unit = tuple([min(array.unit[axis], max(array.shape[axis], 1)) for axis in order])
    sides = Side(unit, array.dtype.itemsize, array.overhead, array.whole), Side(
        made.chunks, values.itemsize, made.overhead
    )
    cores = 0 if client is None else sum(client.nthreads().values())
    number, stages = planning.choose(shape, *sides, limit, at_once, cores)
    if client is not None and number < at_once:  # a worker does as many tasks at a time as it has threads
        number, stages = at_once, planning.stages_of(shape, *sides, limit // at_once, cores) or ()
        if not stages and 0 not in shape:
            raise ValueError(planning.too_little(shape, *sides, limit // at_once))
    plan = RechunkPlan(array.name, aim.shown, shape, order, str(values), source_chunks, cut, number, given, stages)
    said = dict(axes=order, chunks=cut, dtype=str(values), codec=codec, shards=sharded, key=aim.key)
    return Prepared(plan, Job(array, made, order, stages, aim.pieces), record, said, at_once, lost)


def _dtype(source: Source, dtype: Any) -> numpy.dtype:
    native = source.dtype.newbyteorder("=")
    if dtype is None:
        return native
    name = _type_name(dtype)
    try:
        wanted = numpy.dtype(name)
    except TypeError:
        raise TypeError(f"dtype = {name} is none of NumPy's, so no array in chunks can have it") from None
    if wanted != native:
        try:
            _core.itemsize(dtype_name(native))
        except ValueError:
            raise TypeError(f"source = {source.name} holds {native}, which is not converted to {name}") from None
        if native.kind == "c" and wanted.kind != "c":
            raise TypeError(f"dtype = {name}: the complex values of source would lose their imaginary parts")
    return wanted


def _integers(name: str, given: Any, rank: int) -> list[int]:
    try:
        numbers = [index(n) for n in given]
    except TypeError:
        raise TypeError(f"{name} = {shown(given)} is not a sequence of integers") from None
    if any(isinstance(n, (bool, numpy.bool_)) for n in given):  # h5py and zarr choose chunks where they are told True
        raise TypeError(f"{name} = {shown(given)} is not of integers: None keeps the source's own")
    if len(numbers) != rank:
        raise ValueError(f"{name} = {shown(tuple(numbers))} has {len(numbers)} entries, the array has rank {rank}")
    return numbers


def _by_axes(chunks: Any) -> bool:
    return isinstance(chunks, Mapping) and bool(chunks) and all(map(is_integer, chunks))


def _as_dask_has_them(chunks: Any, shape: Extents, own: Extents) -> Any:
    """One number for all axes, numbers by axes, None for an axis that keeps its own, and all the extents of an axis."""
    if is_integer(chunks):
        return (chunks,) * len(shape)
    if isinstance(chunks, Mapping):
        axes = [index(axis) for axis in chunks]
        for axis in axes:
            if not -len(shape) <= axis < len(shape):
                raise axis_error(f"chunks = {shown(dict(chunks))}: axis {axis} is out of range for rank {len(shape)}")
        by_axis = {axis % len(shape): n for axis, n in zip(axes, chunks.values(), strict=True)}
        chunks = [by_axis.get(axis) for axis in range(len(shape))]
    if not isinstance(chunks, (list, tuple)) or len(chunks) != len(shape):
        return chunks
    return [own[k] if n is None else _regular(k, n, shape[k]) if isinstance(n, (list, tuple)) else n for k, n in enumerate(chunks)]


def _regular(axis: int, sizes: Any, extent: int) -> int:
    numbers = [index(n) for n in sizes]
    if sum(numbers) != extent or not numbers or any(n != numbers[0] for n in numbers[:-1]) or numbers[-1] > numbers[0]:
        raise ValueError(
            f"chunks[{axis}] = {shown(tuple(numbers))}: chunks in a file have one extent, and the last may have less; "
            f"together they are those of the axis, {extent}"
        )
    return max(numbers[0], 1)


def _chunks(
    chunks: Any, shape: Extents, own: Extents, source: Source, dtype: numpy.dtype, kind: str, names: tuple[Any, ...]
) -> Extents:
    if kind == "npy":
        if chunks is not None:
            raise ValueError(f"chunks = {shown(chunks)}: a target of .npy has none")
        row = max(1, 4096 // dtype.itemsize)
        return tuple([min(row, max(n, 1)) if k == len(shape) - 1 else 1 for k, n in enumerate(shape)])
    own = own if not getattr(source, "slowest", None) else auto(shape, dtype.itemsize)
    if chunks is None or isinstance(chunks, Mapping) and not _by_axes(chunks):
        chunks = metadata.extents_of("chunks", names, chunks or {}, own)
    else:
        chunks = _as_dask_has_them(chunks, shape, own)
    numbers = _integers("chunks", chunks, len(shape))
    for k, (n, extent) in enumerate(zip(numbers, shape, strict=True)):
        if n < 1 and n != -1:
            raise ValueError(f"chunks[{k}] = {n} is neither positive nor -1")
        numbers[k] = max(extent, 1) if n == -1 else min(n, max(extent, 1))
    return tuple(numbers)


def auto(shape: Extents, itemsize: int) -> Extents:
    """Chunks of about 4 MiB for an array that has none."""
    chunks = [max(n, 1) for n in shape]
    while numpy.prod(chunks, dtype=float) * itemsize > 4 << 20 and max(chunks) > 1:
        axis = chunks.index(max(chunks))
        chunks[axis] = -(-chunks[axis] // 2)
    return tuple(chunks)


def _shards(shards: Any, chunks: Extents, shape: Extents, names: tuple[Any, ...]) -> Extents:
    if isinstance(shards, Mapping):
        shards = metadata.extents_of("shards", names, shards, chunks)
    numbers = _integers("shards", shards, len(chunks))
    for k, (n, chunk) in enumerate(zip(numbers, chunks, strict=True)):
        if n == -1:
            numbers[k] = n = -(-shape[k] // chunk) * chunk
        if n < 1 or n % chunk:
            raise ValueError(f"shards[{k}] = {n} is no multiple of chunks[{k}] = {chunk}")
    return tuple(numbers)


def _at_once(client: Any, threads: Any, source: Source, target: Target) -> int:
    if client is None:
        if threads is None:
            return runners.processors()
        if not is_integer(threads):
            raise TypeError(f"threads = {shown(threads)} is not an integer")
        if index(threads) < 1:
            raise ValueError(f"threads = {threads} is not positive")
        return index(threads)
    number = runners.threads_of(client)
    if source.local and not source.whole:
        raise ValueError(f"source = {source.name} is in the memory of this process, where workers cannot read it")
    if hasattr(target, "shared"):
        target.shared = True
    return number


def _memory(memory: Any, client: Any) -> int:
    if memory is not None:
        return _bytes_of(memory)
    if client is not None:
        limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
        return max(32 << 20, min([limit for limit in limits if limit] or [_free_memory()]) // 2)
    return max(32 << 20, _free_memory() // 2)
