"""Arrays in chunks: zarr with and without Cornerturn beside tensorstore, and `rechunk` beside dask and a copy.

    python bench/python/chunks.py zarr --mib 256 --rounds 5
    python bench/python/chunks.py rechunk --mib 2048 --memory 256M --rounds 3 --folder /scratch
    python bench/python/chunks.py paper                  # what plans cost on paper

Contestants are measured in rounds, one after the other; the table has medians. `--pages` writes the tables
into docs/chunks.md. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr import codecs

import cornerturn
import cornerturn.zarr
from cornerturn._chunks.planning import RechunkPlan, Side, choose, size

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
    table.row("", "write", "read", "write, of as it lies", "read, of as it lies")
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


def run_rechunk(given: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    shape = (given.mib, 512, 512)
    source = zarr.create_array(folder / "in.zarr", shape=shape, chunks=(4, 512, 512), dtype="f4", compressors=None)
    for i in range(0, shape[0], 64):
        source[i : i + 64] = np.random.default_rng(i).random((min(64, shape[0] - i), 512, 512), "f4")
    chunks = (64, 64, shape[0])

    def ours(threads: int) -> Any:
        return cornerturn.rechunk(folder / "in.zarr", folder / "out.zarr", axes=(1, 2, 0), chunks=chunks,
                                  memory=given.memory, threads=threads, codec="none")

    def by_dask() -> None:
        import dask
        import dask.array as da

        with dask.config.set({"array.chunk-size": "64MiB"}):
            lazy = da.from_zarr(str(folder / "in.zarr")).transpose(1, 2, 0).rechunk(chunks)
            out = zarr.create_array(folder / "out.zarr", shape=lazy.shape, chunks=chunks, dtype="f4", compressors=None)
            da.store(lazy, out, lock=False)

    contestants: dict[str, Callable[[], Any]] = {
        "a plain copy of the files": lambda: shutil.copytree(folder / "in.zarr", folder / "out.zarr"),
        "cornerturn, 1 thread": lambda: ours(1),
        "cornerturn, 2 threads": lambda: ours(2),
    }
    if here("dask"):
        contestants["dask, without a limit of memory"] = by_dask
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(given.rounds):
        for name, work in contestants.items():
            os.sync()
            times[name].append(seconds(lambda work=work: (work(), os.sync())))
            if "plain" not in name:
                found = zarr.open_array(folder / "out.zarr", mode="r")
                assert np.array_equal(found[5, 7], source[:, 5, 7])
            shutil.rmtree(folder / "out.zarr")
    plain = statistics.median(times["a plain copy of the files"])
    table = Table("chunks-rechunk")
    table.row(f"{size(4 * math.prod(shape))} within {given.memory}", "s", "of the plain copy's rate")
    for name, each in times.items():
        table.row(name, f"{statistics.median(each):.1f}", f"{plain / statistics.median(each):.0%}")
    plan = cornerturn.rechunk(folder / "in.zarr", folder / "out.zarr", axes=(1, 2, 0), chunks=chunks,
                              memory=given.memory, codec="none", dry_run=True)
    table.write(given.pages, f"Medians of {given.rounds} rounds, each until all is on the disk; {len(plan.stages)} stages; "
                f"{os.cpu_count()} processors.")
    shutil.rmtree(folder)


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
    parser.add_argument("what", choices=("zarr", "rechunk", "paper"))
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--pages", action="store_true")
    given = parser.parse_args()
    {"zarr": run_zarr, "rechunk": run_rechunk, "paper": run_paper}[given.what](given)


if __name__ == "__main__":
    main()
