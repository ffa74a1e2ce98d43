#!/usr/bin/env python3
"""Puts what `first_calls --gpu --json` measured into docs/results-gpu.md.

usage: first_calls_page.py RESULTS.json
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import marked_page  # noqa: E402


def markdown(report: dict) -> str:
    origin = report["provenance"]
    count, seed, least, most = (int(number) for number in report["suite"].replace("::", ":").split(":")[1:])
    text = "| times as long as with `Effort::estimate` | first calls | mean | median | 90 % at most | worst |\n"
    text += "| --- | ---: | ---: | ---: | ---: | ---: |\n"
    for one in report["passes"]:
        for first in one["first_calls"]:
            text += (
                f"| {one['pass']} | {first['calls']} | {first['mean']:.3f} | {first['median']:.3f} | "
                f"{first['p90']:.2f} | {first['worst']:.2f} |\n"
            )
    return (
        f"{text}\n- {count} new problems of {least // 1_000_000} to {most // 1_000_000} MB, seed {seed}, each called so often, with the "
        "time of the host, of planning and of loading kernels.\n"
        f"- {origin['gpu']}, {origin['cpu']}, driver {origin['driver']}; {origin['date'][:10]}, commit {origin['commit'][:10]}; "
        "by `first_calls`.\n"
    )


if __name__ == "__main__":
    marked_page.put(ROOT / "docs" / "results-gpu.md", "first-calls-gpu", markdown(json.loads(Path(sys.argv[1]).read_text())))
