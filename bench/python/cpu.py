#!/usr/bin/env python3
"""The Python package on the CPU against NumPy and PyTorch, over the public suites.

Each case is `cornerturn.transpose(x, axes, out=out)` against `numpy.copyto(out, x.transpose(axes))`
and, where PyTorch is installed, `out.copy_(x.permute(axes))`: what `.permute().contiguous()` does once
its memory is there. All on the same arrays, in rounds, with all threads that they take; the results
are compared byte by byte. Times are medians of 3 rounds or more; of fewer where these would take longer
than a few seconds. The first call, which plans, is not counted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import tabled
from cases import Case, load
from tabled import installed, provenance

import cornerturn

SUITES = ["everyday", "ttc57", "awkward", "views", "small"]
SUBJECTS = ["cornerturn", "numpy", "torch"]


def torch_call(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> Callable[[], object] | None:
    """None where PyTorch cannot do it: it has no negative strides, and not all dtypes."""
    if installed("torch") is None or x.dtype.kind == "V":
        return None
    import torch

    if min((*x.strides, *out.strides), default=0) < 0:
        return None
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    source, target = torch.from_numpy(x).permute(axes), torch.from_numpy(out)
    return lambda: target.copy_(source)


def seconds_of(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


SLOW_SECONDS = 2.0  # after so many, no case has another round


def measure(case: Case, budget: float) -> dict[str, object]:
    x, axes, out = case.arrays()
    calls = {
        "cornerturn": lambda: cornerturn.transpose(x, axes, out=out),
        "numpy": lambda: np.copyto(out, x.transpose(axes)),
        "torch": torch_call(x, axes, out),
    }
    calls = {name: call for name, call in calls.items() if call is not None}
    expected = None
    repeats = {}
    for name, call in calls.items():
        out[...] = np.zeros((), out.dtype)
        first = seconds_of(call, 1)
        found = out.tobytes()
        if expected is not None and found != expected:
            raise SystemExit(f"{case.title}: the results differ")
        expected = found
        repeats[name] = max(1, min(1000, int(1e-3 / max(first, 1e-7))))
    del expected, found
    times: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    rounds, spent = 0, 0.0
    while rounds < 1 or (rounds < 3 and spent < SLOW_SECONDS) or (rounds < 50 and spent < budget):
        for name, call in calls.items():
            times[name].append(seconds_of(call, repeats[name]))
        rounds, spent = rounds + 1, time.perf_counter() - start
    return {
        "case": case.title,
        "group": case.group,
        "bytes": case.payload_bytes,
        "runs": rounds,
        "seconds": {name: statistics.median(values) for name, values in times.items()},
    }


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(results: list[dict]) -> dict[str, object]:
    """For each group and for all: how many times as fast as a peer, mean and worst, and behind what."""
    groups: dict[str, list[dict]] = {}
    for result in results:
        groups.setdefault(result["group"], []).append(result)
    rows = {}
    for name, members in [*groups.items(), ("all", results)]:
        row: dict[str, object] = {"cases": len(members)}
        for peer in SUBJECTS[1:]:
            ratios = [
                member["seconds"][peer] / member["seconds"]["cornerturn"]
                for member in members
                if peer in member["seconds"]
            ]
            if ratios:
                row[peer] = {
                    "cases": len(ratios),
                    "geometric_mean": geometric_mean(ratios),
                    "worst": min(ratios),
                    "ahead": sum(ratio > 1 for ratio in ratios),
                }
        rows[name] = row
    return rows


def table(rows: dict[str, dict]) -> str:
    wide = max(map(len, rows))
    heads = "".join(f"{'x ' + peer:>9} {'worst':>6} {'ahead':>9}" for peer in SUBJECTS[1:])
    lines = [f"{'':{wide}} {'cases':>5}{heads}"]
    for name, row in rows.items():
        line = f"{name:{wide}} {row['cases']:5}"
        for peer in SUBJECTS[1:]:
            if peer in row:
                r = row[peer]
                ahead = f"{r['ahead']}/{r['cases']}"
                line += f"{r['geometric_mean']:9.2f} {r['worst']:6.2f} {ahead:>9}"
            else:
                line += f"{'-':>9} {'-':>6} {'-':>9}"
        lines.append(line)
    return "\n".join(lines)


def markdown(report: dict) -> str:
    """The summary and where it is from, for docs/python.md."""
    rows, origin = report["summary"], report["provenance"]
    peers = [peer for peer in SUBJECTS[1:] if peer in rows["all"]]
    names = {"numpy": "NumPy", "torch": "PyTorch"}
    head = ["", "cases", *[t for p in peers for t in (f"x {names[p]}", "worst", "ahead")]]
    lines = [" | ".join(head), " | ".join(["---"] + ["---:"] * (len(head) - 1))]
    for name, row in rows.items():
        cells = [f"**{name}**" if name == "all" else name, str(row["cases"])]
        for peer in peers:
            r = row.get(peer)
            cells += (
                [f"{r['geometric_mean']:.1f}", f"{r['worst']:.2f}", f"{r['ahead']} of {r['cases']}"]
                if r
                else ["-", "-", "-"]
            )
        lines.append(" | ".join(cells))
    table = "\n".join(f"| {line} |" for line in lines)
    versions = ", ".join(f"{names[peer]} {origin[peer]}" for peer in peers)
    return (
        f"{table}\n\nHow many times as fast: geometric means, and the worst case. "
        f"{origin['processor']}, {origin['processors']} processors, Linux {origin['kernel']}, "
        f"Python {origin['python']}; {versions}; {origin['date'][:10]}, commit {origin['commit']}; "
        "by `make bench-python`.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", nargs="+", default=SUITES)
    parser.add_argument("--max-bytes", type=float, default=800e6, help="of a case's elements")
    parser.add_argument("--cases", default="*", help="only those whose title matches, as 'small/*'")
    parser.add_argument("--seconds", type=float, default=1.0, help="spent on the rounds of a case, at least")
    tabled.add_outputs(parser)
    arguments = parser.parse_args()
    if arguments.known:
        report = json.loads(arguments.known.read_text())
        print(table(report["summary"]))
        tabled.write(report, arguments, markdown, "python-cpu")
        return
    cases = load(arguments.suite, int(arguments.max_bytes), arguments.cases)
    if not cases:
        raise SystemExit("no case is left")
    origin = provenance(arguments)
    results = []
    for number, case in enumerate(cases, 1):
        result = measure(case, arguments.seconds)
        results.append(result)
        ours = result["seconds"]["cornerturn"]
        ratios = "  ".join(
            f"{name} {seconds / ours:.2f}x" for name, seconds in result["seconds"].items() if name != "cornerturn"
        )
        print(f"{number}/{len(cases)} {case.title}: {ours * 1e6:.1f} us, {ratios}", file=sys.stderr)
    rows = summary(results)
    print(table(rows))
    behind = [
        f"{result['case']} ({peer} {result['seconds'][peer] / result['seconds']['cornerturn']:.2f}x)"
        for result in results
        for peer in result["seconds"]
        if result["seconds"][peer] < result["seconds"]["cornerturn"]
    ]
    print(f"behind: {', '.join(behind) or 'nowhere'}")
    print(f"{origin['processor']}, {origin['processors']} processors, NumPy {origin['numpy']}, "
          f"PyTorch {origin['torch']}, commit {origin['commit']}")  # fmt: skip
    report = {"provenance": origin, "summary": rows, "cases": results}
    tabled.write(report, arguments, markdown, "python-cpu")


if __name__ == "__main__":
    main()
