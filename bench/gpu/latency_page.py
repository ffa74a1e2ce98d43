#!/usr/bin/env python3
"""Puts what `bench_latency --json` measured on a GPU into docs/results-gpu.md.

usage: latency_page.py RESULTS.json
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402


def microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.2f}" if seconds < 1e-5 else f"{1e6 * seconds:.1f}" if seconds < 1e-4 else f"{1e6 * seconds:.0f}"


def markdown(report: dict) -> str:
    origin, planning = report["provenance"], report["planning"]
    text = "| microseconds of the host, 64 x 64 of f32 on a stream | median | best |\n| --- | ---: | ---: |\n"
    for call in report["calls"]:
        text += f"| {call['call']} | {microseconds(call['seconds'])} | {microseconds(call['best_seconds'])} |\n"
    return (
        f"{text}\n- A new plan takes {microseconds(planning['median_seconds'])} us in the middle, and at most "
        f"{microseconds(planning['p90_seconds'])} in 90 % of {planning['plans']} problems drawn at random; the first one of a "
        f"process takes {microseconds(planning['first_seconds'])}.\n"
        f"- {origin['gpu']}, {origin['cpu']}, driver {origin['driver']}; {origin['date'][:10]}, commit {origin['commit'][:10]}; "
        "by `bench_latency`. Calls follow one another, 100 to a batch; no stream is waited for in between.\n"
    )


if __name__ == "__main__":
    marked_page.put(ROOT / "docs" / "results-gpu.md", "latency-gpu", markdown(json.loads(Path(sys.argv[1]).read_text())))
