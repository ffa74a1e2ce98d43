#!/usr/bin/env python3
"""Puts what `bench_in_place --json` measured on a GPU into docs/results-gpu.md.

usage: in_place_page.py RESULTS.json
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402

TITLES = {
    "square": "squares of 2^n",
    "square, one less": "squares with one row and column less",
    "batched square": "64 squares of 2^n",
    "batch in shared memory": "65536 matrices of 64 x 32",
    "4:1": "4 : 1",
    "odd": "2^n - 1 by 2^n + 1",
    "primes": "8191 x 8209",
    "structures": "arrays of structures to planes",
    "planes": "planes to arrays of structures",
    "images": "batches of images to planes",
}


def kind(case: dict) -> str:
    """The row of the table."""
    shape = case["shape"]
    if case["class"] == "square" and shape[0] % 2:
        return TITLES["square, one less"]
    return TITLES[case["class"]]


def shown(shares: list[float]) -> str:
    """One number; of several cases the least and the most."""
    least, most = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return least if least == most else f"{least} to {most}"


def markdown(report: dict) -> str:
    origin, cases = report["provenance"], report["cases"]
    sizes = sorted({case["element_bytes"] for case in cases})
    rows = list(dict.fromkeys(map(kind, cases)))
    kernels: dict[str, list[str]] = {}
    cells: dict[tuple[str, int], list[float]] = {}
    for case in cases:
        row = kind(case)
        cells.setdefault((row, case["element_bytes"]), []).append(case["share_of_copy"])
        if case["kernel"] not in kernels.setdefault(row, []):
            kernels[row].append(case["kernel"])
    text = "| % of a copy on the GPU | kernel | " + " | ".join(f"{size} B" for size in sizes) + " |\n"
    text += "| --- | --- |" + " ---: |" * len(sizes) + "\n"
    for row in rows:
        text += f"| {row} | {', '.join(kernels[row])} | " + " | ".join(shown(cells[row, size]) if (row, size) in cells else "-" for size in sizes) + " |\n"
    wrong = [case["case"] for case in cases if case["difference"]]
    checked = "each case verified element by element" if not wrong else "WRONG: " + ", ".join(wrong)
    return (
        f"{text}\n- {origin['gpu']}, driver {origin['driver']}; {origin['date'][:10]}, commit {origin['commit'][:10]}; by "
        f"`bench_in_place`; {checked}. A copy reads and writes as many bytes as the array has.\n"
    )


if __name__ == "__main__":
    marked_page.put(ROOT / "docs" / "results-gpu.md", "in-place-gpu", markdown(json.loads(Path(sys.argv[1]).read_text())))
