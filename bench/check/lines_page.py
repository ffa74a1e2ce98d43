#!/usr/bin/env python3
"""Puts the figures of bench/results/check/h200-lines.json into docs/check-cuda.md.

usage: lines_page.py
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402

RESULT = ROOT / "bench" / "results" / "check" / "h200-lines.json"
PAGE = ROOT / "docs" / "check-cuda.md"
REASONS = {
    "merged": "nvcc makes one wide access of several",
    "split": "nvcc makes several accesses of a wide one",
    "moved": "nvcc names another line for it",
    "fewer": "nvcc keeps the value in a register, or it is in constant memory",
    "more": "nvcc repeats it",
    "regrouped": "other lanes come together: a loop is unrolled, or two branches are joined",
    "counted": "the very same access is counted otherwise",
}


def share(part: int, whole: int) -> str:
    """In percent; never 100 where something is missing."""
    return f"{int(10000 * part / whole) / 100:.2f} %" if whole else "-"


def markdown(result: dict) -> str:
    origin, build = result["provenance"], result["builds"][0]
    sums = build["sums"]["all"]
    text = (
        f"Nsight Compute counted {sums['kernels']} kernels, built by `{build['build']}`, on one {origin['gpu']} line by line, and so did\n"
        f"`cornerturn check`: {sums['requests']} requests of warps. nvcc left {sums['requests_as_written']} of them as they are\n"
        f"written, as many lanes in the same widths; {share(sums['requests_as_written_equal'], sums['requests_as_written'])} of them are at lines whose sectors or wavefronts are equal.\n"
        f"With the others, {share(sums['requests_equal'], sums['requests'])} of all are. Requests at lines that differ:\n\n"
        "| requests | why |\n| ---: | --- |\n"
    )
    for reason, count in sorted(sums["requests_different"].items(), key=lambda one: -one[1]):
        text += f"| {count} | {REASONS[reason]} |\n"
    return (
        f"{text}\n{sums['requests_equal_elsewhere']} of them are at lines that are equal when nvcc optimises less (`{result['builds'][1]['build']}`).\n"
        f"Driver {origin['driver']}, nvcc {origin['nvcc']}; {origin['date']}, commit {origin['commit'][:8]}; kernels of `bench/check/lines`, of LeetCUDA, and of\n"
        "CUDA's samples. [All figures](../bench/results/check/h200-lines.json).\n"
    )


if __name__ == "__main__":
    marked_page.put(PAGE, "check-lines", markdown(json.loads(RESULT.read_text())))
