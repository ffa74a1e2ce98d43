"""rechunk: arrays in chunks, permuted, converted and cut anew in one operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from cornerturn._labelled import is_labelled
from cornerturn._options import Dtype
from cornerturn._progress import Progress, told

if TYPE_CHECKING:
    from cornerturn._chunks.datasets import DatasetPlan
    from cornerturn._chunks.planning import RechunkPlan

Chunks = Union[int, Sequence[Union[int, None, Sequence[int]]], Mapping[str, int], Mapping[int, int], None]


def rechunk(
    source: Any,
    target: Any,
    *,
    chunks: Chunks = None,
    axes: Sequence[Any] | None = None,
    dtype: Dtype | None = None,
    memory: int | str | None = None,
    client: Any = None,
    progress: Progress | None = None,
    plan: Callable[[RechunkPlan | DatasetPlan], Any] | None = None,
    threads: int | None = None,
    codec: str | None = None,
    shards: Sequence[int] | Mapping[str, int] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> RechunkPlan | DatasetPlan:
    """Writes the array `source` to `target` with other chunks, its axes in the order `axes`.

    The array may be much larger than memory. It is read once and written once where the memory allows
    that; else parts of it lie in intermediate files on the way. The target appears when it is whole.
    Until then `TARGET.partial` holds it, with a record of what is done. An interrupted run goes on from
    there with `resume=True`.

    A source of several arrays is a dataset, as xarray opens it: a group of zarr, or a file of HDF5 or netCDF. So is
    one array in it whose dimensions have names, unless chunks or axes are numbers. All variables are written, with
    the coordinates and the attributes of the group, to a group of zarr or a file of netCDF that is new, each by a plan
    of its own. Chunks and axes are given by the names of dimensions.

    Attributes, the names of dimensions, fill values and dimension scales travel along, each in the way of
    the target's format. What cannot is named in one UserWarning.

    Args:
        source: a path, a zarr array, a dataset of HDF5, a dask array, an array of NumPy, or a Dataset or DataArray of
            xarray, whose variables are stored as xarray itself would. A path is that of a zarr store, a file of
            HDF5, netCDF or a .npy file; `PATH::NAME` names one of several arrays, or a group.
        target: the path of a .npy file, of a file of HDF5 (.h5, .hdf5, .nc, .nc4), or of a zarr store (.zarr,
            or a name without a suffix). `PATH::NAME` names a dataset of HDF5, or an array in a group of zarr; NAME may
            have groups in it, as `a/b`, which are made where they are missing. What else is there stays.
        chunks: the extents of the target's chunks, in the order of its own axes; -1 takes all of an axis.
            None keeps those of the source. `{"time": 50}` gives them by the names of dimensions, and `{0: 50}` by
            the target's axes; the others keep their own, and so does an axis whose extent is None. One number
            is for all axes. Chunks in dask's own form are taken where all but the last are equal.
        axes: as in `transpose`, or names of dimensions. None keeps the order. The variables of a dataset have those
            that they have, and `...` stands for all others, which else stay where they are.
        dtype: as in `transpose`. Packed values are converted as they are stored, and _FillValue and
            missing_value with them; a dtype that cannot hold these is refused. It converts the variables
            of a dataset that are no coordinates, bounds or times.
        memory: the most bytes that the arrays of all tasks take together, 32 MiB at least, for each
            worker of a cluster: a number, or "512M", "2GiB". None is half of what is free.
        client: a client of dask.distributed, whose workers do the tasks. They open source and target by
            their paths. None does them on threads here.
        progress: is called with the bytes that are moved and those that will be. What it raises ends
            the work, which can be resumed. True shows a line on standard error.
        plan: is called with the plan before anything is written.
        threads: how many tasks run at a time here; None is one for each processor.
        codec: how chunks are stored: "none", "gzip", "zstd", "lz4", "blosc" (zstd in blosc) or "crc32c". None
            keeps the codecs of a zarr array for zarr, zarr's own choice for others, and "none" for HDF5.
        shards: the extents of the shards of a target of zarr, in multiples of `chunks`.
        resume: goes on with an interrupted run of the same, and begins where there is none.
        overwrite: replaces the array at `target`, once the new one is whole: a .npy file, a dataset of HDF5 or an
            array of zarr, as the target is. Nothing else is replaced.
        dry_run: plans and writes nothing.

    Returns:
        The plan, of a dataset the plans of its variables. `print` shows it.

    Raises:
        FileExistsError: `target` is there, or an interrupted run of it, and is neither resumed nor
            overwritten; or what is there is not replaced; or another run writes it.
        OSError: something cannot be read or written, and trying again has not helped.
        TypeError: `source` is no array, or its elements are references or are not converted.
        ValueError: the target's name ends as that of another format, as `.tiff`; a chunk does not fit into the memory, an argument is out of range, or an interrupted
            run was one of another source, of other axes, chunks or dtype.

    Example:
        >>> plan = cornerturn.rechunk("images.npy", "channels.npy", axes=(0, 3, 1, 2), memory="512M")
        >>> plan.tasks, plan.shape
        (1, (2, 3, 4, 5))
    """
    from cornerturn._chunks.datasets import by_names, dataset_of, prepare_dataset
    from cornerturn._chunks.job import prepare
    from cornerturn._chunks.metadata import warn
    from cornerturn._chunks.place import kind_of

    given = target, chunks, axes, dtype, memory, client, threads, codec, shards
    one = isinstance(target, (str, os.PathLike)) and kind_of(os.fspath(target)) == "npy"
    dataset = None if one else dataset_of(source)
    alone = dataset is not None and (len(dataset.variables) == 1 or is_labelled(source))
    if alone and not all(map(by_names, (chunks, axes, shards))):
        dataset = None  # the array alone
    made = prepare(source, *given) if dataset is None else prepare_dataset(dataset, *given)
    if plan is not None:
        plan(made.plan)
    if not dry_run:
        warn(made.lost, made.plan.source, made.plan.target)
        with told(progress) as tell:
            made.run(client, tell, resume, overwrite)
    return made.plan
