#!/usr/bin/env python3
"""Small square matrices, from Python: where calls cost more than the copy.

`cornerturn.transpose(x)` against `numpy.ascontiguousarray(x.T)` and, where PyTorch is installed, tensors
against `x.t().contiguous()`; with `out=out` against `numpy.copyto(out, x.T)` and `out.copy_(x.t())`. All in
turns on the same arrays. Times are medians of rounds of calls.

usage: small.py [--json FILE] [--page PAGE.md]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from cpu import ROOT, installed, provenance, seconds_of

import cornerturn

sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    parser.add_argument("--page", type=Path, help="put the table between the marks on this page")
    parser.add_argument("--from", dest="known", type=Path, help="do not measure: results that --json wrote")
    arguments = parser.parse_args()
    if arguments.known:
        report = json.loads(arguments.known.read_text())
    else:
        origin = provenance(argparse.Namespace(suite=["small.py"], max_bytes=None, seconds=None))
        cases = [measure(side, dtype, arguments.rounds) for dtype in DTYPES for side in SIDES]
        report = {"provenance": origin, "cases": cases}
    print(markdown(report), end="")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.page:
        marked_page.put(arguments.page, "python-small", markdown(report))


if __name__ == "__main__":
    main()
