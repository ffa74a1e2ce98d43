"""Arrays in chunks: zarr with and without Cornerturn beside tensorstore, `rechunk` beside dask, h5repack and a copy.

    python bench/python/chunks.py zarr --mib 256 --rounds 5
    python bench/python/chunks.py xarray --sizes 256 --rounds 7
    python bench/python/chunks.py rechunk --sizes 2048,20480 --memory 1GiB --longest 4096 --rounds 3 --folder /scratch
    python bench/python/chunks.py hdf5 --sizes 512 --memory 512M --rounds 3 --folder /scratch
    python bench/python/chunks.py paper                  # what plans cost on paper

Contestants are measured in rounds, one after the other; the table has medians. `--pages` writes the tables
into docs/chunks.md. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tabled
import zarr
from zarr import codecs

import cornerturn
import cornerturn.zarr
from cornerturn._chunks import planning
from cornerturn._chunks.planning import RechunkPlan, Side, choose, size
from cornerturn._files import _bytes_of

PAGE = Path(__file__).parents[2] / "docs" / "chunks.md"
ORDERS = {"as it lies": None, "order (1,2,0)": (1, 2, 0), "F order": (2, 1, 0)}


def here(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Table:
    def __init__(self, begin: str) -> None:
        self.begin, self.lines = begin, []

    def row(self, *cells: str) -> None:
        self.lines.append("| " + " | ".join(cells) + " |")
        if len(self.lines) == 1:
            self.lines.append("| --- |" + " ---: |" * (len(cells) - 1))

    def write(self, pages: bool, note: str) -> None:
        text = "\n".join(self.lines) + f"\n\n{note}"
        print(text)
        if pages:
            page = PAGE.read_text()
            marks = f"<!-- {self.begin}:begin -->", f"<!-- {self.begin}:end -->"
            found = re.compile(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), re.S)
            PAGE.write_text(found.sub(lambda _: f"{marks[0]}\n{text}\n{marks[1]}", page))


def tensorstore_array(path: Path, order: Any, compressor: Any, x: np.ndarray, chunks: tuple[int, ...]) -> Any:
    import tensorstore

    coded = {"none": [], "lz4": [{"name": "blosc", "configuration": dict(cname="lz4", clevel=5, shuffle="shuffle",
             typesize=4, blocksize=0)}], "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}]}
    metadata = dict(shape=list(x.shape), data_type="float32", codecs=[
        *([{"name": "transpose", "configuration": {"order": list(order)}}] if order else []),
        {"name": "bytes", "configuration": {"endian": "little"}}, *coded[compressor]],
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": list(chunks)}})
    spec = dict(driver="zarr3", kvstore={"driver": "memory", "path": f"{path}/"}, metadata=metadata, create=True)
    return tensorstore.open(spec).result()


def zarr_rounds(x: np.ndarray, compressor: str, rounds: int) -> dict[tuple[str, str], list[tuple[float, float]]]:
    coded = {"none": None, "lz4": codecs.BloscCodec(cname="lz4"), "zstd": codecs.ZstdCodec(level=1)}[compressor]
    chunks = (x.shape[0], 256, 256)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}

    def measure(who: str, order: str, write: Callable[[], Any], read: Callable[[], Any]) -> None:
        times = seconds(write), seconds(read)
        if turn:
            found.setdefault((who, order), []).append(times)

    for turn in range(rounds + 1):  # the first round warms up
        for name, order in ORDERS.items():
            for who in ("zarr-python", "cornerturn"):
                filters = [codecs.TransposeCodec(order=order)] if order else None
                options = dict(chunks=chunks, dtype="f4", filters=filters, compressors=coded)
                array = zarr.create_array({}, shape=x.shape, **options)
                if who == "cornerturn":
                    cornerturn.zarr.enable()
                measure(who, name, lambda: array.__setitem__(..., x), lambda: array[...])
                assert turn or np.array_equal(array[...], x)
                cornerturn.zarr.disable()
            if here("tensorstore"):
                peer = tensorstore_array(Path(f"m{turn}{name}{compressor}"), order, compressor, x, chunks)
                measure("tensorstore", name, lambda: peer.write(x).result(), lambda: peer.read().result())
                assert turn or np.array_equal(peer.read().result(), x)
    return found


def run_zarr(given: argparse.Namespace) -> None:
    x = np.random.default_rng(0).standard_normal((given.mib // 4, 1024, 1024), "f4")
    x = np.round(x, 2)  # so that codecs have something to do
    copies = [seconds(lambda: x.copy()) for _ in range(5)]
    table = Table("chunks-measured")
    table.row("", "write, GB/s", "read, GB/s", "write, of as it lies", "read, of as it lies")
    for compressor in ("none", "lz4", "zstd"):
        found = zarr_rounds(x, compressor, given.rounds)
        for who in ("zarr-python", "tensorstore", "cornerturn"):
            plain = [statistics.median(each) for each in zip(*found.get(("zarr-python", "as it lies"), []), strict=True)]
            for order in ORDERS:
                times = [statistics.median(each) for each in zip(*found.get((who, order), []), strict=True)]
                if times:
                    rates = [f"{2 * x.nbytes / t / 1e9:.2f}" for t in times]
                    table.row(f"{compressor}, {order}: {who}", *rates, *[f"{b / t:.0%}" for t, b in zip(times, plain, strict=True)])
    table.write(given.pages, f"GB/s read and written, medians of {given.rounds} rounds; {size(x.nbytes)} of f32 in memory, chunks "
                f"of ({x.shape[0]}, 256, 256); the last two columns are shares of zarr-python's rate on the array as it "
                f"lies. A plain copy of the array: {2 * x.nbytes / statistics.median(copies) / 1e9:.1f} GB/s. "
                f"{os.cpu_count()} processors; zarr-python {zarr.__version__}.")


# ---- rechunk ----

PEERS = {  # programs that get: the source, the target, a folder, the memory, the chunks
    "dask, without a limit of memory": """
import dask, dask.array, zarr
with dask.config.set({"array.chunk-size": "64MiB"}):
    lazy = dask.array.from_zarr(source).transpose(1, 2, 0).rechunk(chunks)
    out = zarr.create_array(target, shape=lazy.shape, chunks=chunks, dtype="f4", compressors=None)
    dask.array.store(lazy, out, lock=False)
""",
    "rechunker, without the permutation": """
import rechunker, zarr
array = zarr.open(source, mode="r")
chunks = (chunks[2], *chunks[:2])
options = dict(target_options=dict(compressor=None), temp_options=dict(compressor=None))
rechunker.rechunk(array, chunks, memory // 2, target, temp_store=folder + "/between.zarr", **options).execute()
""",
    "cubed, without the permutation": """
import cubed, zarr
spec = cubed.Spec(work_dir=folder + "/between", allowed_mem=memory // 2, reserved_mem=0)
array = cubed.from_zarr(source, spec=spec)
cubed.to_zarr(cubed.rechunk(array, (chunks[2], *chunks[:2])), target, executor=cubed.runtime.create.create_executor("threads"))
""",
}


def interpreter(name: str) -> str | None:
    """Who runs a peer: CORNERTURN_RECHUNKER and CORNERTURN_CUBED name other interpreters, whose packages differ."""
    own = os.environ.get(f"CORNERTURN_{name.upper()}")
    return own or (sys.executable if here(name) else None)


def by_peer(program: str, python: str, source: Path, target: Path, memory: int, chunks: tuple[int, ...]) -> None:
    given = f"source, target, folder, memory, chunks = {str(source)!r}, {str(target)!r}, {str(target.parent)!r}, {memory}, {chunks}"
    subprocess.run([python, "-c", f"{given}\n{program}"], check=True)


def forget(folder: Path) -> None:
    """What is in the page cache of the files goes."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure_rechunk(given: argparse.Namespace, mib: int, folder: Path) -> dict[str, Any]:
    shape = (mib, 512, 512)
    source, target = folder / "in.zarr", folder / "out.zarr"
    array = zarr.create_array(source, shape=shape, chunks=(4, 512, 512), dtype="f4", compressors=None, zarr_format=2)
    for i in range(0, shape[0], 64):
        array[i : i + 64] = np.random.default_rng(i).random((min(64, shape[0] - i), 512, 512), "f4")
    chunks = (64, 64, min(shape[0], given.longest))
    memory = _bytes_of(given.memory)

    def ours(threads: int) -> RechunkPlan:
        return cornerturn.rechunk(source, target, axes=(1, 2, 0), chunks=chunks, memory=memory, threads=threads, codec="none")

    processors = len(os.sched_getaffinity(0))
    contestants: dict[str, Callable[[], Any]] = {
        "a plain copy of the files": lambda: shutil.copytree(source, target),
        **{f"cornerturn, {n} thread{'s' * (n > 1)}": lambda n=n: ours(n) for n in sorted({1, processors})},
    }
    for name, program in PEERS.items():
        python = interpreter(name.partition(",")[0])
        if python and mib <= given.with_peers:
            contestants[name] = lambda p=program, i=python: by_peer(p, i, source, target, memory, chunks)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(given.rounds if mib <= given.with_peers else 1):
        for name, work in contestants.items():
            if turn and name in PEERS:
                continue
            forget(source)
            times[name].append(seconds(lambda work=work: (work(), os.sync())))
            print(f"{name}: {times[name][-1]:.1f} s", flush=True)
            if "plain" not in name:
                found = zarr.open_array(target, mode="r")
                same = found[:, 5, 7] if "without the" in name else found[5, 7]
                assert np.array_equal(same, array[:, 5, 7])
            shutil.rmtree(target)
            for rest in folder.glob("between*"):
                shutil.rmtree(rest)
    plan = cornerturn.rechunk(source, target, axes=(1, 2, 0), chunks=chunks, memory=memory, codec="none", dry_run=True)
    shutil.rmtree(source)
    return {"shape": shape, "chunks": chunks, "memory": memory, "stages": len(plan.stages), "seconds": times}


def described(origin: dict[str, Any]) -> str:
    return (
        f"{origin['processor']}, {origin['processors']} processors, load {origin['load']:.1f} when "
        f"it began; {origin['date'][:10]}, commit {origin['commit']}.\n"
    )


def rechunk_page(report: dict[str, Any]) -> str:
    text = ""
    for case in report["cases"]:
        plain = statistics.median(case["seconds"]["a plain copy of the files"])
        table = Table("chunks-rechunk")
        table.row(f"{size(4 * math.prod(case['shape']))} within {size(case['memory'])}", "s", "of the plain copy's rate")
        for name, each in case["seconds"].items():
            table.row(name, f"{statistics.median(each):.1f}", f"{plain / statistics.median(each):.0%}")
        rounds = len(case["seconds"]["a plain copy of the files"])
        text += "\n".join(table.lines) + (
            f"\n\nf32, {planning.shown(tuple(case['shape']))} in chunks of (4, 512, 512), made "
            f"{planning.shown(tuple(case['chunks']))} behind axes (1, 2, 0), not compressed, in {case['stages']} "
            f"stage{'s' * (case['stages'] > 1)}; {rounds} round{'s' * (rounds > 1)}.\n\n"
        )
    return text + (
        "Seconds until all is on the disk, with nothing of the source in the page cache: medians, peers once. "
        + described(report["provenance"])
    )


# ---- HDF5 ----


def measure_hdf5(given: argparse.Namespace, mib: int, folder: Path) -> dict[str, Any]:
    import h5py

    shape, chunks, memory = (mib, 512, 512), (min(mib, given.longest), 64, 64), _bytes_of(given.memory)
    target = folder / "out.h5"
    x = np.round(np.random.default_rng(0).standard_normal(shape, "f4"))  # so that gzip has something to do
    times: dict[str, dict[str, list[float]]] = {}
    for codec, filters in {"none": {}, "gzip": {"compression": "gzip", "compression_opts": 4}}.items():
        source = folder / f"{codec}.h5"
        with h5py.File(source, "w") as file:
            file.create_dataset("data", data=x, chunks=(4, 512, 512), **filters)
        layout = "data:CHUNK=" + "x".join(map(str, chunks))
        peer = ["h5repack", "-l", layout, *(["-f", "data:GZIP=4"] if filters else []), source, target]

        def ours(axes: tuple[int, ...], wanted: tuple[int, ...], threads: int, path: Path = source, codec: str = codec) -> RechunkPlan:
            return cornerturn.rechunk(f"{path}::data", f"{target}::data", axes=axes, chunks=wanted, memory=memory, threads=threads, codec=codec)

        n = len(os.sched_getaffinity(0))
        permuted = tuple(chunks[axis] for axis in (1, 2, 0))
        contestants: dict[str, Callable[[], Any]] = {
            "a plain copy of the file": lambda path=source: shutil.copyfile(path, target),
            "h5repack": lambda peer=peer: subprocess.run(peer, check=True),
            "cornerturn, 1 thread": lambda ours=ours: ours((0, 1, 2), chunks, 1),
            f"cornerturn, {n} threads": lambda ours=ours: ours((0, 1, 2), chunks, n),
            f"cornerturn, permuted, {n} threads": lambda ours=ours: ours((1, 2, 0), permuted, n),
        }
        times[codec] = {name: [] for name in contestants}
        for _ in range(given.rounds):
            for name, work in contestants.items():
                forget(folder)
                times[codec][name].append(seconds(lambda work=work: (work(), os.sync())))
                print(f"{codec}, {name}: {times[codec][name][-1]:.1f} s", flush=True)
                with h5py.File(target) as file:
                    found = file["data"][5, 7] if "permuted" in name else file["data"][:, 5, 7]
                    assert np.array_equal(found, x[:, 5, 7])
                target.unlink()
        source.unlink()
    return {"shape": shape, "chunks": chunks, "memory": memory, "seconds": times}


def hdf5_page(report: dict[str, Any]) -> str:
    text = ""
    for case in report["cases"]:
        table = Table("chunks-hdf5")
        table.row(f"{size(4 * math.prod(case['shape']))} of HDF5 within {size(case['memory'])}", "s", "times as fast as h5repack")
        for codec, times in case["seconds"].items():
            peer = statistics.median(times["h5repack"])
            for name, each in times.items():
                table.row(f"{codec}: {name}", f"{statistics.median(each):.1f}", f"{peer / statistics.median(each):.1f}")
        rounds = len(case["seconds"]["none"]["h5repack"])
        text += "\n".join(table.lines) + (
            f"\n\nf32, {planning.shown(tuple(case['shape']))} in chunks of (4, 512, 512), made "
            f"{planning.shown(tuple(case['chunks']))}, not compressed and by gzip 4; permuted behind axes (1, 2, 0) "
            f"in the last row, which h5repack cannot do. Medians of {rounds} round{'s' * (rounds > 1)}.\n\n"
        )
    origin = report["provenance"]
    return text + f"Seconds until all is on the disk, as above; h5repack of HDF5 {origin['hdf5']}. " + described(origin)


def hdf5_version() -> dict[str, Any]:
    said = subprocess.run(["h5repack", "--version"], capture_output=True, text=True, check=True).stdout
    return {"hdf5": said.split()[-1]}


# ---- programs of xarray ----


def measure_xarray(given: argparse.Namespace, mib: int, folder: Path) -> dict[str, Any]:
    import xarray

    shape, chunks = (mib // 4, 1024, 1024), (mib // 4, 256, 256)
    x = np.round(np.random.default_rng(0).standard_normal(shape, "f4"), 2)
    filters = [codecs.TransposeCodec(order=(2, 1, 0))]
    times: dict[str, dict[str, list[float]]] = {}
    for codec, compressor in {"none": None, "lz4": codecs.BloscCodec(cname="lz4"), "zstd": codecs.ZstdCodec(level=1)}.items():
        path = folder / f"{codec}.zarr"
        options = dict(chunks=chunks, dtype="f4", filters=filters, compressors=compressor)
        zarr.create_group(path).create_array("t", shape=shape, dimension_names=["time", "lat", "lon"], **options)[:] = x

        def program(path: Path = path) -> Any:
            return xarray.open_zarr(path, consolidated=False, chunks=None)["t"].values

        times[codec] = {"zarr-python": [], "cornerturn": []}
        for turn in range(given.rounds + 1):  # the first round warms up
            for who, each in times[codec].items():
                if who == "cornerturn":
                    cornerturn.zarr.enable()
                taken = seconds(program)
                assert turn or np.array_equal(program(), x)
                cornerturn.zarr.disable()
                if turn:
                    each.append(taken)
        shutil.rmtree(path)
    return {"shape": shape, "chunks": chunks, "seconds": times}


def xarray_page(report: dict[str, Any]) -> str:
    text = ""
    for case in report["cases"]:
        table = Table("chunks-xarray")
        table.row(f"{size(4 * math.prod(case['shape']))} in F order, by xarray", "s", "with `enable()`", "times as fast")
        for codec, times in case["seconds"].items():
            off, on = statistics.median(times["zarr-python"]), statistics.median(times["cornerturn"])
            table.row(codec, f"{off:.2f}", f"{on:.2f}", f"{off / on:.1f}")
        rounds = len(case["seconds"]["none"]["cornerturn"])
        text += "\n".join(table.lines) + (
            f"\n\nf32, {planning.shown(tuple(case['shape']))} in chunks of {planning.shown(tuple(case['chunks']))} behind a "
            f"transpose codec of order (2, 1, 0), in files that the page cache holds: `xarray.open_zarr(...)[\"t\"].values`, "
            f"medians of {rounds} rounds.\n\n"
        )
    origin = report["provenance"]
    return text + f"zarr-python {origin['zarr']}, xarray {origin['xarray']}. " + described(origin)


# ---- what the cases share ----


def run_cases(
    given: argparse.Namespace,
    measure: Callable[[argparse.Namespace, int, Path], dict[str, Any]],
    page: Callable[[dict[str, Any]], str],
    mark: str,
    versions: Callable[[], dict[str, Any]],
) -> None:
    if given.known:
        report = json.loads(given.known.read_text())
    else:
        folder = Path(tempfile.mkdtemp(dir=given.folder))
        try:
            origin = tabled.provenance(argparse.Namespace(suite=["chunks.py"], max_bytes=None, seconds=None))
            origin |= {"nice": os.nice(0), **versions()}
            report = {"provenance": origin, "cases": [measure(given, int(mib), folder) for mib in given.sizes.split(",")]}
        finally:
            shutil.rmtree(folder)
    print(page(report))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    if given.pages:
        tabled.marked_page.put(PAGE, mark, page(report))


def run_rechunk(given: argparse.Namespace) -> None:
    run_cases(given, measure_rechunk, rechunk_page, "chunks-rechunk", lambda: {"zarr": zarr.__version__})


def run_hdf5(given: argparse.Namespace) -> None:
    run_cases(given, measure_hdf5, hdf5_page, "chunks-hdf5", hdf5_version)


def run_xarray(given: argparse.Namespace) -> None:
    versions = {name: tabled.installed(name) for name in ("zarr", "xarray")}
    run_cases(given, measure_xarray, xarray_page, "chunks-xarray", lambda: versions)


# ---- on paper ----


def run_paper(given: argparse.Namespace) -> None:
    table = Table("chunks-paper")
    table.row("array", "stages", "tasks", "parts in the files", "one part", *[f"{n} workers" for n in (1, 10, 100, 1000)])
    memory, source, target = 8 << 30, (1, 721, 1440), (8760, 72, 144)
    sides = Side(source, 4, 12 * math.prod(source)), Side(target, 4, int(1.25 * 4 * math.prod(target)))
    for tib in (0.1, 1, 10, 100):
        hours = math.ceil(tib * 2**40 / (4 * 721 * 1440) / 8760) * 8760
        shape = (hours, 721, 1440)
        number, stages = choose(shape, *sides, memory, 4)
        plan = RechunkPlan("", "", shape, (0, 1, 2), "float32", source, target, number, memory, stages)
        parts = stages[0].pieces_written
        each = size(stages[0].bytes_written / parts)
        times = [f"{plan.seconds(n) / 3600:.3g} h" for n in (1, 10, 100, 1000)]
        table.row(size(4 * math.prod(shape)), str(len(stages)), f"{plan.tasks:,}", f"{parts:,}", each, *times)
    table.write(given.pages, "From the plans alone, at 1 GB/s for each worker: nothing here was measured.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("zarr", "xarray", "rechunk", "hdf5", "paper"))
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--longest", type=int, default=1 << 20, help="rechunk, hdf5: the most that a chunk has of time")
    parser.add_argument("--sizes", default="2048", help="xarray, rechunk, hdf5: MiB of the arrays")
    parser.add_argument("--with-peers", type=int, default=4096, help="rechunk: peers get arrays of at most so many MiB")
    parser.add_argument("--json", type=Path, help="xarray, rechunk, hdf5: write the results to this file")
    parser.add_argument("--from", dest="known", type=Path, help="xarray, rechunk, hdf5: do not measure: results that --json wrote")
    parser.add_argument("--pages", action="store_true")
    given = parser.parse_args()
    {"zarr": run_zarr, "xarray": run_xarray, "rechunk": run_rechunk, "hdf5": run_hdf5, "paper": run_paper}[given.what](given)


if __name__ == "__main__":
    main()
