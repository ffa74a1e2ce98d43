#!/usr/bin/env python3
"""Transpositions within the memory of the array: Cornerturn beside MKL, FFTW, NumPy and a copy back.

The yardstick is memcpy of the array's bytes, in the same rounds. The result of every contestant is
compared with NumPy's transpose before it is timed. Peers that are not installed are left out: MKL
comes from bench/peers/setup.sh, FFTW from the system (libfftw3-single3 and libfftw3-double3 on
Debian). Times are medians; a contestant gets two seconds a case, or the
one run that is checked.

usage: in_place.py [--rounds N] [--json FILE] [--page PAGE.md]
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tabled
from cpu import seconds_of

import cornerturn

BUDGET = 2.0  # seconds for each contestant of a case
ODD = "odd and prime"
TITLES = {
    "cornerturn": "Cornerturn", "threads": "all threads", "copy back": "out of place, copied back",
    "fftw": "FFTW", "mkl": "MKL", "numpy": "NumPy",
}  # fmt: skip


class Case(NamedTuple):
    group: str
    batch: int
    rows: int
    columns: int
    element_bytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.batch, self.rows, self.columns)[self.batch == 1 :]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.element_bytes

    @property
    def axes(self) -> tuple[int, ...]:
        return (1, 0) if self.batch == 1 else (0, 2, 1)


CASES = [
    *(Case("square", 1, 8192, 8192, size) for size in (1, 2, 4)),
    *(Case("square", 1, 8000, 8000, size) for size in (1, 2, 4)),
    *(Case("square", 1, 5000, 5000, size) for size in (8, 16)),
    Case("square", 1, 8191, 8191, 4),
    Case("batches of squares", 1000, 256, 256, 4),
    Case("batches of squares", 200, 512, 512, 2),
    Case("batches of squares", 5000, 100, 100, 4),
    *(Case("4 : 1", 1, 16384, 4096, size) for size in (1, 2, 4, 8)),
    Case("4 : 1", 1, 4096, 16384, 4),
    Case("batches of 4 : 1", 200, 1024, 256, 4),
    *(Case("skinny, 2-64", 1, 50_000_000 // n, n, 4) for n in (2, 5, 16, 64)),
    *(Case("skinny, 2-64", 1, n, 50_000_000 // n, 4) for n in (3, 16, 64)),
    Case("skinny, 2-64", 1, 100_000_000, 2, 1),
    Case(ODD, 1, 8191, 8193, 4),
    Case(ODD, 1, 10007, 9973, 1),
    Case(ODD, 1, 10007, 9973, 4),
    Case(ODD, 1, 5003, 4999, 8),
]


# ---------------------------------------------------------------- contestants: in place, on one array

Contestant = Callable[[np.ndarray], object]


def by_cornerturn(case: Case, threads: int) -> Contestant:
    return lambda x: cornerturn.transpose_in_place(x, case.axes, threads=threads)


def copied_back(case: Case) -> Contestant:
    def run(x: np.ndarray) -> None:
        y = cornerturn.transpose(x, case.axes, threads=1)
        np.copyto(x.reshape(y.shape), y)

    return run


def by_numpy(case: Case) -> Contestant:
    def run(x: np.ndarray) -> None:
        y = x.transpose(case.axes)
        x.reshape(y.shape)[:] = y.copy()

    return run


def library(*names: str) -> ctypes.CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def mkl_library() -> ctypes.CDLL | None:
    os.environ["MKL_THREADING_LAYER"] = "SEQUENTIAL"
    peers = Path(os.environ.get("CORNERTURN_PEERS_ENV", tabled.ROOT / ".cache" / "peers"))
    return library(*map(str, sorted(peers.glob("lib/libmkl_rt.so*"))))


def by_mkl(case: Case) -> Contestant | None:
    mkl = mkl_library()
    kind = {4: ("s", ctypes.c_float), 8: ("d", ctypes.c_double)}.get(case.element_bytes)
    if mkl is None or kind is None:
        return None
    call = getattr(mkl, f"MKL_{kind[0].upper()}imatcopy")
    call.argtypes = [ctypes.c_char, ctypes.c_char, ctypes.c_size_t, ctypes.c_size_t, kind[1], ctypes.c_void_p,
                     ctypes.c_size_t, ctypes.c_size_t]  # fmt: skip
    call.restype = None

    def run(x: np.ndarray) -> None:
        step = case.rows * case.columns * case.element_bytes
        for i in range(case.batch):
            call(b"R", b"T", case.rows, case.columns, 1, x.ctypes.data + i * step, case.columns, case.rows)

    return run


class Dimension(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int), ("source", ctypes.c_int), ("target", ctypes.c_int)]


# A transform of rank 0 is a copy with strides, in place too.
def by_fftw(case: Case) -> Contestant | None:
    kind = {4: ("fftwf", "libfftw3f.so.3"), 8: ("fftw", "libfftw3.so.3")}.get(case.element_bytes)
    fftw = library(kind[1]) if kind else None
    if fftw is None:
        return None
    make, execute = getattr(fftw, f"{kind[0]}_plan_guru_r2r"), getattr(fftw, f"{kind[0]}_execute")
    make.restype = ctypes.c_void_p
    make.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                     ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]  # fmt: skip
    execute.argtypes = [ctypes.c_void_p]
    estimate = 1 << 6
    matrix = case.rows * case.columns
    modes = [Dimension(case.batch, matrix, matrix)] * (case.batch > 1)
    modes += [Dimension(case.rows, case.columns, 1), Dimension(case.columns, 1, case.rows)]
    plans: dict[int, int] = {}

    def run(x: np.ndarray) -> None:
        data = x.ctypes.data
        if data not in plans:
            plans[data] = make(0, None, len(modes), (Dimension * len(modes))(*modes), data, data, None, estimate)
        execute(plans[data])

    return run


def contestants(case: Case) -> dict[str, Contestant]:
    every = {
        "cornerturn": by_cornerturn(case, 1),
        "threads": by_cornerturn(case, len(os.sched_getaffinity(0))),
        "copy back": copied_back(case),
        "fftw": by_fftw(case),
        "mkl": by_mkl(case),
        "numpy": by_numpy(case),
    }
    return {name: run for name, run in every.items() if run is not None}


# ---------------------------------------------------------------- measuring


def memcpy(pool: ThreadPoolExecutor, threads: int, to: np.ndarray, source: np.ndarray) -> None:
    part = (source.nbytes // threads // 4096 + 1) * 4096

    def copy(first: int) -> None:
        size = min(part, source.nbytes - first)
        ctypes.memmove(to.ctypes.data + first, source.ctypes.data + first, size)

    list(pool.map(copy, range(0, source.nbytes, part)))


def check(name: str, case: Case, run: Contestant, x: np.ndarray, original: np.ndarray) -> float:
    """Runs it once, which every contestant has to get right, and returns the seconds that this took."""
    np.copyto(x, original)
    seconds = seconds_of(lambda: run(x), 1)
    expected = original.transpose(case.axes)
    if not np.array_equal(x.reshape(expected.shape), expected):
        raise SystemExit(f"in_place.py: {name} is wrong for {case}")
    return seconds


def measure(case: Case, rounds: int, pool: ThreadPoolExecutor) -> dict[str, object]:
    kind = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}[case.element_bytes]
    original = np.arange(math.prod(case.shape)).astype(kind).reshape(case.shape)
    x, scratch = np.empty_like(original), np.empty_like(original)
    all_threads = len(os.sched_getaffinity(0))
    runs = contestants(case)
    first = {name: check(name, case, run, x, original) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in ["memcpy", "memcpy of all threads", *runs]}
    x[...] = original  # no NaN, whatever the runs make of it
    for turn in range(rounds):
        for name, threads in (("memcpy", 1), ("memcpy of all threads", all_threads)):
            times[name].append(seconds_of(lambda n=threads: memcpy(pool, n, scratch, x), 1))
        for name, run in runs.items():
            if first[name] > BUDGET:
                times[name] = [first[name]]
            elif turn * first[name] < BUDGET:
                times[name].append(seconds_of(lambda r=run: r(x), 1))
    medians = {name: statistics.median(some) for name, some in times.items()}
    print(f"{case}: " + ", ".join(f"{name} {1e3 * s:.1f} ms" for name, s in medians.items()), flush=True)
    return {"class": case.group, "shape": case.shape, "element_bytes": case.element_bytes, "seconds": medians}


def measure_all(rounds: int) -> list[dict]:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [measure(case, rounds, pool) for case in CASES]


# ---------------------------------------------------------------- the table


def share(case: dict, name: str) -> float:
    """The share of the speed of memcpy on as many threads, in per cent."""
    yardstick = "memcpy of all threads" if name == "threads" else "memcpy"
    return 100 * case["seconds"][yardstick] / case["seconds"][name]


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def text_of(cases: list[dict], name: str) -> str:
    shares = [share(case, name) for case in cases if name in case["seconds"]]
    return f"{mean(shares):.0f}" if shares and mean(shares) >= 10 else f"{mean(shares):.1f}" if shares else "-"


# In place: a copy beside the array is no peer.
def ahead(cases: list[dict]) -> str:
    ratios = [
        min(case["seconds"][peer] for peer in ("fftw", "mkl", "numpy") if peer in case["seconds"])
        / case["seconds"]["cornerturn"]
        for case in cases
    ]
    return f"{mean(ratios):.1f} / {min(ratios):.1f}"


def markdown(report: dict) -> str:
    origin, cases = report["provenance"], report["cases"]
    groups = list(dict.fromkeys(case["class"] for case in cases))
    lines = f"| % of memcpy | cases | {' | '.join(TITLES.values())} | x best peer |\n"
    lines += f"| --- | {'---: | ' * (len(TITLES) + 2)}\n".replace(" | \n", " |\n")
    for group in groups:
        some = [case for case in cases if case["class"] == group]
        cells = " | ".join(text_of(some, name) for name in TITLES)
        lines += f"| {group} | {len(some)} | {cells} | {ahead(some)} |\n"
    return (
        f"{lines}\n- Geometric means. One thread, but for the column of all threads, whose memcpy has as many. The "
        "last column: how many times as fast as the fastest of FFTW, MKL and NumPy in each case, geometric mean / "
        "least.\n"
        f"- {origin['processor']}, {origin['processors']} processors, load {origin['load']:.1f} when it began; NumPy "
        f"{origin['numpy']}; {origin['date'][:10]}, "
        f"commit {origin['commit']}; by `make bench-in-place`.\n"
    )


if __name__ == "__main__":
    tabled.run(__doc__, 7, measure_all, markdown, "in-place")
