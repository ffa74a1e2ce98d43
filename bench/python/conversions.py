#!/usr/bin/env python3
"""Transpositions that convert on the CPU, against NumPy and against a plain copy of as many bytes.

Each case is `cornerturn.transpose(x, axes, dtype=t)` against the fastest of what one writes with
NumPy for the same packed result: `astype` before, during or after making `x.transpose(axes)`
contiguous. Both make a new array ("new"), whose memory the kernel has to provide first; the same is
measured into an array that is there ("out"). The copy moves half the sum of both sides' bytes from one
array to another, with all threads: memory that moves as much. All in rounds, in one process; the
results are compared bit by bit. Times are medians; also the shortest ones are kept.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import ml_dtypes
import numpy as np
from cpu import geometric_mean
from tabled import ROOT, installed, processor

import cornerturn

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "u8": np.uint8,
    "i32": np.int32,
}
PAIRS = [
    *(("f32", to) for to in ("f16", "bf16", "e4m3", "i8", "i32", "f64")),
    *((of, "f32") for of in ("f16", "bf16", "u8", "i8", "i32", "f64")),
    *(("bf16", to) for to in ("f16", "e4m3", "f64")),
    *((of, "bf16") for of in ("f16", "u8", "f64")),
]
SHAPES = {
    "in order": ((4096, 4096), (0, 1)),
    "matrix": ((4096, 4096), (1, 0)),
    "odd matrix": ((4093, 4099), (1, 0)),
    "heads": ((8, 4096, 32, 128), (0, 2, 1, 3)),
    "channels": ((32, 224, 224, 3), (0, 3, 1, 2)),
    "small": ((256, 256), (1, 0)),
    "small batch": ((16, 64, 96), (0, 2, 1)),
}


def bytes_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def numpy_forms(x: np.ndarray, axes: tuple[int, ...], dtype: type) -> list[Callable[[], np.ndarray]]:
    view = x.transpose(axes)
    forms = [lambda: view.astype(dtype, order="C")]
    if not view.flags.c_contiguous:
        forms += [
            lambda: np.ascontiguousarray(view).astype(dtype),
            lambda: np.ascontiguousarray(view.astype(dtype)),
        ]
    return forms


def seconds_of(call: Callable[[], object], calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def measure(title: str, shape: tuple, axes: tuple, of: str, to: str, budget: float) -> dict:
    rng = np.random.default_rng(0)
    block = rng.standard_normal(1 << 20).astype(np.float32) * 30
    if of == "u8":
        block = np.abs(block)
    x = np.resize(block.astype(TYPES[of]), shape)
    dtype = TYPES[to]
    out = np.empty([shape[axis] for axis in axes], dtype)
    half = (x.nbytes + out.nbytes) // 2
    copied_from, copied_to = np.ones(half, np.uint8), np.ones(half, np.uint8)
    forms = numpy_forms(x, axes, dtype)
    for form in forms:
        form()
    numpy_new = min(forms, key=seconds_of)
    view = x.transpose(axes)
    calls = {
        "new": lambda: cornerturn.transpose(x, axes, dtype=dtype),
        "numpy new": numpy_new,
        "copy new": lambda: cornerturn.transpose(copied_from, (0,)),
        "out": lambda: cornerturn.transpose(x, axes, dtype=dtype, out=out),
        "numpy out": lambda: np.copyto(out, view, casting="unsafe"),
        "copy out": lambda: cornerturn.transpose(copied_from, (0,), out=copied_to),
    }
    expected = bytes_of(numpy_new())
    for name in ("new", "out"):
        if not np.array_equal(bytes_of(calls[name]()), expected):
            raise SystemExit(f"{title}, {of} to {to}: the results differ ({name})")
    del expected
    repeats = {name: max(1, int(1e-3 / seconds_of(call))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    while len(times["new"]) < 3 or (
        len(times["new"]) < 50 and time.perf_counter() - start < budget
    ):
        for name, call in calls.items():
            times[name].append(seconds_of(call, repeats[name]))
    return {
        "case": title,
        "from": of,
        "to": to,
        "bytes": 2 * half,
        "runs": len(times["new"]),
        "seconds": {name: statistics.median(values) for name, values in times.items()},
        "least": {name: min(values) for name, values in times.items()},
    }


def ratios(result: dict, which: str) -> dict[str, float]:
    """How many times as fast as NumPy, and how much of a copy's rate."""
    s = result[which]
    return {
        "new": s["numpy new"] / s["new"],
        "new of a copy": s["copy new"] / s["new"],
        "out": s["numpy out"] / s["out"],
        "out of a copy": s["copy out"] / s["out"],
    }


def line(result: dict) -> str:
    r, s, best = ratios(result, "seconds"), result["seconds"], ratios(result, "least")
    return (
        f"{result['case']:<12}{result['from'] + ' ' + result['to']:<10}"
        f"{s['new'] * 1e3:>9.3f}{r['new']:>7.2f}{best['new']:>7.2f}{r['new of a copy']:>7.2f}"
        f"{s['out'] * 1e3:>10.3f}{r['out']:>7.2f}{best['out']:>7.2f}{r['out of a copy']:>7.2f}"
    )


def provenance(arguments: argparse.Namespace, load: float) -> dict[str, object]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "commit": commit.stdout.strip() or "unknown",
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "load": load,
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
        "numpy": installed("numpy"),
        "ml_dtypes": installed("ml_dtypes"),
        "seconds": arguments.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", default="*", help="only those whose title matches, as 'small*'")
    parser.add_argument("--types", default="*", help="only those that match, as 'f32 *'")
    parser.add_argument("--seconds", type=float, default=3.0, help="spent on a case, at least")
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    arguments = parser.parse_args()
    todo = [
        (title, shape, axes, of, to)
        for title, (shape, axes) in SHAPES.items()
        for of, to in PAIRS
        if fnmatch.fnmatch(title, arguments.cases) and fnmatch.fnmatch(f"{of} {to}", arguments.types)
    ]
    if not todo:
        raise SystemExit("no case is left")
    origin = provenance(arguments, os.getloadavg()[0])
    print(f"{'':<22}{'new: ms':>9}{'NumPy':>7}{'least':>7}{'copy':>7}"
          f"{'out: ms':>10}{'NumPy':>7}{'least':>7}{'copy':>7}")  # fmt: skip
    results = []
    for case in todo:
        results.append(measure(*case, arguments.seconds))
        print(line(results[-1]), flush=True)
    for column in ("new", "out"):
        of_all = [ratios(result, "seconds")[column] for result in results]
        print(f"{column}: {geometric_mean(of_all):.2f}x NumPy, at worst {min(of_all):.2f}x, at least "
              f"2x in {sum(ratio >= 2 for ratio in of_all)} of {len(of_all)}")  # fmt: skip
    print(f"{origin['processor']}, {origin['processors']} processors, load {origin['load']:.2f} "
          f"before, NumPy {origin['numpy']}, commit {origin['commit']}", file=sys.stderr)  # fmt: skip
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        report = {"provenance": origin, "cases": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
