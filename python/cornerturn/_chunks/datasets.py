"""Whole datasets: all variables of a group of zarr, or of a file of HDF5 or netCDF, each by a plan of its own.

One record holds all of them, so that they appear together. Strings of any length are copied when the target is made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy

from cornerturn._arrays import is_integer, shown
from cornerturn._chunks import array_folder, groups, metadata, metadata_hdf5, replacing
from cornerturn._chunks.array_folder import Foreign
from cornerturn._chunks.boxes import Box, Extents, Grid
from cornerturn._chunks.job import Aim, Prepared, auto, prepare_array
from cornerturn._chunks.metadata import Meaning
from cornerturn._chunks.place import Place, place_of
from cornerturn._chunks.planning import RechunkPlan, size
from cornerturn._chunks.record import CREATING, WORKING, Record
from cornerturn._chunks.renaming import sync_all
from cornerturn._chunks.sources import Hdf5Source, Letters, Source, ZarrSource
from cornerturn._files import _type_name

_REFERRING = ("coordinates", "bounds", "grid_mapping", "formula_terms", "cell_measures", "climatology")


@dataclass(frozen=True)
class DatasetPlan:
    """What `cornerturn.rechunk` does with a dataset: the plan of each variable. `print` shows them."""

    source: str
    target: str
    plans: dict[str, RechunkPlan]
    copied: tuple[str, ...]  # variables of strings, which are copied

    @property
    def tasks(self) -> int:
        return sum(plan.tasks for plan in self.plans.values())

    @property
    def bytes_moved(self) -> int:
        """All bytes that are read and written, without compression."""
        return sum(plan.bytes_moved for plan in self.plans.values())

    def as_dict(self) -> dict[str, Any]:
        return {name: plan.as_dict() for name, plan in self.plans.items()}

    def __str__(self) -> str:
        lines = [f"{self.source} -> {self.target}: {len(self.plans) + len(self.copied)} variables, "
                 f"{self.tasks:,} task{'s' * (self.tasks != 1)}, {size(self.bytes_moved)} to move"]
        for name, plan in self.plans.items():
            lines += [f"{name}:", *str(plan).splitlines()[1:]]
        return "\n".join([*lines, *[f"{name}: strings, copied" for name in self.copied]])


# ---- what a dataset consists of ----


class Texts:
    """A variable of strings of any length. They are references, which have no place in a chunk of the engine."""

    def __init__(self, name: str, array: Any, meaning: Meaning):
        self.name, self.array, self._meaning = name, array, meaning
        self.shape = tuple(array.shape)
        self.chunks = tuple([max(n, 1) for n in array.chunks or self.shape])

    def meaning(self) -> Meaning:
        return self._meaning

    def boxes(self) -> list[Box]:
        grid = Grid(self.shape, self.chunks)
        whole = Box((0,) * len(self.shape), self.shape)
        return [] if 0 in self.shape else [grid.box(index) for index in grid.meeting(whole)]

    def read(self, box: Box) -> numpy.ndarray:
        found = self.array.asstr("utf-8", "replace") if hasattr(self.array, "asstr") else self.array
        return numpy.asarray(found[box.slices], object).reshape(box.shape)

    def identity(self) -> list[Any]:
        return [self.name, list(self.shape)]


@dataclass
class Dataset:
    name: str
    variables: dict[str, Source | Texts]
    attributes: dict[str, Any]
    paths: list[str]
    lost: list[str]


def dataset_of(source: Any) -> Dataset | None:
    """The dataset that a path, a group of zarr, one of HDF5 or something of xarray holds. None where it is one array, or no group at all."""
    import sys

    zarr, h5py = (sys.modules.get(name) for name in ("zarr", "h5py"))
    if zarr is not None and isinstance(source, zarr.Group):
        return _of_zarr(source)
    if h5py is not None and isinstance(source, h5py.Group):
        return _of_hdf5(source.file.filename, source.name)
    if not isinstance(source, (str, os.PathLike)):
        from cornerturn._chunks.xarray_source import dataset_of_xarray, is_of_xarray

        return dataset_of_xarray(source) if is_of_xarray(source) else None
    path, _, key = os.fspath(source).partition("::")
    if "://" in path or os.path.isdir(path):
        return _open_zarr(path, key)
    try:
        with open(path, "rb") as file:
            begin = file.read(4)
    except OSError:
        return None
    if begin[:4] in (b"CDF\x01", b"CDF\x02", b"CDF\x05") and not key:
        return _of_netcdf(path)
    try:
        import h5py
    except ImportError:
        return None
    return _of_hdf5(path, key) if h5py.is_hdf5(path) else None


def _open_zarr(path: str, key: str) -> Dataset | None:
    import zarr

    try:
        found = zarr.open(path, path=key or None, mode="r")
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return _of_zarr(found) if isinstance(found, zarr.Group) else None


def _several(dataset: Dataset) -> Dataset | None:
    """A group of several variables is a dataset, and one of a variable whose dimensions have names."""
    if len(dataset.variables) > 1:
        return dataset
    for variable in dataset.variables.values():
        found = variable.meaning()
        return dataset if found.names and None not in found.names and not found.labels else None
    return None


def by_names(given: Any) -> bool:
    """Are chunks or axes names of dimensions, or not given at all?"""
    if given is None or isinstance(given, Mapping):
        return not given or not all(map(is_integer, given))
    return isinstance(given, (list, tuple)) and any(isinstance(each, str) or each is ... for each in given)


def _of_zarr(group: Any) -> Dataset | None:
    variables: dict[str, Any] = {}
    for name, array in group.arrays():
        text = array.dtype.kind == "T" or array.dtype == object
        variables[name] = Texts(str(array.store_path), array, metadata.of_zarr(array)) if text else (
            ZarrSource(str(array.store_path), array)
        )
    attributes = {name: value for name, value in dict(group.attrs).items() if not name.lower().startswith("_nczarr")}
    inner = [f"the group {name}" for name, _ in group.groups()]
    root = getattr(group.store, "root", None)
    paths = [] if root is None else [os.path.join(os.path.abspath(root), group.path)]
    return _several(Dataset(str(group.store_path), variables, attributes, paths, inner))


def _of_hdf5(path: str, key: str) -> Dataset | None:
    import h5py

    path = os.path.abspath(path)
    file = h5py.File(path, "r")
    group = file.get(key or "/")
    if not isinstance(group, h5py.Group):
        file.close()
        return None
    variables: dict[str, Any] = {}
    for name, item in group.items():
        if not isinstance(item, h5py.Dataset) or metadata_hdf5.is_bare_dimension(item):
            continue
        text = item.dtype.kind == "O" and h5py.check_string_dtype(item.dtype) is not None
        variables[name.removeprefix(metadata_hdf5.PREFIX)] = (
            Texts(f"{path}::{name}", item, metadata_hdf5.of_hdf5(item)) if text else Hdf5Source(path, item.name)
        )
    attributes, lost = metadata_hdf5.attributes_of_hdf5(group)
    texts = any(isinstance(variable, Texts) for variable in variables.values())
    inner = [f"the group {name}" for name, item in group.items() if isinstance(item, h5py.Group)]
    if not texts:
        file.close()
    return _several(Dataset(path + f"::{key}" * bool(key), variables, attributes, [path], [*lost, *inner]))


def _of_netcdf(path: str) -> Dataset | None:
    from cornerturn._chunks import netcdf_source

    path = os.path.abspath(path)
    variables: dict[str, Any] = {name: netcdf_source.NetcdfSource(path, name) for name in netcdf_source.variables(path)}
    return _several(Dataset(path, variables, netcdf_source.attributes(path), [path], []))


# ---- one record for all variables ----


class DatasetRecord(Record):
    """Its array is a group of zarr, or a file of HDF5. Nothing is replaced by it."""

    def _remove_array(self, path: str) -> None:
        if self.place.kind != "zarr" or not os.path.lexists(path):
            super()._remove_array(path)
            return
        self._require_array(path)
        for name in _arrays_in(path):
            array_folder.remove(os.path.join(path, name))
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)

    def _require_array(self, path: str) -> None:
        if self.place.kind != "zarr" or not os.path.lexists(path):
            return
        try:
            for name in _arrays_in(path):
                for _ in array_folder.contents(os.path.join(path, name)):
                    pass
        except Foreign as error:
            raise self.refusal(f"does not hold the dataset alone ({error})") from None

    def _finish_files(self) -> None:
        if self.place.kind != "zarr":
            super()._finish_files()
            return
        self._require_array(self.array)
        for name in _arrays_in(self.array):
            array_folder.remove_unfinished(os.path.join(self.array, name))
        groups.consolidate([self.array], self._at("zarr.json"))
        sync_all(self.array)

    def check_final(self, overwrite: bool, old: Any) -> None:
        check_absent(self.place)


def _arrays_in(folder: str) -> list[str]:
    """The names of the arrays in a group. Raises Foreign where anything else is there."""
    names = []
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            names.append(entry.name)
        elif not entry.name.startswith("zarr.") or not entry.is_file(follow_symlinks=False):
            raise Foreign(f"{entry.path!r} is no part of a group of zarr")
    return names


def check_absent(place: Place) -> None:
    if os.path.lexists(place.path):
        raise FileExistsError(f"target = {place.name!r} exists: a dataset replaces nothing, name another target or remove it")


class _Part:
    """A record as one variable sees it: its tasks have stages of their own."""

    def __init__(self, record: Record, number: int):
        self._record, self._first = record, 2 * number

    def finish_task(self, stage: int, number: int) -> None:
        self._record.finish_task(self._first + stage, number)


class PreparedDataset:
    def __init__(
        self, dataset: Dataset, record: Record, parts: dict[str, Prepared], texts: dict[str, Any], lost: list[str]
    ):
        self.dataset, self.record, self.parts, self.texts, self.lost = dataset, record, parts, texts, lost
        plans = {name: part.plan for name, part in parts.items()}
        self.plan = DatasetPlan(dataset.name, record.place.path, plans, tuple(texts))

    def run(self, client: Any, progress: Any, resume: bool, overwrite: bool) -> None:
        record = self.record
        said = {name: dict(source=part.job.source.identity(), **part.said) for name, part in self.parts.items()}
        if not (resume and os.path.lexists(record.folder)):
            check_absent(record.place)
        with record.locked():
            if record.step and resume:
                changed = self._adopt(said)
                if changed and record.step in (CREATING, WORKING):
                    self._begin(said, True)  # chunks of the source: all is read again
            else:
                self._begin(said, overwrite)
            if record.step == CREATING:
                self._create()
            if record.step == WORKING:
                self._work(client, progress)
            record.finish()

    def _begin(self, said: dict[str, Any], overwrite: bool) -> None:
        record = self.record
        check_absent(record.place)
        if record.step and not overwrite:
            raise FileExistsError(
                f"target = {record.place.name!r}: an interrupted run is in {record.folder!r}: resume=True goes on "
                "with it, overwrite=True begins anew"
            )
        record.discard()
        plans = {name: {**said[name], "plan": part.plan.as_dict()} for name, part in self.parts.items()}
        record.begin(dict(variables=plans, copied=list(self.texts), overwrite=False))

    def _adopt(self, said: dict[str, Any]) -> bool:
        found = self.record.what.get("variables")
        if not isinstance(found, dict) or list(found) != list(self.parts) or self.record.what["copied"] != list(self.texts):
            raise ValueError(
                f"source = {self.dataset.name!r} has other variables than the interrupted run: resume=True goes on with "
                "the same only"
            )
        changed = []
        for name, part in self.parts.items():
            part.said = said[name]
            changed.append(part._adopt(found[name]))
        return any(changed)

    def _create(self) -> None:
        def make() -> None:
            _make_group(self.record, self.dataset)
            for part in self.parts.values():
                part.job.target.create()
            for name, text in self.texts.items():
                text.write()

        try:
            self.record.create(make)
        except BaseException:
            self.record.discard()
            raise

    def _work(self, client: Any, progress: Any) -> None:
        total = sum(part.bytes_moved() for part in self.parts.values())
        before, found = 0, self.record.done()
        jobs = [part.job for part in self.parts.values()]
        for at, task in found:
            if at // 2 >= len(jobs) or at % 2 >= len(jobs[at // 2].stages) or task >= jobs[at // 2].tasks(at % 2):
                raise self.record.refusal("has a damaged list 'done' of what is done")
        for number, part in enumerate(self.parts.values()):
            done = {(at % 2, task) for at, task in found if at // 2 == number}
            part.record = _Part(self.record, number)  # type: ignore[assignment]

            def tell(moved: int, _: int, before: int = before) -> None:
                progress(before + moved, total)

            if len(done) < sum(stage.tasks for stage in part.job.stages):
                part._stages(client, None if progress is None else tell, done)
                self.record._remove_pieces()  # the names of the next variable's are the same
            before += part.bytes_moved()


def _make_group(record: Record, dataset: Dataset) -> None:
    if record.place.kind == "zarr":
        import zarr

        zarr.create_group(record.array, attributes=metadata.plain_attributes(dataset.attributes)[0])
        return
    import h5py

    attributes, _ = metadata_hdf5.for_hdf5(dataset.attributes, record.place.netcdf)
    with h5py.File(record.array, "w", libver=("v108", "latest"), track_order=True) as file:
        metadata_hdf5.write_attributes(file, attributes)


class _TextCopy:
    """A variable of strings, and where it goes."""

    def __init__(self, texts: Texts, aim: Aim, order: Extents, chunks: Any):
        self.texts, self.aim, self.order = texts, aim, order
        meaning = metadata.named(texts.meaning().permuted(order), aim.leaf, len(order))
        self.meaning = replace(meaning, fill=None, scales={})
        self.shape = tuple([texts.shape[axis] for axis in order])
        most = [max(n, 1) for n in self.shape]
        own = tuple([min(texts.chunks[axis], n) for axis, n in zip(order, most, strict=True)])
        cut = metadata.extents_of("chunks", meaning.names, chunks, own)
        self.chunks = tuple([n if step == -1 else min(max(step, 1), n) for step, n in zip(cut, most, strict=True)])
        if aim.kind == "zarr":
            self.options, self.lost = metadata.for_zarr(self.meaning, numpy.dtype("O"))
        else:
            self.meaning, self.lost = metadata_hdf5.hdf5_meaning(self.meaning, aim.key, numpy.dtype("O"), aim.netcdf)

    def write(self) -> None:
        if self.aim.kind == "zarr":
            import zarr

            options = dict(self.options, shape=self.shape, dtype="string", chunks=self.chunks, zarr_format=3)
            self._copy(zarr.create_array(self.aim.path, **options))
            return
        import h5py

        with h5py.File(self.aim.path, "r+", libver=("v108", "latest")) as file:
            grows = any(limit is None for limit in self.meaning.limits)
            options = dict(chunks=self.chunks) if grows and self.shape else {}
            dtype = h5py.string_dtype()
            self._copy(metadata_hdf5.create_dataset(file, self.aim.key, self.shape, dtype, self.meaning, **options))

    def _copy(self, target: Any) -> None:
        for box in self.texts.boxes():
            values = self.texts.read(box).transpose(self.order)
            target[box.permuted(self.order).slices] = values if values.ndim else values[()]


# ---- what is asked for ----


def prepare_dataset(
    dataset: Dataset, target: Any, chunks: Any, axes: Any, dtype: Any, memory: Any, client: Any, threads: Any,
    codec: Any, shards: Any,
) -> PreparedDataset:
    place = place_of(target)
    if place.kind == "hdf5" and place.named:
        inner = ", ".join(dataset.variables)
        raise ValueError(f"target = {place.name!r} names a dataset in a file, and source is a group of {inner}")
    replacing.check_neighbours(place, dataset.paths)
    meanings = {name: variable.meaning() for name, variable in dataset.variables.items()}
    meanings = {  # each dimension has a name in the target
        name: metadata.named(meaning, name, len(dataset.variables[name].shape)) for name, meaning in meanings.items()
    }
    dims = {dim for meaning in meanings.values() for dim in meaning.names}
    _check_asked(dataset, dims, chunks, axes, shards)
    chunks = metadata.Optional(chunks or {})
    record = DatasetRecord(place)
    lost = list(dataset.lost)
    lost += (metadata.plain_attributes(dataset.attributes) if place.kind == "zarr" else
             metadata_hdf5.for_hdf5(dataset.attributes, place.netcdf))[1]
    beside = _beside(meanings, dataset.attributes) | {name for name in meanings if meanings[name].names == (name,)}
    parts: dict[str, Prepared] = {}
    texts: dict[str, Any] = {}
    # Variables that are scales of dimensions come first: the others are attached to them.
    for name in sorted(meanings, key=lambda name: meanings[name].names != (name,)):
        variable, meaning = dataset.variables[name], meanings[name]
        order, along = metadata.axes_of(meaning.names, axes, True), meaning.names == (name,)
        # netCDF puts a variable aside that has the name of a dimension and does not lie along it alone.
        aside = place.kind == "hdf5" and name in dims and not along
        path = os.path.join(record.array, name) if place.kind == "zarr" else record.array
        key = metadata_hdf5.PREFIX + name if aside else name
        aim = Aim(place.kind, path, key, f"{place.path}::{name}", name, record.pieces, place.netcdf)
        if place.kind == "hdf5" and isinstance(variable, Source) and variable.dtype.kind == "U":
            variable = Texts(variable.name, Letters(variable), variable.meaning())
        if isinstance(variable, Texts):
            texts[name] = _TextCopy(variable, aim, order, chunks)
            lost += [f"{name}: {each}" for each in texts[name].lost]
            continue
        # Readers take the coordinates along a dimension whole, so that they are not cut as the others are.
        cut = auto(variable.shape, variable.dtype.itemsize) if along else chunks
        sharded = shards if shards is not None and set(shards) <= set(meaning.names) and not along else None
        wanted = dtype if name not in beside and _converts(variable, dtype) else None
        part = prepare_array(
            variable, aim, cut, order, wanted, memory, client, threads, codec, sharded, record, coordinates=False
        )
        lost += [f"{name}: {each}" for each in part.lost]
        parts[name] = part
    return PreparedDataset(dataset, record, parts, texts, lost)


def _check_asked(dataset: Dataset, dims: set[Any], chunks: Any, axes: Any, shards: Any) -> None:
    """Chunks, axes and shards have to be given by names that variables have."""
    for option, given in (("chunks", chunks), ("shards", shards)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                f"{option} = {shown(given)}: those of a dataset have names of dimensions, as {{'time': 50}}; {_one(dataset)}"
            )
        _check_names(option, given or {}, dims)
    if axes is not None and (isinstance(axes, str) or not all(isinstance(axis, str) or axis is ... for axis in axes)):
        raise TypeError(f"axes = {shown(axes)}: those of a dataset are names of dimensions; {_one(dataset)}")
    _check_names("axes", [axis for axis in axes or () if axis is not ...], dims)


def _one(dataset: Dataset) -> str:
    return f"one array is named by PATH::NAME, of {', '.join(dataset.variables)}"


def _check_names(option: str, names: Any, dims: set[Any]) -> None:
    for name in names:
        if name not in dims:
            raise ValueError(f"{option}: no variable has a dimension {name!r}, but {', '.join(sorted(map(str, dims)))}")


def _beside(meanings: dict[str, Meaning], attributes: dict[str, Any]) -> set[str]:
    """The variables that others refer to: coordinates, bounds and the like."""
    all_of_them = [attributes, *[each.attributes for each in meanings.values()]]
    texts = [str(metadata.text_of(found.get(key, ""))) for found in all_of_them for key in _REFERRING]
    return {word.rstrip(":") for text in texts for word in text.split()}


def _converts(source: Source, dtype: Any) -> bool:
    """Numbers are converted, times and letters are not."""
    if dtype is None:
        return False
    units = str(metadata.text_of(source.meaning().attributes.get("units", "")))
    return source.dtype.kind in "iufc" and " since " not in units or _type_name(dtype) == str(source.dtype)
