#!/usr/bin/env python3
"""Small square matrices, from Python: where calls cost more than the copy.

`cornerturn.transpose(x)` against `numpy.ascontiguousarray(x.T)` and, where PyTorch is installed, tensors
against `x.t().contiguous()`; with `out=out` against `numpy.copyto(out, x.T)` and `out.copy_(x.t())`. All in
turns on the same arrays. Times are medians of rounds of calls.

usage: small.py [--json FILE] [--page PAGE.md]
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import tabled
from cpu import seconds_of
from tabled import installed

import cornerturn

SIDES = (2, 4, 8, 16, 32, 48, 64, 96, 128, 256)
DTYPES = ("float32", "float64")
Calls = dict[str, Callable[[], object]]


def calls_of(x: np.ndarray) -> Calls:
    out = np.empty_like(x)
    calls: Calls = {
        "new": lambda: cornerturn.transpose(x),
        "out": lambda: cornerturn.transpose(x, out=out),
        "numpy new": lambda: np.ascontiguousarray(x.T),
        "numpy out": lambda: np.copyto(out, x.T),
    }
    if installed("torch") is None:
        return calls
    import torch

    tensor, filled = torch.from_numpy(x), torch.empty(x.shape, dtype=getattr(torch, str(x.dtype)))
    return calls | {
        "tensor new": lambda: cornerturn.transpose(tensor),
        "tensor out": lambda: cornerturn.transpose(tensor, out=filled),
        "torch new": lambda: tensor.t().contiguous(),
        "torch out": lambda: filled.copy_(tensor.t()),
    }


def measure(side: int, dtype: str, rounds: int) -> dict[str, object]:
    calls = calls_of(np.random.default_rng(1).random((side, side)).astype(dtype))
    times: dict[str, list[float]] = {name: [] for name in calls}
    repeats = max(10, 20000 // (side * side) + 20)
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds_of(call, repeats))
    seconds = {name: statistics.median(values) for name, values in times.items()}
    return {"side": side, "dtype": dtype, "seconds": seconds}


def ratio(case: dict, peer: str, ours: str) -> float | None:
    seconds = case["seconds"]
    return seconds[peer] / seconds[ours] if peer in seconds else None


PAIRS = (("numpy new", "new"), ("numpy out", "out"), ("torch new", "tensor new"), ("torch out", "tensor out"))


def crossover(cases: list[dict], peer: str, ours: str) -> int | None:
    """The side from which on Cornerturn is ahead."""
    first = None
    for case in reversed(cases):
        if (ratio(case, peer, ours) or 0) < 1:
            break
        first = case["side"]
    return first


def markdown(report: dict) -> str:
    origin, cases = report["provenance"], report["cases"]
    heads = "| | us | x NumPy, new | `out=` | x PyTorch, new | `out=` |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    lines = ""
    for case in cases:
        ratios = [ratio(case, peer, ours) for peer, ours in PAIRS]
        cells = ["-" if value is None else f"{value:.2f}" for value in ratios]
        name = f"{case['side']} x {case['side']} {case['dtype']}"
        lines += f"| {name} | {case['seconds']['new'] * 1e6:.1f} | {' | '.join(cells)} |\n"
    said = []
    for dtype in DTYPES:
        side = crossover([case for case in cases if case["dtype"] == dtype], "numpy new", "new")
        said.append(f"from {side} x {side} {dtype} on" if side else f"at none of these sizes of {dtype}")
    return (
        f"{heads}{lines}\nHow many times as fast a call is. A new array is made faster than NumPy's "
        f"{', and '.join(said)}. {origin['processor']}, {origin['processors']} processors, Python "
        f"{origin['python']}; NumPy {origin['numpy']}, PyTorch {origin['torch']}; {origin['date'][:10]}, "
        f"commit {origin['commit']}; by `make bench-python`.\n"
    )


def measure_all(rounds: int) -> list[dict]:
    return [measure(side, dtype, rounds) for dtype in DTYPES for side in SIDES]


if __name__ == "__main__":
    tabled.run(__doc__, 101, measure_all, markdown, "python-small")
