"""Puts the figures of bench_conversions into docs/conversions.md.

usage: conversions_page.py RESULT.json PAGE.md
"""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import marked_page


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def percent(share: float) -> str:
    return f"{100 * share:.0f}"


def conversions(cases: list[dict]) -> list[str]:
    """A row for each pair of types."""
    pairs = list(dict.fromkeys((case["from"], case["to"]) for case in cases))
    lines = [
        "| transposed, % of a plain copy | cases | geometric mean | worst | 16384 x 16384 | in two passes |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for source, target in pairs:
        own = [case for case in cases if (case["from"], case["to"]) == (source, target)]
        large = [case["share"] for case in own if case["case"].endswith("_16384")]
        twice = [c["copy_seconds"] / c["two_passes_seconds"] for c in own if "two_passes_seconds" in c]
        cells = [
            str(len(own)),
            percent(geometric_mean([case["share"] for case in own])),
            percent(min(case["share"] for case in own)),
            percent(large[0]) if large else "",
            percent(geometric_mean(twice)),
        ]
        lines.append(f"| {source} to {target} | {' | '.join(cells)} |")
    return lines


def table(what: str, cases: list[dict]) -> list[str]:
    lines = ["", f"| {what} | shape | kernel | % of a plain copy |", "| --- | --- | --- | ---: |"]
    for case in cases:
        shape = " x ".join(map(str, case["shape"]))
        lines.append(
            f"| {case['from']} to {case['to']}, {case['case']} | {shape} | `{case['kernel']}` "
            f"| {percent(case['share'])} |"
        )
    return lines


def markdown(result: dict) -> str:
    origin = result["provenance"]
    lines = conversions(result["cases"])
    if "scaled" in result:
        lines += table("with a vector of scales", result["scaled"])
    lines += table("blocks", result["quantise"])
    return "\n".join(lines) + (
        f"\n\n{origin['gpu']}, {origin['date'][:10]}, commit {origin['commit'][:12]}, by `bench_conversions`: "
        "cold caches, medians, each case beside plain copies that move the same bytes.\n"
    )


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result, page = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    marked_page.put(page, "gpu-conversions", markdown(result))


if __name__ == "__main__":
    main()
