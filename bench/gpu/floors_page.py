#!/usr/bin/env python3
"""Puts what `bench_floors --json` measured on a GPU into docs/benchmark.md, and the newest random problems beside it.

usage: floors_page.py RESULTS.json
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402
from random_gpu_report import MB, SIZES  # noqa: E402
from random_report import ROWS, newest_on_gpu, percent  # noqa: E402
from report import geometric_mean, load  # noqa: E402

FORMS = {"aligned": "rows begin at multiples of 512 bytes", "anywhere": "rows begin anywhere"}
FORM_OF_CLASS = {"matrix-aligned": "aligned", "matrix-odd": "anywhere", "rank3-aligned": "aligned", "rank3-odd": "anywhere"}
BY_BYTES = {"1 to 16 MB": (0, 16 * MB), "16 to 64 MB": (16 * MB, 64 * MB), "larger ones": (64 * MB, 1 << 62)}


class Floors:
    """The share of the plain copy that moving tiles has, by bytes; between two sizes a line on their logarithms."""

    def __init__(self, report: dict):
        self.sizes = [size["bytes"] for size in report["sizes"]]
        self.shares = {
            form: [size["copy_seconds"] / size[form]["seconds"] for size in report["sizes"]] for form in FORMS
        }

    def share(self, form: str, size: int) -> float:
        shares = self.shares[form]
        if size <= self.sizes[0]:
            return shares[0]
        for below, above, low, high in zip(self.sizes, self.sizes[1:], shares, shares[1:]):
            if size <= above:
                part = math.log(size / below) / math.log(above / below)
                return low + part * (high - low)
        return shares[-1]


def row(cells: list) -> str:
    return "| " + " | ".join(cells) + " |\n"


def beside(floors: Floors, cases: list) -> str:
    """What problems reach of what their tiles take that are only moved."""
    text = row(["class", *(f"{size} B" for size in SIZES)]) + "| --- |" + " ---: |" * len(SIZES) + "\n"

    def reached(group: str, size: int, low: int, high: int) -> str:
        shares = [
            case["copy_seconds"] / case["seconds"] / floors.share(FORM_OF_CLASS[group], case["payload_bytes"])
            for case in cases
            if case["class"] == group and case["element_bytes"] == size and low <= case["payload_bytes"] < high
        ]
        return percent(geometric_mean(shares)) if shares else "-"

    for group in FORM_OF_CLASS:
        of_sizes = [" / ".join(reached(group, size, *span) for span in BY_BYTES.values()) for size in SIZES]
        text += row([ROWS[group], *of_sizes])
    return text


def markdown(report: dict, cases: list) -> str:
    origin, floors = report["provenance"], Floors(report)
    text = row(["MiB", *(f"{size / MB:g}" for size in floors.sizes)])
    text += "| --- |" + " ---: |" * len(floors.sizes) + "\n"
    for form, title in FORMS.items():
        text += row([title, *(percent(share) for share in floors.shares[form])])
    return (
        f"{text}\n{origin['gpu']}, driver {origin['driver']}; {origin['date'][:10]}, commit {origin['commit'][:10]}.\n\n"
        f"What the random problems above reach of that, each by its own bytes, in %: geometric means of {', '.join(BY_BYTES)}.\n\n"
        + beside(floors, cases)
    )


if __name__ == "__main__":
    drawn = [case for path in newest_on_gpu() for case in load(path)["cases"] if case.get("seconds")]
    text = markdown(json.loads(Path(sys.argv[1]).read_text()), drawn)
    marked_page.put(ROOT / "docs" / "benchmark.md", "moved-tiles", text)
