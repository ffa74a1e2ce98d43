#!/usr/bin/env python3
"""Lists of columns, arrays and rows on the CPU: Cornerturn beside NumPy, PyTorch, polars, pandas and pyarrow.

The yardstick is memcpy of the result's bytes, into memory that is there, in the same rounds. Everybody works on one
thread, and what counts is the time of the processor, which other programs lengthen less than that of the clock;
both are written down. A contestant writes into an array that is there, or makes a new one where it can do
nothing else ("new", and polars, pandas and pyarrow). Every result is compared with NumPy's before it is timed.
Peers that are not installed are left out. Times are medians of so many rounds; a contestant that takes longer than
two seconds has one.

usage: lists.py [--rounds N] [--json FILE] [--page PAGE.md]
"""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

os.environ["POLARS_MAX_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["CORNERTURN_THREADS"] = "1"

import numpy as np  # noqa: E402
import tabled  # noqa: E402
from tabled import installed  # noqa: E402

import cornerturn  # noqa: E402

BUDGET = 2.0  # seconds for each contestant of a case
LARGEST = 270_000_000  # bytes of a result
RANDOM = np.random.default_rng(3)
Contestant = Callable[[], object]


class Case(NamedTuple):
    group: str
    name: str
    bytes: int
    expected: Callable[[], np.ndarray]
    contestants: dict[str, Contestant]
    peers: list[str]


def tables(columns: list[np.ndarray]) -> dict[str, object]:
    """The columns as everybody's table, without a copy where there is a way."""
    named = {f"c{k}": column for k, column in enumerate(columns)}
    found: dict[str, object] = {}
    if installed("pyarrow"):
        import pyarrow

        found["pyarrow"] = pyarrow.table(named)
    if installed("polars") and "pyarrow" in found:
        import polars

        found["polars"] = polars.from_arrow(found["pyarrow"], rechunk=False)
    if installed("pandas"):
        import pandas

        found["pandas"] = pandas.DataFrame(named, copy=False)
    return found


def columns_to_rows(count: int, rows: int, dtype: str, out: np.ndarray) -> Case:
    columns = [RANDOM.random(rows, "f4").astype(dtype) for _ in range(count)]
    out = out.view(dtype)[: rows * count].reshape(rows, count)
    frames = tables(columns)
    runs: dict[str, Contestant] = {
        "stack": lambda: cornerturn.stack(columns, (1, 0), out=out),
        "stack, new": lambda: cornerturn.stack(columns, (1, 0)),
    }
    for name, frame in frames.items():
        runs[f"to_matrix({name})"] = lambda frame=frame: cornerturn.tables.to_matrix(frame, out=out)
    if "polars" in frames:
        runs["to_matrix(polars), new"] = lambda: cornerturn.tables.to_matrix(frames["polars"])
        runs["polars"] = lambda: np.ascontiguousarray(frames["polars"].to_numpy())
    if "pandas" in frames:
        runs["pandas"] = lambda: np.ascontiguousarray(frames["pandas"].to_numpy())
    if "pyarrow" in frames:
        batch = frames["pyarrow"].to_batches()[0]
        runs["pyarrow"] = lambda: batch.to_tensor(row_major=True)
    runs["NumPy"] = lambda: np.stack(columns, 1, out=out)
    runs["NumPy, stacked first"] = lambda: np.ascontiguousarray(np.stack(columns).T)
    if installed("torch"):
        import torch

        tensors = [torch.from_numpy(column) for column in columns]
        target = torch.from_numpy(out)
        runs["PyTorch"] = lambda: torch.stack(tensors, 1, out=target)
    peers = [name for name in ("polars", "pandas", "pyarrow", "NumPy", "NumPy, stacked first", "PyTorch") if name in runs]
    size = np.dtype(dtype).itemsize * rows * count
    title = f"{count} columns of {dtype}, {rows:,} rows"
    return Case("columns to rows", title, size, lambda: np.stack(columns, 1), runs, peers)


def stacked(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, out: np.ndarray) -> Case:
    arrays = [RANDOM.integers(0, 99, shape).astype(dtype) for _ in range(64)]
    one = np.stack(arrays)
    expected = one.transpose(axes)
    out = out.view(dtype)[: one.size].reshape(expected.shape)
    runs: dict[str, Contestant] = {
        "stack": lambda: cornerturn.stack(arrays, axes, out=out),
        "one array": lambda: cornerturn.transpose(one, axes, out=out),
        "NumPy": lambda: np.ascontiguousarray(np.stack(arrays).transpose(axes)),
    }
    if installed("torch"):
        import torch

        tensors = [torch.from_numpy(x) for x in arrays]
        target = torch.from_numpy(out)
        runs["PyTorch"] = lambda: target.copy_(torch.stack(tensors).permute(axes))
    peers = [name for name in ("NumPy", "PyTorch") if name in runs]
    extents = " x ".join(map(str, shape))
    return Case("64 arrays, stacked", f"{extents} of {dtype}, axes {axes}", one.nbytes, lambda: expected, runs, peers)


def rows_by_a_list(row: int, writes: bool, size: int, out: np.ndarray) -> Case:
    x = RANDOM.integers(0, 1 << 60, (size // row, row // 8))
    indices = RANDOM.permutation(len(x))
    out = out.view("i8")[: x.size].reshape(x.shape)
    runs: dict[str, Contestant] = {}
    if writes:
        runs["put"] = lambda: cornerturn.put(out, indices, x) or out
        runs["NumPy"] = lambda: out.__setitem__(indices, x) or out
    else:
        runs["take"] = lambda: cornerturn.take(x, indices, out=out)
        runs["NumPy"] = lambda: np.take(x, indices, 0, out=out, mode="clip")
    if installed("torch"):
        import torch

        source, target, places = torch.from_numpy(x), torch.from_numpy(out), torch.from_numpy(indices)
        if writes:
            runs["PyTorch"] = lambda: target.index_copy_(0, places, source)
        else:
            runs["PyTorch"] = lambda: torch.index_select(source, 0, places, out=target)
    group = f"rows {'written' if writes else 'read'} by a random list"

    def expected() -> np.ndarray:
        if not writes:
            return x[indices]
        result = np.empty_like(x)
        result[indices] = x
        return result

    return Case(group, f"{row} B", x.nbytes, expected, runs, [name for name in ("NumPy", "PyTorch") if name in runs])


def cases(out: np.ndarray) -> list[Callable[[], Case]]:
    return [
        lambda: columns_to_rows(800, 80_000, "f4", out),
        lambda: columns_to_rows(12, 2_600_000, "f8", out),
        *(lambda axes=axes: stacked((512, 2048), axes, "f4", out) for axes in ((1, 2, 0), (0, 2, 1), (2, 0, 1))),
        *(
            lambda row=row, writes=writes: rows_by_a_list(row, writes, 256 << 20, out)
            for writes in (False, True)
            for row in (64, 256, 1024, 4096, 16384)
        ),
    ]


def times_of(run: Contestant) -> tuple[float, float]:
    """Seconds of the processor, and of the clock."""
    clock, processor = time.perf_counter(), time.process_time()
    run()
    return time.process_time() - processor, time.perf_counter() - clock


def check(case: Case) -> dict[str, tuple[float, float]]:
    """Runs each contestant once, which it has to get right, and returns the seconds that these took."""
    first = {}
    expected = case.expected()
    for name, run in case.contestants.items():
        found: list[object] = []
        first[name] = times_of(lambda r=run: found.append(r()))
        if not np.array_equal(np.asarray(found.pop()), expected):
            raise SystemExit(f"lists.py: {name} is wrong for {case.group}, {case.name}")
    return first


def measure(case: Case, rounds: int, scratch: np.ndarray) -> dict[str, object]:
    first = check(case)
    to, source = scratch[: case.bytes], scratch[case.bytes : 2 * case.bytes]
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ["memcpy", *case.contestants]}
    for _ in range(rounds):
        times["memcpy"].append(times_of(lambda: ctypes.memmove(to.ctypes.data, source.ctypes.data, case.bytes)))
        for name, run in case.contestants.items():
            if first[name][0] > BUDGET:
                times[name] = [first[name]]
            else:
                times[name].append(times_of(run))
    medians = {name: statistics.median(t[0] for t in some) for name, some in times.items()}
    clock = {name: statistics.median(t[1] for t in some) for name, some in times.items()}
    print(f"{case.group}, {case.name}: " + ", ".join(f"{n} {1e3 * s:.1f} ms" for n, s in medians.items()), flush=True)
    row = {"class": case.group, "case": case.name, "bytes": case.bytes, "peers": case.peers}
    return {**row, "processor_seconds": medians, "clock_seconds": clock}


def measure_all(rounds: int) -> list[dict]:
    out, scratch = np.ones(LARGEST, "u1"), np.ones(2 * LARGEST, "u1")  # pages that are there
    return [measure(make(), rounds, scratch) for make in cases(out)]


# ---------------------------------------------------------------- the table


OURS = ("stack", "take", "put")


def markdown(report: dict) -> str:
    origin, found = report["provenance"], report["cases"]
    lines = "| | memcpy, GB/s | Cornerturn, % of it | the best other | % of memcpy | times as fast |\n"
    lines += "| --- | ---: | ---: | --- | ---: | ---: |\n"
    for case in found:
        seconds = case["processor_seconds"]
        ours = next(name for name in OURS if name in seconds)
        best = min(case["peers"], key=seconds.__getitem__)
        share = {name: 100 * seconds["memcpy"] / s for name, s in seconds.items()}
        lines += (
            f"| {case['class']}: {case['case']} | {2 * case['bytes'] / seconds['memcpy'] / 1e9:.1f} | {share[ours]:.0f} | "
            f"{best} | {share[best]:.0f} | {seconds[best] / seconds[ours]:.1f} |\n"
        )
    notes = ""
    for case in found:
        seconds = case["processor_seconds"]
        if "to_matrix(polars)" in seconds:
            ratios = [f"{n} {seconds[n] / seconds[f'to_matrix({n})']:.1f} x" for n in ("polars", "pandas", "pyarrow")]
            notes += f"- `to_matrix` of {case['case']}: {', '.join(ratios)} the time of Cornerturn, into memory that is there.\n"
        if "one array" in seconds:
            ratio = seconds["stack"] / seconds["one array"]
            notes += f"- 64 arrays, {case['case'].partition(', ')[2]}: {ratio:.2f} x the time of one array of that shape.\n"
    versions = ", ".join(f"{name} {v}" for name in ("polars", "pandas", "pyarrow") if (v := installed(name)))
    return (
        f"{lines}\n{notes}- {origin['processor']}, {origin['processors']} processors, load {origin['load']:.1f} when it "
        f"began; NumPy {origin['numpy']}, PyTorch {origin['torch']}, {versions}; one thread, times of the "
        f"processor; {origin['date'][:10]}, commit "
        f"{origin['commit']}; by `bench/python/lists.py`.\n"
    )


if __name__ == "__main__":
    tabled.run(__doc__, 3, measure_all, markdown, "lists")
